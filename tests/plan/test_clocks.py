"""A free clock: lengths of segments, what clock buffers carry, and the least nanoseconds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.latency.budget import Verdict
from flow.plan.clocks import Allowed, segment_lengths
from flow.plan.footprint import NO_LIMIT
from flow.plan.levels import answers
from flow.plan.optimum import Optimum
from flow.plan.options import Segment, space_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.plan.solve import Depths, Goal, judged, periods, round_up
from flow.plan.traffic import traffics
from tests.plan.graphs import dense_network
from tests.plan.small_networks import small_network

PART = find_part("xc7a100t")
DELAYS = delays_of(PART)
FREE = Goal(None, None, None, (0.0, 0.0, 0.0))


def by_hand(space, goal: Goal) -> dict[float, tuple[int, float]]:
    """Return, for each length, the fewest cycles and the ns of that plan: each length searched without the others."""
    found, lengths = {}, segment_lengths(space, goal)
    for within_ns, period_ns in lengths:
        allowed = Allowed.by(goal, period_ns, budget=True, rate=True)
        segment = Segment.of(within_ns, space.step_ns, DELAYS, strict=within_ns < lengths[-1][0])
        optimum = Optimum(space, segment, allowed.cycles, allowed.interval, traffics(space.graph, None))
        built = optimum.best("cycles", allowed.cycles).built
        if built is not None:
            found[within_ns] = built.cycles, built.cycles * round_up(built.worst_ns * DELAYS.high)
    return found


@pytest.mark.parametrize("graph", [dense_network(12, 16, 4), dense_network(8, 24, 5, bits=6, seed=3)])
@pytest.mark.parametrize(
    "goal", [FREE, replace(FREE, rate_hz=5e6, objective="latency"), replace(FREE, budget_ns=900.0, objective="latency")]
)
def test_the_least_ns_is_that_of_all_lengths(graph, goal):
    space = space_of(graph, PART.limited({"lut": 900}), DELAYS)  # too little to unroll it all
    found = answers(space, goal)
    sure = [c for c in found.candidates if c.solution.clock.closes]
    least = min(sure, key=lambda c: c.solution.latency.core_ns)
    expected = by_hand(space, goal)
    assert least.solution.latency.core_ns == pytest.approx(min(ns for _, ns in expected.values()))
    proof = found.proof(least)
    assert proof is not None
    assert proof.objective == "ns"
    assert proof.value == pytest.approx(least.solution.latency.core_ns)
    assert proof.gap == pytest.approx(0.0, abs=0.02)
    assert len(proof.spaces) == len(segment_lengths(space, goal))


def test_what_another_plan_is_faster_than_is_not_looked_for():
    space = space_of(dense_network(12, 16, 4), PART.limited({"lut": 900}), DELAYS)
    least = min(c.solution.latency.core_ns for c in answers(space, FREE).candidates if c.solution.clock.closes)
    beaten = answers(space, FREE, known_ns=0.9 * least)
    assert not [c for c in beaten.candidates if c.solution.clock.closes and c.solution.latency.core_ns <= 0.9 * least]
    assert all(proof.bound >= 0.9 * least for proof, _ in beaten.proofs)


def test_what_is_as_fast_as_the_other_plan_is_still_found():
    space = space_of(dense_network(12, 16, 4), PART.limited({"lut": 900}), DELAYS)
    periods_ns = dict(segment_lengths(space, FREE))
    least_ns = min(found[0] * periods_ns[within_ns] for within_ns, found in by_hand(space, FREE).items())
    assert any(proof.value == least_ns for proof, _ in answers(space, FREE, known_ns=least_ns).proofs)


def test_a_plan_with_a_longer_segment_than_asked_is_left_to_slower_clocks():
    graph = small_network(3)
    space = space_of(graph, PART, DELAYS)
    for within_ns, _ in segment_lengths(space, FREE)[:3]:
        segment = Segment.of(within_ns, space.step_ns, DELAYS, strict=True)
        moves = Optimum(space, segment, NO_LIMIT, NO_LIMIT, traffics(graph, 24)).moves.moves
        assert all(move.way.worst_ns <= within_ns * (1 + 1e-9) for move in moves)


def test_with_an_asked_clock_a_longer_segment_is_tried_last():
    space = space_of(dense_network(6, 10, 4, bits=5, seed=2), PART.limited({"lut": 350}), DELAYS)
    goal = replace(FREE, period_ns=4.0)  # no folded engine of these is as fast by nominal delays
    (found,) = answers(space, goal).candidates
    assert found.solution.verdict is Verdict.MET_IF_CLOCK_CLOSES
    assert found.solution.depths.worst_ns > goal.period_ns


def test_what_is_proved_is_the_least_of_all_lengths_that_are_as_sure():
    space = space_of(dense_network(4, 4), PART, DELAYS)
    known = answers(space, replace(FREE, period_ns=8.0, objective="area"))
    (best,) = known.candidates
    (proof, closes), *_ = known.proofs
    assert closes
    assert best.solution.clock.closes

    def bound(*bounds: tuple[float, bool]) -> float | None:
        proofs = tuple((replace(proof, bound=share * best.area), sure) for share, sure in bounds)
        found = replace(known, proofs=proofs).proof(best)
        return None if found is None else found.bound / best.area

    assert bound((0.9, True), (0.7, True), (0.8, True)) == pytest.approx(0.7)
    assert bound((0.9, True), (0.7, False)) == pytest.approx(0.9)
    assert bound((1.2, True)) == 1.0
    assert bound((0.7, False)) is None
    fastest = answers(space, FREE)
    sure, perhaps = (
        next(c for c in fastest.candidates if c.solution.clock.closes is closes) for closes in (True, False)
    )
    assert perhaps.solution.clock.may_close
    assert (fastest.proof(sure) is None, fastest.proof(perhaps) is None) == (False, True)
    nothing = replace(proof, spaces=(replace(proof.spaces[0], moves=0),))
    assert replace(known, proofs=((nothing, True),)).proof(best) is None


def test_nothing_is_proved_of_a_plan_whose_clock_cannot_close():
    plan = make_plan(dense_network(4, 4), Request(part="xc7a100t", clock="2GHz"))
    assert not plan.clock.may_close
    assert plan.proof is None


def test_no_clock_is_faster_than_the_buffers_carry():
    fast = replace(DELAYS, clock_mhz=100.0)
    assert periods(FREE, 2.0, fast) == (10.0,)
    assert periods(FREE, 2.0, replace(DELAYS, clock_mhz=None)) == (round_up(2.0 * DELAYS.high), 2.0)
    solution = judged(replace(FREE, period_ns=8.0), Depths((), 3, 2.0), 8.0, fast)
    assert solution.verdict is Verdict.MISSED
    assert solution.clock.range_ns == (10.0, 10.0)
    space = space_of(dense_network(4, 4), PART, fast)
    assert min(period for _, period in segment_lengths(space, FREE)) == 10.0


def test_a_clock_beyond_the_buffers_is_missed_and_said():
    plan = make_plan(dense_network(4, 4), Request(part="xcvu9p", clock="1GHz"))
    assert plan.verdict is Verdict.MISSED
    assert "clock buffers" in plan.advice
    assert "775 MHz" in plan.advice
