"""Seconds of a benchmark: those of a busy machine say little, CPU seconds more."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Stopwatch:
    """Hold the wall and CPU seconds of a block, its child processes that have ended included."""

    wall_s: float = 0.0
    cpu_s: float = 0.0


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


@contextlib.contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measure a block; the figures stand in what it is given once it has ended."""
    taken = Stopwatch()
    wall, cpu = time.perf_counter(), cpu_seconds()
    yield taken
    taken.wall_s, taken.cpu_s = time.perf_counter() - wall, cpu_seconds() - cpu
