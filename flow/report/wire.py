"""What a report says of the link: where its figures come from, and how often its wire can carry a message."""

from __future__ import annotations

from flow.device.links import Link
from flow.latency.budget import Origin
from flow.quantity import time_text

_ROUNDING = 1 + 1e-9


def fixed_origin(link: Link) -> Origin:
    """Return where a link's overhead comes from: the user, its definition (computed here), or what was published."""
    if link.given:
        return Origin.ASKED
    return Origin.PREDICTED if link.by_definition else Origin.PUBLISHED


def wire_limits(link: Link, rate_hz: float | None, payloads: tuple[int, int]) -> tuple[str, ...]:
    """Say of each direction whose wire a message keeps busy for longer than a rate leaves it, how often it carries one.

    payloads: bytes inward and outward.
    """
    if rate_hz is None:
        return ()
    said = []
    for side, size, way in zip(("inward", "outward"), payloads, (link.inward, link.outward), strict=True):
        busy_ns = None if way is None else way.spacing_ns(size)
        if busy_ns is not None and busy_ns > 1e9 / rate_hz * _ROUNDING:
            often = f"at most once in {time_text(busy_ns)} ({_rate_text(1e9 / busy_ns)}, {fixed_origin(link)})"
            message = f"a message of {size:,} byte{'' if size == 1 else 's'} {side}"
            said.append(f"link {link.name} carries {message} {often}, and the rate asks for {_rate_text(rate_hz)}")
    return tuple(said)


def wire_notes(link: Link, rate_hz: float | None, payloads: tuple[int, int]) -> tuple[str, ...]:
    """Return the same as notes of a report, whose verdict leaves it out: a rate asks for an interval of the core."""
    said = wire_limits(link, rate_hz, payloads)
    return tuple(f"{text[0].upper()}{text[1:]}; the verdict counts the core alone." for text in said)


def _rate_text(hertz: float) -> str:
    for unit, size in (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3)):
        if hertz >= size:
            return f"{hertz / size:.4g} {unit}"
    return f"{hertz:.4g} Hz"
