"""Piecewise linear sigmoid and tanh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, cast, integers
from flow.graph.node import Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HardSigmoid(Node):
    """Compute `y = x * slope + shift`, cut to 0 … 1, or 2y - 1 where `centred`, and assign it to the output type.

    slope, shift: raw integers of their types. As hls4ml's `hard_sigmoid` and `hard_tanh` (nnet_activation.h): exact
    before the assignment.
    """

    elementwise: ClassVar[bool] = True

    slope: int
    slope_type: FixedType
    shift: int
    shift_type: FixedType
    centred: bool = False
    kind: Literal["hard_sigmoid"] = "hard_sigmoid"

    @property
    def multiplications(self) -> int:
        """Return one per element where the slope is no power of two."""
        return self.size if self.slope & (self.slope - 1) else 0

    def fraction(self, x: FixedType) -> int:
        """Return the fraction bits of the sum, enough for 1; x: the input's type."""
        return max(x.fraction + self.slope_type.fraction, self.shift_type.fraction, 0)

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Compute element by element."""
        (x,) = args
        fraction = self.fraction(x.type)
        up = fraction - x.type.fraction - self.slope_type.fraction
        shift_up = fraction - self.shift_type.fraction
        bits = max(x.type.width + self.slope_type.width + up, self.shift_type.width + shift_up, fraction + 1) + 1
        one = 1 << fraction
        total = ((integers(x.raw, bits) * self.slope) << up) + (self.shift << shift_up)
        y = np.minimum(np.maximum(total, 0), one)
        if self.centred:
            y = 2 * y - one
        return FixedArray(cast(y, fraction, self.type, fraction + 1), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check that the shape is kept and the numbers fit their types."""
        found = []
        if args[0].shape != self.shape:
            found.append(f"shape {self.shape} differs from its input's {args[0].shape}")
        for name, code, kind in (("slope", self.slope, self.slope_type), ("shift", self.shift, self.shift_type)):
            if not kind.lo <= code <= kind.hi:
                found.append(f"{name} {code} is outside {kind}")
        return tuple(found)
