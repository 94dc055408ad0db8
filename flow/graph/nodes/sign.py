"""Activations with two or three values: binary and ternary tanh, alone or with a batch normalization in front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from flow.fixed import FixedArray, cast
from flow.graph.node import Codes, Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sign(Node):
    """Give 1 above `high`, else -1 up to `low`, else 0, and assign that to the output type.

    high, low: raw integers in the steps of the input, shape (last axis,); equal for a binary activation.
    As hls4ml's `binary_tanh` and `ternary_tanh` (nnet_activation.h), `normalize_binary_tanh` and
    `normalize_ternary_tanh` (nnet_batchnorm.h).
    """

    elementwise: ClassVar[bool] = True

    high: Codes
    low: Codes
    kind: Literal["sign"] = "sign"

    @property
    def codes(self) -> tuple[int, int, int]:
        """Return -1, 0 and 1 as raw integers of the output type."""
        low, zero, high = cast(np.array([-1, 0, 1]), 0, self.type, 1)
        return int(low), int(zero), int(high)

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Compare element by element."""
        (x,) = args
        minus, zero, plus = self.codes
        return FixedArray(np.where(x.raw > self.high, plus, np.where(x.raw <= self.low, minus, zero)), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shapes."""
        found = []
        if args[0].shape != self.shape:
            found.append(f"shape {self.shape} differs from its input's {args[0].shape}")
        if self.high.shape != self.shape[-1:] or self.low.shape != self.shape[-1:]:
            found.append(f"thresholds {self.high.shape} and {self.low.shape} should have shape {self.shape[-1:]}")
        return tuple(found)
