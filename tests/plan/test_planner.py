"""What the planner chooses, on networks whose best answer is known."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from flow.device.parts import find_part
from flow.engines.dataflow import dataflow
from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.errors import UserError
from flow.graph.graph import Asked
from flow.latency.budget import Verdict
from flow.plan.footprint import KINDS, area_of
from flow.plan.plan import Plan, load_plan, plan_to_json, timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from tests.networks import branching_graph
from tests.plan.graphs import dense_network, with_affine


def kinds(plan: Plan) -> list[str]:
    return [choice.engine for choice in plan.choices]


def orders(plan: Plan) -> list[str]:
    return [choice.order for choice in plan.choices if isinstance(choice, Folded)]


def fits(plan: Plan) -> bool:
    part = find_part(plan.part)
    return all(getattr(plan.resources, kind) <= getattr(part, f"usable_{kind}") for kind in KINDS)


def holds_together(graph, plan: Plan) -> bool:
    """Tell whether every node is built once, and converters are those of the dataflow."""
    flow = dataflow(graph, plan.choices)
    built = [name for choice in plan.choices for name in choice.nodes]
    converters = {b.output for b in flow.blocks if b.output not in {c.output for c in plan.choices}}
    return (
        sorted(built) == sorted(node.name for node in graph.nodes if node.kind != "input")
        and {c.edge for c in plan.converters} == converters
    )


def test_a_network_that_fits_is_unrolled_where_nothing_is_asked():
    graph = dense_network(12, 10, 6)
    plan = make_plan(graph, Request(part="xcvu9p", clock="200MHz"))
    assert kinds(plan) == ["unrolled", "unrolled"]
    assert plan.verdict is Verdict.MET
    assert holds_together(graph, plan)


def test_a_budget_with_time_to_spare_is_met_with_less_area():
    graph = dense_network(32, 24, 16)
    tight, wide = (make_plan(graph, Request(part="xcvu9p", clock="200MHz", budget=b)) for b in ("60ns", "3us"))
    part = find_part("xcvu9p")
    assert tight.verdict is wide.verdict is Verdict.MET
    assert kinds(tight) == ["unrolled", "unrolled"]
    assert "folded" in kinds(wide)
    assert area_of(wide.resources, part) < area_of(tight.resources, part) / 2
    for budget in ("500ns", "1us", "2us"):
        plan = make_plan(graph, Request(part="xcvu9p", clock="200MHz", budget=budget))
        assert plan.verdict is Verdict.MET
        assert timeline_of(graph, plan.choices).latency * 5.0 <= Request(budget=budget).budget_ns
        assert area_of(wide.resources, part) <= area_of(plan.resources, part) + 1e-12


def test_what_does_not_fit_unrolled_is_folded():
    graph = dense_network(64, 64, 64)
    plan = make_plan(graph, Request(part="LFE5U-25F", clock="40MHz"))
    assert set(kinds(plan)) == {"folded"}
    assert fits(plan)
    assert holds_together(graph, plan)


def test_only_the_layers_that_do_not_fit_are_folded():
    graph = dense_network(8, 6, 64, 64)
    plan = make_plan(graph, Request(part="LFE5U-25F", clock="40MHz"))
    assert kinds(plan)[0] == "unrolled"
    assert kinds(plan)[-1] == "folded"
    assert fits(plan)
    assert holds_together(graph, plan)


def test_two_equal_layers_overlap():
    """Output-serial before input-serial costs one of them and what fills both."""
    graph = dense_network(64, 64, 64)
    wishes = tuple(Asked(f"layer {k}", 64, "Resource") for k in range(2))
    asked = dense_network(64, 64, 64, asked=wishes)
    plan = make_plan(asked, Request(part="xcvu9p", clock="200MHz"))
    assert orders(plan) == ["output_serial", "input_serial"]
    fills = sum(choice.fill for choice in plan.choices if isinstance(choice, Folded))
    assert timeline_of(asked, plan.choices).latency <= 64 + fills + 1
    budget = make_plan(graph, Request(part="xcvu9p", clock="200MHz", budget="400ns"))
    assert orders(budget) == ["output_serial", "input_serial"]
    assert budget.verdict is Verdict.MET


def test_odd_sizes_overlap_too():
    wishes = (Asked("layer 0", 35, "Resource"), Asked("layer 1", 35, "Resource"))
    graph = dense_network(50, 70, 30, asked=wishes)
    plan = make_plan(graph, Request(part="xcvu9p", clock="200MHz"))
    assert orders(plan) == ["output_serial", "input_serial"]
    fills = sum(choice.fill for choice in plan.choices if isinstance(choice, Folded))
    assert timeline_of(graph, plan.choices).latency <= 35 + fills + 1


def test_a_rate_bounds_the_interval():
    graph = dense_network(32, 32, 32)
    for rate, interval in (("20MHz", 10), ("4MHz", 50), ("1MHz", 200)):
        plan = make_plan(graph, Request(part="xcvu9p", clock="200MHz", budget="20us", rate=rate))
        assert plan.verdict is Verdict.MET
        assert timeline_of(graph, plan.choices).interval <= interval
    assert set(kinds(make_plan(graph, Request(part="xcvu9p", clock="200MHz", rate="200MHz")))) == {"unrolled"}
    areas = [
        area_of(make_plan(graph, Request(part="xcvu9p", clock="200MHz", rate=r)).resources, find_part("xcvu9p"))
        for r in ("20MHz", "4MHz", "1MHz")
    ]
    assert areas == sorted(areas, reverse=True)
    assert areas[0] > areas[-1]


def test_a_missed_rate_names_the_longest_busy_engine():
    graph = dense_network(64, 64, 64)
    plan = make_plan(graph, Request(part="LFE5U-25F", clock="40MHz", rate="20MHz"))
    timeline = timeline_of(graph, plan.choices)
    assert plan.verdict is Verdict.MISSED
    assert 2 < timeline.interval < 1000
    busy = max(timeline.edges, key=lambda edge: edge.busy)
    assert (
        f"leaves 2 cycles of 25 ns; '{busy.name}' (folded) is busy for {timeline.interval:,} with each" in plan.advice
    )


def test_a_missed_budget_tells_the_best_reachable():
    graph = dense_network(64, 64, 64)
    plan = make_plan(graph, Request(part="LFE5U-25F", clock="40MHz", budget="300ns"))
    assert plan.verdict is Verdict.MISSED
    assert plan.best_ns is not None
    assert plan.best_ns > 300
    assert "The best reachable total is" in plan.advice
    assert f"'{plan.limiter}' has" in plan.advice
    assert "cycles" in plan.advice


def test_a_free_clock_is_chosen_so_that_it_closes():
    graph = dense_network(64, 64, 64)
    plan = make_plan(graph, Request(part="LFE5U-25F", clock="auto", budget="20us"))
    assert plan.verdict is Verdict.MET
    assert plan.clock.range_ns[1] <= plan.clock.period_ns


def test_an_asked_clock_that_surely_closes_is_preferred():
    graph = dense_network(64, 64, 64)
    plan = make_plan(graph, Request(part="LFE5U-25F", clock="25MHz", budget="20us"))
    assert plan.verdict is Verdict.MET
    fast = make_plan(graph, Request(part="LFE5U-25F", clock="2GHz", budget="20us"))
    assert fast.verdict is Verdict.MISSED
    assert "No pipeline closes a clock of 0.5 ns" in fast.advice


def test_what_is_behind_the_folded_head_of_a_run_is_unrolled():
    graph = with_affine(dense_network(32, 32))
    plan = make_plan(graph, Request(part="xcvu9p", clock="200MHz", budget="10us"))
    assert [(choice.engine, choice.nodes) for choice in plan.choices] == [
        ("folded", ("d0", "r0")),
        ("unrolled", ("a",)),
    ]
    assert holds_together(graph, plan)
    last = plan.choices[-1]
    assert isinstance(last, Unrolled)
    assert last.depth >= 1  # outputs leave from registers


@pytest.mark.parametrize("seed", range(12))
def test_networks_that_branch_are_planned_whole(seed):
    graph = branching_graph(seed)
    plan = make_plan(graph, Request(part="xcvu9p", clock="100MHz", budget="5us"))
    assert holds_together(graph, plan)
    assert plan.verdict is not Verdict.MISSED
    assert fits(plan)


def test_a_plan_survives_storage(tmp_path):
    plan = make_plan(dense_network(64, 64, 64), Request(part="LFE5U-25F", clock="40MHz"))
    assert plan.converters
    (tmp_path / "plan.json").write_bytes(plan_to_json(plan))
    assert load_plan(tmp_path / "plan.json") == plan


def test_what_no_part_holds_is_told_with_its_smallest_size():
    graph = dense_network(300, 300)
    with pytest.raises(UserError, match="too large for iCE40UP5K, however it is built") as caught:
        make_plan(graph, Request(part="iCE40UP5K", clock="20MHz"))
    said = str(caught.value)
    assert "LUT (3,696 may be used)" in said
    assert "xcvu13p" in said


def test_asked_reuse_factors_that_do_not_fit_are_told():
    graph = dense_network(400, 400, asked=(Asked("layer 0", 2, "Resource"),))
    with pytest.raises(UserError, match="with the reuse factors that are asked for"):
        make_plan(graph, Request(part="LFE5U-25F", clock="20MHz"))


def test_what_is_to_be_spared_is_used_less():
    graph = dense_network(32, 24, 16)
    request = Request(part="LFE5U-25F", clock="50MHz", budget="5us")
    plain, spared = (make_plan(graph, Request(**{**asdict(request), "spare": s})) for s in ((), ("lut",)))
    assert plain.verdict is spared.verdict is Verdict.MET
    assert spared.resources.lut < plain.resources.lut / 1.5
    assert spared.resources.dsp > plain.resources.dsp
    part = find_part("LFE5U-25F")
    assert area_of(spared.resources, part, ("lut",)) < area_of(plain.resources, part, ("lut",))


def test_a_missed_budget_comes_as_near_as_the_part_allows():
    graph = dense_network(48, 32, 16)
    missed = make_plan(graph, Request(part="iCE40UP5K", clock="20MHz", budget="1us"))
    met = make_plan(graph, Request(part="iCE40UP5K", clock="20MHz", budget="20us"))
    assert (missed.verdict, met.verdict) == (Verdict.MISSED, Verdict.MET)
    nearest, wide = (timeline_of(graph, plan.choices).latency for plan in (missed, met))
    assert fits(missed)
    shorter = [
        make_plan(graph, Request(part="iCE40UP5K", clock="20MHz", budget=f"{cycles * 50}ns"))
        for cycles in (nearest * 6 // 10, nearest * 7 // 10)
    ]
    assert all(plan.verdict is Verdict.MISSED for plan in shorter)
    assert nearest < wide
