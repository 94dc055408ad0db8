"""Percentiles of a whole path, of which one part was followed exactly and of the other only some figures are known.

Percentiles are never added: the 99th of a sum is not the sum of the 99ths. What can be said of the sum without knowing
whether its parts depend on each other are bounds (Makarov 1982; in words of today arXiv 2405.08806):
    Q_sum(p) <= Q_x(1 - p' + p) + y   where y is at least Q_y(p'), for any p' >= p
    Q_sum(p) >= Q_x(p - p') + y       where y is at most Q_y(p'), for any p' <= p
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Sorted = NDArray[np.float64]

NAMED = (("p50", Fraction(1, 2)), ("p99", Fraction(99, 100)), ("p99.9", Fraction(999, 1000)), ("max", Fraction(1)))


@dataclass(frozen=True, slots=True)
class Spread:
    """Hold what is known of how a time varies, in ns; None is not known.

    points: shares and what that share of all cases does not exceed.
    """

    min: float | None
    max: float | None
    points: tuple[tuple[Fraction, float], ...] = ()

    @property
    def known(self) -> bool:
        """Tell whether anything is."""
        return self.min is not None or self.max is not None or bool(self.points)


def percentile(ascending: Sorted, share: Fraction) -> float:
    """Return the least value that at least this share of all values does not exceed."""
    rank = -(-share.numerator * ascending.size // share.denominator)
    return float(ascending[max(rank, 1) - 1])


def bounds(ascending: Sorted, share: Fraction, other: Spread) -> tuple[float | None, float | None]:
    """Return between what the percentile of the sum with another time must lie; None where nothing bounds it."""
    most = [*other.points, *([] if other.max is None else [(Fraction(1), other.max)])]
    least = [*other.points, *([] if other.min is None else [(Fraction(0), other.min)])]
    above = [percentile(ascending, 1 - p + share) + ns for p, ns in most if p >= share]
    below = [percentile(ascending, share - p) + ns for p, ns in least if p <= share]
    return max(below, default=None), min(above, default=None)
