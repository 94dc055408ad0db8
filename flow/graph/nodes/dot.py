"""The inner product of two tensors that are both computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, cast, integers, limit
from flow.graph.node import Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dot(Node):
    """Compute the sum of a[i] * b[i] over two flat inputs, shape (1,).

    As hls4ml's `dot1d` (nnet_merge.h): each exact product is assigned to the accumulator type, these are added to 0
    in order, each sum brought into the accumulator's range, and the last one is assigned to the output type.
    """

    arity: ClassVar[int | None] = 2

    accumulator: FixedType
    length: int
    kind: Literal["dot"] = "dot"

    @property
    def multiplications(self) -> int:
        """Return one per pair of elements."""
        return self.length

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Multiply and accumulate."""
        a, b = args
        bits, fraction = a.type.width + b.type.width, a.type.fraction + b.type.fraction
        terms = cast(integers(a.raw, bits) * integers(b.raw, bits), fraction, self.accumulator, bits)
        wide = self.accumulator.width + 1
        acc = np.zeros_like(terms[:, :1])
        for i in range(self.length):
            acc = limit(integers(acc, wide) + integers(terms[:, i : i + 1], wide), self.accumulator)
        return FixedArray(cast(acc, self.accumulator.fraction, self.type, self.accumulator.width), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shapes."""
        found = [
            f"expects {self.length} elements, its input has shape {x.shape}" for x in args if x.shape != (self.length,)
        ]
        if self.shape != (1,):
            found.append(f"shape {self.shape} is not (1,)")
        return tuple(found)
