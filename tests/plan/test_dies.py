"""What a plan takes of each die: everything lies on exactly one, a crossing on both sides of a border."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flow.device.parts import find_part
from flow.engines.crossing import Crossing
from flow.engines.dataflow import dataflow
from flow.engines.engine import Resources
from flow.errors import UserError
from flow.plan.candidate import planned_converters
from flow.plan.dies import lacking_on_dies, used_on_dies
from flow.plan.plan import Plan, Planned, load_plan, plan_to_json
from flow.plan.planner import make_plan
from flow.plan.request import Request
from tests.conformance.stream_design import stream_graph
from tests.engines.test_crossing import CHAIN, CONES, on_dies
from tests.plan.graphs import dense_network

PART = find_part("xcvu9p")


def planned(*costs: Resources) -> tuple[Planned, ...]:
    return tuple(Planned(cone, cost, 1.0) for cone, cost in zip(CONES, costs, strict=True))


def chain_plan(*dies: int) -> Plan:
    """Return a plan of three folded layers on dies."""
    graph = dense_network(16, 12, 10, 4)
    plan = make_plan(graph, Request(part="xcvu9p", clock="4ns", budget="1us"))
    traffic = replace(plan.traffic, dies=dies)
    blocks = dataflow(graph, plan.choices, traffic).blocks
    return replace(plan, traffic=traffic, converters=planned_converters(graph, blocks, PART))


def test_each_side_of_a_crossing_lies_on_its_die() -> None:
    traffic = on_dies(CHAIN, 0, 2, 2)
    flow = dataflow(CHAIN, CONES, traffic)
    runs = planned(Resources(100, 10, 1), Resources(200, 20, 2), Resources(lut=50, ff=5, bram=1, half_bram=True))
    side = 12 * CHAIN.node("d0").type.width + 1
    assert used_on_dies(CHAIN, runs, flow, traffic, PART) == (
        Resources(100, 10 + side, 1),
        Resources(ff=2 * side),
        Resources(250, 25 + side, 2, bram=1, half_bram=True),
    )


def test_without_dies_all_lies_on_the_first() -> None:
    traffic = on_dies(CHAIN)
    runs = planned(*(Resources(lut=n) for n in (1, 2, 3)))
    assert used_on_dies(CHAIN, runs, dataflow(CHAIN, CONES, traffic), traffic, PART) == (
        Resources(lut=6),
        Resources(),
        Resources(),
    )


def test_the_dies_together_take_what_the_plan_takes() -> None:
    """Of a streamed plan with a FIFO, its outputs held back, on three dies, there and back."""
    graph = stream_graph()
    plan = make_plan(graph, Request(part="xcvu9p", clock="4ns", budget="2us"))
    for dies in ((0, 1, 2, 0), (2, 0, 1, 1), (0, 0, 2, 2)):
        traffic = replace(plan.traffic, dies=dies, held=2)
        flow = dataflow(graph, plan.choices, traffic)
        kinds = {block.what.engine for block in flow.blocks}
        assert {"crossing", "fifo", "delay"} <= kinds
        between = planned_converters(graph, flow.blocks, PART)
        total = sum((run.resources for run in plan.runs), sum((one.resources for one in between), Resources()))
        used = used_on_dies(graph, plan.runs, flow, traffic, PART)
        assert all(die.ff for die in used)
        found = sum(used, Resources())
        assert (found.lut, found.ff) == (total.lut, total.ff)


def test_what_a_die_lacks_is_named_by_die() -> None:
    traffic = on_dies(CHAIN, 0, 1, 1)
    flow = dataflow(CHAIN, CONES, traffic)
    room = PART.on_dies("lut")[1]
    just = planned(Resources(lut=room), Resources(lut=room - 1), Resources(lut=1, dsp=PART.on_dies("dsp")[1]))
    assert lacking_on_dies(CHAIN, just, flow, traffic, PART) == ()
    more = planned(Resources(lut=room), Resources(lut=room - 1), Resources(lut=2, dsp=PART.on_dies("dsp")[1] + 1))
    assert lacking_on_dies(CHAIN, more, flow, traffic, PART) == ((1, "lut"), (1, "dsp"))
    small = find_part("u200")
    middle = planned(Resources(), Resources(lut=small.on_dies("lut")[1] + 1), Resources())
    assert lacking_on_dies(CHAIN, middle, flow, traffic, small) == ((1, "lut"),)


def test_a_die_that_the_part_has_not_is_refused() -> None:
    traffic = on_dies(CHAIN, 0, 3, 3)
    with pytest.raises(ValueError, match="die 3 of xcvu9p, which has 3"):
        used_on_dies(CHAIN, planned(*[Resources()] * 3), dataflow(CHAIN, CONES, traffic), traffic, PART)


def test_dies_and_crossings_are_stored_and_an_older_plan_is_refused(tmp_path: Path) -> None:
    plan = chain_plan(0, 1, 1)
    (crossing,) = (between for between in plan.converters if isinstance(between.converter, Crossing))
    width = dense_network(16, 12, 10, 4).node(crossing.converter.node).type.width
    assert crossing.resources == Resources(ff=2 * (crossing.converter.lanes * width + 1))
    path = tmp_path / "plan.json"
    path.write_bytes(plan_to_json(plan))
    assert load_plan(path) == plan
    older = json.loads(path.read_bytes()) | {"format": 5}
    path.write_text(json.dumps(older))
    with pytest.raises(UserError, match="format 5"):
        load_plan(path)
