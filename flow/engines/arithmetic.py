"""Products, quotients and tables as operations of a cone: what its builder appends for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flow.engines.sums import Products, Term, add_balanced, signed_digits
from flow.engines.widths import signed_width
from flow.fixed import FixedType, Rounding

if TYPE_CHECKING:
    from flow.engines.cone import ConeBuilder

MORE_SHIFTS = 4
"""How many reciprocals longer than the shortest are looked at for one with fewer digits."""


def product_range(a: tuple[int, int], b: tuple[int, int], *, square: bool) -> tuple[int, int]:
    """Return the bounds of a product from those of its factors; square: both are the same value."""
    corners = [x * y for x in a for y in b]
    if square:
        return (0 if a[0] <= 0 <= a[1] else min(a[0] ** 2, a[1] ** 2)), max(a[0] ** 2, a[1] ** 2)
    return min(corners), max(corners)


def multiply(builder: ConeBuilder, a: int, b: int) -> int:
    """Append `a * b`: by a DSP block, or by shifts and adders; the bits of the narrower factor pick the rows then."""
    for factor, other in ((a, b), (b, a)):
        lo, hi = builder.range(factor)
        if lo == hi:
            return times_constant(builder, other, lo)
        bare, zeros = builder.unshifted(factor)
        if zeros:
            return builder.shift(multiply(builder, bare, other), zeros)
    bounds = product_range(builder.range(a), builder.range(b), square=a == b)
    if builder.blocks.multiplies(signed_width(*builder.range(a)), signed_width(*builder.range(b))):
        return builder.product(a, b, bounds)
    terms = _square_rows(builder, a) if a == b else _rows(builder, min(a, b), max(a, b))
    return builder.narrowed(value_of(builder, add_balanced(builder, terms)), bounds)


def times_constant(builder: ConeBuilder, value: int, constant: int) -> int:
    """Append `value * constant`."""
    return value_of(builder, Products(builder).times(value, constant) if constant else None)


def value_of(builder: ConeBuilder, term: Term | None) -> int:
    """Append what a term stands for; None is 0."""
    if term is None:
        return builder.constant(0)
    value = builder.shift(term.value, term.shift)
    return builder.negate(value) if term.negative else value


def _rows(builder: ConeBuilder, a: int, b: int) -> list[Term]:
    """Return the rows of a product: one factor where a bit of the other one is set, a sign bit counts negative."""
    widths = [_bits(*builder.range(value)) for value in (a, b)]
    wide, narrow, width = (a, b, widths[1]) if widths[1] <= widths[0] else (b, a, widths[0])
    zero = builder.constant(0)
    negative = builder.range(narrow)[0] < 0
    return [
        Term(builder.select(_bit(builder, narrow, k), wide, zero), k, negative and k == width - 1) for k in range(width)
    ]


def _square_rows(builder: ConeBuilder, a: int) -> list[Term]:
    """Return the rows of a square, half of those of a product.

    With a = 2h + bit, a² = 4h² + 4·(bit·h) + bit, whatever the sign of h. The last h is a sign or the top bit alone.
    """
    last = _bits(*builder.range(a)) - 1
    zero = builder.constant(0)
    rows = [Term(_bit(builder, a, last), 2 * last)]
    for k in range(last):
        bit, upper = _bit(builder, a, k), builder.round(a, k + 1, Rounding.TRN)
        rows.append(Term(builder.add(builder.select(bit, upper, zero), bit, shift_a=2), 2 * k))
    return rows


def _bits(lo: int, hi: int) -> int:
    """Return the bits that hold lo..hi, a sign bit among them where lo is negative."""
    return max(hi.bit_length(), (~lo).bit_length()) + 1 if lo < 0 else hi.bit_length()


def _bit(builder: ConeBuilder, value: int, position: int) -> int:
    return builder.limit(builder.round(value, position, Rounding.TRN), FixedType(1, 1, signed=False))


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """Divide by `(a * factor + offset) >> shift`."""

    factor: int
    offset: int
    shift: int


def floor_reciprocal(lo: int, hi: int, divisor: int) -> Reciprocal:
    """Return what gives floor(a / divisor) for every a in lo..hi."""
    return _cheapest(lo // divisor, hi // divisor, divisor, upward=False)


def ceiling_reciprocal(lo: int, hi: int, divisor: int) -> Reciprocal:
    """Return what gives the ceiling of a / divisor for every a in lo..hi."""
    return _cheapest(-(-lo // divisor), -(-hi // divisor), divisor, upward=True)


def _cheapest(q_lo: int, q_hi: int, divisor: int, *, upward: bool) -> Reciprocal:
    """Return the reciprocal of fewest signed digits among the shortest ones, for quotients q_lo..q_hi."""
    best: tuple[tuple[int, int], Reciprocal] | None = None
    shift, last = 0, None
    while last is None or shift <= last:
        for factor in {(1 << shift) // divisor, -(-(1 << shift) // divisor)} - {0}:
            offset = _offset(factor, shift, q_lo, q_hi, divisor, upward=upward)
            if offset is None:
                continue
            last = shift + MORE_SHIFTS if last is None else last
            cost = len(signed_digits(factor)) + (offset != 0), shift
            if best is None or cost < best[0]:
                best = cost, Reciprocal(factor, offset, shift)
        shift += 1
    assert best is not None
    return best[1]


def _offset(factor: int, shift: int, q_lo: int, q_hi: int, divisor: int, *, upward: bool) -> int | None:
    """Return an offset that makes a reciprocal exact; None where there is none.

    With a = q·divisor + r and error = factor·divisor - 2**shift, a·factor + offset is q·2**shift plus
    q·error + r·factor + offset, which must lie in 0..2**shift - 1 for all q in q_lo..q_hi and all r in
    0..divisor - 1 (rounded down) or -(divisor - 1)..0 (rounded up). It is linear in q and r: the corners tell.
    """
    error = factor * divisor - (1 << shift)
    drift = q_lo * error, q_hi * error
    rest = (divisor - 1) * factor
    low = -min(drift) + (rest if upward else 0)
    high = (1 << shift) - 1 - max(drift) - (0 if upward else rest)
    if low > high:
        return None
    if low <= 0 <= high:
        return 0
    zeros = 0  # an offset with few digits above few zeros is a short adder
    while -(-low // (2 << zeros)) * (2 << zeros) <= high:
        zeros += 1
    return -(-low // (1 << zeros)) << zeros


def divide(builder: ConeBuilder, a: int, divisor: int, *, towards_zero: bool) -> int:
    """Append the integer quotient of a value and a positive constant, rounded down or towards zero."""
    if divisor <= 0:
        raise ValueError(f"a divisor must be positive, not {divisor}")
    lo, hi = builder.range(a)
    zeros = (divisor & -divisor).bit_length() - 1
    if divisor == 1 << zeros:
        return builder.round(a, zeros, Rounding.TRN_ZERO if towards_zero else Rounding.TRN)
    if zeros and (lo >= 0 or not towards_zero):
        return divide(builder, builder.round(a, zeros, Rounding.TRN), divisor >> zeros, towards_zero=towards_zero)
    bounds = lo // divisor, hi // divisor
    if not towards_zero or lo >= 0:
        by = floor_reciprocal(lo, hi, divisor)
        return _quotient(builder, a, by, builder.constant(by.offset), bounds)
    bounds = -(-lo // divisor), hi // divisor if hi >= 0 else -(-hi // divisor)
    if hi <= 0:
        by = ceiling_reciprocal(lo, hi, divisor)
        return _quotient(builder, a, by, builder.constant(by.offset), bounds)
    by, offset = _both_ways(lo, hi, divisor)
    return _quotient(builder, a, by, builder.select(a, builder.constant(by.offset), builder.constant(offset)), bounds)


def _both_ways(lo: int, hi: int, divisor: int) -> tuple[Reciprocal, int]:
    """Return a reciprocal that rounds positive values down, and the offset with which it rounds the others up."""
    shift = 0
    while True:
        for factor in sorted({(1 << shift) // divisor, -(-(1 << shift) // divisor)} - {0}):
            down = _offset(factor, shift, 0, hi // divisor, divisor, upward=False)
            up = _offset(factor, shift, -(-lo // divisor), 0, divisor, upward=True)
            if down is not None and up is not None:
                return Reciprocal(factor, down, shift), up
        shift += 1


def _quotient(builder: ConeBuilder, a: int, by: Reciprocal, offset: int, bounds: tuple[int, int]) -> int:
    total = builder.add(times_constant(builder, a, by.factor), offset)
    return builder.narrowed(builder.round(total, by.shift, Rounding.TRN), bounds)


def lookup(builder: ConeBuilder, a: int, values: tuple[int, ...]) -> int:
    """Append `values[a]` for a value whose range lies within the table; only what can be reached is kept."""
    lo, hi = builder.range(a)
    if lo < 0 or hi >= len(values):
        raise ValueError(f"a table of {len(values)} entries is read at {lo} to {hi}")
    reached = values[lo : hi + 1]
    if min(reached) == max(reached):
        return builder.constant(reached[0])
    table = (reached[0],) * lo + reached
    if all(low == high for low, high in zip(table[::2], table[1::2], strict=False)):
        return lookup(builder, builder.round(a, 1, Rounding.TRN), table[::2])
    zeros = min((v & -v).bit_length() - 1 for v in table if v)
    if zeros:
        return builder.shift(lookup(builder, a, tuple(v >> zeros for v in table)), zeros)
    if len(table) == 2:
        return builder.select(a, builder.constant(table[1]), builder.constant(table[0]))
    if all(value == k for k, value in enumerate(table)):
        return a
    return builder.table(a, table, (min(reached), max(reached)))
