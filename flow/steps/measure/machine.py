"""The machine that measures: what it is called, and one core of it."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path


def processor() -> str:
    """Return the processor's name as the system gives it, with how many cores this process may use."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{name}, {cores} core{'' if cores == 1 else 's'}"


def today() -> str:
    """Return the date in UTC."""
    return datetime.now(UTC).date().isoformat()


@contextlib.contextmanager
def one_core() -> Iterator[bool]:
    """Keep this process, and those that it starts, on one core; yield whether the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield False
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})  # the first core serves most interrupts
    try:
        yield True
    finally:
        os.sched_setaffinity(0, before)
