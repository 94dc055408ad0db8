"""Where the nanoseconds go: a design's engines and link against a GPU's launches, copies and kernels, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from flow.latency.budget import Origin
from flow.quantity import time_text
from flow.report.beside import factor_text
from flow.report.report import Report

WIDTH, LEFT, RIGHT = 960, 330, 130  # of the picture, and of what stands beside the bars
BAR, GAP, HEAD = 16, 6, 30
MOST_BARS = 12  # of a design; the shortest are drawn as one
_COLOURS = {
    "engine": "#2f6f4f",
    "link": "#7fb59a",
    "published": "#b5533c",
    "predicted": "#d9a441",
    "measured": "#5b6ea8",
}
_MEANING = {
    "engine": "engine of the design",
    "link": "its link",
    "published": "published",
    "predicted": "lower bound, predicted",
    "measured": "measured",
}
_FONT = 'font-family="system-ui, sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True)
class Bar:
    """Give one stretch of a chain: it begins where the one before ends."""

    label: str
    ns: float
    colour: str


@dataclass(frozen=True, slots=True)
class Chain:
    """Give one machine's stretches from input to result."""

    title: str
    bars: tuple[Bar, ...]

    @property
    def ns(self) -> float:
        """Return the sum."""
        return sum(bar.ns for bar in self.bars)


def chains(report: Report) -> tuple[Chain, ...]:
    """Return the design's chain, and those of the strongest and the typical row that it is compared with."""
    made = [_design(report)]
    if report.headline is not None:
        rows = {row.name: row for row in report.baseline}
        for name in dict.fromkeys((report.headline.strongest, report.headline.typical)):
            if name is not None:
                row = rows[name]
                said = "" if row.factor is None else f": this design is {factor_text(row.factor)}"
                bars = tuple(Bar(part.what, part.ns, str(part.origin)) for part in row.parts)
                made.append(Chain(f"{name}, {time_text(sum(b.ns for b in bars))}{said}", bars))
    return tuple(made)


def _design(report: Report) -> Chain:
    hops = [Bar(f"{hop.node} ({hop.engine})", hop.ns, "engine") for hop in report.critical_path]
    # what was simulated may differ from the path that was predicted
    rest = report.latency.core_ns - sum(bar.ns for bar in hops)
    if abs(rest) > 1e-6 * max(report.latency.core_ns, 1.0):
        hops = [Bar("all engines, as simulated", report.latency.core_ns, "engine")]
    if len(hops) > MOST_BARS:
        kept = sorted(sorted(range(len(hops)), key=lambda k: -hops[k].ns)[: MOST_BARS - 1])
        others = sum(bar.ns for k, bar in enumerate(hops) if k not in kept)
        rest_of = Bar(f"{len(hops) - len(kept)} shorter ones between them", others, "engine")
        hops = [*(hops[k] for k in kept), rest_of]
    if report.latency.fixed_ns:
        hops.append(Bar(f"link {report.link}", report.latency.fixed_ns, "link"))
    total = time_text(report.latency.total_ns)
    return Chain(f"{report.model} on {report.part}, {total} ({report.latency.origin})", tuple(hops))


def waterfall(report: Report) -> str:
    """Return the picture as SVG that fetches nothing; same report, same text."""
    shown = chains(report)
    longest = max((chain.ns for chain in shown), default=0.0) or 1.0
    step = _step(longest)
    scale = (WIDTH - LEFT - RIGHT) / longest
    body: list[str] = []
    y = 44.0
    top = y
    for chain in shown:
        body.append(_text(10, y + 18, chain.title, weight="bold"))
        y += HEAD
        at = 0.0
        for bar in chain.bars:
            x, width = LEFT + at * scale, bar.ns * scale
            body.append(_text(LEFT - 8, y + 12, _short(bar.label), anchor="end"))
            # what is too short to be seen is drawn a pixel wide, and its number says how short it is
            body.append(
                f'<rect x="{x:.2f}" y="{y:.1f}" width="{max(width, 1):.2f}" height="{BAR}" '
                f'fill="{_COLOURS[bar.colour]}"/>'
            )
            body.append(_text(x + max(width, 1) + 5, y + 12, _number(bar)))
            y += BAR + GAP
            at += bar.ns
        y += 10
    grid = []
    tick = 0.0
    while tick <= longest * (1 + 1e-9):
        x = LEFT + tick * scale
        grid.append(f'<line x1="{x:.2f}" y1="{top - 6:.1f}" x2="{x:.2f}" y2="{y:.1f}" stroke="#d8d8d8"/>')
        grid.append(_text(x, top - 10, time_text(tick) if tick else "0", anchor="middle", fill="#555"))
        tick += step
    height = y + 30
    used = [name for name in _COLOURS if any(bar.colour == name for chain in shown for bar in chain.bars)]
    boundary = f"Time from input to result at boundary {report.boundary}"
    size = f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {_FONT}>',
            f"<title>{escape(boundary)}</title>",
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
            _text(10, 18, boundary, weight="bold"),
            *grid,
            *body,
            *_legend(used, height - 14),
            "</svg>",
        ]
    )


def _legend(used: list[str], y: float) -> list[str]:
    made, x = [], 10.0
    for name in used:
        made.append(f'<rect x="{x:.0f}" y="{y - 10:.1f}" width="12" height="12" fill="{_COLOURS[name]}"/>')
        made.append(_text(x + 17, y, _MEANING[name]))
        x += 40 + 7 * len(_MEANING[name])
    return made


def _step(longest: float) -> float:
    """Return a round distance of four to ten marks."""
    size = 1.0
    while size * 10 < longest:
        size *= 10
    while size > longest / 4:
        size /= 2 if str(size)[0] != "5" else 2.5
    return size


def _number(bar: Bar) -> str:
    if bar.colour != str(Origin.PREDICTED):
        return time_text(bar.ns)
    return f"at least {bar.ns:.2g} ns" if bar.ns < 1 else f"at least {time_text(bar.ns)}"


def _short(label: str) -> str:
    return label if len(label) <= 48 else label[:47] + "…"


def _text(x: float, y: float, said: str, *, anchor: str = "start", weight: str = "normal", fill: str = "#111") -> str:
    # control characters are no XML, whatever a layer may be called
    clean = "".join(c if c.isprintable() else "·" for c in said)
    style = f'text-anchor="{anchor}" font-weight="{weight}" fill="{fill}"'
    return f'<text x="{x:.2f}" y="{y:.1f}" {style}>{escape(clean)}</text>'
