"""Unrolled runs that feed each other directly, between folded engines: their registers are placed together."""

from __future__ import annotations

from dataclasses import dataclass

from flow.engines.cone import Cone
from flow.engines.engine import Choice, Unrolled
from flow.engines.lower import lower_graph
from flow.engines.network import Network, connect
from flow.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Segment:
    """Name unrolled choices in topological order, by their numbers in the plan.

    leaving: output nodes that a folded engine reads or that leave the design.
    """

    numbers: tuple[int, ...]
    leaving: tuple[str, ...]


def segments(graph: Graph, choices: tuple[Choice, ...]) -> tuple[Segment, ...]:
    """Return the segments of a plan. A plan without folded engines is one segment."""
    unrolled = {choice.output: k for k, choice in enumerate(choices) if isinstance(choice, Unrolled)}
    if len(unrolled) == len(choices):
        return (Segment(tuple(range(len(choices))), graph.outputs),)
    groups: list[list[int]] = []
    group_of: dict[str, list[int]] = {}
    leaving = set(graph.outputs)
    for k, choice in enumerate(choices):
        source = graph.node(choice.nodes[0]).inputs[0]
        if isinstance(choice, Unrolled):
            group = group_of.get(source)
            if group is None:
                group = []
                groups.append(group)
            group.append(k)
            group_of[choice.output] = group
        elif source in unrolled:
            leaving.add(source)
    return tuple(
        Segment(tuple(group), tuple(choices[k].output for k in group if choices[k].output in leaving))
        for group in groups
    )


def lower_unrolled(graph: Graph, choices: tuple[Choice, ...]) -> dict[int, Cone]:
    """Lower every unrolled run, by its number in the plan."""
    unrolled = {k: choice.nodes for k, choice in enumerate(choices) if isinstance(choice, Unrolled)}
    return dict(zip(unrolled, lower_graph(graph, tuple(unrolled.values())), strict=True))


def network_of(segment: Segment, cones: dict[int, Cone]) -> Network:
    """Return a segment's cells; what it reads from elsewhere comes from registers at stage 0."""
    return connect(tuple(cones[k] for k in segment.numbers), segment.leaving)
