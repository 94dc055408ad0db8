"""Latency as a contract: exactly so many cycles, predicted and simulated, or a refusal that says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.dataflow import dataflow, only_cones, sources_of
from flow.engines.engine import Folded, Unrolled
from flow.errors import Missed, UserError
from flow.graph.graph import Graph
from flow.latency.budget import Verdict
from flow.plan.exact import released
from flow.plan.plan import load_plan, plan_to_json, timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import Design, realize
from tests.conformance.random_designs import RandomDesign, prove
from tests.conformance.small_design import small_graph
from tests.conformance.stream_design import SPACING, stream_graph
from tests.networks import vectors
from tests.plan.graphs import dense_network
from tests.streaming import build, by_pixels, streamed

SMALL = Request(part="LFE5U-25F", clock="12ns")
FOLDED = Request(part="xc7a100t", clock="100MHz", budget="2us")


def _designed(graph: Graph, request: Request) -> Design:
    return realize(graph, request, make_plan(graph, request))


def _proven(graph: Graph, design: Design, folder: Path) -> None:
    flow = dataflow(graph, design.plan.choices, design.plan.traffic)
    drawn = RandomDesign(graph, design.timeline, design.modules, design.signature, "", flow)
    proof = prove(drawn, folder, vectors(np.random.default_rng(7), graph, 40))
    assert not proof.faults
    assert proof.telling


@pytest.mark.parametrize("cycles", [3, 4, 5, 9, 40])
def test_the_core_takes_exactly_what_is_asked(cycles: int) -> None:
    graph = small_graph()
    request = replace(SMALL, latency_exact=cycles)
    plan = make_plan(graph, request)
    assert timeline_of(graph, plan.choices, plan.traffic).latency == cycles
    built = realize(graph, request, plan)
    assert (built.timeline.latency, built.signature.latency_cycles) == (cycles, cycles)
    assert built.plan.latency_exact == cycles


def test_what_is_left_over_is_held_back_and_counted() -> None:
    graph = small_graph()
    free, held = _designed(graph, SMALL), _designed(graph, replace(SMALL, latency_exact=9))
    rest = 9 - free.timeline.latency
    assert held.plan.traffic.held == rest == 4
    assert held.plan.choices == free.plan.choices
    bits = sum(port.bits for port in held.signature.outputs)
    assert held.plan.resources.ff - free.plan.resources.ff == rest * (bits + 1)
    assert released(held.plan).traffic == free.plan.traffic
    assert held.timeline.critical_path[-1].engine == "delay"
    assert held.timeline.interval == free.timeline.interval


def test_nothing_is_proved_of_what_is_held_back() -> None:
    graph = small_graph()
    least, held = (_designed(graph, replace(SMALL, latency_exact=cycles)).plan for cycles in (5, 9))
    assert (least.traffic.held, held.traffic.held) == (0, 4)
    assert least.proof is not None
    assert held.proof is None


@pytest.mark.eda
def test_held_cones_keep_every_bit_and_beat(tmp_path: Path) -> None:
    """Several tensors leave, and cones that read several hold back by themselves what comes early."""

    graph = replace(stream_graph(), io_type="io_parallel", outputs=("last", "relu"))
    free = Request(part="xcvu9p", clock="300MHz")
    plan = make_plan(graph, free)
    assert only_cones(plan.choices, plan.traffic)
    assert max(len(sources_of(graph, choice)) for choice in plan.choices) == 2
    cycles = _designed(graph, free).timeline.latency
    design = _designed(graph, replace(free, latency_exact=cycles + 3))
    assert design.timeline.latency == cycles + 3
    _proven(graph, design, tmp_path)


@pytest.mark.eda
def test_held_folded_engines_keep_every_bit_and_beat(tmp_path: Path) -> None:
    graph = small_graph()
    cycles = 60
    design = _designed(graph, replace(FOLDED, latency_exact=cycles))
    assert any(isinstance(choice, Folded) for choice in design.plan.choices)
    assert design.timeline.latency == cycles
    _proven(graph, design, tmp_path)


@pytest.mark.eda
def test_held_beats_keep_every_bit_and_cycle(tmp_path: Path) -> None:
    graph = stream_graph()
    choices = (
        streamed(graph, ("conv", "relu"), 1, depth=2, pace=SPACING),
        streamed(graph, ("sum",), 1),
        streamed(graph, ("pool",), 1, pace=SPACING),
        streamed(graph, ("last",), 1, pace=3, fold=(4, 1)),
    )
    traffic = by_pixels(graph, 1, SPACING, beats_out=True)
    free = timeline_of(graph, choices, traffic)
    design = build(graph, choices, replace(traffic, held=2))
    assert design.timeline.departure == free.departure.delayed(2)
    proof = prove(design, tmp_path, vectors(np.random.default_rng(7), graph, 40))
    assert not proof.faults


def test_too_few_cycles_are_refused_with_the_least_and_the_limiter() -> None:
    graph = dense_network(24, 16, 8)
    request = Request(part="xcvu9p", clock="500MHz", latency_exact=2)
    with pytest.raises(Missed, match=r"exactly 2 cycles cannot be had: layers takes at least [0-9]+ cycles") as error:
        realize(graph, request, make_plan(graph, request))
    assert "'r0' has" in str(error.value)


def test_cycles_beyond_the_budget_are_refused() -> None:
    request = replace(SMALL, budget="50ns", latency_exact=5)
    with pytest.raises(Missed, match=r"60 ns .* beyond the budget of 50 ns: it has room for 4 cycles"):
        make_plan(small_graph(), request)


def test_cycles_without_a_clock_are_refused() -> None:
    with pytest.raises(UserError, match="clock that is asked for"):
        make_plan(small_graph(), Request(part="LFE5U-25F", latency_exact=5))


@pytest.mark.parametrize("cycles", [0, -3, 10_000_000])
def test_impossible_numbers_of_cycles_are_refused(cycles: int) -> None:
    with pytest.raises(UserError, match="latency_exact"):
        Request(latency_exact=cycles)


def test_more_than_the_part_can_hold_back_is_refused() -> None:
    with pytest.raises(Missed, match=r"flip-flops, beyond what is left"):
        make_plan(small_graph(), replace(SMALL, latency_exact=500_000))


def test_the_link_is_no_part_of_the_contract() -> None:
    """The cycles are the core's; the link's overhead comes on top in the total, and in the budget."""
    graph = small_graph()
    request = replace(SMALL, part="xcvu13p", clock="5ns", link="ethernet10g", latency_exact=9)
    plan = make_plan(graph, request)
    assert timeline_of(graph, plan.choices, plan.traffic).latency == 9
    fixed = plan.fixed_ns[1]
    assert fixed > 0
    with pytest.raises(Missed, match="room for 8 cycles"):
        make_plan(graph, replace(request, budget=f"{fixed + 44}ns"))


def test_a_build_that_moves_registers_still_keeps_the_cycle() -> None:
    """A planned depth that the solved cones miss is revised; what is held back makes up for it."""
    graph = small_graph()
    request = replace(SMALL, latency_exact=9)
    plan = make_plan(graph, request)
    shallow = tuple(replace(p, choice=replace(p.choice, depth=1)) for p in plan.runs if isinstance(p.choice, Unrolled))
    built = realize(graph, request, replace(plan, runs=shallow, traffic=replace(plan.traffic, held=7)))
    assert built.plan.revisions
    assert built.timeline.latency == 9
    assert 0 < built.plan.traffic.held < 7


def test_a_build_looks_for_registers_within_the_contract() -> None:
    """Four cycles would surely close the clock; three are asked, and the best three are built."""
    graph = small_graph()
    request = replace(SMALL, latency_exact=3)
    plan = make_plan(graph, request)
    hopeful = tuple(replace(p, choice=replace(p.choice, depth=1)) for p in plan.runs if isinstance(p.choice, Unrolled))
    built = realize(graph, request, replace(plan, runs=hopeful, verdict=Verdict.MET))
    assert built.timeline.latency == 3
    assert built.plan.verdict is Verdict.MET_IF_CLOCK_CLOSES


def test_a_build_that_comes_later_than_the_contract_is_refused() -> None:
    """Where what is built takes more cycles than a plan had said, nothing is built."""
    graph = small_graph()
    plan = make_plan(graph, replace(FOLDED, latency_exact=60))
    own = timeline_of(graph, plan.choices, released(plan).traffic).latency
    late = replace(plan, latency_exact=own - 1)
    with pytest.raises(Missed, match=f"exactly {own - 1} cycles cannot be had: small takes at least {own} cycles"):
        realize(graph, replace(FOLDED, latency_exact=own - 1), late)


def test_the_plan_keeps_the_contract_in_its_file(tmp_path: Path) -> None:
    plan = make_plan(small_graph(), replace(SMALL, latency_exact=9))
    (tmp_path / "plan.json").write_bytes(plan_to_json(plan))
    assert load_plan(tmp_path / "plan.json") == plan
