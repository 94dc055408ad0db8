"""The engines of a plan with the edges between them, width converters included."""

from __future__ import annotations

from dataclasses import dataclass

from flow.engines.converter import Converter
from flow.engines.engine import Choice
from flow.engines.wants import WHOLE, Wants
from flow.graph.graph import Graph
from flow.latency.schedule import Schedule
from flow.latency.timeline import Edge, Element, Timeline, build_timeline, departed, input_edge


@dataclass(frozen=True, slots=True)
class Block:
    """Place one engine: what it is, the edges that it reads, and the edge that it drives."""

    what: Choice | Converter
    inputs: tuple[str, ...]
    output: str


@dataclass(frozen=True, slots=True)
class Dataflow:
    """Hold blocks in topological order and their timeline; each has the edge of its output there.

    outputs: the edges that leave the design, one for each of the graph's outputs, all of them whole tensors.
    """

    blocks: tuple[Block, ...]
    timeline: Timeline


def dataflow(graph: Graph, choices: tuple[Choice, ...]) -> Dataflow:
    """Connect the choices (in topological order); every input of the network arrives as one beat at cycle 0."""
    return _Dataflow(graph).connected(choices)


class _Dataflow:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.inputs = tuple(input_edge(name, graph.node(name).size, Schedule((0,))) for name in graph.inputs)
        self.edges: dict[str, Edge] = {edge.name: edge for edge in self.inputs}
        self.blocks: list[Block] = []
        self.elements: list[Element] = []
        self.taken = {node.name for node in graph.nodes}
        self.converted: dict[Converter, str] = {}

    def connected(self, choices: tuple[Choice, ...]) -> Dataflow:
        for choice in choices:
            inside = set(choice.nodes)
            sources = dict.fromkeys(e for name in choice.nodes for e in self.graph.node(name).inputs if e not in inside)
            inputs = tuple(self._edge(source, choice.wants) for source in sources)
            self._add(choice, choice.output, choice.output, choice.lanes_out, inputs)
        outputs = tuple(self._edge(name, WHOLE) for name in self.graph.outputs)
        timeline = build_timeline(self.inputs, tuple(self.elements), outputs)
        return Dataflow(tuple(self.blocks), timeline)

    def _add(
        self, what: Choice | Converter, output: str, node: str, lanes: int | None, inputs: tuple[str, ...]
    ) -> None:
        lanes = self.graph.node(node).size if lanes is None else lanes
        element = Element(output, node, what.engine, lanes, inputs, what.schedule, what.interval)
        self.blocks.append(Block(what, inputs, output))
        self.elements.append(element)
        self.edges[output] = departed(element, self.edges)

    def _edge(self, node: str, wants: Wants) -> str:
        """Return an edge with a node's tensor in the beats that are wanted, through a converter where need be."""
        edge, size = self.edges[node], self.graph.node(node).size
        lanes = size if wants.lanes is None else min(wants.lanes, size)
        spacing = edge.schedule.spacing
        if edge.lanes == lanes and (spacing is None or spacing >= wants.spacing):
            return node
        converter = Converter(node, size, edge.lanes, lanes, 1 if lanes == size else wants.spacing)
        name = self.converted.get(converter)
        if name is None:
            name = self.converted[converter] = self._name(f"{node}_by_{lanes}")
            self._add(converter, name, node, lanes, (node,))
        return name

    def _name(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name
