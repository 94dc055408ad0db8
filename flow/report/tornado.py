"""The picture of a sensitivity: how far each change moves latency and area, the widest on top."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from flow.plan.sensitivity.figures import Sensitivity, Variation
from flow.plan.sensitivity.limits import signed

WIDTH, LEFT, MIDDLE, RIGHT = 960, 250, 70, 45
HEAD, ROW, BAR, FOOT = 74, 30, 9, 42
MOST_ROWS = 18
NOTHING = 1e-6
"""A change below this is what floating-point numbers leave of none."""
MORE, LESS = ("#c05a1e", "#e3b495"), ("#1f6f9f", "#94bdd4")
"""Colours of all else kept, and of planned anew."""
GREY = "#555555", "#b5b5b5"
_NAMES = {"weight_bits": "weights of {}", "activation_bits": "results of {}", "reuse": "reuse of {}"}
_STEPS = {"weight_bits": "±1 bit", "activation_bits": "±1 bit", "reuse": "double, half"}


@dataclass(frozen=True, slots=True)
class _Swing:
    """Hold what one kind of change moves: (ns, LUT) of its variations, all else kept and planned anew."""

    label: str
    kept: tuple[tuple[bool, float, int], ...]
    anew: tuple[tuple[bool, float, int], ...]
    is_link: bool = False

    @property
    def reach(self) -> tuple[float, int]:
        """Return how far latency and area move at most."""
        found = (*self.kept, *self.anew)
        return max((abs(ns) for _, ns, _ in found), default=0.0), max((abs(lut) for *_, lut in found), default=0)


def tornado(found: Sensitivity | None) -> str:
    """Return the picture as SVG that fetches nothing, "" without a sensitivity; the same one, the same text."""
    if found is None:
        return ""
    swings = sorted(_swings(found.variations), key=lambda s: (-s.reach[0], -s.reach[1], s.label))
    swings = [swing for swing in swings if any(swing.reach)][:MOST_ROWS]
    if not swings:
        return ""
    height = HEAD + ROW * len(swings) + FOOT
    panel = (WIDTH - LEFT - MIDDLE - RIGHT) / 2
    # a link may be a thousand times slower than all else: its bar ends where the panel does
    most_ns = max([s.reach[0] for s in swings if not s.is_link] or [s.reach[0] for s in swings]) or 1.0
    most_lut = max(swing.reach[1] for swing in swings) or 1
    centres = (LEFT + panel / 2, LEFT + panel * 1.5 + MIDDLE)
    # room for the numbers at the ends of the bars
    scales = ((panel / 2 - 42) / most_ns, (panel / 2 - 42) / most_lut)
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img"'
    title = f"What a change brings: {found.base.total_ns:,.4g} ns and {found.base.lut:,} LUT as it is (predicted)"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-weight="bold">{escape(title)}</text>',
    ]
    for centre, name in zip(centres, ("change of the total, ns", "change of LUTs"), strict=True):
        parts.append(f'<text x="{centre:.1f}" y="54" text-anchor="middle" fill="#444">{name}</text>')
        bottom = HEAD + ROW * len(swings)
        parts.append(f'<line x1="{centre:.1f}" x2="{centre:.1f}" y1="{HEAD - 8}" y2="{bottom}" stroke="#888"/>')
    for k, swing in enumerate(swings):
        y = HEAD + k * ROW
        parts.append(f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(swing.label)}</text>')
        for sense, (values, top) in enumerate(((swing.kept, y), (swing.anew, y + BAR + 2))):
            for place, (centre, scale) in enumerate(zip(centres, scales, strict=True)):
                moves = [(is_more, value[place]) for is_more, *value in values]
                parts += _bars(moves, centre, (scale, panel / 2 - 42), top, sense)
    parts += [*_legend(height - 16), "</svg>", ""]
    return "\n".join(parts)


def _bars(
    moves: list[tuple[bool, float]], centre: float, scale: tuple[float, float], top: float, sense: int
) -> list[str]:
    """Draw the bars of one line, the longest first so that none hides another, with the numbers at the far ends.

    scale: pixels for one, and the most that a bar may have; one that would be longer has » behind its number. What is
    too short to be seen is drawn a pixel wide, and its number says how short it is.
    """
    parts = []
    ends: dict[bool, float] = {}
    for is_more, value in sorted(moves, key=lambda move: -abs(move[1])):
        if abs(value) < NOTHING:
            continue
        width = max(min(abs(value) * scale[0], scale[1]), 1.0)
        x = centre if value > 0 else centre - width
        colour = (MORE if is_more else LESS)[sense]
        parts.append(f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
        ends.setdefault(value > 0, value)
    for right, value in ends.items():
        end = max(min(abs(value) * scale[0], scale[1]), 1.0) + 3
        x, anchor = (centre + end, "start") if right else (centre - end, "end")
        number = signed(round(value) if abs(value) >= 1000 else float(f"{value:.3g}"))
        number += " »" if abs(value) * scale[0] > scale[1] * 1.001 else ""
        place = f'x="{x:.1f}" y="{top + BAR - 0.5}" text-anchor="{anchor}"'
        parts.append(f'<text {place} font-size="9.5" fill="#444">{number}</text>')
    return parts


def _swings(variations: tuple[Variation, ...]) -> list[_Swing]:
    groups: dict[str, list[Variation]] = {}
    for variation in variations:
        label = variation.change
        if variation.what in _NAMES:
            label = f"{_NAMES[variation.what].format(variation.where)}, {_STEPS[variation.what]}"
        elif variation.what == "clock":
            label = "clock, 25 % faster, 20 % slower"
        groups.setdefault(label, []).append(variation)
    found = []
    for label, members in groups.items():
        kept: list[tuple[bool, float, int]] = []
        anew: list[tuple[bool, float, int]] = []
        for k, variation in enumerate(members):
            # the first of two is "more" of what changes: bits, reuse, clock
            for outcome, values in ((variation.as_built, kept), (variation.replanned, anew)):
                if outcome.delta is not None and outcome.figures is not None and outcome.figures.fits:
                    values.append((k == 0, outcome.delta.ns, outcome.delta.lut))
        found.append(_Swing(label, tuple(kept), tuple(anew), members[0].what == "link"))
    return found


def _legend(y: float) -> list[str]:
    entries = (
        (MORE[0], "more bits or reuse, faster clock; other budget, link, store"),
        (LESS[0], "less"),
        (GREY[0], "upper line: all else kept"),
        (GREY[1], "lower line: planned anew"),
    )
    parts, x = [], 12.0
    for colour, text in entries:
        parts.append(f'<rect x="{x:.0f}" y="{y - 9}" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16:.0f}" y="{y}" fill="#444">{text}</text>')
        x += 44 + 6.2 * len(text)
    return parts
