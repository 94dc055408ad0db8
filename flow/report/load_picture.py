"""The picture of a load: which share of the results takes longer than a time."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10

from flow.quantity import time_text
from flow.report.load import LoadReport

WIDTH, HEIGHT = 720, 310
LEFT, RIGHT, TOP, BOTTOM = 70, 30, 50, 50


def load_picture(load: LoadReport | None) -> str:
    """Return an SVG, empty where there is no load, or nothing that varies; the same load, the same text."""
    if load is None or not load.curve or load.curve[0][0] == load.curve[-1][0]:
        return ""
    low, high = load.curve[0][0], load.curve[-1][0]
    low, high, step = _axis(low, high)
    decades = max(ceil(log10(load.served)), 1)
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(ns: float) -> float:
        return LEFT + across * (ns - low) / (high - low)

    def y(share: float) -> float:
        return TOP + up * min(-log10(share) / decades if share > 0 else 1.0, 1.0)

    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-weight="bold">Share of results that take longer, from arrival to result</text>',
        f'<text x="{LEFT}" y="36">{escape(load.arrivals)}</text>',
    ]
    for k in range(decades + 1):
        at, text = TOP + up * k / decades, "1" if k == 0 else f"{10.0**-k:g}"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
    for k in range(round((high - low) / step) + 1):
        at = x(low + k * step)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>')
        label = time_text(low + k * step)
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{label}</text>')
    path = [f"M{x(load.curve[0][0]):.1f} {TOP}"]
    for ns, share in load.curve:
        path.append(f"H{x(ns):.1f}V{y(share):.1f}")
    parts.append(f'<path d="{"".join(path)}" fill="none" stroke="#0b6fa4" stroke-width="2"/>')
    for row in load.percentiles:
        if row.name in {"p50", "p99", "p99.9"}:
            share = {"p50": 0.5, "p99": 0.01, "p99.9": 0.001}[row.name]
            if share * load.served < 1:
                continue  # no result lies beyond it
            at_x, at_y = x(row.total_ns), y(share)
            parts.append(f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="4" fill="#c2410c"/>')
            side, shift = ("end", -8) if at_x > LEFT + across * 0.7 else ("start", 8)
            label = f"{row.name} {time_text(row.total_ns)}"
            parts.append(f'<text x="{at_x + shift:.1f}" y="{at_y - 6:.1f}" text-anchor="{side}">{label}</text>')
    said = "waiting, core, and the link at its typical overhead"
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 10}" text-anchor="end">{said}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _axis(low: float, high: float) -> tuple[float, float, float]:
    """Return round ends around two times and the step between marks, at most seven of them."""
    span = max(high - low, high * 0.01, 1e-3)
    rough = 10 ** floor(log10(span / 6))
    step = next(rough * k for k in (1, 2, 5, 10) if span / (rough * k) <= 6)
    first = floor(low / step + 1e-9) * step
    return first, max(ceil(high / step - 1e-9) * step, first + step), step
