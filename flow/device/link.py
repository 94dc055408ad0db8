"""What a link costs: fixed overheads between the core and the world, each direction on its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pydantic import ConfigDict

from flow.percentiles import Spread

Boundary = Literal["core", "pins", "wire_to_wire", "host_to_host"]
LinkGrade = Literal["V", "R", "S", "D", "assumed", "given"]


@dataclass(frozen=True, slots=True)
class Range:
    """Hold a span of ns; min and max equal the typical value where no source gives them."""

    min: float
    typical: float
    max: float

    def __add__(self, other: Range) -> Range:
        return Range(self.min + other.min, self.typical + other.typical, self.max + other.max)


@dataclass(frozen=True, slots=True)
class Base:
    """Hold a published figure in ns; None where it was not published."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    typical: float
    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        known = [value for value in (self.min, self.typical, self.max) if value is not None]
        # a NaN is in order wherever it stands, so each is looked at
        if not all(map(math.isfinite, known)) or known != sorted(known) or known[0] < 0:
            raise ValueError(f"min, typical, max must ascend from 0: {known}")

    @property
    def range(self) -> Range:
        """Return the span, with the typical value for an unknown end."""
        return Range(
            self.typical if self.min is None else self.min,
            self.typical,
            self.typical if self.max is None else self.max,
        )


@dataclass(frozen=True, slots=True)
class Percentile:
    """Hold a published percentile of base_ns."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    percent: float
    ns: float

    def __post_init__(self) -> None:
        if not 0 < self.percent < 100 or not math.isfinite(self.ns) or self.ns < 0:
            raise ValueError(f"a percentile lies between 0 and 100, its time is at least 0: {self.percent}, {self.ns}")

    @property
    def share(self) -> Fraction:
        """Return the share of all cases that take no longer."""
        return Fraction(str(self.percent)) / 100


@dataclass(frozen=True, slots=True)
class Way:
    """Describe one direction of a link, or both together; see the head of `links.toml` for the formula.

    base_ns: with the least payload. ns_per_byte: serialization. header_bytes: sent before the payload. free_bytes:
    payload that base_ns already contains. max_payload: the most in one frame, 0 where none is known. min_payload,
    trailer_bytes: awaited inward if store_and_forward. gap_bytes: silence after a frame. percentiles: published ones of
    base_ns.
    includes: of GT, PCS, MAC, parser, CDC, driver …. clock: of the interface towards the core.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    base_ns: Base
    store_and_forward: bool
    clock: str
    includes: tuple[str, ...]
    conditions: str
    source: str
    grade: LinkGrade
    ns_per_byte: float = 0.0
    header_bytes: int = 0
    free_bytes: int = 0
    min_payload: int = 0
    max_payload: int = 0
    trailer_bytes: int = 0
    gap_bytes: int = 0
    percentiles: tuple[Percentile, ...] = ()

    def one_way_ns(self, payload: int, *, awaited: bool) -> Range:
        """Return the ns of this direction for a payload in bytes; `awaited`: the receiver is the core."""
        base = self.base_ns.range
        wire = self.serialization_ns(payload)
        if awaited and self.store_and_forward:
            wire += (max(self.min_payload - payload, 0) + self.trailer_bytes) * self.ns_per_byte
        return base + Range(wire, wire, wire)

    def both_ways_ns(self, in_bytes: int, out_bytes: int) -> Range:
        """Return the ns of a published round trip."""
        wire = self.serialization_ns(in_bytes) + self.serialization_ns(out_bytes)
        return self.base_ns.range + Range(wire, wire, wire)

    def serialization_ns(self, payload: int) -> float:
        """Return the ns that header and payload take on the wire beyond what base_ns contains."""
        return (self.header_bytes + max(payload - self.free_bytes, 0)) * self.ns_per_byte

    def spacing_ns(self, payload: int) -> float | None:
        """Return how long a payload keeps the wire of this direction from the next; None where that is not known."""
        if not self.ns_per_byte or self.free_bytes:
            return None
        framed = self.header_bytes + max(payload, self.min_payload) + self.trailer_bytes + self.gap_bytes
        return framed * self.ns_per_byte


@dataclass(frozen=True, slots=True)
class Link:
    """Describe how data reach and leave the core.

    boundaries: what a latency through this link spans; the first is meant when none is asked for. not_included: what a
    real design adds and nobody has published. by_definition: the figures follow from what the link is, and none was
    published. needs_processor: on the chip, beside the fabric. only_of: the one thing that the figures hold for, ""
    where they hold for all that have what the link needs.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    title: str
    boundaries: tuple[Boundary, ...]
    needs_transceivers: bool
    not_included: tuple[str, ...]
    by_definition: bool = False
    needs_processor: bool = False
    only_of: str = ""
    inward: Way | None = None
    outward: Way | None = None
    round_trip: Way | None = None

    @property
    def ways(self) -> tuple[Way, ...]:
        """Return the ways that the link has."""
        return tuple(way for way in (self.inward, self.outward, self.round_trip) if way is not None)

    @property
    def source(self) -> str:
        """Return the sources of the figures, each once, with grade."""
        return "; ".join(dict.fromkeys(f"{way.source} [{way.grade}]" for way in self.ways))

    @property
    def given(self) -> bool:
        """Tell whether the figures are the user's own (origin `asked`), not published ones."""
        return any(way.grade == "given" for way in self.ways)

    def spread(self, in_bytes: int, out_bytes: int) -> Spread:
        """Return what is known of how the overhead varies.

        Percentiles are those of one way, and only where the others are known not to vary: none are added.
        """
        fixed, bases = self.fixed_ns(in_bytes, out_bytes), [way.base_ns for way in self.ways]
        least = None if any(base.min is None for base in bases) else fixed.min
        most = None if any(base.max is None for base in bases) else fixed.max
        varying = [way for way in self.ways if way.base_ns.min is None or way.base_ns.min != way.base_ns.max]
        if len(varying) != 1 or max(in_bytes, out_bytes) > varying[0].free_bytes:
            return Spread(least, most)
        others = fixed.typical - varying[0].base_ns.typical
        return Spread(least, most, tuple((point.share, others + point.ns) for point in varying[0].percentiles))

    def fixed_ns(self, in_bytes: int, out_bytes: int) -> Range:
        """Return what the link adds to the core's latency for packed tensors of so many bytes.

        Serialization is in it, once: until the last payload byte has come in, and until the last has gone out.
        """
        total = Range(0.0, 0.0, 0.0)
        if self.inward is not None:
            total += self.inward.one_way_ns(in_bytes, awaited=True)
        if self.outward is not None:
            total += self.outward.one_way_ns(out_bytes, awaited=False)
        if self.round_trip is not None:
            total += self.round_trip.both_ways_ns(in_bytes, out_bytes)
        return total
