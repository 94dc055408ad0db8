"""Elements whose last additions are still open, so that constants that follow join the same adder tree."""

from __future__ import annotations

from dataclasses import dataclass

from flow.engines.cone import ConeBuilder
from flow.engines.rounding import one_signed, rounding_offset
from flow.engines.sums import Term, add_balanced
from flow.fixed import FixedType, Overflow, Rounding


@dataclass(frozen=True, slots=True)
class Sum:
    """Stand for an element whose last additions are still open: all terms plus a constant.

    Whatever adds a constant next (a bias, a rounding) joins the same adder tree.
    """

    terms: tuple[Term, ...]
    constant: int = 0

    def up(self, bits: int) -> Sum:
        """Return this sum times `2**bits`."""
        return Sum(tuple(term.times(bits) for term in self.terms), self.constant << bits)

    def plus(self, constant: int) -> Sum:
        """Return this sum plus a constant."""
        return Sum(self.terms, self.constant + constant)


def sum_range(builder: ConeBuilder, element: Sum) -> tuple[int, int]:
    """Return the bounds of a sum."""
    return builder.sum_range(((t.value, t.shift, t.negative) for t in element.terms), element.constant)


def total(builder: ConeBuilder, element: Sum) -> int:
    """Append the additions of a sum; the constant enters the tree where it delays least."""
    parts = list(element.terms)
    if element.constant or not parts:
        parts.append(Term(builder.constant(element.constant)))
    result = add_balanced(builder, parts)
    assert result is not None
    value = builder.shift(result.value, result.shift)
    return builder.negate(value) if result.negative else value


def limited(builder: ConeBuilder, element: Sum, target: FixedType) -> Sum:
    """Bring a sum into the range of a type; it stays open where its range shows that it fits."""
    lo, hi = sum_range(builder, element)
    if target.lo <= lo and hi <= target.hi:
        return element
    return Sum((Term(builder.limit(total(builder, element), target)),))


def rounded_off(builder: ConeBuilder, element: Sum, bits: int, mode: Rounding) -> Sum:
    """Divide a sum by `2**bits` (which may be below 1), rounded to an integer by `mode`."""
    if bits <= 0:
        return element.up(-bits)
    lo, hi = sum_range(builder, element)
    mode = one_signed(mode, lo=lo, hi=hi)
    zeros = min((term.shift for term in element.terms), default=bits)
    if mode in {Rounding.TRN_ZERO, Rounding.RND_ZERO, Rounding.RND_INF}:
        return Sum((Term(builder.round(total(builder, element), bits, mode)),))
    element = element.plus(rounding_offset(mode, bits))
    # below the lowest bit of all terms only the constant counts: known zeros or a known fraction
    zeros = min(zeros, bits - 1 if mode is Rounding.RND_CONV else bits)
    fraction = element.constant & ((1 << zeros) - 1)
    if fraction and mode is Rounding.RND_CONV:
        mode = Rounding.RND  # never a tie
    down = tuple(Term(term.value, term.shift - zeros, term.negative) for term in element.terms)
    element, bits = Sum(down, element.constant >> zeros), bits - zeros
    if bits == 0:
        return element
    return Sum((Term(builder.round_prepared(total(builder, element), bits, mode)),))


def assigned(builder: ConeBuilder, element: Sum, fraction: int, target: FixedType) -> Sum:
    """Assign a sum with `fraction` fraction bits to a type."""
    return limited(builder, rounded_off(builder, element, fraction - target.fraction, target.rounding), target)


def accumulated(builder: ConeBuilder, accumulator: FixedType, start: int, terms: list[Sum]) -> Sum:
    """Add terms to `start` in order, each sum brought into the accumulator's range."""
    ranges = [sum_range(builder, term) for term in terms]
    lo = start + sum(min(low, 0) for low, _ in ranges)
    hi = start + sum(max(high, 0) for _, high in ranges)
    if accumulator.overflow is Overflow.WRAP or (accumulator.lo <= lo and hi <= accumulator.hi):
        open_terms = tuple(t for term in terms for t in term.terms)
        return limited(builder, Sum(open_terms, start + sum(term.constant for term in terms)), accumulator)
    result = Sum((), start)
    for term in terms:
        result = limited(builder, Sum(result.terms + term.terms, result.constant + term.constant), accumulator)
    return result
