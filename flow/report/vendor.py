"""hls4ml's own project through Vitis HLS, predicted: a section of its own, never mixed with our hardware's figures."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from flow.graph.graph import Graph
from flow.latency.budget import Origin
from flow.plan.knobs import knobs_of
from flow.plan.plan import Plan
from flow.report.tables import table
from flow.vendor.constants import constants
from flow.vendor.describe import describe
from flow.vendor.layer import Layer
from flow.vendor.predict import Figure, Predicted, predict

PERIOD_NS = 5.0
"""The clock period that hls4ml's project asks the compiler for (hls4ml 1.3's default)."""
TITLE = "hls4ml through Vitis HLS (predicted, not our RTL)"


@dataclass(frozen=True, slots=True)
class VendorCount:
    """Give one count and the range that the model's errors on held-out reports span; both null where unknown."""

    value: int | None
    range: tuple[int, int] | None
    origin: Origin = Origin.PREDICTED


@dataclass(frozen=True, slots=True)
class VendorLayerReport:
    """Give one layer of hls4ml's project. unknown: why what is null is so.

    strategy, reuse_factor: of layers with a matrix product, as hls4ml takes them; null elsewhere.
    """

    layer: str
    kind: str
    strategy: str | None
    reuse_factor: int | None
    cycles: VendorCount
    ii: VendorCount
    dsp: VendorCount
    bram_18k: VendorCount
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VendorReport:
    """Give what the vendor's compiler will report of hls4ml's project.

    latency_ns: cycles × the project's clock period. median_error, ninety_error: of cycles on reports of networks of
    dense layers that were not fitted to, as fractions; 90 % are at most the latter. source: what was fitted and judged,
    and how to repeat it.
    """

    io_type: str
    period_ns: float
    layers: tuple[VendorLayerReport, ...]
    cycles: VendorCount
    ii: VendorCount
    dsp: VendorCount
    bram_18k: VendorCount
    latency_ns: float | None
    latency_range_ns: tuple[float, float] | None
    unknown: tuple[str, ...]
    median_error: float
    ninety_error: float
    source: str


def vendor_report(graph: Graph, plan: Plan) -> VendorReport:
    """Predict hls4ml's project as the plan tells it to be built."""
    network = describe(graph, knobs_of(graph, plan.choices))
    known = constants()
    found = predict(network, known)
    cycles, errors = found.total.cycles, known.held_out["dense_cycles"]
    return VendorReport(
        io_type=network.io_type,
        period_ns=PERIOD_NS,
        layers=tuple(
            _layer(layer, predicted)
            for layer, predicted in zip(network.layers, found.layers, strict=True)
            if layer.kind != "wire"
        ),
        cycles=_count(cycles),
        ii=_count(found.total.interval),
        dsp=_count(found.total.dsp),
        bram_18k=_count(found.total.bram),
        latency_ns=None if cycles.value is None else cycles.value * PERIOD_NS,
        latency_range_ns=None if cycles.range is None else (cycles.range[0] * PERIOD_NS, cycles.range[1] * PERIOD_NS),
        unknown=found.total.reasons,
        median_error=errors.median,
        ninety_error=errors.ninety,
        source=(
            f"Our model of hls4ml's C++, fitted to vendor reports ({known.fitted_on}) and judged on "
            f"{known.held_out['cycles'].rows} others: benchmarks/vendor_route.py"
        ),
    )


def _layer(layer: Layer, predicted: Predicted) -> VendorLayerReport:
    product = layer.n_in > 0
    return VendorLayerReport(
        layer=layer.label,
        kind=layer.what or layer.kind,
        strategy=layer.strategy if product else None,
        reuse_factor=layer.reuse_factor if product else None,
        cycles=_count(predicted.cycles),
        ii=_count(predicted.interval),
        dsp=_count(predicted.dsp),
        bram_18k=_count(predicted.bram),
        unknown=predicted.reasons,
    )


def _count(figure: Figure) -> VendorCount:
    return VendorCount(figure.value, figure.range)


def vendor_table(report: VendorReport) -> Group:
    """Show the section: layers, total, and why something is unknown."""
    rows = table("layer", "told", "cycles", "II", "DSP", "BRAM_18K", title=TITLE, right=(2, 3, 4, 5), whole=(1,))
    for layer in report.layers:
        told = layer.kind if layer.strategy is None else f"{layer.strategy}, reuse {layer.reuse_factor:,}"
        counts = (layer.cycles, layer.ii, layer.dsp, layer.bram_18k)
        rows.add_row(layer.layer, told, *(_text(count) for count in counts))
    totals = (report.cycles, report.ii, report.dsp, report.bram_18k)
    rows.add_row(Text("total", "bold"), report.io_type, *(Text(_text(count), "bold") for count in totals))
    said: list[RenderableType] = [rows]
    if report.latency_ns is not None and report.latency_range_ns is not None:
        low, high = report.latency_range_ns
        clock = f"at the project's {report.period_ns:g} ns clock, core alone; predicted."
        said.append(Text(f"Latency {report.latency_ns:,.0f} ns ({low:,.0f}–{high:,.0f}) {clock}"))
    reasons: dict[str, list[str]] = {}
    for layer in report.layers:
        for why in layer.unknown:
            reasons.setdefault(why, []).append(layer.layer)
    for why in report.unknown:
        reasons.setdefault(why, []).append("total")
    for why, layers in reasons.items():
        said.append(Text(f"unknown, {', '.join(dict.fromkeys(layers))}: {why}", "dim"))
    said.append(
        Text(
            f"Ranges: errors on held-out reports (cycles of dense networks: median {report.median_error:.1%}, "
            f"90 % below {report.ninety_error:.0%}). {report.source}",
            "dim",
        )
    )
    said.append(Text())
    return Group(*said)


def _text(count: VendorCount) -> str:
    if count.value is None or count.range is None:
        return "unknown"
    low, high = count.range
    return f"{count.value:,}" if low == high else f"{count.value:,} ({low:,}–{high:,})"
