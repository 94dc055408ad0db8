"""Sums of constant multiples: what tells exact ranges and equal values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flow.fixed import IntArray, integers


@dataclass(frozen=True, slots=True, eq=False)
class LinearForm:
    """Hold a sum of constant multiples of some elements, plus a constant.

    coefficients: one per element; int64 exactly where the magnitudes' sum `weight` fits. digest: equal for
    equal forms only.
    """

    coefficients: IntArray
    offset: int
    weight: int
    digest: bytes = field(init=False)

    def __post_init__(self) -> None:
        wide = self.coefficients.dtype == object
        data = repr(self.coefficients.tolist()).encode() if wide else self.coefficients.tobytes()
        object.__setattr__(self, "digest", data + repr(self.offset).encode())

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearForm) and self.digest == other.digest

    @staticmethod
    def of_constant(size: int, value: int) -> LinearForm:
        """Return the form of a constant over `size` elements."""
        return LinearForm(np.zeros(size, dtype=np.int64), value, 0)

    @staticmethod
    def of_element(size: int, element: int) -> LinearForm:
        """Return the form of one of `size` elements."""
        coefficients = np.zeros(size, dtype=np.int64)
        coefficients[element] = 1
        return LinearForm(coefficients, 0, 1)

    def bounds(self, spans: tuple[tuple[int, int, int], ...]) -> tuple[int, int]:
        """Return the exact range when the elements lie in `spans`: (how many, lowest, highest), in order."""
        lo = hi = self.offset
        start = 0
        for size, lowest, highest in spans:
            part = self.coefficients[start : start + size]
            magnitude = self.weight if len(spans) == 1 else int(np.abs(part).sum())
            net = int(part.sum())
            up, down = (magnitude + net) // 2, (net - magnitude) // 2
            lo, hi = lo + up * lowest + down * highest, hi + up * highest + down * lowest
            start += size
        return lo, hi

    def plus(self, other: LinearForm, *, shift_a: int, shift_b: int, subtract: bool) -> LinearForm:
        """Return `(self << shift_a) ± (other << shift_b)`."""
        bits = max(self.weight.bit_length() + shift_a, other.weight.bit_length() + shift_b) + 1
        a, b = integers(self.coefficients, bits) << shift_a, integers(other.coefficients, bits) << shift_b
        total = a - b if subtract else a + b
        weight = int(np.abs(total).sum())
        offset_b = other.offset << shift_b
        offset = (self.offset << shift_a) + (-offset_b if subtract else offset_b)
        return LinearForm(integers(total, weight.bit_length()), offset, weight)

    def shifted(self, bits: int) -> LinearForm:
        """Return `self << bits`."""
        weight = self.weight << bits
        coefficients = integers(self.coefficients, weight.bit_length()) << bits
        return LinearForm(coefficients, self.offset << bits, weight)
