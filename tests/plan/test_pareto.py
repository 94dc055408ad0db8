"""The front of latency and area: beside all plans of small spaces, and beside what the planner answers to budgets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.errors import Missed, UserError
from flow.latency.budget import Clock, Latency, Origin, Verdict
from flow.plan.candidate import Candidate
from flow.plan.descent import Descent
from flow.plan.footprint import NO_LIMIT, area_of
from flow.plan.optimum import Built, Optimum
from flow.plan.pareto import Front, Point, _worth, front_of, pareto
from flow.plan.plan import Plan, timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.plan.solve import Depths, Solution
from flow.report.pareto import plan_of, request_of
from tests.commands import tiny_graph
from tests.plan.graphs import dense_network
from tests.plan.small_networks import small_network
from tests.plan.test_optimum import all_built, fifos, search, thinned

MANY = 100_000
"""More limits than there are."""
NETWORK = dense_network(8, 6, 4)
ASKED = Request(part="xc7a35t", clock="80MHz", budget="200ns", spare=("lut",))


# ---- one segment length, beside all plans ----


def space_of_all(seed: int) -> tuple[Optimum, list[Built]]:
    interval = int(np.random.default_rng(seed).choice([12, 30, NO_LIMIT]))
    optimum = thinned(search(small_network(seed), interval=interval), seed)
    plans = all_built(optimum)
    return optimum, [plan for plan in plans if plan.area < float("inf") and plan.interval <= optimum.interval]


def best_of(plans: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the pairs of cycles and area that no other beats, by their definition."""
    return sorted({(c, a) for c, a in plans if not any(o != (c, a) and o[0] <= c and o[1] <= a for o in plans)})


def pairs(descent: Descent) -> list[tuple[int, float]]:
    found = [best.built for best in descent.plans if best.built is not None]
    return best_of([(built.cycles, rounded(built.area)) for built in found])


def rounded(area: float) -> float:
    """Return an area without the rounding of its sum."""
    return round(area, 12)


def unlimited(_area: float) -> int:
    return NO_LIMIT


@pytest.mark.parametrize("seed", [seed for seed in range(27) if seed % 3 < 2])
def test_the_front_is_that_of_all_plans(seed):
    check(seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(2000, 2200))
def test_the_fronts_of_hundreds_of_networks(seed):
    check(seed)


def check(seed: int) -> None:
    optimum, plans = space_of_all(seed)
    descent = Descent(optimum.best, NO_LIMIT, MANY, unlimited)
    truth = best_of([(plan.cycles, rounded(plan.area)) for plan in plans])
    assert descent.unasked == 0
    for cycles, area in truth:
        assert descent.bound(cycles) <= area * (1 + 1e-9)
    if seed % 3 and any((best.proof.gap or 0.0) > 1e-8 for best in descent.plans):
        # a FIFO may take more than the program knows: then a plan may seem better than it is
        assert any(fifos(optimum, plan) for plan in plans)
        assert set(pairs(descent)) <= {(plan.cycles, rounded(plan.area)) for plan in plans}
        assert pairs(descent)[0][0] == truth[0][0]
        return
    assert pairs(descent) == truth


@pytest.mark.parametrize("seed", [4, 15, 18])
def test_what_is_left_out_is_counted_and_the_bounds_still_hold(seed):
    optimum, plans = space_of_all(seed)
    whole = Descent(optimum.best, NO_LIMIT, MANY, unlimited)
    few = Descent(optimum.best, NO_LIMIT, 0, unlimited)
    truth = best_of([(plan.cycles, rounded(plan.area)) for plan in plans])
    assert set(pairs(few)) <= set(truth)
    assert pairs(few)[0] == truth[0]  # both ends are always found
    assert pairs(few)[-1] == truth[-1]
    assert len(truth) - len(pairs(few)) <= few.unasked
    assert few.solutions <= whole.solutions
    for cycles, area in truth:
        assert few.bound(cycles) <= area * (1 + 1e-9)


@pytest.mark.parametrize("seed", [4, 15])
def test_only_what_another_clock_beats_is_not_asked_for(seed):
    optimum, plans = space_of_all(seed)
    truth = best_of([(plan.cycles, rounded(plan.area)) for plan in plans])
    assert len(truth) > 3
    known = (truth[0][0] + 1, rounded(truth[-1][1] * 0.9))  # leaves the fastest alone

    def worth(area: float) -> int:
        return known[0] - 1 if area >= known[1] else NO_LIMIT

    descent = Descent(optimum.best, NO_LIMIT, MANY, worth)
    assert best_of([*pairs(descent), known]) == best_of([*truth, known])
    assert descent.solutions < Descent(optimum.best, NO_LIMIT, MANY, unlimited).solutions
    assert descent.unasked == 0


def test_a_plan_is_worth_asking_for_up_to_the_cycle_before_what_is_known():
    most = _worth([point(100, 3), point(200, 2)], 20.0, 10.0)
    assert [most(3), most(2.5), most(2), most(1.9)] == [7, 17, 17, NO_LIMIT]
    assert _worth([point(100, 3)], 20.0, 0.0)(3) == NO_LIMIT  # nothing is known of the clock


def test_nothing_is_found_where_nothing_is_possible():
    optimum, plans = space_of_all(0)
    descent = Descent(optimum.best, min(plan.cycles for plan in plans) - 1, MANY, unlimited)
    assert (pairs(descent), descent.unasked) == ([], 0)


# ---- surer clocks first ----


def point(total_ns: float, area: float, worst_ns: float = 1.0) -> Point:
    """Return a plan with a clock of 2 ns, for which a segment may be 1 ns, or perhaps 2 or 4 ns."""
    depths = Depths((), round(total_ns / 2), worst_ns)
    clock = Clock(2.0, (worst_ns / 2, worst_ns * 2), Origin.ASKED, Origin.PREDICTED)
    latency = Latency(depths.cycles, total_ns, (0.0, 0.0, 0.0))
    return Point(Candidate((), Solution(depths, clock, latency, Verdict.MET, sustains=True), area))


def test_of_equally_sure_clocks_only_what_no_other_beats_is_kept():
    a, b, c = point(10, 3), point(20, 2), point(30, 1)
    assert front_of([point(20, 2.5), c, point(12, 3), a, point(30, 2), b]) == (a, b, c)


def test_a_clock_that_may_close_is_kept_only_where_no_surer_one_is_as_fast():
    sure, nominal, perhaps = point(20, 3), point(12, 2, 1.5), point(8, 1, 3.0)
    assert [p.tier for p in (sure, nominal, perhaps)] == [0, 1, 2]
    beaten = (point(20, 1, 1.5), point(24, 0.5, 1.5), point(12, 0.5, 3.0), point(18, 2.0, 3.0))
    assert front_of([*beaten, perhaps, sure, nominal]) == (perhaps, nominal, sure)


# ---- beside the planner ----


@pytest.fixture(scope="module")
def fixed() -> Front:
    return pareto(NETWORK, ASKED)


def figures(plan: Plan, front: Front) -> tuple[int, float]:
    timeline = timeline_of(NETWORK, plan.choices, plan.traffic)
    return timeline.latency, rounded(area_of(plan.resources, front.target.part, ASKED.spare))


def test_every_point_is_what_the_planner_answers_to_its_budget(fixed):
    assert len(fixed.points) > 5
    assert fixed.unasked == 0
    assert {p.candidate.folds for p in fixed.points} == {True, False}
    for p in fixed.points:
        plan = plan_of(NETWORK, ASKED, fixed, p)
        assert figures(plan, fixed) == (p.cycles, rounded(p.candidate.area))
        again = make_plan(NETWORK, request_of(ASKED, p))
        assert figures(again, fixed) == (p.cycles, rounded(p.candidate.area))


def test_a_point_is_found_again_where_the_least_latency_was_asked_for(fixed):
    asked = replace(ASKED, objective="latency")
    for p in fixed.points[1::3]:
        again = make_plan(NETWORK, request_of(asked, p))
        assert figures(again, fixed) == (p.cycles, rounded(p.candidate.area))


def test_every_budget_between_has_the_plan_of_a_point(fixed):
    rng = np.random.default_rng(7)
    sure = [p for p in fixed.points if p.tier == 0]  # for less, the planner spends what is left on the clock
    ends = sure[0].total_ns, sure[-1].total_ns * 1.1
    for budget_ns in np.exp(rng.uniform(np.log(ends[0]), np.log(ends[1]), 8)):
        answer = make_plan(NETWORK, replace(ASKED, budget=f"{budget_ns:.12g}ns"))
        best = min((p for p in sure if p.total_ns <= budget_ns), key=lambda p: p.candidate.area)
        assert figures(answer, fixed) == (best.cycles, rounded(best.candidate.area))


def test_a_budget_moves_nothing_but_verdicts(fixed):
    late = [p for p in fixed.points if p.total_ns > 200]
    assert late
    assert len(late) < len(fixed.points)
    assert all((p.candidate.solution.verdict is Verdict.MISSED) == (p in late) for p in fixed.points)
    free = pareto(NETWORK, replace(ASKED, budget=None))
    assert [(p.cycles, p.candidate.area, p.candidate.planned) for p in free.points] == [
        (p.cycles, p.candidate.area, p.candidate.planned) for p in fixed.points
    ]
    assert not any(p.candidate.solution.verdict is Verdict.MISSED for p in free.points)


def test_with_a_free_clock_the_planner_finds_a_point_again_or_a_better_one():
    request = replace(ASKED, clock="auto", budget=None)
    front = pareto(NETWORK, request)
    clocks = {p.candidate.solution.clock.period_ns for p in front.points}
    assert len(clocks) > 1
    assert all(p.tier == 0 for p in front.points)
    for p in front.points[:: max(len(front.points) // 6, 1)]:
        again = make_plan(NETWORK, request_of(request, p))
        cycles, area = figures(again, front)
        assert again.verdict is Verdict.MET
        assert cycles <= p.cycles
        assert area <= rounded(p.candidate.area)


def test_every_plan_sustains_the_rate():
    free = pareto(NETWORK, replace(ASKED, budget=None))
    front = pareto(NETWORK, replace(ASKED, budget=None, rate="10MHz"))

    def interval(p: Point) -> int:
        return timeline_of(NETWORK, tuple(made.choice for made in p.candidate.planned), p.candidate.traffic).interval

    assert max(map(interval, front.points)) <= 8  # of 12.5 ns in 100 ns
    assert max(map(interval, free.points)) > 8


def test_a_front_has_a_gap_for_each_point(fixed):
    for p in fixed.points:
        assert p.proof.value == p.candidate.area
        assert 0 <= p.proof.gap < 1
    assert all(p.proof.gap == 0 for p in fixed.points if p.candidate.folds)


def test_where_there_is_no_front_it_is_said_why():
    with pytest.raises(Missed, match="sustained"):
        pareto(tiny_graph(), Request(part="xc7a35t", clock="10MHz", rate="20MHz"))
    with pytest.raises(Missed, match="closes a clock"):
        pareto(tiny_graph(), Request(part="xc7a35t", clock="0.1ns"))
    with pytest.raises(UserError, match="latency_exact"):
        pareto(tiny_graph(), Request(part="xc7a35t", clock="5ns", latency_exact=9))
    with pytest.raises(UserError, match="iCE40"):
        pareto(dense_network(160, 160), Request(part="iCE40UP5K"))
