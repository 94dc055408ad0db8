"""What a plan's latency and area depend on, as a person reads it: sentence, shares, table, rooflines."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flow.plan.onchip import OnChip
from flow.plan.sensitivity.figures import Delta, Figures, Outcome, Sensitivity, Variation
from flow.plan.sensitivity.limits import signed
from flow.quantity import time_text
from flow.report.tables import table

BAR = 20  # characters of the longest bar
_VERDICT = {"met": ("met", "green"), "missed": ("missed", "red"), "met_if_clock_closes": ("if closes", "yellow")}
AS_BUILT, ANEW, BOTH = "kept", "anew", "both"
"""What becomes of the other choices: kept, planned anew, or no difference."""


def render_sensitivity(found: Sensitivity, gpu: str | None) -> Group:
    """Return the section; gpu: what the roofline of the same work on a GPU says, None where it is not known."""
    blocks: list[RenderableType] = [Text(found.sentence, "bold"), Text(), _path(found), _table(found)]
    if found.left_out:
        blocks.append(Text(f"Not varied, as smaller parts of the whole: {', '.join(found.left_out)}."))
    reasons = dict.fromkeys(_reasons(found))
    key = "Rest: all other choices kept, planned anew for the same request, or no difference. Empty: unchanged."
    blocks += [Text(key, "dim"), *(Text(f"– {reason}", "dim") for reason in reasons)]
    blocks += [Text(f"• {note}") for note in found.notes]
    blocks += [Text(), *_roofline(found.on_chip, gpu), Text()]
    return Group(*blocks)


def _path(found: Sensitivity) -> Table:
    title = f"Where the {time_text(found.base.total_ns)} go ({found.origin})"
    rows = table("part", "kind", "cycles", "time", "share", "", title=title, right=(2, 3, 4), whole=(5,))
    longest = max((share.share for share in found.path), default=1.0)
    for share in found.path:
        cycles = "" if share.cycles is None else f"{share.cycles:,}"
        bar = Text("█" * round(BAR * share.share / longest) or "▏", "magenta" if share.kind == "link" else "cyan")
        rows.add_row(share.name, share.kind, cycles, time_text(share.ns), f"{share.share:.1%}", bar)
    return rows


def _table(found: Sensitivity) -> Table:
    names = ("variation", "rest", "cycles", "total", "± ns", "LUT", "FF", "DSP", "BRAM", "verdict")
    title = f"What a change would bring, each computed ({found.origin})"
    rows = table(*names, title=title, right=(2, 3, 4, 5, 6, 7, 8), whole=(1, 9))
    _row(rows, "as it is", "", found.base, None)
    if found.fresh != found.base:
        _row(rows, "", ANEW, found.fresh, None)
    for variation in found.variations:
        for name, how, outcome in _lines(variation):
            if outcome.figures is not None:
                _row(rows, name, how, outcome.figures, outcome.delta)
            elif outcome.why:
                rows.add_row(name, Text(how, "dim"), *[""] * 7, Text("none", "dim"))
    return rows


def _lines(variation: Variation) -> tuple[tuple[str, str, Outcome], ...]:
    """Return a line for each sense, one where both say the same; a sense that makes no sense here has none."""
    built, anew, name = variation.as_built, variation.replanned, variation.change
    if built == anew:
        return ((name, BOTH, built),)
    if built.figures is None and anew.figures is not None:
        return ((name, ANEW, anew),)
    if anew.figures is None and built.figures is not None and not anew.why:
        return ((name, AS_BUILT, built),)
    return ((name, AS_BUILT, built), ("", ANEW, anew))


def _row(rows: Table, name: str, how: str, figures: Figures, delta: Delta | None) -> None:
    word, style = _VERDICT[figures.verdict] if figures.fits else ("no room", "red")
    if delta is None:
        cells = ["", *(f"{count:,}" for count in (figures.lut, figures.ff, figures.dsp, figures.bram))]
    else:
        counts = (delta.lut, delta.ff, delta.dsp, delta.bram)
        cells = [signed(value) if value else "" for value in (delta.ns, *counts)]
    total = (f"{figures.cycles:,}", time_text(figures.total_ns))
    rows.add_row(name, Text(how, "dim"), *total, *cells, Text(word, style))


def _reasons(found: Sensitivity) -> list[str]:
    """Return why some variations were not computed."""
    said = []
    for variation in found.variations:
        for how, outcome in ((AS_BUILT, variation.as_built), (ANEW, variation.replanned)):
            other = variation.replanned if how == AS_BUILT else variation.as_built
            # a budget, or a cone that would be folded, says nothing new each time
            telling = how == ANEW or other.figures is None or variation.retrain
            if outcome.figures is None and outcome.why and telling:
                said.append(f"{variation.change}, rest {how}: {outcome.why}.")
    return said


def _roofline(roof: OnChip, gpu: str | None) -> list[Text]:
    memory = "no block RAM" if roof.memory_ns is None else f"weights from block RAM {time_text(roof.memory_ns)}"
    said = (
        f"Roofline of the same work on {roof.part} at {1e3 / roof.period_ns:.4g} MHz: {time_text(roof.bound_ns)} "
        f"({roof.multiplications:,} multiplications at {roof.per_cycle:,.4g} a cycle {time_text(roof.compute_ns)}, "
        f"{memory}; predicted)."
    )
    beside = [] if gpu is None else [Text(f"Beside it: {gpu}")]
    return [Text(said), *beside, Text(f"Neither binds. {roof.why}")]
