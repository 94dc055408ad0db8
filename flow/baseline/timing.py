"""How long calls take, one by one: the least and the percentiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter_ns

import numpy as np
from pydantic import ConfigDict

from flow.errors import UserError

MOST_CALLS = 10_000_000
# a percentile is told where at least ten calls lie beyond it
_FEWEST = {90.0: 100, 99.0: 1_000, 99.9: 10_000}


@dataclass(frozen=True, slots=True)
class Timing:
    """Hold the times of `count` calls after `warmup` others, in ns; None for a percentile that so few do not show."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    count: int
    warmup: int
    min_ns: float
    p50_ns: float
    p90_ns: float | None
    p99_ns: float | None
    p999_ns: float | None

    def __post_init__(self) -> None:
        known = [ns for ns in (self.min_ns, self.p50_ns, self.p90_ns, self.p99_ns, self.p999_ns) if ns is not None]
        # a NaN is in order wherever it stands, so each is looked at
        if not all(map(math.isfinite, known)) or known != sorted(known) or known[0] < 0:
            raise UserError(f"times must ascend from the least to the 99.9th percentile: {known}")
        if not 1 <= self.count <= MOST_CALLS or not 0 <= self.warmup <= MOST_CALLS:
            raise UserError(f"count must be from 1 to {MOST_CALLS:,}, warmup from 0 on")


def timing_of(times_ns: Iterable[float], warmup: int) -> Timing:
    """Return the least and the percentiles of times."""
    times = np.sort(np.fromiter(times_ns, dtype=np.float64))

    def percentile(of: float) -> float | None:
        return float(np.percentile(times, of, method="higher")) if len(times) >= _FEWEST[of] else None

    return Timing(
        count=len(times),
        warmup=warmup,
        min_ns=float(times[0]),
        p50_ns=float(np.percentile(times, 50, method="higher")),
        p90_ns=percentile(90.0),
        p99_ns=percentile(99.0),
        p999_ns=percentile(99.9),
    )


def time_calls(call: Callable[[], object], count: int, warmup: int) -> Timing:
    """Time calls one by one; the clock's own reading is inside each."""
    for _ in range(warmup):
        call()
    times = np.empty(count, dtype=np.int64)
    for k in range(count):
        start = perf_counter_ns()
        call()
        times[k] = perf_counter_ns() - start
    return timing_of(times, warmup)
