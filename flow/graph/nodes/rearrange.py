"""Elements in a new order: transposing, padding, cropping, up-sampling, concatenating, broadcasting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from flow.fixed import FixedArray, cast
from flow.graph.node import Codes, Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rearrange(Node):
    """Gather elements of the inputs and assign each to the output type.

    indices: for each output element, row-major, its place among the inputs' elements laid one behind the other;
    -1 gives 0. Shape (size,).
    """

    arity: ClassVar[int | None] = None

    indices: Codes
    kind: Literal["rearrange"] = "rearrange"

    @property
    def pads(self) -> bool:
        """Tell whether some elements are 0 whatever comes in."""
        return bool((self.indices < 0).any())

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Gather; a zero stands behind all elements, where index -1 finds it."""
        batch = len(args[0].raw)
        parts = [cast(x.raw.reshape(batch, -1), x.type.fraction, self.type, x.type.width) for x in args]
        elements = np.concatenate([*parts, np.zeros((batch, 1), dtype=np.int64)], axis=1)
        return FixedArray(elements[:, self.indices].reshape(batch, *self.shape), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check that every index names an element."""
        if self.indices.shape != (self.size,) or self.indices.dtype != np.int64:
            return (f"{self.indices.shape} indices for {self.size} elements",)
        elements = sum(node.size for node in args)
        if int(self.indices.min()) < -1 or int(self.indices.max()) >= elements:
            return (f"indices {self.indices.min()} to {self.indices.max()} into {elements} elements",)
        return ()
