"""The network's input port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from flow.graph.node import Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Input(Node):
    """Stand for a tensor that arrives from outside; its type quantizes the user's floats."""

    arity: ClassVar[int | None] = 0

    kind: Literal["input"] = "input"
