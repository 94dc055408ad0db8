"""Rectifiers with a threshold or an upper bound: thresholded ReLU, relu1, relu6."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, cast
from flow.graph.node import Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedRelu(Node):
    """Pass elements above a threshold, up to a bound, make the others 0, and assign the result to the output type.

    threshold: raw integer of `threshold_type`. bound: an integer value, None for no bound. As hls4ml's
    `thresholded_relu` and `relu_max` (nnet_activation.h).
    """

    elementwise: ClassVar[bool] = True

    threshold: int
    threshold_type: FixedType
    bound: int | None = None
    kind: Literal["bounded_relu"] = "bounded_relu"

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Rectify element by element."""
        (x,) = args
        floor = self.floor(x.type)
        result = np.where(x.raw > floor, cast(x.raw, x.type.fraction, self.type, x.type.width), 0)
        if self.bound is not None:
            result = np.where(x.raw > self.ceiling(x.type), self.bound_code, result)
        return FixedArray(result, self.type)

    @property
    def bound_code(self) -> int:
        """Return the bound as a raw integer of the output type; 0 without a bound."""
        bound = self.bound or 0
        return int(cast(np.array([bound], dtype=object), 0, self.type, bound.bit_length())[0])

    def floor(self, x: FixedType) -> int:
        """Return the largest raw integer of type `x` that is not above the threshold."""
        shift = x.fraction - self.threshold_type.fraction
        return self.threshold << shift if shift >= 0 else self.threshold >> -shift

    def ceiling(self, x: FixedType) -> int:
        """Return the largest raw integer of type `x` that is not above the bound; there must be one."""
        assert self.bound is not None
        return self.bound << x.fraction if x.fraction >= 0 else self.bound >> -x.fraction

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check that the shape is kept and the threshold fits its type."""
        found = []
        if args[0].shape != self.shape:
            found.append(f"shape {self.shape} differs from its input's {args[0].shape}")
        if not self.threshold_type.lo <= self.threshold <= self.threshold_type.hi:
            found.append(f"threshold {self.threshold} is outside {self.threshold_type}")
        return tuple(found)
