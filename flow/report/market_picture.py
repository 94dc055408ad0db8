"""The market as a picture: latencies with their ranges against the budget."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from flow.errors import MissingTool, UserError
from flow.quantity import time_text
from flow.report.market import Market, Offer, Standing

COLOURS = {Standing.MET: "#1a7f37", Standing.MET_IF_CLOCK_CLOSES: "#bf8700", Standing.MISSED: "#cf222e"}
WORDS = {
    Standing.MET: "met",
    Standing.MET_IF_CLOCK_CLOSES: "met if the clock closes",
    Standing.MISSED: "missed",
}
WIDE = 8.0  # largest over least time: from here on the axis is logarithmic
FORMATS = (".svg", ".png")


def picture_format(path: Path) -> str:
    """Return `svg` or `png`; raise UserError for another ending."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"--picture {path}: write a name that ends in {' or '.join(FORMATS)}")
    return path.suffix.lower()[1:]


def market_picture(market: Market, kind: str) -> bytes:
    """Return the picture of all offers that have a latency; the others are counted below it.

    Raise MissingTool where matplotlib is not installed, UserError where there is nothing to draw.
    """
    rows = [offer for offer in market.parts if offer.latency is not None]
    if not rows:
        raise UserError("there is no picture: no part of the comparison has a latency (the table says why)")
    plt = pyplot()
    with plt.rc_context({"svg.hashsalt": "fpgaflow", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(9, 1.6 + 0.22 * len(rows)), layout="constrained")
        _draw(axes, market, rows)
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
        plt.close(figure)
    return out.getvalue()


def pyplot() -> Any:
    """Return matplotlib's pyplot, which draws into files only; raise MissingTool where it is not installed."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingTool("a picture needs matplotlib: install it with `pip install 'fpgaflow[docs]'`") from None
    return plt


def _draw(axes: Any, market: Market, rows: list[Offer]) -> None:
    from matplotlib import ticker

    drawn: set[str] = set()
    for place, offer in enumerate(rows):
        latency, colour = offer.latency, COLOURS[offer.verdict]
        assert latency is not None
        label = None if offer.verdict in drawn else WORDS[offer.verdict]
        drawn.add(offer.verdict)
        axes.plot(latency.total_range_ns, [place, place], color=colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
        axes.plot([latency.total_ns], [place], "o", color=colour, markersize=5, label=label)
        if latency.best_ns is not None and latency.best_ns < latency.total_ns * (1 - 1e-9):
            first = "least that was found" if "best" not in drawn else None
            drawn.add("best")
            axes.plot([latency.best_ns], [place], "|", color="#57606a", markersize=8, label=first)
    if market.budget_ns is not None:
        axes.axvline(market.budget_ns, color="black", linewidth=1, linestyle="--", label="budget")
    axes.set_yticks(range(len(rows)), [_label(offer) for offer in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    low, high = axes.dataLim.intervalx
    if high > WIDE * low:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    else:  # a logarithmic axis would have hardly a mark
        axes.set_xlim(left=0.0)
        axes.xaxis.set_major_locator(ticker.MaxNLocator(nbins=8, steps=(1, 2, 5, 10)))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda ns, _: time_text(ns)))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(axis="x", color="#d0d7de", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel(f"total latency at boundary {market.boundary} (predicted; bar: range)\n{_left_out(market)}")
    budget = "no budget" if market.budget_ns is None else f"budget {time_text(market.budget_ns)}"
    axes.set_title(f"{market.model}, link {market.link}, {budget}", loc="left", fontweight="bold")
    axes.figure.legend(loc="outside lower center", ncols=5, frameon=False)


def _label(offer: Offer) -> str:
    price = offer.price
    if price is None:
        return offer.name
    most = "" if price.low == price.high else f"–{price.high:,.0f}"
    return f"{offer.name}  US\\$ {price.low:,.0f}{most} ({price.date})"


def _left_out(market: Market) -> str:
    words = {
        Standing.UNKNOWN: "unknown",
        Standing.DOES_NOT_FIT: "too small",
        Standing.UNREACHABLE_LINK: "not reached by the link",
    }
    counts = [(sum(offer.verdict is v for offer in market.parts), word) for v, word in words.items()]
    told = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"not drawn: {told}" if told else ""
