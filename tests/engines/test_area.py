from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.device.parts import find_part
from flow.engines.area import area
from flow.engines.lower import lower_graph, runs
from flow.engines.network import connect
from flow.engines.pipeline import Placement, depths_of_total, place
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Dense, Input, Relu
from flow.rtl.top import write_rtl
from flow.synth.yosys import synthesize
from tests.cones import DELAYS
from tests.networks import unrolled_top

PARTS = (
    "xcvu13p",
    "LFE5U-25F",
    pytest.param("iCE40UP5K", marks=pytest.mark.campaign),
    pytest.param("GW2AR-18", marks=pytest.mark.campaign),
)


def layers(seed: int) -> Graph:
    """Return two dense layers with a rectifier between them."""
    rng = np.random.default_rng(seed)
    weight, accumulator, hidden = FixedType(5, 1), FixedType(24, 10), FixedType(5, 2, False, Rounding.RND, Overflow.SAT)
    first = rng.integers(-16, 16, (7, 6))
    second = np.where(rng.random((6, 4)) < 0.4, 0, rng.integers(-16, 16, (6, 4)))
    common = {"weight_type": weight, "bias_type": weight, "accumulator": accumulator}
    return Graph(
        "two_layers",
        (
            Input(name="x", label="x", inputs=(), shape=(7,), type=FixedType(7, 3)),
            Dense(
                name="a",
                label="a",
                inputs=("x",),
                shape=(6,),
                type=accumulator,
                weights=first,
                bias=rng.integers(-16, 16, 6),
                **common,
            ),
            Relu(name="r", label="r", inputs=("a",), shape=(6,), type=hidden),
            Dense(
                name="b",
                label="b",
                inputs=("r",),
                shape=(4,),
                type=FixedType(12, 6),
                weights=second,
                bias=rng.integers(-16, 16, 4),
                **common,
            ),
        ),
        ("x",),
        ("b",),
    )


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Placement]:
    """Return a design that was not used to make the model, and where it was written."""
    graph = layers(77)
    network = connect(lower_graph(graph, runs(graph)), graph.outputs)
    placement = place(network, depths_of_total(network, DELAYS, 4)[0], DELAYS)
    folder = tmp_path_factory.mktemp("area")
    write_rtl(folder, *unrolled_top(graph, placement))
    return folder, placement


@pytest.mark.eda
@pytest.mark.parametrize("part", PARTS)
def test_yosys_finds_what_was_predicted(placed: tuple[Path, Placement], part: str) -> None:
    folder, placement = placed
    found = synthesize(folder, find_part(part))
    instances = {row.instance: row.resources for row in found.instances}
    for cone in placement.cones:
        predicted, real = area(cone, found.family), instances[f"u_{cone.name}"]
        assert abs(predicted.ff - real.ff) <= 0.01 * real.ff, cone.name
        assert abs(predicted.lut - real.lut) <= 0.08 * real.lut, cone.name
