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
from flow.latency.budget import Verdict, required_interval
from flow.plan.candidate import Candidate
from flow.plan.footprint import NO_LIMIT
from flow.plan.optimum import Best, Optimum, with_clocks
from flow.plan.options import Segment, Space
from flow.plan.program import Aim
from flow.plan.proof import Proof
from flow.plan.solve import Goal, round_up
from flow.plan.traffic import FASTEST, SPACINGS, branches, traffics

LENGTHS = (1.0, 1.5, 2.0, 3.0, 4.0)
"""Lengths of a segment that are tried with a free clock, in additions of ADDER_BITS with their register."""
FEW = (1.0, 2.0)
"""Those that tell roughly what a free clock would bring."""
ADDER_BITS = 16
LONGEST_NS = 1e6
"""A segment that needs no register inside any engine."""


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
        """Return what is proved of the best of all candidates: no plan that is as sure of its clock can have less."""
        sure = best.solution.verdict is not Verdict.MET_IF_CLOCK_CLOSES
        alike = [proof for proof, closes in self.proofs if closes or not sure]
        if not alike or best.area == float("inf"):
            return None
        objective = alike[0].objective
        value = best.area if objective == "area" else float(best.solution.depths.cycles)
        return Proof(
            objective=objective,
            value=value,
            bound=min(value, *(proof.bound for proof in alike)),
            solve_s=sum(proof.solve_s or 0.0 for proof in alike),
            spaces=tuple(space for proof in alike for space in proof.spaces),
        )


def answers(space: Space, goal: Goal, *, free: Sequence[float] = LENGTHS) -> Answers:
    """Return plans worth comparing: within budget and rate where there are any, else as near as the part allows.

    free: lengths of a segment to try with a free clock, in additions with their register.

    What the part does not hold at all is answered with the smallest plan there is, its area infinite.
    """
    frugal = goal.budget_ns is not None or goal.rate_hz is not None
    for level in _levels(goal, frugal=frugal):
        found: list[Candidate] = []
        proofs: list[tuple[Proof, bool]] = []
        lengths = segment_lengths(space, goal, free) if level.closes else ((LONGEST_NS, LONGEST_NS),)
        for within_ns, period_ns in lengths:
            best = _searched(space, goal, level, within_ns, period_ns)
            sure = level.closes and within_ns * space.delays.high <= period_ns * (1 + 1e-9)
            proofs.append((best.proof, sure))
            found += [] if best.built is None else with_clocks(space, goal, best.built)
            if goal.period_ns is not None and any(c.solution.verdict is Verdict.MET for c in found):
                break  # with the asked clock, a longer segment only makes it less sure
        if found:
            return Answers(tuple(found), tuple(proofs))
    return Answers((), ())


def segment_lengths(space: Space, goal: Goal, free: Sequence[float] = LENGTHS) -> tuple[tuple[float, float], ...]:
    """Return lengths of segments worth trying, nominal, each with the clock period that it suits, in ns."""
    high = space.delays.high
    if goal.period_ns is not None:
        return (goal.period_ns / high, goal.period_ns), (goal.period_ns, goal.period_ns)
    unit = space.delays.register_ns + addition_ns(space)
    return tuple((k * unit, round_up(k * unit * high)) for k in free)


def addition_ns(space: Space) -> float:
    """Return the delay of an addition, below which no segment of logic can be cut."""
    return space.delays.carry_ns + ADDER_BITS * space.delays.carry_bit_ns


def _levels(goal: Goal, *, frugal: bool) -> Iterator[Level]:
    """Give what meets the goal; then what is late, what is slow, and whatever the part holds."""
    yield Level("area" if frugal else "cycles", budget=True, rate=True)
    if goal.budget_ns is not None:
        yield Level("cycles", budget=False, rate=True)
    if goal.rate_hz is not None:
        yield Level("cycles", budget=False, rate=False)
    yield Level("area", budget=False, rate=False, closes=False)


def _searched(space: Space, goal: Goal, level: Level, within_ns: float, period_ns: float) -> Best:
    cycles, interval = NO_LIMIT, NO_LIMIT
    if level.budget and goal.budget_ns is not None:
        cycles = floor((goal.budget_ns - goal.fixed_ns[1]) / period_ns + 1e-9)
    required = required_interval(goal.rate_hz, period_ns)
    if level.rate and required is not None:
        interval = max(required, 1)
    step_ns = addition_ns(space) if branches(space.graph) else space.step_ns
    segment = Segment.of(within_ns, step_ns, space.delays)
    room = min(cycles, interval)
    for coming in _coming(space.graph, level, None if room == NO_LIMIT else room):
        search = Optimum(space, segment, cycles, interval, coming)
        best = search.best(level.aim, cycles)
        if best.built is not None:
            return best
    return best if level.closes else search.best("area", cycles, roomy=True)


def _coming(graph: Graph, level: Level, most: int | None) -> Iterator[tuple[Traffic, ...]]:
    """Give the ways in which inputs may come that are tried together, until some have room."""
    if most is not None:
        yield traffics(graph, most)
        return
    yield traffics(graph, None, SPACINGS[:FASTEST] if level.aim == "cycles" else SPACINGS[-1:])
    if level.aim == "cycles" and len(traffics(graph, None)) > 1:
        yield traffics(graph, None, SPACINGS[FASTEST::FASTEST])
