"""The public jet network, from its file to a graph that equals hls4ml's C simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.fixed import FixedType, Overflow, Rounding
from flow.frontend.convert import convert
from flow.frontend.load import load

SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.eda
@pytest.mark.skipif(not (SHARED / "models" / "qkeras_3layer.json").is_file(), reason="needs the shared public models")
def test_public_jet_network(tmp_path: Path) -> None:
    jets = np.load(SHARED / "data" / "jets_500.npz")
    x, y = jets["x"].astype(np.float64), jets["y"]
    done = convert(load(SHARED / "models" / "qkeras_3layer.json"), (x,), tmp_path)
    assert [node.kind for node in done.graph.nodes] == ["input", *["dense", "relu"] * 3, "dense"]
    assert done.graph.nodes[2].type == FixedType(6, 0, False, Rounding.RND_CONV, Overflow.SAT)
    (outputs,) = done.outputs.values()
    assert np.mean(outputs.argmax(axis=1) == y) >= 0.785  # the network itself has 0.79 on these jets
    for layer in done.fidelity.layers:
        assert layer.function_error <= layer.bound
        assert layer.generous_error < 1e-4
        assert layer.max_abs_error < 0.2
    assert done.fidelity.layers[-1].label == "output"
    # on inputs that the input type holds, nothing is left to differ
    kind = done.graph.nodes[0].type
    on_grid = done.inputs[done.graph.inputs[0]] * kind.step
    exact = load(SHARED / "models" / "qkeras_3layer.json").predict((on_grid,))["output"]
    assert (outputs * done.graph.nodes[-1].type.step == exact).all()
