"""Unrolled runs that feed each other directly, between other engines: their registers are placed together."""

from __future__ import annotations

from dataclasses import dataclass

from flow.device.parts import Part
from flow.engines.blocks import blocks_of
from flow.engines.cone import Cone
from flow.engines.dataflow import Traffic, only_cones, sources_of, wanted
from flow.engines.engine import Choice, Unrolled
from flow.engines.lower import lower_graph
from flow.engines.network import Network, connect
from flow.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Segment:
    """Name unrolled choices in topological order, by their numbers in the plan.

    leaving: output nodes that another engine reads or that leave the design: they need a register. crossing: of the
    others, those that are read on another die: the crossing's first register ends what is left of them. alone: whether
    it is all of a plan, of which outputs before the last are held back behind it.
    """

    numbers: tuple[int, ...]
    leaving: tuple[str, ...]
    crossing: tuple[str, ...] = ()
    alone: bool = False


def segments(graph: Graph, choices: tuple[Choice, ...], traffic: Traffic) -> tuple[Segment, ...]:
    """Return the segments of a plan. A plan of cones alone is one segment.

    Elsewhere a cone that reads several tensors begins a segment of its own, as they come together (`dataflow`), as does
    one that reads behind a crossing.
    """
    if only_cones(choices, traffic):
        return (Segment(tuple(range(len(choices))), graph.outputs, alone=True),)
    unrolled = {choice.output for choice in choices if isinstance(choice, Unrolled)}
    groups: list[list[int]] = []
    group_of: dict[str, list[int]] = {}
    leaving, crossing = set(graph.outputs), set[str]()
    dies = traffic.dies or (0,) * len(choices)
    die_of = {choice.output: die for choice, die in zip(choices, dies, strict=True) if choice.output in unrolled}
    for k, choice in enumerate(choices):
        sources = sources_of(graph, choice)
        joins = isinstance(choice, Unrolled) and len(sources) == 1
        for i, source in enumerate(sources):
            if source not in die_of:
                continue
            apart, converted = die_of[source] != dies[k], wanted(choice, i).lanes not in {None, graph.node(source).size}
            if apart and not converted:
                crossing.add(source)
            elif apart or not joins:
                leaving.add(source)  # also where a converter before the crossing would add to the way
            joins = joins and not apart
        if isinstance(choice, Unrolled):
            group = group_of.get(sources[0]) if joins else None
            if group is None:
                group = []
                groups.append(group)
            group.append(k)
            group_of[choice.output] = group
    return tuple(
        Segment(
            tuple(group),
            tuple(choices[k].output for k in group if choices[k].output in leaving),
            tuple(choices[k].output for k in group if choices[k].output in crossing - leaving),
        )
        for group in groups
    )


def lower_unrolled(graph: Graph, choices: tuple[Choice, ...], part: Part | None = None) -> dict[int, Cone]:
    """Lower every unrolled run, by its number in the plan; part: whose blocks they use, where they do.

    Raises ValueError for choices that want blocks which the part has not.
    """
    unrolled = {k: choice for k, choice in enumerate(choices) if isinstance(choice, Unrolled)}
    blocks = tuple(blocks_of(choice, part) for choice in unrolled.values())
    runs = tuple(choice.nodes for choice in unrolled.values())
    return dict(zip(unrolled, lower_graph(graph, runs, blocks=blocks), strict=True))


def network_of(segment: Segment, cones: dict[int, Cone]) -> Network:
    """Return a segment's cells; what it reads from elsewhere comes from registers at stage 0."""
    return connect(tuple(cones[k] for k in segment.numbers), segment.leaving, held=segment.alone)
