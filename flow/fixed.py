"""Fixed-point types and their exact arithmetic on raw integers.

A value is ``raw * 2**-fraction``. The modes are those of ap_fixed (AMD UG1399, "Arbitrary Precision
Fixed-Point Data Types"). Arrays are int64 wherever every intermediate provably fits in 64 bits and Python
integers (dtype object) elsewhere, so that nothing wraps by accident.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError

IntArray = NDArray[Any]  # int64, or object holding Python integers

INT64_BITS = 63  # magnitude bits of an int64
FLOAT64_BITS = 53  # significant bits of a float64

# far beyond what hls4ml's C++ types take; keeps a corrupt file from asking for a number of a billion bits
MAX_WIDTH = 1024


class Rounding(StrEnum):
    """Name what happens to fraction bits that a narrower type drops."""

    TRN = "TRN"
    TRN_ZERO = "TRN_ZERO"
    RND = "RND"
    RND_ZERO = "RND_ZERO"
    RND_INF = "RND_INF"
    RND_MIN_INF = "RND_MIN_INF"
    RND_CONV = "RND_CONV"


class Overflow(StrEnum):
    """Name what happens to values beyond a type's range."""

    WRAP = "WRAP"
    SAT = "SAT"
    SAT_ZERO = "SAT_ZERO"
    SAT_SYM = "SAT_SYM"


@dataclass(frozen=True, slots=True)
class FixedType:
    """Describe a fixed-point format.

    width: total bits (1 to MAX_WIDTH). integer: bits left of the point, the sign included; it may exceed the
    width or be negative (from -MAX_WIDTH to MAX_WIDTH). Raises UserError beyond.
    """

    width: int
    integer: int
    signed: bool = True
    rounding: Rounding = Rounding.TRN
    overflow: Overflow = Overflow.WRAP

    def __post_init__(self) -> None:
        if not 1 <= self.width <= MAX_WIDTH:
            raise UserError(f"a fixed-point type has 1 to {MAX_WIDTH} bits, not {self.width}")
        if abs(self.integer) > MAX_WIDTH:
            raise UserError(f"a fixed-point type has at most {MAX_WIDTH} integer bits, not {self.integer}")

    @property
    def fraction(self) -> int:
        """Return the number of bits right of the point; negative when integer exceeds width."""
        return self.width - self.integer

    @property
    def lo(self) -> int:
        """Return the smallest raw value that a cast to this type can give."""
        if not self.signed:
            return 0
        lowest: int = -(1 << (self.width - 1))
        return lowest + 1 if self.overflow is Overflow.SAT_SYM and self.width > 1 else lowest

    @property
    def hi(self) -> int:
        """Return the largest raw value of this type."""
        return int((1 << (self.width - 1 if self.signed else self.width)) - 1)

    @property
    def step(self) -> float:
        """Return the value of one least significant bit."""
        return float(2.0**-self.fraction)

    def exact(self) -> FixedType:
        """Return this format with the default modes (TRN, WRAP)."""
        return replace(self, rounding=Rounding.TRN, overflow=Overflow.WRAP)

    def __str__(self) -> str:
        modes = ""
        if (self.rounding, self.overflow) != (Rounding.TRN, Overflow.WRAP):
            modes = f",{self.rounding},{self.overflow}"
        return f"{'' if self.signed else 'u'}fixed<{self.width},{self.integer}{modes}>"


_TYPE = re.compile(
    r"^(?:ap_)?(?P<u>u?)(?P<base>fixed|int)\s*<\s*(?P<w>\d{1,9})\s*"
    r"(?:,\s*(?P<i>-?\d{1,9})\s*)?(?:,\s*(?:AP_)?(?P<q>[A-Z_]+)\s*)?(?:,\s*(?:AP_)?(?P<o>[A-Z_]+)\s*)?(?:,\s*0\s*)?>$"
)


def parse_type(text: str) -> FixedType:
    """Read `fixed<8,2>`, `ap_ufixed<8,2,AP_RND,AP_SAT>` or `ap_int<4>`; raise UserError otherwise."""
    match = _TYPE.match(text.strip())
    shape = "fixed<W,I>, ufixed<W,I,RND_CONV,SAT> or int<W> (an ap_ prefix is fine)"
    if match is None:
        raise UserError(f"'{text}' is not a fixed-point type; write {shape}")
    is_integer = match["base"] == "int"
    if is_integer == (match["i"] is not None) or (is_integer and match["q"]):
        raise UserError(f"'{text}' is not a fixed-point type; write {shape}")
    width = int(match["w"])
    try:
        rounding, overflow = Rounding(match["q"] or "TRN"), Overflow(match["o"] or "WRAP")
    except ValueError:
        raise UserError(
            f"'{text}': unknown mode; rounding is one of {', '.join(Rounding)}; overflow one of {', '.join(Overflow)}"
        ) from None
    return FixedType(width, width if is_integer else int(match["i"]), not match["u"], rounding, overflow)


@dataclass(frozen=True, slots=True)
class FixedArray:
    """Hold raw integers of shape (batch, *tensor shape) with their type."""

    raw: IntArray
    type: FixedType

    def to_float(self) -> NDArray[np.float64]:
        """Return the values as float64 (exact up to 53 significant bits)."""
        return np.asarray(self.raw, dtype=np.float64) * self.type.step


def integers(raw: IntArray, bits: int) -> IntArray:
    """Return `raw` as int64 when `bits` magnitude bits fit there, else as exact Python integers."""
    return raw.astype(np.int64 if bits <= INT64_BITS else object, copy=False)


def product(x: IntArray, matrix: IntArray, bits: int) -> IntArray:
    """Return the exact matrix product of raw integers whose every partial sum has at most `bits` magnitude bits."""
    if bits <= FLOAT64_BITS:
        # exact there, and far faster than numpy's integer product
        total = x.astype(np.float64) @ matrix.astype(np.float64)
        return np.asarray(total.astype(np.int64))
    return np.asarray(integers(x, bits) @ integers(matrix, bits))


def round_off(raw: IntArray, shift: int, mode: Rounding) -> IntArray:
    """Divide raw integers by ``2**shift`` (shift >= 0), rounded to an integer by `mode`."""
    if shift == 0:
        return raw
    if shift > INT64_BITS - 1:
        raw = raw.astype(object)
    kept = raw >> shift
    if mode is Rounding.TRN:
        return kept
    dropped = raw - (kept << shift)
    if mode is Rounding.TRN_ZERO:
        return np.asarray(kept + ((raw < 0) & (dropped != 0)))
    half = 1 << (shift - 1)
    above, tie = dropped > half, dropped == half
    up = {
        Rounding.RND: tie,
        Rounding.RND_MIN_INF: tie & False,
        Rounding.RND_ZERO: tie & (raw < 0),
        Rounding.RND_INF: tie & (raw >= 0),
        Rounding.RND_CONV: tie & ((kept & 1) == 1),
    }[mode]
    return np.asarray(kept + (above | up))


def limit(raw: IntArray, target: FixedType) -> IntArray:
    """Bring integers into the range of `target` by its overflow mode."""
    lo, hi = target.lo, target.hi
    if target.width > INT64_BITS - 1:
        raw = raw.astype(object)
    if target.overflow is Overflow.WRAP:
        span = 1 << target.width
        return ((raw - lo) & (span - 1)) + lo
    if target.overflow is Overflow.SAT_ZERO:
        return np.where((raw < lo) | (raw > hi), 0, raw)
    return np.minimum(np.maximum(raw, lo), hi)


def cast(raw: IntArray, fraction: int, target: FixedType, bits: int) -> IntArray:
    """Assign values with `fraction` fraction bits and at most `bits` magnitude bits to a type, as ap_fixed does.

    Returns raw integers of `target`.
    """
    shift = fraction - target.fraction
    if shift >= 0:
        return narrow(limit(round_off(integers(raw, bits + 1), shift, target.rounding), target), target)
    return narrow(limit(integers(raw, bits - shift + 1) << -shift, target), target)


def narrow(raw: IntArray, target: FixedType) -> IntArray:
    """Return values of `target` as int64 where its width allows."""
    return integers(raw, target.width)


def from_float(values: NDArray[Any], target: FixedType) -> IntArray:
    """Quantize finite floats to a type exactly as ap_fixed's constructor from double does.

    Raises UserError for NaN or infinity.
    """
    array = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise UserError("values must be finite numbers; found NaN or infinity")
    mantissa, exponent = np.frexp(array)
    scaled = (mantissa * 2.0**53).astype(np.int64)
    result = np.zeros(array.shape, dtype=object)
    # every float is an integer times a power of two: group by exponent, cast each group exactly
    for e in np.unique(exponent):
        where = exponent == e
        result[where] = cast(scaled[where].astype(object), 53 - int(e), target, 2000)
    return narrow(result, target)
