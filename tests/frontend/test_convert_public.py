"""The public jet network, from its file to a graph that equals hls4ml's C simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.fixed import FixedType, Overflow, Rounding
from flow.frontend.convert import convert
from flow.frontend.load import load
from flow.graph.nodes import Dense

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


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.skipif(not (SHARED / "models" / "KERAS_3layer.json").is_file(), reason="needs the shared public models")
@pytest.mark.parametrize(
    ("file", "sizes", "wraps"),
    [
        ("KERAS_3layer.json", (16, 64, 32, 32, 5), True),
        ("KERAS_dense_16x100x100x100x100x100x5.json", (16, *[100] * 5, 5), False),
    ],
)
def test_public_16_bit_networks(file: str, sizes: tuple[int, ...], wraps: bool, tmp_path: Path) -> None:
    """Default precision, fixed<16,6> everywhere: the evaluator equals the C simulation, or `convert` raises."""
    x = np.load(SHARED / "data" / "jets_500.npz")["x"].astype(np.float64)
    source = load(SHARED / "models" / file)
    done = convert(source, (x,), tmp_path)
    dense = [node for node in done.graph.nodes if isinstance(node, Dense)]
    assert (dense[0].n_in, *(node.n_out for node in dense)) == sizes
    assert {node.weight_type for node in dense} == {FixedType(16, 6)}
    for layer in done.fidelity.layers:
        assert layer.function_error <= layer.bound
        assert layer.generous_error < 1e-4
    assert any("wrap" in note for note in done.notes) == wraps
    # where nothing wraps in fixed<16,6>, the framework differs by quantization only
    (outputs,) = done.outputs.values()
    step, scores = done.graph.nodes[-1].type.step, source.predict((x,))["output_softmax"]
    fits = np.max(np.abs(outputs * step - scores), axis=1) < 0.25
    assert np.mean(fits) >= (0.8 if wraps else 1.0)
