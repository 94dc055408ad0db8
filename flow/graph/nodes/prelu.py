"""Rectifiers with a slope of their own for each channel or element: PReLU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, cast, integers
from flow.graph.node import Codes, Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PRelu(Node):
    """Pass positive elements, multiply each of the others by its slope, and assign the result to the output type.

    slopes: raw integers of `slope_type`, shape (last axis,) or that of the tensor. As hls4ml's `prelu`
    (nnet_activation.h): each branch is exact before the assignment.
    """

    slopes: Codes
    slope_type: FixedType
    kind: Literal["prelu"] = "prelu"

    @property
    def elementwise(self) -> bool:  # type: ignore[override] # here it depends on the parameters
        """Tell whether the slopes repeat along the last axis."""
        return bool(self.slopes.shape == self.shape[-1:])

    @property
    def multiplications(self) -> int:
        """Return one per element."""
        return self.size

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Rectify element by element."""
        (x,) = args
        bits = x.type.width + self.slope_type.width
        positive = cast(x.raw, x.type.fraction, self.type, x.type.width)
        scaled = integers(x.raw, bits) * integers(self.slopes, bits)
        negative = cast(scaled, x.type.fraction + self.slope_type.fraction, self.type, bits)
        return FixedArray(np.where(x.raw > 0, positive, negative), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shapes and that all slopes fit their type."""
        found = []
        if args[0].shape != self.shape:
            found.append(f"shape {self.shape} differs from its input's {args[0].shape}")
        if self.slopes.shape not in (self.shape, self.shape[-1:]):
            found.append(f"slopes of shape {self.slopes.shape} for elements of shape {self.shape}")
        if self.slopes.size and not (
            self.slope_type.lo <= int(self.slopes.min()) and int(self.slopes.max()) <= self.slope_type.hi
        ):
            found.append(f"a slope is outside {self.slope_type}")
        return tuple(found)
