"""What was measured, as a person reads it in a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from flow.baseline.measured import Measurement
from flow.quantity import time_text
from flow.report.tables import table


def print_measurement(found: Measurement, path: Path, console: Console) -> None:
    """Print the times of a file of measurements; `path`: where it lies."""
    title = f"Measured on {found.device} with {found.software}"
    rows = table("what", "least", "median", "90th", "99th", "99.9th", title=title, right=(1, 2, 3, 4, 5))
    for one in found.results:
        timing = one.timing
        times = (timing.min_ns, timing.p50_ns, timing.p90_ns, timing.p99_ns, timing.p999_ns)
        rows.add_row(one.name, *("–" if ns is None else time_text(ns) for ns in times))
    console.print(rows)
    first = found.results[0].timing
    pinned = "pinned to one core" if found.pinned else "not pinned"
    console.print(
        Text(
            f"{first.count:,} calls each, one at a time, after {first.warmup:,} others; {pinned}. Percentiles are of "
            f"single calls and must not be added. Written to {path}.",
            "dim",
        )
    )
