"""latency = Σ(dependent cycles on the critical path) × clock period + fixed overheads, against a budget."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import floor


class Origin(StrEnum):
    """Say where a number comes from."""

    ASKED = "asked"
    PREDICTED = "predicted"
    SIMULATED = "simulated"
    SYNTHESIZED = "synthesized"
    ROUTED = "routed"
    MEASURED = "measured"
    PUBLISHED = "published"


class Verdict(StrEnum):
    """Answer whether latency and rate hold."""

    MET = "met"
    MISSED = "missed"
    MET_IF_CLOCK_CLOSES = "met_if_clock_closes"


@dataclass(frozen=True, slots=True)
class Clock:
    """Give the constrained period and what the hardware may need, in ns.

    period_ns: what all nanoseconds are counted in. origin: asked for, or predicted (chosen by the planner).
    range_ns: smallest and largest period that place and route may reach, of `range_origin`.
    """

    period_ns: float
    range_ns: tuple[float, float]
    origin: Origin
    range_origin: Origin

    @property
    def closes(self) -> bool:
        """Tell whether even the slow end of the range meets the period."""
        return self.range_ns[1] <= self.period_ns * (1 + 1e-9)

    @property
    def may_close(self) -> bool:
        """Tell whether the fast end of the range meets the period."""
        return self.range_ns[0] <= self.period_ns * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Latency:
    """Split a latency at a boundary, in ns; fixed_ns is the link's (min, typical, max)."""

    cycles: int
    core_ns: float
    fixed_ns: tuple[float, float, float]

    @property
    def total_ns(self) -> float:
        """Return the typical total."""
        return self.core_ns + self.fixed_ns[1]


def latency_of(cycles: int, period_ns: float, fixed_ns: tuple[float, float, float]) -> Latency:
    """Return cycles × period + fixed overheads."""
    return Latency(cycles, cycles * period_ns, fixed_ns)


def required_interval(rate_hz: float | None, period_ns: float) -> int | None:
    """Return the largest II, in cycles, that sustains a rate; 0 when not even one cycle is short enough."""
    return None if rate_hz is None else floor(1e9 / rate_hz / period_ns * (1 + 1e-9))


def judge(latency: Latency, clock: Clock, *, budget_ns: float | None, interval: int, required: int | None) -> Verdict:
    """Compare a design with what was asked; without a budget only the rate and the clock count."""
    late = budget_ns is not None and latency.total_ns > budget_ns * (1 + 1e-9)
    slow = required is not None and interval > required
    if late or slow or not clock.may_close:
        return Verdict.MISSED
    return Verdict.MET if clock.closes else Verdict.MET_IF_CLOCK_CLOSES
