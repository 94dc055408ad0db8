"""A change of type: hls4ml's linear activation, and every quantizer that is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from flow.fixed import FixedArray, cast
from flow.graph.node import Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantize(Node):
    """Assign each element to the output type."""

    elementwise: ClassVar[bool] = True

    kind: Literal["quantize"] = "quantize"

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Cast element by element."""
        (x,) = args
        return FixedArray(cast(x.raw, x.type.fraction, self.type, x.type.width), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check that the shape is kept."""
        return () if args[0].shape == self.shape else (f"shape {self.shape} differs from its input's {args[0].shape}",)
