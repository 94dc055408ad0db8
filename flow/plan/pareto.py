"""All plans that are best for some budget: latency against area.

With an asked clock the front holds, for each budget, the plan that the planner answers with: one whose clock surely
closes where there is one, else one whose clock may close. With a free clock it holds plans whose clock surely closes,
for all lengths of segments that the planner tries, each with the period that suits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, inf

from flow.engines.engine import Streamed, Unrolled
from flow.errors import Missed, UserError
from flow.graph.graph import Graph
from flow.latency.budget import Origin, Verdict, required_interval
from flow.plan.candidate import Candidate
from flow.plan.clocks import segment_lengths, segment_of, step_ns_of, sure_period_ns
from flow.plan.descent import Descent, Explored
from flow.plan.footprint import NO_LIMIT
from flow.plan.optimum import EQUAL, Best, Built, with_clocks
from flow.plan.options import Segment, Space, space_of
from flow.plan.pinned import check_kept, check_pins, with_depths
from flow.plan.pins import Pins
from flow.plan.planner import Target, check_elements, make_plan, target_of, unrolled
from flow.plan.program import Aim
from flow.plan.proof import Proof
from flow.plan.request import Request
from flow.plan.solve import judged

SOLUTIONS = 48
"""Limits of cycles that are asked for with one clock, beyond the first steps."""
SOLUTIONS_EACH = 12
"""The same for each of several clocks."""
MOST_UNROLLED = 64
"""Wholly unrolled plans of a front at most."""
LESS = 1 - 1e-8
"""Share of a latency that counts as less."""

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Point:
    """Hold a plan that no other beats in latency and area; proof: how much less area one of its latency may have."""

    candidate: Candidate
    proof: Proof | None = None

    @property
    def cycles(self) -> int:
        """Return the latency of the core."""
        return self.candidate.solution.depths.cycles

    @property
    def total_ns(self) -> float:
        """Return the latency at the boundary."""
        return self.candidate.solution.latency.total_ns

    @property
    def tier(self) -> int:
        """Return 0 where the clock surely closes, 1 where it does by nominal delays, 2 where it still may."""
        solution = self.candidate.solution
        if solution.clock.closes:
            return 0
        return 1 if solution.depths.worst_ns <= solution.clock.period_ns * (1 + 1e-9) else 2


@dataclass(frozen=True, slots=True)
class Front:
    """Hold the points, the fastest first.

    unasked: limits of cycles, over all clocks, that the solver was not asked for: at most so many points are missing.
    asked: those that it was.
    """

    target: Target
    points: tuple[Point, ...]
    unasked: int
    asked: int


@dataclass(frozen=True, slots=True)
class _Searched:
    """Hold what was asked with segments of one length.

    period_ns: in which its limits of cycles count. closes: whether that surely closes. sustains: the asked rate.
    """

    period_ns: float
    closes: bool
    sustains: bool
    explored: Explored
    descent: Descent


def pareto(graph: Graph, request: Request, told: Told = lambda _: None) -> Front:
    """Return the front of a request; its budget bounds nothing, but makes the verdicts.

    told: called with what is done, in a few words. Raises UserError for what cannot be, as `make_plan` does, and Missed
    where no plan sustains the rate or no clock closes.
    """
    _check(request)
    target = target_of(graph, request)
    space = space_of(graph, target.part, target.delays, request.spare, Pins.of(graph, request.pins))
    check_pins(space)
    check_elements(space)
    searches = _Searches(space, target, told)
    whole = unrolled(space, target, frugal=True) is not None
    found = [Point(candidate) for candidate in _wholly_unrolled(space, target)]
    lengths = segment_lengths(space, target.goal)
    for within_ns, period_ns in lengths:
        searches.search(segment_of(space, within_ns, longest=lengths[-1][0]), period_ns, found)
        # as for the planner: logic is cut better where a network is unrolled as a whole
        found += [point for point in searches.points() if point.candidate.folds or point.tier == 0 or not whole]
    chosen = front_of(found)
    if not chosen:
        raise _nothing(graph, request)
    for point in chosen:
        check_kept(space, tuple(planned.choice for planned in point.candidate.planned))
    if not space.pins.places_registers():
        chosen = tuple(replace(point, proof=searches.proof(point)) for point in chosen)
    descents = [searched.descent for searched in searches.lengths]
    return Front(target, chosen, sum(d.unasked for d in descents), sum(d.solutions for d in descents))


def front_of(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return the points that no other beats, the fastest first.

    Those with a less sure clock only where none that is surer is as fast.
    """
    known = sorted(points, key=lambda p: (p.total_ns, p.candidate.area, p.cycles))
    chosen: list[Point] = []
    for tier in (0, 1, 2):
        fastest_ns = min((p.total_ns for p in chosen), default=inf)
        area = inf
        for point in known:
            faster = point.total_ns <= fastest_ns * LESS
            if point.tier == tier and faster and point.candidate.area < area * (1 - EQUAL):
                chosen.append(point)
                area = point.candidate.area
    return tuple(sorted(chosen, key=lambda p: p.total_ns))


def _check(request: Request) -> None:
    if request.latency_exact is not None:
        raise UserError("latency_exact asks for one latency, and a front has them all; leave it out of the request")


def _nothing(graph: Graph, request: Request) -> UserError:
    """Return why there is no point; raise what the planner raises where nothing has room."""
    plan = make_plan(graph, replace(request, budget=None))
    return Missed(f"no plan of {graph.name} meets rate and clock on {plan.part}, so there is no front. {plan.advice}")


def _wholly_unrolled(space: Space, target: Target) -> Iterator[Candidate]:
    """Give the plans for ever smaller budgets, as the planner has them, while rate and clock hold."""
    goal, budget_ns = target.goal, None
    for _ in range(MOST_UNROLLED):
        found = unrolled(space, replace(target, goal=replace(goal, budget_ns=budget_ns)), frugal=True)
        if found is None:
            return
        candidate, _ = found
        sure = candidate.solution.verdict is Verdict.MET
        if candidate.solution.verdict is Verdict.MISSED or (goal.period_ns is None and not sure):
            return
        budget_ns = candidate.solution.latency.total_ns * LESS
        solution = judged(goal, candidate.solution.depths, candidate.solution.clock.period_ns, space.delays)
        yield from _holding(with_depths(space, goal, replace(candidate, solution=solution)))


def _holding(candidate: Candidate) -> Iterator[Candidate]:
    """Give the plan if it has room, its clock may close, and it sustains the rate."""
    if candidate.reachable_ns < inf:
        yield candidate


class _Searches:
    """Search with segments of one length after another."""

    def __init__(self, space: Space, target: Target, told: Told) -> None:
        self.space, self.target, self.told = space, target, told
        self.lengths: list[_Searched] = []

    def search(self, segment: Segment, period_ns: float, found: Sequence[Point]) -> None:
        """Ask for plans with segments of one length that are not beaten by what was found."""
        space, goal = self.space, self.target.goal
        most, sure, least_ns = NO_LIMIT, 0, period_ns
        if goal.period_ns is None:
            # what has shorter segments than the length before was found with that
            least_ns = self.lengths[-1].period_ns if self.lengths else 0.0
        elif self.lengths:
            # clocks that only may close are for budgets that none that surely does can meet
            most, sure = min((p.cycles - 1 for p in found if p.tier == 0), default=most), 1
        worth = _worth([p for p in found if p.tier <= sure], goal.fixed_ns[1], least_ns)
        required = required_interval(goal.rate_hz, period_ns)
        interval = NO_LIMIT if required is None else max(required, 1)
        explored = Explored(space, segment, interval)

        def best(aim: Aim, cycles: int) -> Best:
            limit = "any number of cycles" if cycles >= NO_LIMIT - 1 else f"at most {cycles:,} cycles"
            self.told(f"segments of {segment.within_ns:.3g} ns, {limit}")
            return explored.best(aim, cycles)

        descent = Descent(best, most, SOLUTIONS_EACH if goal.period_ns is None else SOLUTIONS, worth)
        closes = segment.within_ns * space.delays.high <= period_ns * (1 + 1e-9)
        self.lengths.append(_Searched(period_ns, closes, required != 0, explored, descent))

    def points(self) -> Iterator[Point]:
        """Give the plans of the last length, with the asked clock or the fastest at which they are found again."""
        goal = self.target.goal
        for best in self.lengths[-1].descent.plans:
            if best.built is not None:
                clocked = replace(goal, period_ns=self._period_ns(best.built))
                (candidate,) = with_clocks(self.space, clocked, best.built)
                if goal.period_ns is None:
                    clock = replace(candidate.solution.clock, origin=Origin.PREDICTED)
                    candidate = replace(candidate, solution=replace(candidate.solution, clock=clock))
                yield from map(Point, _holding(with_depths(self.space, goal, candidate)))

    def _period_ns(self, built: Built) -> float:
        """Return the asked period, or the one that a plan's longest segment needs.

        Where it has cones, half an operation is kept, by which a cut may miss its place: without it, a search with this
        period would cut them once more.
        """
        space, explored = self.space, self.lengths[-1].explored
        if self.target.goal.period_ns is not None:
            return self.target.goal.period_ns
        choices = [planned.choice for planned in built.planned]
        cones = any(isinstance(c.inner if isinstance(c, Streamed) else c, Unrolled) for c in choices)
        half_ns = step_ns_of(space) / 2 if cones else 0.0
        within_ns = max(min(built.worst_ns + half_ns, explored.segment.within_ns), built.worst_ns)
        return sure_period_ns(space, within_ns)

    def proof(self, point: Point) -> Proof:
        """Return what is proved of the area of all plans that are as fast and as sure of their clock."""
        alike = [searched for searched in self.lengths if searched.sustains and (searched.closes or point.tier)]
        area, core_ns = point.candidate.area, point.total_ns - self.target.goal.fixed_ns[1]
        bounds = [one.descent.bound(floor(core_ns / one.period_ns + 1e-9)) for one in alike]
        spaces = tuple(optimum.searched for one in alike for optimum in one.explored.optima.values())
        return Proof("area", area, min([area, *bounds]), spaces)


def _worth(known: Sequence[Point], fixed_ns: float, period_ns: float) -> Callable[[float], int]:
    """Return the function from an area to the most cycles with which a plan of more area is better than any known.

    period_ns: the least that such a plan's clock may have.
    """

    def most(area: float) -> int:
        soonest = min((p.total_ns for p in known if p.candidate.area <= area * (1 + EQUAL)), default=inf)
        if soonest == inf or period_ns == 0:
            return NO_LIMIT
        return ceil((soonest - fixed_ns) / period_ns - 1e-9) - 1

    return most
