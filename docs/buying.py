"""Renew the tables and the picture of docs/buying.md: `python docs/buying.py [market.json]`.

Without a file the comparison is made (`fpgaflow budget jet_tagger …`, as the page has it), which takes a while.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from flow.quantity import time_text
from flow.report.market import Market, Offer, market_from_json
from flow.report.market_picture import market_picture

HERE = Path(__file__).parent
ASKED = "jet_tagger --budget 5us --rate 1MHz --link ethernet10g --clock auto"
COMMAND = ["-c", "from flow.cli import main; main()", "budget", *ASKED.split(), "--all-parts", "--json"]
BEGIN, END = "<!-- made by docs/buying.py -->", "<!-- end -->"


def main() -> None:
    """Write what lies between the marks, and docs/market.svg."""
    given = sys.argv[1:]
    market = market_from_json(Path(given[0]).read_bytes() if given else compared())
    page = HERE / "buying.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{figures(market)}\n\n{others(market)}\n{END}{after}", encoding="utf-8")
    (HERE / "market.svg").write_bytes(market_picture(market, "svg"))


def compared() -> bytes:
    """Return what the command prints; its status says whether a part meets the budget, which is no failure here."""
    return subprocess.run([sys.executable, *COMMAND], stdout=subprocess.PIPE, check=False).stdout


def figures(market: Market) -> str:
    """Return one row for all parts with the same figures."""
    rows: dict[tuple[str, ...], list[Offer]] = {}
    for offer in market.parts:
        if offer.latency is not None and offer.clock is not None and offer.ii is not None:
            least, most = offer.latency.total_range_ns
            row = (
                offer.verdict.value.replace("_", " "),
                time_text(offer.latency.total_ns),
                f"{time_text(least)} – {time_text(most)}",
                "–" if offer.latency.best_ns is None else time_text(offer.latency.best_ns),
                f"{1e3 / offer.clock.period_ns:.4g} ({offer.clock.grade})",
                f"{offer.ii.cycles} of {offer.ii.required}",
            )
            rows.setdefault(row, []).append(offer)
    head = "| parts and boards | verdict | total | range | least found | MHz (delays) | II | fullest, largest share |\n"
    lines = [f"| {_named(same)} | {' | '.join(row)} | {_fullest(same)} |" for row, same in rows.items()]
    return head + "|---|---|---:|---:|---:|---:|---:|---:|\n" + "\n".join(lines)


def others(market: Market) -> str:
    """Return one row for all parts with the same reason."""
    rows: dict[tuple[str, str], list[Offer]] = {}
    for offer in market.parts:
        if offer.latency is None:
            rows.setdefault((offer.verdict.value.replace("_", " "), offer.reason), []).append(offer)
    lines = [f"| {_named(same)} | {verdict} | {reason} |" for (verdict, reason), same in rows.items()]
    return "| parts and boards | verdict | why |\n|---|---|---|\n" + "\n".join(lines)


def _named(offers: list[Offer]) -> str:
    return ", ".join(offer.name + _price(offer) for offer in offers)


def _price(offer: Offer) -> str:
    price = offer.price
    if price is None:
        return ""
    most = "" if price.low == price.high else f"–{price.high:,.0f}"
    return f" (US$ {price.low:,.0f}{most}, {price.date})"


def _fullest(offers: list[Offer]) -> str:
    kind, share = max((o.utilization.fullest for o in offers if o.utilization is not None), key=lambda pair: pair[1])
    return f"{share:.1%} {kind.upper()}"


if __name__ == "__main__":
    main()
