"""Where a layer of a list stands: its names, what it reads, and what was said of its types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.graph.nodes import AnyNode
from flow.sketch.precision import Types


@dataclass(frozen=True, slots=True)
class Place:
    """Hold what a node needs besides its layer's own description.

    where: for messages. name, label: of the node. x: what it reads first. streamed: whether pixels come one after
    another. draw: for weights.
    """

    where: str
    name: str
    label: str
    x: AnyNode
    types: Types
    streamed: bool
    draw: np.random.Generator

    def common(self, *others: AnyNode) -> dict[str, Any]:
        """Return the fields that every node has, but shape and type."""
        return {"name": self.name, "label": self.label, "inputs": (self.x.name, *(n.name for n in others))}

    def pixels(self, *, rank: int | None = None) -> tuple[int, int, int]:
        """Return rows, columns and channels of what comes in; raise UserError unless it is an image or a sequence."""
        shape = self.x.shape
        if rank is None and len(shape) == 1:
            raise UserError(f"{self.where}: pools images and sequences, not an input of shape {shape}")
        if rank is not None and len(shape) != rank:
            kind, channels = {2: ("a sequence", "(length, channels)"), 3: ("an image", "(rows, columns, channels)")}[
                rank
            ]
            raise UserError(f"{self.where}: takes {kind} {channels}, the layer before gives shape {shape}")
        return (shape[0], shape[1], shape[2]) if len(shape) == 3 else (1, shape[0], shape[1])
