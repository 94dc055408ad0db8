"""All schedules of a plan, and the chain of nodes that sets its latency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from flow.latency.schedule import Schedule, latest
from flow.stored import check_format, load_stored

FORMAT = 2
CURE = "renew it: fpgaflow build"

Arrivals = tuple[Schedule, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """Stand for one engine in the timeline.

    output: the edge that leaves the engine. node: whose tensor it carries. lanes: elements of one beat. inputs: the
    edges it waits for. schedule: arrivals of those edges to the departure of its own, the engine's max-plus function.
    interval: arrivals to the cycles before it can begin anew.
    """

    output: str
    node: str
    engine: str
    lanes: int
    inputs: tuple[str, ...]
    schedule: Callable[[Arrivals], Schedule]
    interval: Callable[[Arrivals], int]


@dataclass(frozen=True, slots=True)
class Edge:
    """Give an edge's schedule.

    name: of the edge; the node's, unless a width converter gives the node's tensor another beat shape. lanes: elements
    of one beat; the last beat may be partly empty. waited_for: the input edge that made its engine wait (None for the
    network's inputs). busy: cycles before its engine can begin anew.
    """

    name: str
    node: str
    engine: str
    lanes: int
    schedule: Schedule
    waited_for: str | None
    busy: int


@dataclass(frozen=True, slots=True)
class Hop:
    """Name one engine of the critical path and the cycles it adds to it."""

    node: str
    engine: str
    cycles: int
    reason: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """Hold every edge's schedule.

    outputs: the network's output edges, all leaving in `departure`. interval: the II in cycles. critical_path: from
    the input to the last output; its cycles add up to `latency`.
    """

    format: int
    edges: tuple[Edge, ...]
    outputs: tuple[str, ...]
    departure: Schedule
    interval: int
    critical_path: tuple[Hop, ...]

    @property
    def latency(self) -> int:
        """Return the cycles from the first input beat to the last output beat."""
        return self.departure.last

    @property
    def latency_to_first(self) -> int:
        """Return the cycles from the first input beat to the first output beat."""
        return self.departure.first

    def latency_from_last(self, inputs: tuple[str, ...]) -> int:
        """Return the cycles from the last input beat to the last output beat."""
        return self.departure.last - max(self.edge(name).schedule.last for name in inputs)

    def edge(self, name: str) -> Edge:
        """Return the edge of that name; raise KeyError when there is none."""
        for edge in self.edges:
            if edge.name == name:
                return edge
        raise KeyError(name)


def input_edge(name: str, lanes: int, schedule: Schedule) -> Edge:
    """Return an edge on which a network's input arrives."""
    return Edge(name, name, "input", lanes, schedule, None, len(schedule.cycles))


def departed(element: Element, edges: dict[str, Edge]) -> Edge:
    """Return the edge that leaves an element whose inputs are among `edges`."""
    arrivals = tuple(edges[name].schedule for name in element.inputs)
    return Edge(
        element.output,
        element.node,
        element.engine,
        element.lanes,
        element.schedule(arrivals),
        element.inputs[latest(arrivals)],
        element.interval(arrivals),
    )


def build_timeline(inputs: tuple[Edge, ...], elements: tuple[Element, ...], outputs: tuple[str, ...]) -> Timeline:
    """Compute all schedules in topological order and read the critical path back.

    inputs: the network's input edges. elements: engines in topological order. outputs: output edges; earlier ones are
    delayed to leave together with the latest.
    """
    edges = {edge.name: edge for edge in inputs}
    for element in elements:
        edges[element.output] = departed(element, edges)
    departures = tuple(edges[name].schedule for name in outputs)
    last = latest(departures)
    interval = max([edges[element.output].busy for element in elements], default=1)
    path = _critical_path(edges, outputs[last])
    return Timeline(FORMAT, tuple(edges.values()), outputs, departures[last], interval, path)


def _critical_path(edges: dict[str, Edge], end: str) -> tuple[Hop, ...]:
    hops: list[Hop] = []
    edge = edges[end]
    while edge.waited_for is not None:
        before = edges[edge.waited_for]
        cycles = edge.schedule.last - before.schedule.last
        beats = f", {len(edge.schedule.cycles)} beats" if len(edge.schedule.cycles) > 1 else ""
        hops.append(Hop(edge.node, edge.engine, cycles, f"waits for {before.name}{beats}"))
        edge = before
    if edge.schedule.last:
        hops.append(Hop(edge.node, edge.engine, edge.schedule.last, "arrival of the input"))
    return tuple(reversed(hops))


@cache
def _adapter() -> TypeAdapter[Timeline]:
    return TypeAdapter(Timeline)


def timeline_to_json(timeline: Timeline) -> bytes:
    """Return the contents of `timeline.json`."""
    return _adapter().dump_json(timeline, indent=1) + b"\n"


def load_timeline(path: Path) -> Timeline:
    """Read `timeline.json`; raise UserError when it is not one."""
    timeline = load_stored(_adapter(), path, "a timeline", CURE)
    check_format(timeline.format, FORMAT, path, CURE)
    return timeline
