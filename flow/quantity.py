"""Numbers with units, as people write them, `5us`, `40MHz`, `256B`, and as they are shown to them."""

from __future__ import annotations

import re
from fractions import Fraction

from flow.errors import UserError

TIME_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9}
FREQUENCY_HZ = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
BAUD = {"baud": 1.0, "kbaud": 1e3, "Mbaud": 1e6}
BYTES = {"B": 1.0, "kB": 1e3, "KiB": 1024.0}
# what hardware can mean at all: from picoseconds to hours, from mHz to THz
_LEAST, _MOST = 1e-3, 1e13


def quantity(text: str, units: dict[str, float], what: str, example: str) -> float:
    """Return a positive number in the unit whose factor is 1; raise UserError without a unit, at zero, or beyond all.

    what: names the number in an error. example: what would be accepted.
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-zµμ]*)\s*", text)
    known = {unit.lower(): factor for unit, factor in units.items()}
    if match is None:
        raise UserError(f"{what} '{text}' is not a number with a unit; write for example {example}")
    if match[2].lower() not in known:
        problem = f"has the unknown unit '{match[2]}'" if match[2] else "has no unit"
        raise UserError(f"{what} '{text}' {problem}; write one of {', '.join(units)}, for example {example}")
    value = float(match[1]) * known[match[2].lower()]
    if value == 0:
        raise UserError(f"{what} '{text}' must be greater than zero, for example {example}")
    if not _LEAST <= value <= _MOST:
        raise UserError(f"{what} '{text}' is beyond all hardware; write for example {example}")
    return value


def whole_bytes(text: str, what: str) -> int:
    """Return a number of bytes from `256B`, `1.5kB`; raise UserError for parts of a byte or more than 1 GB."""
    value = quantity(text, BYTES, what, "256B")
    if value != int(value) or value > 1e9:
        raise UserError(f"{what} '{text}' is not a whole number of bytes up to 1e9; write for example 256B")
    return int(value)


def simplest(value: float) -> Fraction:
    """Return the fraction with the least denominator (of 1, 10, 100, …) that a float stands for.

    1e9 / 3e8 is 10/3: what comes every third period of 300 MHz then meets its edge exactly, for ever.
    """
    exact = Fraction(value)
    for limit in (10**k for k in range(8)):
        near = exact.limit_denominator(limit)
        if abs(near - exact) <= exact * Fraction(1, 10**13):
            return near
    return exact.limit_denominator(10**8)


def time_text(ns: float) -> str:
    """Write a time with a unit that suits it, four significant digits."""
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"
