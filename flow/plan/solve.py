"""Choose pipeline depths and a clock so that budget and rate are met with the least area."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal

from flow.device.delays import Delays
from flow.latency.budget import Clock, Latency, Origin, Verdict, judge, latency_of, required_interval

Objective = Literal["area", "latency"]
"""What may be asked to be least."""
MOST_REGISTERS = 64  # beyond this, more registers no longer shorten any segment of a network that fits a chip
NO_LONGER_SHORTER = 4  # registers that bring nothing before the search stops


@dataclass(frozen=True, slots=True)
class Depths:
    """Give the registers of every run, the network's latency in cycles, and the longest segment in ns, nominal."""

    depths: tuple[int, ...]
    cycles: int
    worst_ns: float


@dataclass(frozen=True, slots=True)
class Goal:
    """Hold what is asked, in ns and Hz; a period of None leaves the clock to the planner.

    objective: what is to be least among plans that keep budget and rate; None leaves it to whether there are any.
    """

    budget_ns: float | None
    rate_hz: float | None
    period_ns: float | None
    fixed_ns: tuple[float, float, float]
    interval: int = 1
    objective: Objective | None = None

    @property
    def frugal(self) -> bool:
        """Tell whether the least area is wanted: where asked for, or where a budget or a rate bounds the rest."""
        if self.objective is not None:
            return self.objective == "area"
        return self.budget_ns is not None or self.rate_hz is not None


@dataclass(frozen=True, slots=True)
class Solution:
    """Hold depths with a clock, what they give, the verdict, and whether the asked rate is sustained."""

    depths: Depths
    clock: Clock
    latency: Latency
    verdict: Verdict
    sustains: bool

    @property
    def rank(self) -> tuple[float, ...]:
        """Order solutions, the best first.

        Among those that meet the goal, registers are the only area that differs: the fewest win. Where the clock
        only may close, the shortest segment is the likeliest to. Among misses, the least latency comes nearest; where
        no clock is fast enough for the rate, the fastest does, and where none closes, the shortest segment.
        """
        if self.verdict is Verdict.MET:
            return (0, self.depths.cycles, self.latency.total_ns)
        if self.verdict is Verdict.MET_IF_CLOCK_CLOSES:
            return (1, self.clock.range_ns[1] / self.clock.period_ns, self.depths.cycles)
        if self.clock.may_close and self.sustains:
            return (2, self.latency.total_ns)
        if self.clock.may_close:
            return (3, self.clock.period_ns, self.latency.total_ns)
        return (4, self.clock.range_ns[0] / self.clock.period_ns, self.depths.cycles)


def round_up(period_ns: float) -> float:
    """Return the period rounded up to three significant digits: a clock that one would write down."""
    step = 10.0 ** (floor(log10(period_ns)) - 2)
    return round(ceil(period_ns / step - 1e-9) * step, 12)


def solve(
    goal: Goal,
    balance: Callable[[int], Depths],
    delays: Delays,
    *,
    candidates: Iterable[int] = range(1, MOST_REGISTERS + 1),
) -> tuple[Solution, float]:
    """Return the best solution, and the least total latency in ns that any candidate reaches at the asked rate.

    balance: a number of registers along the network to their best distribution. candidates: numbers of registers,
    ascending; the search ends where more of them bring nothing, or with the first that meets the goal: it is the
    smallest.
    """
    solutions: list[Solution] = []
    shortest = float("inf")
    idle = 0
    for registers in candidates:
        depths = balance(registers)
        # a longer pipeline with equal segments is no better
        idle = 0 if depths.worst_ns < 0.999 * shortest else idle + 1
        if idle > NO_LONGER_SHORTER:
            break
        shortest = min(shortest, depths.worst_ns)
        solutions += [judged(goal, depths, period, delays) for period in periods(goal, depths.worst_ns, delays)]
        if any(s.verdict is Verdict.MET for s in solutions):
            break
    reachable = [s.latency.total_ns for s in solutions if s.clock.may_close and s.sustains]
    return min(solutions, key=lambda s: s.rank), min(reachable, default=float("inf"))


def periods(goal: Goal, worst_ns: float, delays: Delays) -> tuple[float, ...]:
    """Return the clock periods in ns for a longest segment: as asked, or one that surely closes and one that may."""
    if goal.period_ns is not None:
        return (goal.period_ns,)
    ends = (worst_ns * delays.high, worst_ns)
    return tuple(dict.fromkeys(round_up(max(end, delays.least_period_ns)) for end in ends))


def judged(goal: Goal, depths: Depths, period_ns: float, delays: Delays) -> Solution:
    """Return the solution that these depths are with a clock period."""
    origin = Origin.PREDICTED if goal.period_ns is None else Origin.ASKED
    low_ns, high_ns = (max(depths.worst_ns * factor, delays.least_period_ns) for factor in (delays.low, delays.high))
    clock = Clock(period_ns, (low_ns, high_ns), origin, Origin.PREDICTED)
    latency = latency_of(depths.cycles, clock.period_ns, goal.fixed_ns)
    required = required_interval(goal.rate_hz, clock.period_ns)
    verdict = judge(latency, clock, budget_ns=goal.budget_ns, interval=goal.interval, required=required)
    return Solution(depths, clock, latency, verdict, sustains=required is None or goal.interval <= required)
