"""Layer normalization along the last axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, IntArray, Rounding, cast, integers, limit, round_off
from flow.graph.node import Codes, Node

INT = FixedType(32, 32)
"""C's int, in which hls4ml computes the index of its table."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerNorm(Node):
    """Subtract the mean of each position, multiply by 1/sqrt(variance), then scale and shift per channel.

    scale, bias: raw integers, shape (last axis,). inverse_count: 1/channels as a raw integer of the accumulator's type.
    inverse_roots: raw integers of root_type; the index is variance * size * 2**range_power cut towards zero and brought
    into the table. As hls4ml's `layernorm_1d` (nnet_layernorm.h): inputs, sums, mean, differences, squares and variance
    are each assigned to the accumulator, sums in order; difference * root * scale + bias is exact until its assignment.
    """

    scale: Codes
    bias: Codes
    scale_type: FixedType
    bias_type: FixedType
    accumulator: FixedType
    inverse_count: int
    inverse_roots: Codes
    root_type: FixedType
    range_power: int
    kind: Literal["layer_norm"] = "layer_norm"

    @property
    def multiplications(self) -> int:
        """Return three per element (square, root, scale) and two per position."""
        return 3 * self.size + 2 * (self.size // self.shape[-1])

    @property
    def index_scale(self) -> int:
        """Return what a variance is multiplied by to give its index."""
        return len(self.inverse_roots) << self.range_power

    @property
    def result_fraction(self) -> int:
        """Return the fraction bits of difference * root * scale."""
        return self.accumulator.fraction + self.root_type.fraction + self.scale_type.fraction

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Compute every position by itself."""
        (x,) = args
        acc = self.accumulator
        values = cast(x.raw, x.type.fraction, acc, x.type.width)
        mean = self._average(values)
        differences = limit(integers(values, acc.width + 1) - mean[..., None], acc)
        wide = integers(differences, 2 * acc.width)
        variance = self._average(cast(wide * wide, 2 * acc.fraction, acc, 2 * acc.width))
        index = integers(variance, acc.width + self.index_scale.bit_length()) * self.index_scale
        root = self.inverse_roots[np.clip(self._whole(index), 0, len(self.inverse_roots) - 1).astype(np.int64)]
        fraction = max(self.result_fraction, self.bias_type.fraction)
        up, bias_up = fraction - self.result_fraction, fraction - self.bias_type.fraction
        bits = acc.width + self.root_type.width + self.scale_type.width + up
        bits = max(bits, self.bias_type.width + bias_up) + 1
        scaled = integers(differences, bits) * integers(root, bits)[..., None] * integers(self.scale, bits)
        total = (scaled << up) + (integers(self.bias, bits) << bias_up)
        return FixedArray(cast(total, fraction, self.type, bits), self.type)

    def _average(self, values: IntArray) -> IntArray:
        """Return the sum of the last axis times inverse_count, in the accumulator."""
        acc = self.accumulator
        total = np.zeros_like(values[..., 0])
        for k in range(values.shape[-1]):
            total = limit(integers(total, acc.width + 1) + values[..., k], acc)
        return cast(integers(total, 2 * acc.width) * self.inverse_count, 2 * acc.fraction, acc, 2 * acc.width)

    def _whole(self, raw: IntArray) -> IntArray:
        """Return values with the accumulator's fraction bits as C's int."""
        if self.accumulator.fraction >= 0:
            return limit(round_off(raw, self.accumulator.fraction, Rounding.TRN_ZERO), INT)
        return limit(raw.astype(object) << -self.accumulator.fraction, INT)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shapes and that all codes lie in their types."""
        found = []
        if args[0].shape != self.shape:
            found.append(f"shape {self.shape} differs from its input's {args[0].shape}")
        if self.scale.shape != self.shape[-1:] or self.bias.shape != self.shape[-1:]:
            found.append(f"scale {self.scale.shape} and bias {self.bias.shape} should have shape {self.shape[-1:]}")
        if self.inverse_roots.ndim != 1 or not self.inverse_roots.size:
            found.append(f"the table of inverse roots has shape {self.inverse_roots.shape}")
        if not 0 <= self.range_power < INT.width - 1:
            found.append(f"a table's range of 2**-{self.range_power} is outside C's int")
        codes = (
            ("scale", self.scale, self.scale_type),
            ("bias", self.bias, self.bias_type),
            ("inverse root", self.inverse_roots, self.root_type),
            ("inverse count", np.array([self.inverse_count], dtype=object), self.accumulator),
        )
        for name, array, kind in codes:
            if array.size and not (kind.lo <= int(array.min()) and int(array.max()) <= kind.hi):
                found.append(f"a value of {name} is outside {kind}")
        return tuple(found)
