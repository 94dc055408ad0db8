"""The report as a person reads it in a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from flow.latency.budget import Verdict
from flow.report.report import Report, ResourceCounts

_VERDICT = {
    Verdict.MET: ("met", "bold green"),
    Verdict.MISSED: ("missed", "bold red"),
    Verdict.MET_IF_CLOCK_CLOSES: ("met if the clock closes", "bold yellow"),
}
BAR = 28  # characters of the longest bar


def time_text(ns: float) -> str:
    """Write a time with a unit that suits it, three significant digits."""
    if ns >= 1e6:
        return f"{ns / 1e6:.3g} ms"
    if ns >= 1e3:
        return f"{ns / 1e3:.3g} µs"
    return f"{ns:.3g} ns"


def table(*columns: str, title: str, right: tuple[int, ...] = ()) -> Table:
    """Return an empty table in the house style; `right` lists the columns aligned to the right."""
    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for k, column in enumerate(columns):
        made.add_column(column, justify="right" if k in right else "left", overflow="fold")
    return made


def _heading(report: Report) -> Panel:
    word, style = _VERDICT[report.verdict]
    line = Text()
    line.append(f"{report.model}", "bold")
    line.append(f" on {report.part}: ")
    line.append(f"{time_text(report.latency.total_ns)}")
    if report.budget_ns is None:
        line.append(" (no budget asked)")
    else:
        line.append(f" of a {time_text(report.budget_ns)} budget — ")
        line.append(word, style)
    line.append(f"\nboundary {report.boundary}, link {report.link}, latency {report.latency.origin}")
    if report.advice:
        line.append(f"\n{report.advice}")
    return Panel(line, box=box.ROUNDED, expand=False)


def _latency(report: Report) -> Table:
    rows = table("latency", "value", "origin", title="Latency = Σ cycles × period + fixed", right=(1,))
    lat, clock = report.latency, report.clock
    rows.add_row("critical path", f"{lat.cycles_predicted} cycles", "predicted")
    if lat.cycles_simulated is not None:
        same = lat.cycles_simulated == lat.cycles_predicted
        rows.add_row("", f"{lat.cycles_simulated} cycles", Text("simulated", "" if same else "bold red"))
    low, high = clock.range_ns
    rows.add_row(
        "clock period",
        f"{clock.period_ns:.4g} ns ({1e3 / clock.period_ns:.4g} MHz)",
        f"{clock.origin}; hardware may need {low:.3g} to {high:.3g} ns ({clock.range_origin})",
    )
    if clock.routed_ns is not None:
        rows.add_row("", f"{clock.routed_ns:.4g} ns", "routed, out of context")
    rows.add_row("core = cycles × period", time_text(lat.core_ns), str(lat.origin))
    rows.add_row("fixed (link)", time_text(lat.fixed_ns), f"{lat.fixed_origin}: {lat.fixed_source}")
    rows.add_row(Text("total", "bold"), Text(time_text(lat.total_ns), "bold"), "")
    if lat.best_ns is not None:
        rows.add_row("best reachable", time_text(lat.best_ns), "predicted, any pipeline depth")
    ii = report.ii
    required = "no rate asked" if ii.cycles_required is None else f"at most {ii.cycles_required} required"
    seen = "" if ii.cycles_simulated is None else f", {ii.cycles_simulated} simulated"
    rows.add_row("initiation interval", f"{ii.cycles_predicted} cycles", f"predicted{seen}; {required}")
    return rows


def _path(report: Report) -> Table:
    rows = table("node", "engine", "cycles", "time", "", "reason", title="Critical path, node by node", right=(2, 3))
    longest = max([hop.ns for hop in report.critical_path] + [report.latency.fixed_ns, 1e-9])
    for hop in report.critical_path:
        bar = "█" * round(BAR * hop.ns / longest)
        rows.add_row(hop.node, hop.engine, str(hop.cycles), time_text(hop.ns), Text(bar, "cyan"), hop.reason)
    if report.latency.fixed_ns:
        bar = "█" * round(BAR * report.latency.fixed_ns / longest)
        fixed = time_text(report.latency.fixed_ns)
        rows.add_row(f"link {report.link}", "fixed", "", fixed, Text(bar, "magenta"), "both directions")
    return rows


def _count(counts: ResourceCounts | None, kind: str) -> str:
    return "not run" if counts is None else f"{getattr(counts, kind):,}"


def _resources(report: Report) -> Table:
    found = report.resources
    rows = table("cells", "predicted", "synthesized", "available", "used", title="Resources", right=(1, 2, 3, 4))
    for kind in ("lut", "ff", "dsp", "bram", "uram"):
        available = getattr(found.available, kind)
        best = found.synthesized or found.predicted
        used = f"{getattr(best, kind) / available:.1%}" if available else "–"
        rows.add_row(
            kind.upper(), _count(found.predicted, kind), _count(found.synthesized, kind), f"{available:,}", used
        )
    return rows


def _verification(report: Report) -> Table:
    rows = table("check", "result", "detail", title="Verification")

    def row(name: str, detail: str, *, passed: bool) -> None:
        rows.add_row(name, Text("pass", "green") if passed else Text("FAIL", "bold red"), detail)

    bits, beats = report.bit_exact, report.timeline
    if bits is not None:
        row(
            "bits",
            f"{bits.mismatches} of {bits.vectors:,} vectors differ from {bits.reference} (simulated)",
            passed=bits.mismatches == 0,
        )
    if beats is not None:
        row(
            "beats",
            f"{beats.beats_wrong} of {beats.beats_checked:,} beats on {beats.edges} edges wrong (simulated)",
            passed=beats.beats_wrong == 0,
        )
    for check in report.checks:
        row(check.name, check.detail, passed=check.passed)
    return rows


def _baseline(report: Report) -> Group:
    rows = table("baseline", "time", "boundary", "we are", "asked", "", title="Beside a GPU", right=(1, 3))
    sources = list(dict.fromkeys(row.source for row in report.baseline))
    for row in report.baseline:
        low, high = row.range_ns
        span = time_text(row.ns) if low == high else f"{time_text(low)} – {time_text(high)}"
        factor = "–" if row.factor is None else f"{row.factor:.3g}× faster"
        wanted = {None: "", True: "beaten", False: "NOT BEATEN"}[row.beaten]
        style = "bold red" if row.beaten is False else "green"
        number = f"[{sources.index(row.source) + 1}]"
        rows.add_row(row.name, span, row.boundary, factor, Text(wanted, style), Text(number, "dim"))
    said = [Text("All published; no factor across boundaries or for another network. Sources:", "dim")]
    said += [Text(f"[{k + 1}] {source}", "dim") for k, source in enumerate(sources)]
    return Group(rows, *said, Text())


def _quality(report: Report) -> Table:
    rows = table("layer", "max |error|", "of it conversion", title="Fidelity: framework against hls4ml", right=(1, 2))
    for layer in report.fidelity:
        rest = "–" if layer.conversion_error is None else f"{layer.conversion_error:.3g}"
        rows.add_row(layer.layer, f"{layer.max_abs_error:.4g}", rest)
    return rows


def _accuracy(report: Report) -> str:
    found = report.accuracy
    if found is None:
        return ""
    parts = [
        f"{name} {value:.2%}"
        for name, value in (("framework", found.framework), ("hls4ml", found.hls4ml), ("RTL (simulated)", found.rtl))
        if value is not None
    ]
    return f"Accuracy on {found.vectors:,} labelled vectors: {', '.join(parts)}"


def render(report: Report) -> Group:
    """Return the whole report as a rich renderable."""
    blocks: list[RenderableType] = [_heading(report), _latency(report), _path(report), _resources(report)]
    if report.bit_exact is not None or report.checks:
        blocks.append(_verification(report))
    if report.baseline:
        blocks.append(_baseline(report))
    if report.roofline is not None:
        roof = report.roofline
        blocks.append(Text(f"Roofline of the same work on {roof.device}: {time_text(roof.bound_ns)}. {roof.why}\n"))
    if report.fidelity:
        blocks.append(_quality(report))
    if accuracy := _accuracy(report):
        blocks.append(Text(accuracy + "\n"))
    blocks += [Text(f"• {note}") for note in report.notes]
    return Group(*blocks)


def print_report(report: Report, console: Console) -> None:
    """Print the report."""
    console.print(render(report))
