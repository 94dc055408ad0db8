"""Sums of shifted terms and products by constants: adder trees that are balanced by arrival."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from flow.engines.widths import signed_width


@dataclass(frozen=True, slots=True)
class Term:
    """Stand for `±(value << shift)` in a sum."""

    value: int
    shift: int = 0
    negative: bool = False

    def times(self, shift: int, *, negative: bool = False) -> Term:
        """Return this term times `±2**shift`."""
        return Term(self.value, self.shift + shift, self.negative != negative)


class Adders(Protocol):
    """Describe what can build sums: it appends one adder at a time and knows arrivals and widths."""

    def add(self, a: int, b: int, *, shift_a: int = 0, shift_b: int = 0, subtract: bool = False) -> int:
        """Append `(a << shift_a) ± (b << shift_b)`."""

    def arrival(self, value: int) -> int:
        """Return when a value is ready."""

    def range(self, value: int) -> tuple[int, int]:
        """Return the bounds of a value."""


def add_terms(adders: Adders, a: Term, b: Term) -> Term:
    """Append the sum of two terms; it is negative only where both are."""
    common = min(a.shift, b.shift)
    if a.negative and not b.negative:
        a, b = b, a
    value = adders.add(
        a.value, b.value, shift_a=a.shift - common, shift_b=b.shift - common, subtract=a.negative != b.negative
    )
    return Term(value, common, a.negative and b.negative)


def add_balanced(adders: Adders, terms: Iterable[Term]) -> Term | None:
    """Append the sum of all terms, always adding the two that are ready first; None for an empty sum.

    That order has the least arrival for equal adder delays (Golumbic 1976, "Combinatorial merging"). Among equal
    arrivals the terms with the lowest top bits come first, so that narrow sums stay narrow.
    """

    def entry(term: Term) -> tuple[int, int, int, int, bool]:
        top = signed_width(*adders.range(term.value)) + term.shift
        return adders.arrival(term.value), top, term.value, term.shift, term.negative

    heap = [entry(term) for term in terms]
    heapq.heapify(heap)
    while len(heap) > 1:
        first, second = (Term(*heapq.heappop(heap)[2:]) for _ in range(2))
        heapq.heappush(heap, entry(add_terms(adders, first, second)))
    return Term(*heap[0][2:]) if heap else None


def signed_digits(constant: int) -> tuple[tuple[int, bool], ...]:
    """Return the canonical signed digits of an integer as (position, negative), lowest first.

    No two digits are adjacent and their number is the least possible (Reitwiesner 1960).
    """
    digits = []
    position = 0
    while constant:
        if constant & 1:
            negative = constant & 3 == 3
            digits.append((position, negative))
            constant += 1 if negative else -1
        constant >>= 1
        position += 1
    return tuple(digits)


def odd_part(constant: int) -> tuple[int, int]:
    """Return (odd, zeros) with constant = odd << zeros, for a constant other than 0."""
    zeros = (constant & -constant).bit_length() - 1
    return constant >> zeros, zeros


class Products:
    """Multiply values by constants with few adders: odd parts of the magnitudes are shared per value."""

    def __init__(self, adders: Adders) -> None:
        self._adders = adders
        self._known: dict[int, dict[int, Term]] = {}

    def times(self, value: int, constant: int) -> Term:
        """Return `value * constant` as a term; constant is not 0."""
        odd, zeros = odd_part(abs(constant))
        return self._odd(value, odd).times(zeros, negative=constant < 0)

    def _odd(self, value: int, odd: int) -> Term:
        known = self._known.setdefault(value, {1: Term(value)})
        if odd not in known:
            known[odd] = self._from_two(known, odd) or self._from_digits(value, odd)
        return known[odd]

    def _from_two(self, known: dict[int, Term], odd: int) -> Term | None:
        """Return `odd` as the sum of two shifted known products, the earliest one, where there is one."""
        best: tuple[int, Term, Term] | None = None
        for first, term in known.items():
            for shift in range((2 * odd // first).bit_length() + 1):
                for negative in (False, True):
                    rest = odd + (first << shift if negative else -(first << shift))
                    if rest == 0:
                        continue
                    second, zeros = odd_part(abs(rest))
                    if second in known:
                        a, b = term.times(shift, negative=negative), known[second].times(zeros, negative=rest < 0)
                        ready = max(self._adders.arrival(a.value), self._adders.arrival(b.value))
                        if best is None or ready < best[0]:
                            best = ready, a, b
        return None if best is None else add_terms(self._adders, best[1], best[2])

    def _from_digits(self, value: int, odd: int) -> Term:
        """Return `odd` as the sum of the products by its upper and its lower signed digits."""
        digits = signed_digits(odd)
        split = len(digits) // 2
        low = sum((-1 if negative else 1) << position for position, negative in digits[:split])
        return add_terms(self._adders, self.times(value, odd - low), self.times(value, low))
