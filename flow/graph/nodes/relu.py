"""Rectifiers: plain, quantized, and leaky with a constant slope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, cast, integers
from flow.graph.node import Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relu(Node):
    """Pass positive elements, multiply the others by a slope, and assign the result to the output type.

    slope: raw integer of `slope_type`; without a slope type negative elements become 0.
    As hls4ml's `relu` and `leaky_relu` (nnet_activation.h): each branch is exact before the assignment.
    """

    elementwise: ClassVar[bool] = True

    slope: int = 0
    slope_type: FixedType | None = None
    kind: Literal["relu"] = "relu"

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Rectify element by element."""
        (x,) = args
        positive = cast(x.raw, x.type.fraction, self.type, x.type.width)
        if self.slope_type is None:
            negative = np.zeros_like(positive)
        else:
            bits = x.type.width + self.slope_type.width
            scaled = integers(x.raw, bits) * self.slope
            negative = cast(scaled, x.type.fraction + self.slope_type.fraction, self.type, bits)
        return FixedArray(np.where(x.raw > 0, positive, negative), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check that the shape is kept and the slope fits its type."""
        found = []
        if args[0].shape != self.shape:
            found.append(f"shape {self.shape} differs from its input's {args[0].shape}")
        if self.slope_type is None and self.slope:
            found.append(f"slope {self.slope} has no type")
        if self.slope_type is not None and not self.slope_type.lo <= self.slope <= self.slope_type.hi:
            found.append(f"slope {self.slope} is outside {self.slope_type}")
        return tuple(found)
