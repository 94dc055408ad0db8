"""A small part of a large run without a matrix, to judge all of it: its elements cost the same, more or less."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from flow.fixed import IntArray
from flow.graph.graph import Graph
from flow.graph.nodes import Affine, AnyNode, Input, Pool, PRelu, Quantize, Rearrange, Sign

MOST_READS = 512
"""Elements that a run reads, each as often as it is read, up to which all of it is judged."""
READS = 256
"""Elements that the part of a larger run reads, unless a single window has more."""
PLACES = 6
"""Places of a window on each axis along which windows share elements."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Hold the graph of a part, with the run's nodes, and how many elements of the whole each of its own stands for."""

    graph: Graph
    times: float


def part_of(graph: Graph, run: tuple[str, ...]) -> Part | None:
    """Return a part of a run that pools, moves elements or treats each alone; None for others and for small ones."""
    head = graph.node(run[0])
    reads = head.size * (head.window.cells if isinstance(head, Pool) else 1)
    if reads <= MOST_READS:
        return None
    if isinstance(head, Pool):
        found, elements = _pool(graph, head)
    elif isinstance(head, Rearrange):
        found, elements = _moved(graph, head)
    elif head.elementwise:
        (source,) = graph.feeding(head)
        elements = _spread(head.size, READS)
        port = Input(name=source.name, label=source.label, inputs=(), shape=elements.shape, type=source.type)
        found = (port, piece_of(head, elements, source.name))
    else:
        return None
    nodes = [*found]
    for node in (graph.node(name) for name in run[1:]):
        nodes.append(piece_of(node, elements, nodes[-1].name))
    inputs = tuple(node.name for node in nodes if isinstance(node, Input))
    return Part(Graph(graph.name, tuple(nodes), inputs, (run[-1],)), head.size / elements.size)


def piece_of(node: AnyNode, elements: IntArray, before: str) -> AnyNode:
    """Return a node that treats each element alone for some of them, one behind the other; before: what feeds it.

    elements: their places in the node's output, which pick parameters. What moves elements is a cast to its type.
    """
    shape, channels = elements.shape, elements % node.shape[-1]
    match node:
        case Rearrange():
            return Quantize(name=node.name, label=node.label, inputs=(before,), shape=shape, type=node.type)
        case Affine():
            scale, bias = node.scale[channels], node.bias[channels]
            return replace(node, inputs=(before,), shape=shape, scale=scale, bias=bias)
        case Sign():
            return replace(node, inputs=(before,), shape=shape, high=node.high[channels], low=node.low[channels])
        case PRelu():
            slopes = node.slopes.reshape(-1)[elements % node.slopes.size]
            return replace(node, inputs=(before,), shape=shape, slopes=slopes)
        case _:
            return replace(node, inputs=(before,), shape=shape)


def _spread(size: int, count: int) -> IntArray:
    """Return up to `count` different numbers below `size`, evenly spread."""
    return np.unique(np.linspace(0, size - 1, min(size, count)).astype(np.int64))


def _pool(graph: Graph, node: Pool) -> tuple[tuple[AnyNode, ...], IntArray]:
    """Return a pool of some channels: at all places if they are few, else at neighbouring ones inside the image."""
    window = node.window
    places, small = window.positions, window
    if prod(places) * window.cells > MOST_READS:
        axes = tuple(zip(places, window.kernel, window.stride, strict=True))
        places = (_neighbours(*axes[0]), _neighbours(*axes[1]))
        rows, columns = ((n - 1) * stride + kernel for n, (_, kernel, stride) in zip(places, axes, strict=True))
        small = replace(window, rows=rows, columns=columns, pads=(0, 0, 0, 0))
    channels = _spread(window.channels, max(1, READS // (small.rows * small.columns)))
    small = replace(small, channels=channels.size)
    (source,) = graph.feeding(node)
    shape = (small.rows, small.columns, channels.size)
    port = Input(name=source.name, label=source.label, inputs=(), shape=shape, type=source.type)
    elements = (np.arange(prod(places))[:, None] * window.channels + channels).reshape(-1)
    return (port, replace(node, window=small, shape=elements.shape)), elements


def _neighbours(places: int, kernel: int, stride: int) -> int:
    """Return how many places show what windows share along an axis."""
    return min(places, PLACES) if stride < kernel else 1


def _moved(graph: Graph, node: Rearrange) -> tuple[tuple[AnyNode, ...], IntArray]:
    """Return some of the moved elements, with the inputs cut to these."""
    elements = _spread(node.size, READS)
    wanted = node.indices[elements]
    ports: list[AnyNode] = []
    indices = np.full(wanted.shape, -1)
    start = taken = 0
    for k, source in enumerate(graph.feeding(node)):
        inside = (wanted >= start) & (wanted < start + source.size)
        count = int(inside.sum())
        indices[inside] = taken + np.arange(count)
        start, shape = start + source.size, (max(1, count),)
        taken += max(1, count)
        name = f"{source.name}_{k}"
        ports.append(Input(name=name, label=source.label, inputs=(), shape=shape, type=source.type))
    indices.setflags(write=False)
    names = tuple(port.name for port in ports)
    return (*ports, replace(node, inputs=names, shape=elements.shape, indices=indices)), elements
