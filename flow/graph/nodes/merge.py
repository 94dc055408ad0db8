"""Two tensors of the same shape become one, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, IntArray, cast, integers
from flow.graph.node import Node

MergeOp = Literal["add", "subtract", "multiply", "average", "maximum", "minimum"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Merge(Node):
    """Combine element k of the first input with element k of the second, and nothing else, into element k.

    So any cut of both inputs at the same places computes that part of the output: streams use it beat by beat.
    The result is exact before the assignment to the output type, also half of a sum. As hls4ml's `add`, `subtract`,
    `multiply`, `average`, `maximum` and `minimum` (nnet_merge.h and nnet_merge_stream.h), which agree.
    """

    arity: ClassVar[int | None] = 2

    op: MergeOp
    kind: Literal["merge"] = "merge"

    @property
    def multiplications(self) -> int:
        """Return one per element of a product."""
        return self.size if self.op == "multiply" else 0

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Combine element by element."""
        a, b = args
        if self.op == "multiply":
            bits = a.type.width + b.type.width
            product = integers(a.raw, bits) * integers(b.raw, bits)
            return self._assigned(product, a.type.fraction + b.type.fraction, bits)
        fraction, up_a, up_b = aligned(a.type, b.type)
        bits = max(a.type.width + up_a, b.type.width + up_b) + 1
        left, right = integers(a.raw, bits) << up_a, integers(b.raw, bits) << up_b
        match self.op:
            case "add":
                return self._assigned(left + right, fraction, bits)
            case "subtract":
                return self._assigned(left - right, fraction, bits)
            case "average":
                return self._assigned(left + right, fraction + 1, bits)
            case "maximum":
                return self._assigned(np.maximum(left, right), fraction, bits)
            case "minimum":
                return self._assigned(np.minimum(left, right), fraction, bits)

    def _assigned(self, raw: IntArray, fraction: int, bits: int) -> FixedArray:
        return FixedArray(cast(raw, fraction, self.type, bits), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check that all shapes are the same."""
        return tuple(f"shape {self.shape} differs from its input's {x.shape}" for x in args if x.shape != self.shape)


def aligned(a: FixedType, b: FixedType) -> tuple[int, int, int]:
    """Return the finer fraction of two types, and the shifts that bring their raw integers to it."""
    fraction = max(a.fraction, b.fraction)
    return fraction, fraction - a.fraction, fraction - b.fraction
