"""The differences of two plans as a person reads them in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from flow.plan.compare_plans import Built, Comparison, Figure, Value
from flow.report.tables import table


def print_differences(found: Comparison, console: Console) -> None:
    """Print what differs, or that nothing does."""
    if found.equal:
        console.print(f"{found.a} and {found.b} are the same plan.")
        return
    console.print(Text.assemble("a: ", found.a, "\nb: ", found.b))
    if found.figures:
        rows = table("", "a", "b", "b − a", "origin", title="Figures", right=(1, 2, 3))
        for figure in found.figures:
            unit = f" {figure.unit}" if figure.unit else ""
            values = (f"{_text(value)}{unit if value is not None else ''}" for value in (figure.a, figure.b))
            rows.add_row(figure.name, *values, _step(figure), figure.origin)
        console.print(rows)
    if found.engines:
        rows = table("nodes", "", "engine", "ready", "LUT", "FF", "DSP", "BRAM", title="Engines", right=(3, 4, 5, 6, 7))
        for difference in found.engines:
            for side, built in (("a", difference.a), ("b", difference.b)):
                name = ", ".join(difference.nodes) if side == "a" else ""
                rows.add_row(name, side, *_cells(built))
        console.print(rows)
        console.print(Text("ready: the cycle of the last beat, predicted; cells predicted", "dim"))


def _text(value: Value) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _step(figure: Figure) -> str:
    if isinstance(figure.a, int | float) and isinstance(figure.b, int | float):
        return f"{figure.b - figure.a:+,.6g}"
    return ""


def _cells(built: Built | None) -> tuple[str, ...]:
    if built is None:
        return ("none", "", "", "", "", "")
    ready = "unknown" if built.ready is None else f"{built.ready:,}"
    return (built.engine, ready, *(f"{count:,}" for count in (built.lut, built.ff, built.dsp, built.bram)))
