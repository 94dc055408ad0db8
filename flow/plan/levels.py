"""What is searched for, in turn: what was asked, then what comes nearest to it.

One search needs a length of the segments between registers, which a clock follows from, and limits for latency and
interval in its cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor

from flow.engines.dataflow import Traffic
from flow.graph.graph import Graph
from flow.latency.budget import Verdict
from flow.plan.candidate import Candidate
from flow.plan.clocks import LENGTHS, LONGEST_NS, Allowed, segment_lengths, segment_of
from flow.plan.footprint import NO_LIMIT
from flow.plan.optimum import Best, Optimum, with_clocks
from flow.plan.options import Segment, Space
from flow.plan.program import Aim
from flow.plan.proof import Proof
from flow.plan.solve import Goal
from flow.plan.traffic import FASTEST, SPACINGS, traffics

ROUNDING = 1.01
"""What is left for periods that are rounded, where plans with different clocks are compared by cycles."""


@dataclass(frozen=True, slots=True)
class Level:
    """Name what is least, whether budget and rate are to hold, and whether the clock is to close."""

    aim: Aim
    budget: bool
    rate: bool
    closes: bool = True


@dataclass(frozen=True, slots=True)
class Answers:
    """Hold the plans that were found for what was asked, or nearest to it, and what is proved for each length.

    proofs: of each length of a segment, and whether the clock that goes with it surely closes.
    """

    candidates: tuple[Candidate, ...]
    proofs: tuple[tuple[Proof, bool], ...]

    def proof(self, best: Candidate) -> Proof | None:
        """Return what is proved of the best of all candidates: no plan that is as sure of its clock can have less.

        Nothing where the spaces have no plan at all, or where another was not preferred for having less, but for the
        clock: the one that comes nearest to closing, or with a free clock the one that likeliest does.
        """
        clock = best.solution.clock
        alike = [proof for proof, closes in self.proofs if closes or not clock.closes]
        if not any(space.moves for proof in alike for space in proof.spaces):
            return None
        if best.area == float("inf") or not clock.may_close:
            return None
        if alike[0].objective == "ns" and not clock.closes:
            return None  # with clocks that only may close, other plans are the least
        objective = alike[0].objective
        solution = best.solution
        values = {"area": best.area, "cycles": float(solution.depths.cycles), "ns": solution.latency.core_ns}
        value = values[objective]
        return Proof(
            objective=objective,
            value=value,
            bound=min(value, *(proof.bound for proof in alike)),
            solve_s=sum(proof.solve_s or 0.0 for proof in alike),
            spaces=tuple(space for proof in alike for space in proof.spaces),
        )


def answers(space: Space, goal: Goal, *, free: Sequence[float] = LENGTHS, known_ns: float = float("inf")) -> Answers:
    """Return plans worth comparing: within budget and rate where there are any, else as near as the part allows.

    free: lengths of a segment to try with a free clock, in additions with their register. known_ns: of the core, in
    another plan that meets budget and rate with a clock that surely closes; where the least is wanted, what takes
    longer is not looked for.

    What the part does not hold at all is answered with the smallest plan there is, its area infinite.
    """
    for level in _levels(goal):
        found = _at(space, goal, level, free, known_ns)
        if found.candidates or (level.aim == "cycles" and level.budget and known_ns < float("inf")):
            return found
    return Answers((), ())


def _at(space: Space, goal: Goal, level: Level, free: Sequence[float], known_ns: float) -> Answers:
    """Return plans for one level, one for each length of a segment."""
    found: list[Candidate] = []
    proofs: list[tuple[Proof, bool]] = []
    quickest = level.aim == "cycles" and goal.period_ns is None
    least_ns = known_ns if quickest and level.budget else float("inf")
    lengths = segment_lengths(space, goal, free) if level.closes else ((LONGEST_NS, LONGEST_NS),)
    for within_ns, period_ns in lengths:
        allowed = Allowed.by(goal, period_ns, budget=level.budget, rate=level.rate)
        if not allowed.interval:
            continue  # the rate asks for a shorter period
        cycles = allowed.cycles
        if least_ns < float("inf"):  # a slower clock needs fewer cycles to be as good
            cycles = min(cycles, floor(least_ns / period_ns * ROUNDING))
        segment = segment_of(space, within_ns, longest=lengths[-1][0])
        best = _searched(space, level, segment, cycles, allowed)
        sure = level.closes and within_ns * space.delays.high <= period_ns * (1 + 1e-9)
        proofs.append((best.proof.in_ns(period_ns) if quickest else best.proof, sure))
        if best.built is None:
            continue
        found += with_clocks(space, goal, best.built)
        if quickest:
            least_ns = min(least_ns, best.built.cycles * period_ns)
        if goal.period_ns is not None and any(c.solution.verdict is Verdict.MET for c in found):
            break  # with the asked clock, a longer segment only makes it less sure
    return Answers(tuple(found), tuple(proofs))


def _levels(goal: Goal) -> Iterator[Level]:
    """Give what meets the goal; then what is late, what is slow, and whatever the part holds."""
    yield Level("area" if goal.frugal else "cycles", budget=True, rate=True)
    if goal.budget_ns is not None:
        yield Level("cycles", budget=False, rate=True)
    if goal.rate_hz is not None:
        yield Level("cycles", budget=False, rate=False)
    yield Level("area", budget=False, rate=False, closes=False)


def _searched(space: Space, level: Level, segment: Segment, cycles: int, allowed: Allowed) -> Best:
    """Return the best plan of at most so many cycles, which may be fewer than allowed."""
    for coming in _coming(space.graph, level, allowed):
        search = Optimum(space, segment, cycles, allowed.interval, coming)
        best = search.best(level.aim, cycles)
        if best.built is not None:
            return best
    return best if level.closes else search.best("area", cycles, roomy=True)


def _coming(graph: Graph, level: Level, allowed: Allowed) -> Iterator[tuple[Traffic, ...]]:
    """Give the ways in which inputs may come that are tried together, until some have room."""
    room = allowed.interval if level.aim == "cycles" and level.budget else min(allowed.cycles, allowed.interval)
    most = None if room == NO_LIMIT else room
    if most is not None and not (level.aim == "cycles" and level.budget):
        yield traffics(graph, most)
        return
    yield traffics(graph, most, SPACINGS[:FASTEST] if level.aim == "cycles" else SPACINGS[-1:])
    if level.aim == "cycles" and len(traffics(graph, None)) > 1:
        yield traffics(graph, most, SPACINGS[FASTEST::FASTEST])
