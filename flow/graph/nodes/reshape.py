"""A new shape for the same elements in the same order (row-major)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from flow.fixed import FixedArray
from flow.graph.node import Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reshape(Node):
    """Rename the axes; the type is the input's."""

    elementwise: ClassVar[bool] = True

    kind: Literal["reshape"] = "reshape"

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Return the same elements in the new shape."""
        (x,) = args
        return FixedArray(x.raw.reshape((x.raw.shape[0], *self.shape)), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check that no element and no bit is lost."""
        found = []
        if args[0].size != self.size:
            found.append(f"{self.size} elements from {args[0].size}")
        if args[0].type.exact() != self.type.exact():
            found.append(f"type {self.type} differs from its input's {args[0].type}")
        return tuple(found)
