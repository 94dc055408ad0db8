"""The front of latency and area as a picture, with the asked budget."""

from __future__ import annotations

import io
from typing import Any

from flow.latency.budget import Verdict
from flow.quantity import time_text
from flow.report.market_picture import pyplot
from flow.report.pareto import Closing, Pareto, ParetoPoint
from flow.report.pareto_table import GROUPS, engines_text, missing_text
from flow.report.tables import cycles_text

COLOURS: dict[Closing, str] = {"surely": "#1a7f37", "by_nominal_delays": "#bf8700", "perhaps": "#cf222e"}
WIDTH, HEIGHT, DPI = 9.0, 5.6, 150
TEXT: dict[str, Any] = {
    "fontsize": 7,
    "color": "#24292f",
    "bbox": {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    "zorder": 2.5,
}
"""Labels hide lines behind them, and no point."""
MOST_TEXT = 34
"""Characters of a label beyond which reuse factors are left out of it."""
CLEAR = (0.22, 0.038)
"""Share of width and height that a label keeps clear for itself."""


def pareto_picture(pareto: Pareto, kind: str) -> bytes:
    """Return the picture as svg or png; raise MissingTool where matplotlib is not installed."""
    plt = pyplot()
    with plt.rc_context({"svg.hashsalt": "fpgaflow", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
        _draw(axes, pareto)
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
        plt.close(figure)
    return out.getvalue()


def _draw(axes: Any, pareto: Pareto) -> None:
    from matplotlib import ticker

    for closing, colour in COLOURS.items():
        points = [point for point in pareto.points if point.clock.closes == closing]
        if not points:
            continue
        times, areas = [point.ns for point in points], [point.area for point in points]
        axes.step(times, areas, where="post", color=colour, linewidth=1, alpha=0.5)
        beyond = [point.verdict is Verdict.MISSED for point in points]
        fills = ["white" if out else colour for out in beyond]
        axes.scatter(times, areas, s=22, c=fills, edgecolors=colour, linewidths=1.1, zorder=3, label=GROUPS[closing])
    if pareto.budget_ns is not None:
        axes.axvline(pareto.budget_ns, color="black", linewidth=1, linestyle="--", label="budget")
        axes.scatter([], [], s=22, c="white", edgecolors="#57606a", label="beyond the budget")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis, text in ((axes.xaxis, time_text), (axes.yaxis, "{:.3g}".format)):
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _, text=text: text(value)))
        axis.set_minor_formatter(ticker.NullFormatter())
    axes.margins(x=0.08, y=0.1)
    _widened(axes)
    axes.grid(color="#d0d7de", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for point in _spread(axes, pareto.points):
        # faster points with less sure clocks lie left of the front: the room beside it is theirs
        sure = point.clock.closes == "surely"
        at, beside, side = (point.ns, point.area), (6, 4) if sure else (-6, -3), "left" if sure else "right"
        axes.annotate(_label(point), at, xytext=beside, textcoords="offset points", ha=side, **TEXT)
    missing = missing_text(pareto)
    axes.set_xlabel(
        f"total latency at boundary {pareto.boundary} (predicted)" + (f"\n{missing}" if missing else ""),
    )
    axes.set_ylabel("area: sum of used over usable LUT, FF, DSP, BRAM (predicted)")
    budget = "no budget" if pareto.budget_ns is None else f"budget {time_text(pareto.budget_ns)}"
    axes.set_title(
        f"{pareto.model} on {pareto.part}, clock {pareto.clock}, link {pareto.link}, {budget}",
        loc="left",
        fontweight="bold",
    )
    axes.figure.legend(loc="outside lower center", ncols=3, frameon=False)


def _widened(axes: Any) -> None:
    """Give an axis that spans little room for two of its ticks, and the outer labels room beside their points."""
    for low, high, limit in ((*axes.get_xlim(), axes.set_xlim), (*axes.get_ylim(), axes.set_ylim)):
        more = max(1.0, (4 * low / high) ** 0.5)
        limit(low / more, high * more)
    low, high = axes.get_xlim()
    axes.set_xlim(low / (high / low) ** 0.1, high * (high / low) ** 0.12)


def _spread(axes: Any, points: tuple[ParetoPoint, ...]) -> list[ParetoPoint]:
    """Return points whose labels do not cover each other: the ends, then the others where there is room."""
    order = dict.fromkeys((points[0], points[-1], *points))
    places: list[tuple[float, float]] = []
    chosen = []
    for point in order:
        x, y = axes.transAxes.inverted().transform(axes.transData.transform((point.ns, point.area)))
        x -= 0.0 if point.clock.closes == "surely" else CLEAR[0]
        if all(abs(x - a) > CLEAR[0] or abs(y - b) > CLEAR[1] for a, b in places):
            places.append((x, y))
            chosen.append(point)
    return chosen


def _label(point: ParetoPoint) -> str:
    factors = engines_text(point.engines)
    text = f"{cycles_text(point.cycles)}, {factors if factors == 'unrolled' else f'reuse {factors}'}"
    return text if len(text) <= MOST_TEXT else cycles_text(point.cycles)
