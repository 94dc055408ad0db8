"""The engines of a plan with the edges between them: width converters, crossings between dies, branches that meet.

A width converter lies on the die where its tensor is made, what waits for another branch on that of the reader, so that
crossings stand between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from flow.engines.align import Delay, Fifo, alignment, most_waiting
from flow.engines.converter import Converter, converter
from flow.engines.crossing import Crossing
from flow.engines.engine import Choice, Streamed, Unrolled
from flow.engines.wants import WHOLE, Wants
from flow.graph.graph import Graph
from flow.latency.schedule import Schedule, evenly
from flow.latency.timeline import Arrivals, Edge, Element, Timeline, build_timeline, departed, input_edge

What = Choice | Converter | Delay | Fifo | Crossing
_T = TypeVar("_T")
REMEMBERED = 64
"""Arrivals of one engine whose schedules are remembered."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Say how the tensor of a network's input comes: `beats` beats of `lanes` elements, `spacing` cycles apart."""

    lanes: int
    beats: int
    spacing: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """Say how tensors come and leave.

    arrivals: one for each input of the graph; those of several beats have equally many, equally far apart. beats_out:
    whether the only output may leave in the beats in which it is made; else outputs leave as whole tensors. held:
    cycles by which all that leaves is held back, in registers. dies: of the part, the one on which each choice lies, in
    the order of the choices; empty: all lie on the first. An input lies with the first choice that reads it.
    """

    arrivals: tuple[Arrival, ...]
    beats_out: bool = False
    held: int = 0
    dies: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.held < 0:
            raise ValueError(f"outputs held back by {self.held} cycles")
        if any(die < 0 for die in self.dies):
            raise ValueError(f"dies are counted from 0, not {self.dies}")

    @property
    def whole(self) -> bool:
        """Tell whether every input comes at once."""
        return all(arrival.beats == 1 for arrival in self.arrivals)

    @property
    def on_one_die(self) -> bool:
        """Tell whether all choices lie on the same die."""
        return len(set(self.dies)) <= 1


def whole_tensors(graph: Graph) -> Traffic:
    """Return traffic of one beat for each tensor."""
    return Traffic(tuple(Arrival(graph.node(name).size, 1, 1) for name in graph.inputs))


@dataclass(frozen=True, slots=True)
class Block:
    """Place one engine: what it is, the edges that it reads, the edge that it drives, and on which die."""

    what: What
    inputs: tuple[str, ...]
    output: str
    die: int = 0


@dataclass(frozen=True, slots=True)
class Dataflow:
    """Hold blocks in topological order and their timeline; each has the edge of its output there.

    input_dies: the die of each of the graph's inputs.
    """

    blocks: tuple[Block, ...]
    timeline: Timeline
    input_dies: tuple[int, ...]

    def dies(self, graph: Graph) -> dict[str, int]:
        """Return the die of every edge: for one behind a crossing, that which it reaches."""
        inputs = dict(zip(graph.inputs, self.input_dies, strict=True))
        return inputs | {block.output: block.die for block in self.blocks}


def dataflow(graph: Graph, choices: tuple[Choice, ...], traffic: Traffic | None = None) -> Dataflow:
    """Connect the choices (in topological order); without `traffic` every tensor comes and leaves as one beat.

    Raises ValueError where beats come faster than an engine takes them, inputs in beats that do not agree, or where the
    traffic has dies for more or fewer choices.
    """
    traffic = traffic or whole_tensors(graph)
    if traffic.dies and len(traffic.dies) != len(choices):
        raise ValueError(f"{len(traffic.dies)} dies for {len(choices)} choices")
    assembly = Assembly(graph, traffic, separate=not only_cones(choices, traffic))
    for choice in choices:
        assembly.add(choice)
    return assembly.finished()


def only_cones(choices: tuple[Choice, ...], traffic: Traffic) -> bool:
    """Tell whether cones on one die are all there is: then each holds back by itself what it reads too early."""
    return traffic.whole and traffic.on_one_die and all(isinstance(choice, Unrolled) for choice in choices)


def sources_of(graph: Graph, choice: Choice) -> tuple[str, ...]:
    """Return the nodes outside a choice whose tensors it reads, each once."""
    inside = set(choice.nodes)
    return tuple(dict.fromkeys(e for name in choice.nodes for e in graph.node(name).inputs if e not in inside))


def wanted(choice: Choice, k: int) -> Wants:
    """Return in which beats a choice wants its k-th input."""
    return Wants(choice.lanes_in[k], choice.pace) if isinstance(choice, Streamed) else choice.wants


@lru_cache(maxsize=4096)
def timing(what: What) -> tuple[Callable[[Arrivals], Schedule], Callable[[Arrivals], int]]:
    """Return an engine's schedule and interval as functions that remember: a planner asks for the same many times."""
    return _remembering(what.schedule), _remembering(what.interval)


def _remembering(function: Callable[[Arrivals], _T]) -> Callable[[Arrivals], _T]:
    """Return a function that remembers its last results; `lru_cache` takes longer to make than most schedules."""
    known: dict[Arrivals, _T] = {}

    def remembered(arrivals: Arrivals) -> _T:
        found = known.get(arrivals)
        if found is None:
            if len(known) >= REMEMBERED:
                known.clear()
            found = known[arrivals] = function(arrivals)
        return found

    return remembered


class Assembly:
    """Put choices together one after the other, with what must stand between them."""

    def __init__(self, graph: Graph, traffic: Traffic, *, separate: bool) -> None:
        """separate: whether tensors that meet must come together, as cones beside other engines want it."""
        self.graph = graph
        self.traffic = traffic
        self.separate = separate
        self.inputs = tuple(
            self._arriving(name, arrival) for name, arrival in zip(graph.inputs, traffic.arrivals, strict=True)
        )
        if len({edge.schedule for edge in self.inputs if len(edge.schedule.cycles) > 1}) > 1:
            raise ValueError("inputs of several beats must come together")
        self.edges: dict[str, Edge] = {edge.name: edge for edge in self.inputs}
        self.blocks: list[Block] = []
        self.elements: list[Element] = []
        self.taken = {node.name for node in graph.nodes}
        self.converted: dict[Converter | tuple[str, Delay], str] = {}
        self.crossed: dict[tuple[str, int], str] = {}
        self.die: dict[str, int] = {}
        self.choices = 0

    def _arriving(self, name: str, arrival: Arrival) -> Edge:
        if -(-self.graph.node(name).size // arrival.lanes) != arrival.beats:
            raise ValueError(f"{arrival.beats} beats of {arrival.lanes} elements do not make '{name}'")
        return input_edge(name, arrival.lanes, evenly(0, arrival.beats, arrival.spacing))

    def copy(self) -> Assembly:
        """Return an assembly that can go on another way."""
        other = copy(self)
        other.edges, other.blocks, other.elements = dict(self.edges), list(self.blocks), list(self.elements)
        other.taken, other.converted = set(self.taken), dict(self.converted)
        other.crossed, other.die = dict(self.crossed), dict(self.die)
        return other

    def add(self, choice: Choice) -> None:
        """Add a choice whose inputs are there; raise ValueError where it cannot take their beats."""
        sources, die = sources_of(self.graph, choice), self.traffic.dies[self.choices] if self.traffic.dies else 0
        for source in sources:
            self.die.setdefault(source, die)  # only an input has none yet
        inputs = tuple(self._across(self._edge(source, wanted(choice, k)), die) for k, source in enumerate(sources))
        if self.separate and len(inputs) > 1:
            inputs = self._together(inputs, choice.output)
        self._add(choice, choice.output, choice.output, choice.lanes_out, inputs, die=die)
        self.choices += 1

    def finished(self) -> Dataflow:
        """Return the whole, with the edges that leave it."""
        for name in self.graph.inputs:
            self.die.setdefault(name, 0)  # for those that nothing reads
        outputs = tuple(self._leaving(name) for name in self.graph.outputs)
        timeline = build_timeline(self.inputs, tuple(self.elements), outputs)
        return Dataflow(self.sized(), timeline, tuple(self.die[name] for name in self.graph.inputs))

    def sized(self, first: int = 0) -> tuple[Block, ...]:
        """Return the blocks from number `first` on; FIFOs have the depth that schedules and interval ask for."""
        interval = max((self.edges[element.output].busy for element in self.elements), default=1)
        return tuple(self._with_depth(block, interval) for block in self.blocks[first:])

    def _leaving(self, name: str) -> str:
        edge = name if self.traffic.beats_out else self._edge(name, WHOLE)
        return self._late(edge, self.traffic.held) if self.traffic.held else edge

    def _add(self, what: What, output: str, node: str, lanes: int | None, inputs: tuple[str, ...], *, die: int) -> None:
        lanes = self.graph.node(node).size if lanes is None else lanes
        element = Element(output, node, what.engine, lanes, inputs, *timing(what))
        self.blocks.append(Block(what, inputs, output, die))
        self.die[output] = die
        self.elements.append(element)
        self.edges[output] = departed(element, self.edges)

    def _edge(self, node: str, wants: Wants) -> str:
        """Return an edge with a node's tensor in the beats that are wanted, through a converter where need be."""
        edge, size = self.edges[node], self.graph.node(node).size
        lanes = size if wants.lanes is None else min(wants.lanes, size)
        spacing = edge.schedule.spacing
        if edge.lanes == lanes and (spacing is None or spacing >= wants.spacing):
            return node
        what = converter(node, size, (edge.lanes, lanes), 1 if lanes == size else wants.spacing, edge.schedule)
        name = self.converted.get(what)
        if name is None:
            name = self.converted[what] = self._name(f"{node}_by_{lanes}")
            self._add(what, name, node, lanes, (node,), die=self.die[node])
        return name

    def _across(self, name: str, die: int) -> str:
        """Return an edge's beats on another die, die by die; whoever reads there or beyond shares the crossings."""
        edge, at, begin = self.edges[name], name, self.die[name]
        step = 1 if die > begin else -1
        for reached in range(begin + step, die + step, step) if die != begin else ():
            known = self.crossed.get((name, reached))
            if known is None:
                known = self.crossed[name, reached] = self._name(f"{name}_on_die_{reached}")
                self._add(Crossing(edge.node, edge.lanes), known, edge.node, edge.lanes, (at,), die=reached)
            at = known
        return at

    def _together(self, names: tuple[str, ...], reader: str) -> tuple[str, ...]:
        """Return edges whose beats come in the same cycles: the early ones wait for the latest."""
        found = alignment(tuple(self.edges[name].schedule for name in names))
        leader = names[found.leader]
        if found.shift:
            leader = self._late(leader, found.shift)
        return tuple(
            leader if k == found.leader else self._waiting(name, leader, found.target, reader)
            for k, name in enumerate(names)
        )

    def _late(self, name: str, cycles: int) -> str:
        """Return an edge's beats some cycles later."""
        edge = self.edges[name]
        delay = Delay(edge.node, edge.lanes, cycles)
        late = self.converted.get((name, delay))
        if late is None:
            late = self.converted[name, delay] = self._name(f"{name}_late_{cycles}")
            self._add(delay, late, edge.node, edge.lanes, (name,), die=self.die[name])
        return late

    def _waiting(self, name: str, leader: str, target: Schedule, reader: str) -> str:
        """Return an edge's beats in the cycles of the leader's."""
        edge = self.edges[name]
        waits = {due - came for due, came in zip(target.cycles, edge.schedule.cycles, strict=True)}
        if waits == {0}:
            return name
        if len(waits) == 1 and (min(waits) == 1 or edge.schedule.spacing is None):
            return self._late(name, min(waits))
        fifo = Fifo(edge.node, edge.lanes, edge.lanes * self.graph.node(edge.node).type.width, 1, 0 in waits)
        kept = self._name(f"{name}_for_{reader}")
        self._add(fifo, kept, edge.node, edge.lanes, (name, leader), die=self.die[name])
        return kept

    def _with_depth(self, block: Block, interval: int) -> Block:
        if not isinstance(block.what, Fifo):
            return block
        pushed, popped = (self.edges[name].schedule for name in block.inputs)
        return replace(block, what=replace(block.what, depth=most_waiting(pushed, popped, interval)))

    def _name(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name
