"""The links: fixed overheads between the core and the world, each direction on its own."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast, get_args

from pydantic import ConfigDict, TypeAdapter

from flow.device.parts import Part
from flow.errors import UserError, nearest

Boundary = Literal["core", "pins", "wire_to_wire", "host_to_host"]
LinkGrade = Literal["V", "R", "S", "D", "assumed", "given"]

CUSTOM_FORM = (
    "custom:in_ns=120,out_ns=80,in_ns_per_byte=0.8,out_ns_per_byte=0.8,boundary=wire_to_wire "
    "(ns may be a range min/typical/max; what is left out is 0; boundary must be given)"
)


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
        if known != sorted(known) or known[0] < 0 or not math.isfinite(known[-1]):
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
class Way:
    """Describe one direction of a link, or both together; see the head of `links.toml` for the formula.

    base_ns: with the least payload. ns_per_byte: serialization. header_bytes: sent before the payload. free_bytes:
    payload that base_ns already contains. min_payload, trailer_bytes: awaited inward if store_and_forward.
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
    trailer_bytes: int = 0

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


@dataclass(frozen=True, slots=True)
class Link:
    """Describe how data reach and leave the core.

    boundaries: what a latency through this link spans; the first is meant when none is asked for. not_included: what a
    real design adds and nobody has published.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    title: str
    boundaries: tuple[Boundary, ...]
    needs_transceivers: bool
    not_included: tuple[str, ...]
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


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__ = ConfigDict(extra="forbid")

    links: tuple[Link, ...]


@cache
def links() -> tuple[Link, ...]:
    """Return the links of `links.toml`; `custom:…` makes further ones."""
    text = files("flow.device").joinpath("links.toml").read_text(encoding="utf-8")
    return TypeAdapter(_File).validate_python(tomllib.loads(text)).links


def find_link(name: str) -> Link:
    """Return the link of that name, or the one that `custom:key=value,…` describes; raise UserError otherwise."""
    wanted = name.strip().lower()
    if wanted.split(":")[0] == "custom":
        return _custom(wanted)
    for link in links():
        if wanted == link.name:
            return link
    known = [link.name for link in links()]
    raise UserError(f"unknown link '{name}'; {nearest(name, known)} (fpgaflow links lists all; or {CUSTOM_FORM})")


def check_reach(link: Link, part: Part) -> None:
    """Raise UserError when the part is known to lack the transceivers that the link runs over."""
    if link.needs_transceivers and part.transceivers is False:
        raise UserError(
            f"link '{link.name}' needs multi-gigabit transceivers, and {part.name} has none; choose link 'direct', a "
            "custom link, or another part (fpgaflow parts)"
        )


_CUSTOM_NUMBERS = ("in_ns", "out_ns", "in_ns_per_byte", "out_ns_per_byte")


def _custom(text: str) -> Link:
    """Read `custom:…`; the link's name is its canonical text, so that it can be found again by its name."""
    given: dict[str, str] = {}
    for item in filter(None, text.partition(":")[2].split(",")):
        key, equals, value = (word.strip() for word in item.partition("="))
        if not equals or key not in (*_CUSTOM_NUMBERS, "boundary"):
            raise UserError(f"custom link: '{item}' is not understood; write for example {CUSTOM_FORM}")
        if key in given:
            raise UserError(f"custom link: '{key}' is given twice")
        given[key] = value
    boundary = given.get("boundary")
    if boundary not in get_args(Boundary):
        raise UserError(
            f"custom link: boundary must be one of {', '.join(get_args(Boundary))}; write for example {CUSTOM_FORM}"
        )
    spans = {key: _span(key, given[key]) for key in _CUSTOM_NUMBERS if key in given}
    canonical = [f"{key}={given[key].replace(' ', '')}" for key in (*_CUSTOM_NUMBERS, "boundary") if key in given]
    ways = {}
    for side, way in (("in", "inward"), ("out", "outward")):
        per_byte = spans.get(f"{side}_ns_per_byte", Base(0.0))
        if per_byte.min is not None:
            raise UserError(f"custom link: {side}_ns_per_byte takes one number, not a range")
        ways[way] = Way(
            base_ns=spans.get(f"{side}_ns", Base(0.0)),
            ns_per_byte=per_byte.typical,
            store_and_forward=False,
            clock="not stated",
            includes=(),
            conditions="as given by the user",
            source="given by the user",
            grade="given",
        )
    return Link(
        name=f"custom:{','.join(canonical)}",
        title="as given by the user",
        boundaries=(cast("Boundary", boundary),),
        needs_transceivers=False,
        not_included=(),
        inward=ways["inward"],
        outward=ways["outward"],
    )


def _span(key: str, text: str) -> Base:
    try:
        numbers = [float(word) for word in text.split("/")]
        if len(numbers) == 1:
            return Base(numbers[0])
        low, typical, high = numbers
        return Base(typical, low, high)
    except ValueError:
        raise UserError(
            f"custom link: {key}={text} is not a number of ns, at least 0, nor a range min/typical/max of such"
        ) from None
