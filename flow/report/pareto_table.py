"""The front of latency and area as a table in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from flow.latency.budget import Verdict
from flow.quantity import time_text
from flow.report.pareto import Closing, Pareto, ParetoEngine, ParetoPoint
from flow.report.tables import table

WORDS = {
    Verdict.MET: ("met", "green"),
    Verdict.MET_IF_CLOCK_CLOSES: ("perhaps", "yellow"),
    Verdict.MISSED: ("missed", "red"),
}
MARKS: dict[Closing, str] = {"surely": "", "by_nominal_delays": "?", "perhaps": "??"}
"""What stands behind a clock that may not close."""
GROUPS: dict[Closing, str] = {
    "surely": "clock surely closes",
    "by_nominal_delays": "clock closes by nominal delays (?)",
    "perhaps": "clock may close (??)",
}


def print_pareto(pareto: Pareto, console: Console) -> None:
    """Print what was asked, a row per point, and notes."""
    console.print(_asked(pareto))
    judged = pareto.budget_ns is not None
    columns = ("total", "cycles", "MHz", "II", "area", "LUT", "FF", "DSP", "BRAM", "gap", "reuse")
    right = tuple(range(len(columns) - 1))
    rows = table(
        *columns, *(("verdict",) if judged else ()), title="Latency and area (predicted)", right=right, whole=(11,)
    )
    for point in pareto.points:
        rows.add_row(*_row(point), *((Text(*WORDS[point.verdict]),) if judged else ()))
    console.print(rows)
    console.print(Text("\n".join(_notes(pareto)), "dim"))


def missing_text(pareto: Pareto) -> str:
    """Say how many points may be missing, "" where none is."""
    if not pareto.unasked:
        return ""
    return (
        f"the solver was asked for {pareto.asked:,} latencies; {pareto.unasked:,} between them were left out, "
        f"so further points may lie between those shown"
    )


def _asked(pareto: Pareto) -> Text:
    asked = ["no budget" if pareto.budget_ns is None else f"budget {time_text(pareto.budget_ns)}"]
    if pareto.rate_hz is not None:
        asked.append(f"an inference every {time_text(1e9 / pareto.rate_hz)}")
    asked.append(f"clock {pareto.clock}")
    asked.append(f"link {pareto.link} ({time_text(pareto.fixed_ns)} of the total)")
    count = len(pareto.points)
    found = f"{count} plan{'' if count == 1 else 's'} that no other beats in latency and area"
    return Text.assemble(
        (f"{pareto.model} on {pareto.part}", "bold"), f" at boundary {pareto.boundary}: {'; '.join(asked)}\n{found}"
    )


def _row(point: ParetoPoint) -> tuple[str, ...]:
    return (
        time_text(point.ns),
        f"{point.cycles:,}",
        f"{1e3 / point.clock.period_ns:.4g}{MARKS[point.clock.closes]}",
        f"{point.ii:,}",
        f"{point.area:.4f}",
        f"{point.lut:,}",
        f"{point.ff:,}",
        f"{point.dsp:,}",
        f"{point.bram:,}",
        "" if point.gap is None else "0" if point.gap == 0 else f"{point.gap:.1%}",
        engines_text(point.engines),
    )


def engines_text(engines: tuple[ParetoEngine, ...]) -> str:
    """Write the reuse factors of all engines in their order; `~` marks those that work beat by beat."""
    if all(engine.engine == "unrolled" for engine in engines):
        return "unrolled"
    return " ".join(f"{'~' if engine.engine == 'streamed' else ''}{engine.reuse_factor}" for engine in engines)


def _notes(pareto: Pareto) -> list[str]:
    first = pareto.points[0]
    notes = [COLUMNS, AGAIN.format(first.request)]
    marked = [GROUPS[c] for c in MARKS if MARKS[c] and any(point.clock.closes == c for point in pareto.points)]
    if marked:
        notes.append(f"Faster than any whose clock surely closes: {', '.join(marked)}.")
    missing = missing_text(pareto)
    return [*notes, f"{missing[0].upper()}{missing[1:]}."] if missing else notes


COLUMNS = (
    "total: core and link. II: cycles between inferences. area: the sum, over LUT, FF, DSP and BRAM, of used over "
    "usable on the part. gap: by how much less area any plan of that latency may have, by the estimates. reuse: "
    "factors of the engines in the network's order; 1 is unrolled, ~ works beat by beat. verdict: perhaps, if the "
    "clock closes."
)
AGAIN = (
    "A point again: the same command with the point's clock and budget in the place of --pareto; the fastest: {}. JSON "
    "and CSV have them all (request)."
)
