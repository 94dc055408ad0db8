"""The baselines beside a design, as a person reads them in a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from flow.quantity import time_text
from flow.report.baselines import BaselineReport, HeadlineReport
from flow.report.tables import table

UNKNOWN = "unknown"


def beside(
    rows: tuple[BaselineReport, ...], headline: HeadlineReport | None, boundary: str | None, *, full: bool
) -> Group:
    """Show the rows and the headline; `full`: also the long list of audited and vendors' results, sources whole.

    boundary: the design's; None without a design.
    """
    lines: list[RenderableType] = []
    shown = [row for row in rows if full or not row.detail]
    made = table("baseline", "time", "boundary", "this design", title="Beside GPUs and CPUs", right=(1,), whole=(2, 3))
    sources = list(dict.fromkeys(row.source for row in shown))
    for row in shown:
        compared = Text("–" if row.factor is None else factor_text(row.factor))
        if row.beaten is not None:
            compared.append(", beaten" if row.beaten else ", NOT BEATEN", "green" if row.beaten else "bold red")
        name = Text.assemble(row.name, (f" [{sources.index(row.source) + 1}]", "dim"))
        made.add_row(name, _span(row), row.boundary or "a part", compared)
    lines.append(made)
    if headline is not None:
        lines.append(Text(headline_text(headline)))
        said = "Published unless it says measured. No factor across boundaries, nor for another network."
    elif boundary is not None:
        said = f"None spans '{boundary}', so none can be compared with this design."
    else:
        said = "Fixed costs alone, of a network of one layer: name a MODEL to have its own work counted."
    if len(shown) < len(rows):
        said += f" {len(rows) - len(shown)} more rows: fpgaflow baseline."
    lines.append(Text(f"{said} Conditions: report.json.", "dim"))
    for k, source in enumerate(sources):
        lines.append(Text(f"[{k + 1}] {source}", "dim", no_wrap=not full, overflow="ellipsis"))
    return Group(*lines, Text())


def headline_text(found: HeadlineReport) -> str:
    """Say in one sentence what the design gains over the strongest form, and over the typical one."""
    said = (
        f"{factor_text(found.factor).capitalize()} than the strongest baseline at {found.boundary}, "
        f"'{found.strongest}' ({time_text(found.strongest_ns)}, {found.strongest_origin})"
    )
    if found.typical is None or found.typical_factor is None or found.typical == found.strongest:
        return f"{said}."
    assert found.typical_ns is not None
    return (
        f"{said}; {factor_text(found.typical_factor)} than the typical one, '{found.typical}' "
        f"({time_text(found.typical_ns)})."
    )


def factor_text(factor: float) -> str:
    """Write a factor as a person says it."""
    return f"{factor:.3g}× faster" if factor > 1 else f"{1 / factor:.3g}× slower"


def _span(row: BaselineReport) -> str:
    if row.ns is None or row.range_ns is None:
        return UNKNOWN
    low, high = row.range_ns
    return time_text(row.ns) if time_text(low) == time_text(high) else f"{time_text(low)} – {time_text(high)}"
