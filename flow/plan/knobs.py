"""What hls4ml's own project is told of each layer by a plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flow.engines.engine import Choice
from flow.engines.folded import Folded
from flow.engines.streamed import Streamed
from flow.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Knob:
    """Hold one layer's reuse factor and strategy, as hls4ml uses them."""

    reuse_factor: int
    strategy: str


def knobs_of(graph: Graph, choices: Iterable[Choice]) -> dict[str, Knob]:
    """Return what hls4ml is told of each layer by label: Resource where a matrix is folded, Latency elsewhere."""
    knobs: dict[str, Knob] = {}
    for choice in choices:
        for name in choice.nodes:
            knobs.setdefault(graph.node(name).label, Knob(1, "Latency"))
        inner = choice.inner if isinstance(choice, Streamed) else choice
        if isinstance(inner, Folded):
            knobs[graph.node(choice.nodes[0]).label] = Knob(inner.reuse_factor, "Resource")
    return knobs
