"""What happens to the graph between the front end and the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from flow.graph.graph import Graph
from flow.graph.moves import drop_still, merge_moves
from flow.graph.nodes import AnyNode, Conv, DepthwiseConv, Rearrange
from flow.graph.verify import verify
from flow.graph.window import Window


def drop_unread(graph: Graph) -> Graph:
    """Remove nodes that no output depends on; inputs stay, since they are ports."""
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    kept = tuple(n for n in graph.nodes if n.name in needed or n.kind == "input")
    return replace(graph, nodes=kept)


def drop_identities(graph: Graph) -> Graph:
    """Bypass quantizers whose output type has the format of their input."""
    source: dict[str, str] = {}
    kept = []
    for old in graph.nodes:
        inputs = tuple(source.get(name, name) for name in old.inputs)
        node = replace(old, inputs=inputs)
        if node.kind == "quantize" and node.name not in graph.outputs:
            before = graph.node(inputs[0])
            if before.type.exact() == node.type.exact() and before.type.lo >= node.type.lo:
                source[node.name] = inputs[0]
                continue
        kept.append(node)
    return replace(graph, nodes=tuple(kept))


def absorb_padding(graph: Graph) -> Graph:
    """Let a convolution's window reach beyond the image where all that stands before it is a frame of zeros."""
    for node in graph.nodes:
        if not isinstance(node, Conv | DepthwiseConv):
            continue
        (frame,) = graph.feeding(node)
        if not isinstance(frame, Rearrange) or frame.name in graph.outputs or len(graph.consumers(frame.name)) > 1:
            continue
        window = _within(frame, graph.feeding(frame), node.window)
        if window is not None:
            wider = replace(node, inputs=frame.inputs, window=window)
            kept = tuple(wider if n is node else n for n in graph.nodes if n is not frame)
            return absorb_padding(replace(graph, nodes=kept))  # there may be another frame before it
    return graph


def _within(frame: Rearrange, before: tuple[AnyNode, ...], window: Window) -> Window | None:
    """Return the window over the image inside a frame of zeros, None where `frame` does anything else."""
    if len(before) > 1 or before[0].type.exact() != frame.type.exact() or before[0].type.lo < frame.type.lo:
        return None
    (image,) = before
    places = frame.indices.reshape(window.rows, window.columns, window.channels)
    rows, columns = (np.flatnonzero((places >= 0).any(axis=axes)) for axes in ((1, 2), (0, 2)))
    if not rows.size:
        return None
    top, left = int(rows[0]), int(columns[0])
    bottom, right = window.rows - 1 - int(rows[-1]), window.columns - 1 - int(columns[-1])
    inside = places[top : window.rows - bottom, left : window.columns - right]
    if not np.array_equal(inside.reshape(-1), np.arange(image.size)):
        return None
    if image.shape != inside.shape[3 - len(image.shape) :] or (len(image.shape) == 2 and inside.shape[0] > 1):
        return None
    pads = (window.pads[0] + top, window.pads[1] + bottom, window.pads[2] + left, window.pads[3] + right)
    return replace(window, rows=inside.shape[0], columns=inside.shape[1], pads=pads)


PASSES: tuple[Callable[[Graph], Graph], ...] = (drop_unread, drop_identities, absorb_padding, merge_moves, drop_still)


def run_passes(graph: Graph) -> Graph:
    """Apply every pass in order and verify after each."""
    verify(graph)
    for step in PASSES:
        graph = step(graph)
        verify(graph)
    return graph
