"""What a plan takes of each die: everything lies on exactly one, a crossing on both sides of a border."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.crossing import Crossing
from flow.engines.dataflow import dataflow
from flow.engines.engine import Resources, Unrolled
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.plan.dies import area_with, lacking_on_dies, used_on_dies
from flow.plan.plan import Planned, load_plan, plan_to_json
from flow.plan.priced import worst_of
from flow.rtl.design import realize
from tests.dies import REQUEST, case, planned
from tests.engines.test_crossing import CHAIN, CONES, on_dies

PART = find_part("xcvu9p")


def costing(*costs: Resources) -> tuple[Planned, ...]:
    return tuple(Planned(cone, cost, 1.0) for cone, cost in zip(CONES, costs, strict=True))


def test_each_side_of_a_crossing_lies_on_its_die() -> None:
    traffic = on_dies(CHAIN, 0, 2, 2)
    flow = dataflow(CHAIN, CONES, traffic)
    runs = costing(Resources(100, 10, 1), Resources(200, 20, 2), Resources(lut=50, ff=5, bram=1, half_bram=True))
    side = 12 * CHAIN.node("d0").type.width + 1
    assert used_on_dies(CHAIN, runs, flow, traffic, PART) == (
        Resources(100, 10 + side, 1),
        Resources(ff=2 * side),
        Resources(250, 25 + side, 2, bram=1, half_bram=True),
    )


def test_without_dies_all_lies_on_the_first() -> None:
    traffic = on_dies(CHAIN)
    runs = costing(*(Resources(lut=n) for n in (1, 2, 3)))
    assert used_on_dies(CHAIN, runs, dataflow(CHAIN, CONES, traffic), traffic, PART) == (
        Resources(lut=6),
        Resources(),
        Resources(),
    )


@pytest.mark.parametrize("dies", [(0, 1, 2, 0), (2, 0, 1, 1), (0, 0, 2, 2)])
def test_the_dies_together_take_what_the_plan_takes(dies: tuple[int, ...]) -> None:
    """Of a streamed plan with a FIFO and a converter, its outputs held back, on three dies."""
    of = case("beats of pixels")
    traffic = replace(of.traffic, dies=dies, held=2, beats_out=False)
    plan = planned(replace(of, traffic=traffic))
    flow = dataflow(of.graph, plan.choices, traffic)
    assert {block.what.engine for block in flow.blocks} >= {"crossing", "fifo", "delay", "gather"}
    used = used_on_dies(of.graph, plan.runs, flow, traffic, PART)
    assert [die for die in range(3) if used[die].ff] == sorted({*dies, *range(min(dies), max(dies) + 1)})
    found = sum(used, Resources())
    assert (found.lut, found.ff) == (plan.resources.lut, plan.resources.ff)


def test_what_a_die_lacks_is_named_by_die() -> None:
    traffic = on_dies(CHAIN, 0, 1, 1)
    flow = dataflow(CHAIN, CONES, traffic)
    room = PART.on_dies("lut")[1]
    just = costing(Resources(lut=room), Resources(lut=room - 1), Resources(lut=1, dsp=PART.on_dies("dsp")[1]))
    assert lacking_on_dies(CHAIN, just, flow, traffic, PART) == ()
    more = costing(Resources(lut=room), Resources(lut=room - 1), Resources(lut=2, dsp=PART.on_dies("dsp")[1] + 1))
    assert lacking_on_dies(CHAIN, more, flow, traffic, PART) == ((1, "lut"), (1, "dsp"))
    small = find_part("u200")
    middle = costing(Resources(), Resources(lut=small.on_dies("lut")[1] + 1), Resources())
    assert lacking_on_dies(CHAIN, middle, flow, traffic, small) == ((1, "lut"),)


def test_a_limit_counts_for_all_dies_together() -> None:
    traffic = on_dies(CHAIN, 0, 2, 2)
    flow, runs = dataflow(CHAIN, CONES, traffic), costing(*(Resources(lut=n) for n in (100, 200, 50)))
    areas = [area_with(CHAIN, runs, flow, traffic, PART.limited({"lut": most})) for most in (350, 349)]
    assert areas[0] < areas[1] == float("inf")


def test_a_die_that_the_part_has_not_is_refused() -> None:
    traffic = on_dies(CHAIN, 0, 3, 3)
    with pytest.raises(ValueError, match="die 3 of xcvu9p, which has 3"):
        used_on_dies(CHAIN, costing(*[Resources()] * 3), dataflow(CHAIN, CONES, traffic), traffic, PART)


def test_dies_and_crossings_are_stored_and_an_older_plan_is_refused(tmp_path: Path) -> None:
    of = case("unrolled")
    plan = planned(of)
    first, second = (between for between in plan.converters if isinstance(between.converter, Crossing))
    assert first.resources == second.resources == Resources(ff=2 * (6 * of.graph.node("relu").type.width + 1))
    path = tmp_path / "plan.json"
    path.write_bytes(plan_to_json(plan))
    assert load_plan(path) == plan
    older = json.loads(path.read_bytes()) | {"format": 5}
    path.write_text(json.dumps(older))
    with pytest.raises(UserError, match="format 5"):
        load_plan(path)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_register_of_a_crossing_ends_a_cone(depth: int) -> None:
    """With as many registers a cone before a crossing has one cut more than at the end of a design."""
    of = case("unrolled")
    first, second = of.choices
    assert isinstance(first, Unrolled)
    assert isinstance(second, Unrolled)
    delays = delays_of(PART)

    def worst(registers: int, dies: tuple[int, ...]) -> float:
        """Of the first cone, the design's end where there are no dies; the second is cut to pieces."""
        graph, choices = of.graph, (replace(first, depth=registers), replace(second, depth=99))
        if not dies:
            graph, choices = Graph("head", of.graph.nodes[:-1], of.graph.inputs, ("relu",)), choices[:1]
        return worst_of(graph, choices, replace(of.traffic, dies=dies), PART, delays)

    assert worst(depth, (0, 1)) == worst(depth + 1, ())
    assert worst(depth, (0, 1)) > worst(depth + 1, (0, 1))
    shallow = replace(of, choices=(replace(first, depth=depth), second))
    design = realize(of.graph, REQUEST, planned(shallow), revise=False)
    assert design.plan.choices == shallow.choices
    assert design.timeline.edge("relu").schedule.cycles == (depth,)
