"""Ways in which a network's inputs may come: whole, or in beats of pixels some cycles apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from flow.engines.beat import window_of
from flow.engines.dataflow import Arrival, Traffic, whole_tensors
from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.latency.schedule import evenly
from flow.plan.places import Place

SPACINGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Cycles between beats that are tried."""
SLOWEST = 4
"""Spacings tried for one number of pixels: the slowest that may keep budget and rate, and those below."""
FASTEST = 4
"""Spacings tried where nothing bounds them and the fewest cycles are wanted; all are where none of these has room."""


def branches(graph: Graph) -> bool:
    """Tell whether a network has windows, tensors that meet, or inputs that come in beats."""
    spatial = any(window_of(node) is not None for node in graph.nodes)
    return spatial or graph.io_type == "io_stream" or any(len(set(node.inputs)) > 1 for node in graph.nodes)


def traffics(graph: Graph, most: int | None, spacings: Sequence[int] = SPACINGS) -> tuple[Traffic, ...]:
    """Return the ways worth trying.

    most: cycles from the first beat of an inference to its last; None: without end, and all spacings are tried.
    """
    images = [graph.node(name) for name in graph.inputs if len(graph.node(name).shape) > 1]
    if graph.io_type != "io_stream" or not images:
        return (whole_tensors(graph),)
    return tuple(dict.fromkeys(_in_beats(graph, *cadence) for cadence in _cadences(graph, images, most, spacings)))


def places_of(graph: Graph, traffic: Traffic) -> tuple[Place, ...]:
    """Return where each input comes."""
    return tuple(
        Place(name, arrival.lanes, evenly(0, arrival.beats, arrival.spacing))
        for name, arrival in zip(graph.inputs, traffic.arrivals, strict=True)
    )


def _cadences(
    graph: Graph, images: Sequence[Node], most: int | None, spacings: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Give pixels of a beat, all of a row or parts of it, and cycles between beats."""
    windows = [w for w in map(window_of, graph.nodes) if w is not None]
    columns = windows[0].columns if windows else images[0].shape[-2]
    places = max(_places(node) for node in images)
    for pixels in (p for p in range(1, columns + 1) if columns % p == 0):
        beats = -(-places // pixels)
        possible = [s for s in spacings if most is None or beats * s <= most] or [1]
        yield from ((pixels, s) for s in (possible if most is None else possible[-SLOWEST:]))


def _in_beats(graph: Graph, pixels: int, spacing: int) -> Traffic:
    nodes = tuple(graph.node(name) for name in graph.inputs)
    most = max(_places(node) for node in nodes)
    arrivals = []
    for node in nodes:
        lanes = pixels * node.shape[-1]
        beats = -(-node.size // lanes)
        # beats of all inputs come together: tensors of fewer pixels come whole
        whole = _places(node) < most or node.size % lanes or beats == 1
        arrivals.append(Arrival(node.size, 1, 1) if whole else Arrival(lanes, beats, spacing))
    ends = [graph.node(name) for name in graph.outputs]
    return Traffic(tuple(arrivals), beats_out=len(ends) == 1 and len(ends[0].shape) > 1)


def _places(node: Node) -> int:
    """Return the places of a tensor: the product of all axes but the last."""
    return prod(node.shape[:-1])
