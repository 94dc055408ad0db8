"""The report as a person reads it in a terminal."""

from __future__ import annotations

import os

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from flow.latency.budget import Verdict
from flow.quantity import time_text
from flow.report.beside import beside
from flow.report.console import PlainConsole
from flow.report.contract import contract_rows
from flow.report.dies import die_table
from flow.report.load import render_load
from flow.report.planned import EngineReport
from flow.report.report import LatencyReport, Report, ResourceCounts
from flow.report.sensitivity import render_sensitivity
from flow.report.streams import is_streamed, streams
from flow.report.tables import cycles_text, table
from flow.report.vendor import vendor_table

_VERDICT = {
    Verdict.MET: ("met", "bold green"),
    Verdict.MISSED: ("missed", "bold red"),
    Verdict.MET_IF_CLOCK_CLOSES: ("met if the clock closes", "bold yellow"),
}
PLAIN_WIDTH = 100  # characters of a line that goes into a file
BAR = 10  # characters of the longest bar
KINDS = ("lut", "ff", "dsp", "bram", "uram")


def new_console(*, stderr: bool = False) -> Console:
    """Return a console that takes text as it is: a layer's name may look like markup."""
    console = PlainConsole(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PLAIN_WIDTH
    return console


def _heading(report: Report) -> Panel:
    word, style = _VERDICT[report.verdict]
    line = Text()
    line.append(f"{report.model}", "bold")
    line.append(f" on {report.part}: {time_text(report.latency.total_ns)}")
    if report.budget_ns is not None:
        line.append(f" of a {time_text(report.budget_ns)} budget")
    if report.budget_ns is not None or report.rate_hz is not None or report.verdict is not Verdict.MET:
        line.append(" — ")
        line.append(word, style)
    else:
        line.append(" (no budget asked)")
    line.append(f"\n{report.latency.origin} latency from input to output at boundary {report.boundary}")
    if report.advice:
        line.append(f"\n{report.advice}")
    return Panel(line, box=box.ROUNDED, expand=False)


def _seen(predicted: int, simulated: int | None) -> Text:
    said = Text(f"predicted {predicted:,}")
    if simulated is not None:
        said.append(f", simulated {simulated:,}", "" if simulated == predicted else "bold red")
    return said


def _latency(report: Report) -> Table:
    rows = table("latency", "value", "origin", title="Latency = Σ cycles × period + fixed", right=(1,), whole=(0,))
    lat, clock, ii = report.latency, report.clock, report.ii
    cycles = lat.cycles_predicted if lat.cycles_simulated is None else lat.cycles_simulated
    rows.add_row("critical path", cycles_text(cycles), _seen(lat.cycles_predicted, lat.cycles_simulated))
    low, high = clock.range_ns
    needs = f"{clock.range_origin} need {low:.3g}–{high:.3g} ns"
    chosen = clock.origin if clock.origin == "asked" else "chosen"
    rows.add_row("× clock period", time_text(clock.period_ns), f"{chosen}, {1e3 / clock.period_ns:.4g} MHz; {needs}")
    if clock.routed_ns is not None:
        without = f"; paths through {', '.join(clock.untimed)} left out: no delays known" if clock.untimed else ""
        rows.add_row("", time_text(clock.routed_ns), f"needed as routed, out of context{without}")
    rows.add_row("= core", time_text(lat.core_ns), str(lat.origin))
    rows.add_row(f"+ link {_short(report.link)}", time_text(lat.fixed_ns), _link(lat))
    rows.add_row(Text("= total", "bold"), Text(time_text(lat.total_ns), "bold"), _of_budget(report))
    for row in contract_rows(report.contract, lat.bunch_crossings, lat.origin):
        rows.add_row(*row)
    if lat.best_ns is not None:
        rows.add_row("best reachable", time_text(lat.best_ns), "predicted, if its clock closes")
    seen = _seen(ii.cycles_predicted, ii.cycles_simulated)
    if report.rate_hz is not None and ii.cycles_required is not None:
        allowed = f"at most {ii.cycles_required:,}" if ii.cycles_required else "less than one cycle"
        seen.append(f"; the rate of {_rate(report.rate_hz)} asks for {allowed}")
    interval = ii.cycles_predicted if ii.cycles_simulated is None else ii.cycles_simulated
    rows.add_row("initiation interval", cycles_text(interval), seen)
    return rows


def _short(link: str) -> str:
    return link.partition(":")[0]


def _link(lat: LatencyReport) -> str:
    low, high = lat.fixed_range_ns
    span = "" if low == high else f", {time_text(low)} to {time_text(high)}"
    return f"{lat.fixed_origin}{span}; both directions" if lat.fixed_ns else "nothing to add at this boundary"


def _of_budget(report: Report) -> str:
    if report.budget_ns is None:
        return ""
    spare = report.budget_ns - report.latency.total_ns
    if abs(spare) < 1e-9 * report.budget_ns:
        return f"exactly the budget of {time_text(report.budget_ns)}"
    return f"{time_text(abs(spare))} {'below' if spare >= 0 else 'ABOVE'} the budget of {time_text(report.budget_ns)}"


def _rate(hz: float) -> str:
    for unit, size in (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3)):
        if hz >= size:
            return f"{hz / size:.4g} {unit}"
    return f"{hz:.4g} Hz"


def _path(report: Report) -> Table:
    rows = table(
        "node", "engine", "cycles", "time", "", "reason", title="Critical path, node by node", right=(2, 3), whole=(4,)
    )
    longest = max([hop.ns for hop in report.critical_path] + [report.latency.fixed_ns, 1e-9])
    for hop in report.critical_path:
        rows.add_row(hop.node, hop.engine, str(hop.cycles), time_text(hop.ns), _bar(hop.ns / longest), hop.reason)
    if report.latency.fixed_ns:
        fixed = report.latency.fixed_ns
        bar = _bar(fixed / longest, "magenta")
        rows.add_row(f"link {_short(report.link)}", "fixed", "", time_text(fixed), bar, "both directions")
    return rows


def _plan(report: Report) -> Group:
    """Show how engines are built, what stands between them, and asked reuse factors."""
    names = ("output", "engine", "reuse", "p × q", "weights", "multiply", "cycles")
    rows = table(*names, title="Engines", right=(2, 3, 6), whole=(1, 4, 5))
    for engine in report.plan.engines:
        fold = engine.fold
        if fold is None:
            weights = "wiring" if engine.tables == "lut" else f"wiring, {engine.tables}"
            multiply = "adders" if engine.products == "lut" else f"adders, {engine.products}"
            rows.add_row(engine.output, engine.engine, "1", "", weights, multiply, f"{engine.cycles:,}")
            continue
        how = f"{engine.engine}, {fold.order.replace('_', '-')}"
        lanes, kind = f"{fold.p} × {fold.q}", fold.multiplier.replace("_", " ")
        rows.add_row(engine.output, how, f"{fold.reuse_factor:,}", lanes, fold.store, kind, f"{engine.cycles:,}")
    for between in report.plan.converters:
        if between.waiting is None and between.kind != "crossing":
            lanes = f"{between.kind}, {between.lanes_in:,} to {between.lanes_out:,} lanes"
        else:
            lanes = f"{between.kind}, {between.lanes_out:,} lane{'' if between.lanes_out == 1 else 's'}"
        rows.add_row(Text(f"→ {between.edge}", "dim"), lanes, "", "", "", "", f"{between.cycles:,}")
    wishes = [
        Text(f"{wish.layer}: reuse factor: asked {wish.asked}, used {wish.used}; hls4ml would use {wish.hls4ml}")
        for wish in report.plan.reuse
    ]
    blocks: list[RenderableType] = [rows, *wishes, *([Text()] if wishes else [])]
    if is_streamed(report.plan):
        blocks.append(streams(report.plan))
    return Group(*blocks)


def _bar(share: float, style: str = "cyan") -> Text:
    return Text("█" * round(BAR * share) or "▏", style)  # what takes time is seen


def _count(counts: ResourceCounts | None, kind: str) -> str:
    return "not run" if counts is None else f"{getattr(counts, kind):,}"


def _share(used: int, available: int) -> str:
    share = used / available if available else 0.0
    return (
        ""
        if not used
        else "none there"
        if not available
        else "< 0.1 %"
        if share < 0.001
        else f"{share:.1%}".replace("%", " %")
    )


def _resources(report: Report) -> Table:
    found = report.resources
    names = ("cells", "predicted", "synthesized", "available", "usable", "used")
    rows = table(*names, title="Resources", right=(1, 2, 3, 4, 5))
    best = found.synthesized or found.predicted
    for kind in KINDS:
        if kind not in {"lut", "ff"} and not getattr(best, kind) and not getattr(found.predicted, kind):
            continue
        available = getattr(found.available, kind)
        counts = (_count(found.predicted, kind), _count(found.synthesized, kind))
        usable = int(available * found.available.usable_fraction[kind] + 1e-6)
        rows.add_row(kind.upper(), *counts, f"{available:,}", f"{usable:,}", _share(getattr(best, kind), available))
    for node, counts_of in found.predicted.per_node.items():
        instance = {} if found.synthesized is None else found.synthesized.per_node.get(f"u_{node}", {})
        for kind in ("lut", "dsp", "bram"):
            if kind == "lut" or counts_of[kind] or instance.get(kind):
                synthesized = "not run" if found.synthesized is None else f"{instance.get(kind, 0):,}"
                name = Text(f"  {kind.upper()} of {node}", "dim")
                rows.add_row(name, f"{counts_of[kind]:,}", synthesized, "", "", "")
    return rows


def _verification(report: Report) -> Table:
    rows = table("check", "result", "detail", title="Verification", whole=(0, 1))

    def row(name: str, detail: str, *, passed: bool) -> None:
        rows.add_row(name, Text("pass", "green") if passed else Text("FAIL", "bold red"), detail)

    bits, beats = report.bit_exact, report.timeline
    if bits is not None:
        row(
            "bits",
            f"{bits.mismatches} of {bits.vectors:,} vectors differ from {bits.reference} (simulated)"
            + (f"; {bits.wrong_bits:,} bits wrong in the bench's traffic" if bits.wrong_bits else ""),
            passed=bits.exact,
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


def _has_blocks(engine: EngineReport) -> bool:
    return (engine.products, engine.tables) != ("lut", "lut")


def gpu_roofline(report: Report) -> str | None:
    """Return what the roofline of the same work on a GPU says, None without one."""
    roof = report.roofline
    return None if roof is None else f"on {roof.device}: {time_text(roof.bound_ns)}. {roof.why}"


def render(report: Report, *, full: bool = False) -> Group:
    """Return the whole report as a rich renderable; `full`: with every source at full length."""
    blocks: list[RenderableType] = [_heading(report), _latency(report), _path(report)]
    if (
        report.plan.converters
        or report.plan.reuse
        or any(engine.fold or engine.stream or _has_blocks(engine) for engine in report.plan.engines)
    ):
        blocks.append(_plan(report))
    blocks.append(_resources(report))
    if report.plan.dies:
        blocks.append(die_table(report.plan.dies))
    if report.bit_exact is not None or report.checks:
        blocks.append(_verification(report))
    if report.load is not None:
        blocks.append(render_load(report.load))
    if report.baseline:
        blocks.append(beside(report.baseline, report.headline, report.boundary, full=full))
    if report.vendor is not None:
        blocks.append(vendor_table(report.vendor))
    gpu = gpu_roofline(report)
    if report.sensitivity is not None:
        blocks.append(render_sensitivity(report.sensitivity, gpu))
    elif gpu is not None:
        blocks.append(Text(f"Roofline of the same work {gpu}\n"))
    if report.fidelity:
        blocks.append(_quality(report))
    if accuracy := _accuracy(report):
        blocks.append(Text(accuracy + "\n"))
    blocks += [Text(f"• {note}") for note in report.notes]
    return Group(*blocks)


def print_report(report: Report, console: Console) -> None:
    """Print the report."""
    console.print(render(report))
