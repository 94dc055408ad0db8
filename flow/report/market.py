"""`market.json`: what every part and board of the catalogue would make of a network, as data."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from flow.device.boards import Price
from flow.latency.budget import Origin

FORMAT = 1
KINDS = ("lut", "ff", "dsp", "bram")
SORTS = ("latency", "price", "area")
Sort = Literal["latency", "price", "area"]


class Standing(StrEnum):
    """Answer whether a part would do, the best answer first: the order of the table.

    MET_IF_CLOCK_CLOSES: the period lies within the range that place and route may need, which only a build shows.
    MISSED: too late, too slow for the rate, or no clock closes. UNKNOWN: nothing can be said here, see the reason.
    """

    MET = "met"
    MET_IF_CLOCK_CLOSES = "met_if_clock_closes"
    MISSED = "missed"
    UNKNOWN = "unknown"
    DOES_NOT_FIT = "does_not_fit"
    UNREACHABLE_LINK = "unreachable_link"


@dataclass(frozen=True, slots=True)
class MarketLatency:
    """Split a latency in ns: core = cycles × period, fixed = the link's overhead, total at the boundary.

    core_range_ns: at the fastest and the slowest period that place and route may reach; with a clock that was asked
    for never faster than that. fixed_range_ns: least and most that the link's source gives. best_ns: the least total
    that the planner found on this part, None where it did not look for it.
    """

    boundary: str
    cycles: int
    core_ns: float
    core_range_ns: tuple[float, float]
    origin: Origin
    fixed_ns: float
    fixed_range_ns: tuple[float, float]
    fixed_origin: Origin
    total_ns: float
    total_range_ns: tuple[float, float]
    best_ns: float | None


@dataclass(frozen=True, slots=True)
class MarketInterval:
    """Give the initiation interval in cycles, what the rate requires (None: no rate), and what is sustained in Hz."""

    cycles: int
    required: int | None
    sustained_hz: float
    origin: Origin


@dataclass(frozen=True, slots=True)
class Use:
    """Count what is used of one resource, and what a plan may use; share: None where nothing may be."""

    used: int
    usable: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Utilization:
    """Count what a plan takes; of: the plan, or the smallest that was found where none fits."""

    of: Literal["plan", "smallest"]
    origin: Origin
    lut: Use
    ff: Use
    dsp: Use
    bram: Use

    @property
    def uses(self) -> tuple[tuple[str, Use], ...]:
        """Return the resources by name."""
        return tuple((kind, getattr(self, kind)) for kind in KINDS)

    @property
    def fullest(self) -> tuple[str, float]:
        """Return the resource of which the largest share is used, with that share."""
        shares = [(kind, float("inf") if use.share is None else use.share) for kind, use in self.uses]
        return max(shares, key=lambda pair: pair[1])


@dataclass(frozen=True, slots=True)
class MarketClock:
    """Give the period that all nanoseconds are counted in, what place and route may need, and why it is no shorter.

    origin: of the period. range_origin, grade, source: of the range, and of the delays that it comes from. limit_mhz:
    the most that the part's clock buffers carry, None where no source gives it.
    """

    period_ns: float
    range_ns: tuple[float, float]
    origin: Origin
    range_origin: Origin
    why: str
    grade: str
    source: str
    limit_mhz: float | None
    limit_source: str


@dataclass(frozen=True, slots=True)
class Offer:
    """Hold one row: a bare part, or a board with its part as mounted.

    reason: why it is not met, or nothing is known; "" where it is met. dies: over which the counts are spread.
    unchecked: what cannot be checked here. price: None where no source gives one.
    """

    part: str
    board: str | None
    title: str
    device: str
    family: str
    speed: str
    dies: int
    verdict: Standing
    reason: str
    latency: MarketLatency | None
    ii: MarketInterval | None
    utilization: Utilization | None
    clock: MarketClock | None
    price: Price | None
    unchecked: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return what `--part` takes."""
        return self.board or self.part


@dataclass(frozen=True, slots=True)
class Market:
    """Hold what was asked, and all offers, sorted."""

    format: int
    model: str
    budget_ns: float | None
    rate_hz: float | None
    link: str
    link_source: str
    boundary: str
    payload_in_bytes: int
    payload_out_bytes: int
    clock: str
    sort: Sort
    parts: tuple[Offer, ...]

    @property
    def holds(self) -> bool:
        """Tell whether at least one offer meets what is asked, be it that its clock has to close."""
        return any(offer.verdict in {Standing.MET, Standing.MET_IF_CLOCK_CLOSES} for offer in self.parts)


def ordered(offers: tuple[Offer, ...], sort: Sort) -> tuple[Offer, ...]:
    """Return the offers: the best verdict first, then by latency, price or area; what is not known comes last.

    latency: the total. price: the lower end. area: the share that the plan takes of the resource that it needs most.
    Ties go by latency, then by name.
    """
    rank = {verdict: place for place, verdict in enumerate(Standing)}
    unknown = float("inf")

    def key(offer: Offer) -> tuple[float, float, float, str]:
        latency = unknown if offer.latency is None else offer.latency.total_ns
        keys = {
            "latency": latency,
            "price": unknown if offer.price is None else offer.price.low,
            "area": unknown if offer.utilization is None else offer.utilization.fullest[1],
        }
        return rank[offer.verdict], keys[sort], latency, offer.name

    return tuple(sorted(offers, key=key))


@cache
def _adapter() -> TypeAdapter[Market]:
    return TypeAdapter(Market)


def market_to_json(market: Market) -> bytes:
    """Return the market as JSON; what is not known is null."""
    return _adapter().dump_json(market, indent=1) + b"\n"


def market_from_json(data: bytes) -> Market:
    """Read what `market_to_json` wrote."""
    return _adapter().validate_json(data)


def market_to_csv(market: Market) -> str:
    """Return one line per offer; units stand in the columns' names, what is not known is empty."""
    out = io.StringIO()
    rows = [_flat(market, offer) for offer in market.parts]
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["part"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(market: Market, offer: Offer) -> dict[str, object]:
    latency, ii, clock, price, use = offer.latency, offer.ii, offer.clock, offer.price, offer.utilization
    counts: dict[str, object] = {}
    for kind in KINDS:
        of = None if use is None else getattr(use, kind)
        counts |= {f"{kind}_used": None if of is None else of.used, f"{kind}_usable": None if of is None else of.usable}
    return {
        "model": market.model,
        "part": offer.part,
        "board": offer.board,
        "device": offer.device,
        "verdict": offer.verdict.value,
        "boundary": market.boundary,
        "link": market.link,
        "budget_ns": market.budget_ns,
        "total_ns": latency and latency.total_ns,
        "total_min_ns": latency and latency.total_range_ns[0],
        "total_max_ns": latency and latency.total_range_ns[1],
        "best_ns": latency and latency.best_ns,
        "core_cycles": latency and latency.cycles,
        "core_ns": latency and latency.core_ns,
        "core_min_ns": latency and latency.core_range_ns[0],
        "core_max_ns": latency and latency.core_range_ns[1],
        "core_origin": latency and latency.origin.value,
        "fixed_ns": latency and latency.fixed_ns,
        "fixed_min_ns": latency and latency.fixed_range_ns[0],
        "fixed_max_ns": latency and latency.fixed_range_ns[1],
        "fixed_origin": latency and latency.fixed_origin.value,
        "rate_hz": market.rate_hz,
        "ii_cycles": ii and ii.cycles,
        "ii_required_cycles": ii and ii.required,
        "sustained_hz": ii and ii.sustained_hz,
        "period_ns": clock and clock.period_ns,
        "period_min_ns": clock and clock.range_ns[0],
        "period_max_ns": clock and clock.range_ns[1],
        "period_origin": clock and clock.origin.value,
        "period_why": clock and clock.why,
        "delays_grade": clock and clock.grade,
        "utilization_of": use and use.of,
        **counts,
        "price_low_usd": price and price.low,
        "price_high_usd": price and price.high,
        "price_kind": price and price.kind,
        "price_date": price and price.date,
        "price_source": price and f"{price.source} [{price.grade}]",
        "reason": offer.reason,
        "unchecked": "; ".join(offer.unchecked),
    }
