"""Which clock: lengths of the segments between registers, the periods that go with them, and what fits into these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from flow.latency.budget import required_interval
from flow.plan.footprint import NO_LIMIT
from flow.plan.options import Segment, Space
from flow.plan.solve import Goal, round_up
from flow.plan.traffic import branches

LENGTHS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Lengths of a segment that are tried with a free clock, in additions of ADDER_BITS with their register."""
FEW = (1.0, 2.0)
"""Those that tell roughly what a free clock would bring."""
ADDER_BITS = 16
LONGEST_NS = 1e6
"""A segment that needs no register inside any engine."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Hold the most cycles of an inference, and the most between two, that are allowed at one clock; 0: none are."""

    cycles: int
    interval: int

    @classmethod
    def by(cls, goal: Goal, period_ns: float, *, budget: bool, rate: bool) -> Allowed:
        """Return what budget and rate allow at a period, each where it counts."""
        cycles, interval = NO_LIMIT, NO_LIMIT
        if budget and goal.budget_ns is not None:
            cycles = floor((goal.budget_ns - goal.fixed_ns[1]) / period_ns + 1e-9)
        required = required_interval(goal.rate_hz, period_ns)
        if rate and required is not None:
            interval = required
        return cls(cycles, interval)


def segment_lengths(space: Space, goal: Goal, free: Sequence[float] = LENGTHS) -> tuple[tuple[float, float], ...]:
    """Return lengths of segments worth trying, nominal, each with the clock period that it suits, in ns."""
    high = space.delays.high
    if goal.period_ns is not None:
        return (goal.period_ns / high, goal.period_ns), (goal.period_ns, goal.period_ns)
    unit = space.delays.register_ns + addition_ns(space)
    return tuple((k * unit, sure_period_ns(space, k * unit)) for k in free)


def sure_period_ns(space: Space, within_ns: float) -> float:
    """Return the period at which segments of a length surely close, in ns; no clock is faster than its buffers."""
    return round_up(max(within_ns * space.delays.high, space.delays.least_period_ns))


def addition_ns(space: Space) -> float:
    """Return the delay of an addition, below which no segment of logic can be cut."""
    return space.delays.carry_ns + ADDER_BITS * space.delays.carry_bit_ns


def step_ns_of(space: Space) -> float:
    """Return the operation by half of which a cut may miss its place: with windows, cones are cut each on its own."""
    return addition_ns(space) if branches(space.graph) else space.step_ns


def segment_of(space: Space, within_ns: float, *, longest: float) -> Segment:
    """Return the segment of a length; longest: of all that are tried.

    An engine that takes longer than a shorter one has its place at a slower clock, or at the asked one, which it may
    then miss.
    """
    return Segment.of(within_ns, step_ns_of(space), space.delays, strict=within_ns < longest)
