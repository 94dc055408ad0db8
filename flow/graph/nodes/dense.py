"""A matrix product with bias, in hls4ml's accumulator arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, IntArray, Overflow, cast, integers, limit, product
from flow.graph.node import Codes, Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dense(Node):
    """Compute `x @ weights + bias`.

    weights: raw integers (n_in, n_out) of `weight_type`; bias: (n_out,) of `bias_type`. As hls4ml's
    `dense_latency` (nnet_dense_latency.h): the bias is assigned to the accumulator type, then each exact
    product is assigned to it and added in the order of the inputs, and the sum is assigned to the output type.
    """

    weights: Codes
    bias: Codes
    weight_type: FixedType
    bias_type: FixedType
    accumulator: FixedType
    kind: Literal["dense"] = "dense"

    @property
    def n_in(self) -> int:
        """Return the number of inputs."""
        return int(self.weights.shape[0])

    @property
    def n_out(self) -> int:
        """Return the number of outputs."""
        return int(self.weights.shape[1])

    @property
    def multiplications(self) -> int:
        """Return n_in × n_out."""
        return self.n_in * self.n_out

    @property
    def start(self) -> IntArray:
        """Return the bias as raw integers of the accumulator, shape (n_out,)."""
        return cast(self.bias, self.bias_type.fraction, self.accumulator, self.bias_type.width)

    def keeps_products(self, x: FixedType) -> bool:
        """Tell whether the accumulator has every fraction bit of a product."""
        return self.accumulator.fraction >= x.fraction + self.weight_type.fraction

    def sum_range(self, x: FixedType) -> tuple[IntArray, IntArray]:
        """Bound every partial sum per output, as raw integers of a lossless accumulator (Python integers).

        Meaningful only where `keeps_products` holds.
        """
        shift = self.accumulator.fraction - x.fraction - self.weight_type.fraction
        w = self.weights.astype(object) << max(shift, 0)
        start = self.start.astype(object)
        lo = start + np.minimum(0, np.minimum(w * x.lo, w * x.hi)).sum(axis=0)
        hi = start + np.maximum(0, np.maximum(w * x.lo, w * x.hi)).sum(axis=0)
        return lo, hi

    def is_linear(self, x: FixedType) -> bool:
        """Tell whether the sum equals one exact matrix product that wraps once at the end.

        True when no product bit is dropped and the accumulator wraps, or no partial sum can leave its range.
        """
        if not self.keeps_products(x):
            return False
        if self.accumulator.overflow is Overflow.WRAP:
            return True
        lo, hi = self.sum_range(x)
        return bool(np.all(lo >= self.accumulator.lo) and np.all(hi <= self.accumulator.hi))

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Multiply and accumulate."""
        (x,) = args
        raw = x.raw.reshape(x.raw.shape[0], -1)
        fraction = x.type.fraction + self.weight_type.fraction
        product_bits = x.type.width + self.weight_type.width
        if self.is_linear(x.type):
            shift = self.accumulator.fraction - fraction
            sum_bits = product_bits + self.n_in.bit_length()
            bits = max(sum_bits + shift, self.accumulator.width) + 2
            total = integers(product(raw, self.weights, sum_bits), bits) << shift
            acc = limit(integers(self.start, bits) + total, self.accumulator)
        else:
            wide = self.accumulator.width + 1
            acc = np.broadcast_to(self.start, (raw.shape[0], self.n_out))
            for i in range(self.n_in):
                exact = integers(raw[:, i : i + 1], product_bits) * integers(self.weights[i], product_bits)
                term = cast(exact, fraction, self.accumulator, product_bits)
                acc = limit(integers(acc, wide) + integers(term, wide), self.accumulator)
        out = cast(acc, self.accumulator.fraction, self.type, self.accumulator.width)
        return FixedArray(out.reshape(raw.shape[0], *self.shape), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shapes and that all codes lie in their types."""
        found = []
        if self.weights.ndim != 2 or self.bias.ndim != 1 or self.bias.shape[0] != self.weights.shape[-1]:
            return (f"weights {self.weights.shape} and bias {self.bias.shape} do not match",)
        if len(args[0].shape) != 1 or args[0].size != self.n_in:
            found.append(f"weights expect {self.n_in} inputs, the shape before is {args[0].shape}")
        if self.shape != (self.n_out,):
            found.append(f"shape {self.shape} is not ({self.n_out},)")
        for name, codes, kind in (("weight", self.weights, self.weight_type), ("bias", self.bias, self.bias_type)):
            if codes.size and not (kind.lo <= int(codes.min()) and int(codes.max()) <= kind.hi):
                found.append(f"a {name} is outside {kind}")
        return tuple(found)
