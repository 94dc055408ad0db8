"""Links that are not in the catalogue: one's own figures, serial wires by their definition, UDP in Ethernet frames."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import cast, get_args

from flow.device.link import Base, Boundary, Link, Way
from flow.errors import UserError
from flow.quantity import BAUD, FREQUENCY_HZ, quantity

CUSTOM_FORM = (
    "custom:in_ns=120,out_ns=80,in_ns_per_byte=0.8,out_ns_per_byte=0.8,boundary=wire_to_wire "
    "(ns may be a range min/typical/max; what is left out is 0; boundary must be given)"
)
SERIAL_FORMS = "uart:3Mbaud, spi:10MHz"
# IPv4 without options, RFC 791; UDP, RFC 768
UDP_HEADERS = 20 + 8
MOST = 1e13
"""The largest number of a custom link, as of every time: hours, in ns."""
_BARE = "IP and UDP headers"


def constant(ns: float) -> Base:
    """Return a time that does not vary."""
    return Base(ns, ns, ns)


def serial_link(text: str) -> Link:
    """Return the link of `uart:RATE` or `spi:CLOCK`; its name is its canonical text.

    A UART sends a byte as ten bits (8N1: start, eight data bits, stop), SPI one bit a clock.
    """
    kind, _, rate = text.partition(":")
    if kind == "uart":
        hertz = quantity(rate, BAUD, "rate of the UART", "uart:3Mbaud")
        name, bits, said = f"uart:{_short(hertz, 'baud')}", 10, "8N1: a byte is a start bit, 8 data bits and a stop bit"
        missing = ("the receiver's sampling and synchronizer", "messages' framing and checks", "driver")
    else:
        hertz = quantity(rate, FREQUENCY_HZ, "clock of the SPI", "spi:10MHz")
        name, bits, said = f"spi:{_short(hertz, 'Hz')}", 8, "one bit a clock, without pauses between bytes"
        missing = ("chip select", "the controller's wait for the result", "driver")
    way = Way(
        base_ns=constant(0.0),
        ns_per_byte=bits * 1e9 / hertz,
        store_and_forward=False,
        clock="the serial line's own",
        includes=("serialization",),
        conditions=f"{said}; each direction has its own wire",
        source=f"definition of the frame ({said})",
        grade="D",
    )
    title = f"serial line, {bits} bits a byte, from the first bit of the input to the last bit of the result"
    return Link(
        name=name,
        title=title,
        boundaries=("wire_to_wire",),
        needs_transceivers=False,
        not_included=missing,
        by_definition=True,
        inward=way,
        outward=way,
    )


def _short(hertz: float, unit: str) -> str:
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if hertz >= size and (prefix != "G" or unit == "Hz"):
            return f"{hertz / size:.12g}{prefix}{unit}"
    return f"{hertz:.12g}{unit}"


def in_udp(link: Link) -> Link:
    """Return an Ethernet link whose frames carry the payload in UDP and IPv4; raise UserError for another link."""
    if _BARE not in link.not_included:
        raise UserError(f"link '{link.name}' carries no Ethernet frames, so that '+udp' says nothing of it")
    kept = tuple(item for item in link.not_included if item != _BARE)
    return replace(
        link,
        name=f"{link.name}+udp",
        title=f"UDP in {link.title}",
        not_included=kept,
        inward=_in_udp(link.inward),
        outward=_in_udp(link.outward),
        round_trip=_in_udp(link.round_trip),
    )


def _in_udp(way: Way | None) -> Way | None:
    if way is None or not way.header_bytes:
        return way
    return replace(
        way,
        header_bytes=way.header_bytes + UDP_HEADERS,
        min_payload=max(way.min_payload - UDP_HEADERS, 0),
        max_payload=max(way.max_payload - UDP_HEADERS, 0),
        conditions=f"{way.conditions}; header: IPv4 20 bytes and UDP 8 bytes besides",
        source=f"{way.source}; RFC 791 and RFC 768",
    )


_CUSTOM_NUMBERS = ("in_ns", "out_ns", "in_ns_per_byte", "out_ns_per_byte")


def custom_link(text: str) -> Link:
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
        per_byte = spans.get(f"{side}_ns_per_byte", constant(0.0))
        if per_byte.min != per_byte.max:
            raise UserError(f"custom link: {side}_ns_per_byte takes one number, not a range")
        ways[way] = Way(
            base_ns=spans.get(f"{side}_ns", constant(0.0)),
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
        numbers = [_number(word) for word in text.split("/")]
        if len(numbers) == 1:
            return constant(numbers[0])
        low, typical, high = numbers
        return Base(typical, low, high)
    except ValueError:
        raise UserError(
            f"custom link: {key}={text} is not a number of ns, from 0 to {MOST:g}, nor a range min/typical/max of such"
        ) from None


def _number(word: str) -> float:
    # as digits are written, not all that `float` reads: 1_000, or digits of other scripts
    if re.fullmatch(r"\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?\s*", word) is None or float(word) > MOST:
        raise ValueError(word)
    return float(word)
