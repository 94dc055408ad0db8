"""The market as a table in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from flow.device.boards import Price
from flow.quantity import time_text
from flow.report.market import Market, Offer, Standing
from flow.report.tables import table

WORDS = {
    Standing.MET: ("met", "bold green"),
    Standing.MET_IF_CLOCK_CLOSES: ("met if the clock closes", "bold yellow"),
    Standing.MISSED: ("missed", "bold red"),
    Standing.UNKNOWN: ("unknown", "bold"),
    Standing.DOES_NOT_FIT: ("does not fit", "bold red"),
    Standing.UNREACHABLE_LINK: ("link unreachable", "bold"),
}
MOST_NAMES = 12
"""Names in a note on rows of the table; of more, their number is said."""


def print_market(market: Market, console: Console) -> None:
    """Print what was asked, a row per part and board with figures, then the others with their reason, then notes."""
    console.print(_asked(market))
    columns = ("part or board", "total", "range", "MHz", "II", "of", "fullest", "US$")
    rows = table(*columns, title="Parts and boards", right=(1, 2, 3, 4, 5, 6, 7), whole=(0,))
    shown = [offer for offer in market.parts if offer.utilization is not None]
    before = None
    for offer in shown:
        if offer.verdict is not before:
            rows.add_row(Text(*WORDS[offer.verdict]))
            before = offer.verdict
        rows.add_row(*_row(offer))
    if shown:
        console.print(rows)
    others = [offer for offer in market.parts if offer.utilization is None]
    for line in (*_reasons(others), *_unchecked(shown)):
        console.print(line)
    console.print(Text("\n".join(_notes(market)), "dim"))


def _asked(market: Market) -> Text:
    asked = ["no budget" if market.budget_ns is None else f"budget {time_text(market.budget_ns)}"]
    if market.rate_hz is not None:
        asked.append(f"an inference every {time_text(1e9 / market.rate_hz)}")
    asked.append(f"link {market.link}, {market.payload_in_bytes} bytes in and {market.payload_out_bytes} out")
    asked.append(f"clock {market.clock}")
    counts = [(sum(offer.verdict is v for offer in market.parts), WORDS[v][0]) for v in Standing]
    found = ", ".join(f"{count} {word}" for count, word in counts if count)
    return Text.assemble((market.model, "bold"), f" at boundary {market.boundary}: {'; '.join(asked)}\n{found}")


def _row(offer: Offer) -> tuple[str, ...]:
    latency, clock, ii, use = offer.latency, offer.clock, offer.ii, offer.utilization
    fullest = "" if use is None else f"{_share(use.fullest[1])} {use.fullest[0].upper()}"
    name = offer.part if offer.board is None else f"{offer.board} ({offer.part})"
    if latency is None or clock is None or ii is None:
        return name, "", "", "", "", "", fullest, _price(offer.price)
    return (
        name,
        time_text(latency.total_ns),
        _span(latency.total_range_ns),
        f"{1e3 / clock.period_ns:.4g}{'' if clock.grade == 'routed' else '*'}",
        f"{ii.cycles:,}",
        "" if ii.required is None else f"{ii.required:,}",
        fullest,
        _price(offer.price),
    )


def _share(share: float) -> str:
    return "no" if share == float("inf") else f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"


def _span(span_ns: tuple[float, float]) -> str:
    least, most = span_ns
    scale, unit = next(((s, u) for s, u in ((1e6, "ms"), (1e3, "µs")) if most >= s), (1.0, "ns"))
    return f"{least / scale:.3g}–{most / scale:.3g} {unit}"


def _price(price: Price | None) -> str:
    if price is None:
        return "unknown"
    return f"{price.low:,.0f}" + ("" if price.low == price.high else f"–{price.high:,.0f}")


def _reasons(offers: Iterable[Offer]) -> list[Text]:
    """Say once, with all the rows to which it applies, why there are no figures."""
    told: dict[tuple[Standing, str], list[str]] = {}
    for offer in offers:
        price = "" if offer.price is None else f" (US$ {_price(offer.price)})"
        told.setdefault((offer.verdict, offer.reason), []).append(f"{offer.name}{price}")
    return [Text.assemble(WORDS[v], f": {why}: {', '.join(who)}") for (v, why), who in told.items()]


def _unchecked(offers: Iterable[Offer]) -> list[Text]:
    told: dict[str, list[str]] = {}
    for offer in offers:
        for what in offer.unchecked:
            told.setdefault(what, []).append(offer.name)
    return [Text.assemble(("not checked here", "bold"), f": {what}: {_names(who)}") for what, who in told.items()]


def _names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= MOST_NAMES else f"{len(names)} rows"


def _notes(market: Market) -> list[str]:
    notes = [TOTAL, CLOCK]
    fixed = sorted({(o.latency.fixed_ns, o.latency.fixed_range_ns) for o in market.parts if o.latency is not None})
    for typical_ns, span in fixed:
        between = "" if span[0] == span[1] else f" ({_span(span)})"
        notes.append(f"link: {time_text(typical_ns)} of the total{between}. {market.link_source}")
    seen = sorted({(p.kind, p.date, p.source, p.grade) for o in market.parts if (p := o.price) is not None})
    return notes + [f"US$, {kind}: {source}, {date} [{grade}]" for kind, date, source, grade in seen]


TOTAL = (
    "total: the core, predicted, and the link. range: the core at the fastest and the slowest clock that place and "
    "route may give, the link from least to most. A plan for a budget takes the least area within it; the least total "
    "that was found on a part stands in JSON and CSV (best_ns)."
)
CLOCK = (
    "MHz: the clock in which the total is counted; why it is no faster stands in JSON and CSV. *: from delays that are "
    "assumed, not from routed designs. II: cycles between inferences, predicted, of the most that the rate allows. "
    "fullest: the largest share of what a plan may use (FINN's limits for timing closure), and of what."
)
