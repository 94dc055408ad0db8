"""What a streamed engine computes of one beat, as a small graph: ordinary engines are built for it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from flow.engines.line_buffer import Beats, in_beats
from flow.engines.reducer import Reducer
from flow.engines.streamed import Streamed
from flow.fixed import IntArray
from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.graph.nodes import AnyNode, Conv, Dense, DepthwiseConv, Input, Merge, Pool, Rearrange, Reshape, Softmax
from flow.graph.window import Window

Windowed = Conv | DepthwiseConv | Pool


def window_of(node: Node) -> Window | None:
    """Return the window that a node slides over its input, None where it has none."""
    return node.window if isinstance(node, Windowed) else None


def streamable(graph: Graph, run: tuple[str, ...]) -> int:
    """Return how many nodes at the head of a run can be computed beat by beat.

    A reshape may be the last of them: its elements come in the same order, but what follows no longer knows channels.
    """
    for count, name in enumerate(run):
        node = graph.node(name)
        if isinstance(node, Reshape) and count:
            return count + 1
        if not _alike_everywhere(graph, node) or (count and window_of(node) is not None):
            return count
    return len(run)


def _alike_everywhere(graph: Graph, node: Node) -> bool:
    """Tell whether a node does the same at all places, whatever the beats.

    What a window meets outside the image must be a constant.
    """
    match node:
        case Conv() | DepthwiseConv():
            return True
        case Pool():
            (source,) = graph.feeding(node)
            even = bool(np.all(node.divisors == node.divisors[0]))
            outside = any(node.window.pads)
            return even if node.op == "average" else not outside or source.type.width < MOST_PAD_BITS
        case Merge() | Softmax():
            return True
        case Reshape():
            return False
        case Rearrange():
            return joins_channels(graph, node)
        case _:
            return node.elementwise


MOST_PAD_BITS = 32
"""Elements of less bits can stand for the least number outside the image: a Verilog parameter holds it."""


def joins_channels(graph: Graph, node: Rearrange) -> bool:
    """Tell whether a node lays the channels of its inputs side by side at each place."""
    feeding = graph.feeding(node)
    alike = len(node.shape) > 1 and all(source.shape[:-1] == node.shape[:-1] for source in feeding)
    channels = tuple(source.shape[-1] for source in feeding)
    return alike and bool(np.array_equal(node.indices, _joined(channels, node.size // node.shape[-1])))


def _joined(channels: tuple[int, ...], places: int) -> IntArray:
    """Return the indices that lay channels side by side at each place."""
    starts = np.cumsum([0, *(n * places for n in channels[:-1])])
    parts = [start + np.arange(places * n).reshape(places, n) for start, n in zip(starts, channels, strict=True)]
    joined: IntArray = np.concatenate(parts, axis=1).reshape(-1)
    return joined


def reducer_of(graph: Graph, node: Node, pixels: int) -> Reducer | None:
    """Return what pools over a whole image of which `pixels` pixels come at a time; None where running sums may differ.

    An average must be exact, whatever the order of its sum.
    """
    if not isinstance(node, Pool) or node.window.positions != (1, 1) or any(node.window.pads):
        return None
    (source,) = graph.feeding(node)
    covered = node.window.kernel == (node.window.rows, node.window.columns)
    beats, rest = divmod(node.window.cells, pixels)
    if not covered or rest or beats < 2 or (node.op == "average" and not node.is_exact(source.type)):
        return None
    return Reducer(beats, "max" if node.op == "max" else "sum")


@lru_cache(maxsize=512)
def beat_graph(graph: Graph, nodes: tuple[str, ...], pixels: int) -> Graph:
    """Return the graph that computes one beat of `nodes` from beats of `pixels` pixels.

    Its input is one window, row-major, where the first node has a window; else a beat of each input, under the names
    of those that make them. Nodes keep their names; a reshape stands between a matrix product and what follows.
    """
    head = graph.node(nodes[0])
    window = window_of(head)
    found: list[AnyNode] = []
    reducer = reducer_of(graph, head, pixels)
    if reducer is not None and isinstance(head, Pool):
        found += _reduced(graph, head, reducer, pixels)
        places = 1
    elif window is not None and isinstance(head, Windowed):
        beats = in_beats(window, pixels)
        assert beats is not None
        found += _windowed(graph, head, window, beats)
        places = beats.pixels_out
    else:
        for source in dict.fromkeys(graph.feeding(head)):
            beat = (pixels, source.shape[-1])
            found.append(Input(name=source.name, label=source.label, inputs=(), shape=beat, type=source.type))
        beat_head = replace(head, shape=(pixels, head.shape[-1]))
        if isinstance(beat_head, Rearrange):
            channels = tuple(source.shape[-1] for source in graph.feeding(head))
            beat_head = replace(beat_head, indices=_joined(channels, pixels))
        found.append(beat_head)
        places = pixels
    before = head.name
    if isinstance(found[-1], Dense) and len(nodes) > 1:
        before, channels = f"{head.name}_pixels", (places, head.shape[-1])
        found.append(Reshape(name=before, label=head.label, inputs=(head.name,), shape=channels, type=head.type))
    for node in map(graph.node, nodes[1:]):
        shape = (found[-1].size,) if isinstance(node, Reshape) else (places, node.shape[-1])
        found.append(replace(node, inputs=(before,), shape=shape))
        before = node.name
    inputs = tuple(node.name for node in found if isinstance(node, Input))
    return Graph(graph.name, tuple(found), inputs, (nodes[-1],))


def computed(beat: Graph) -> tuple[str, ...]:
    """Return the nodes of a beat's graph that its inner engine computes."""
    return tuple(node.name for node in beat.nodes if not isinstance(node, Input))


def beat_of(graph: Graph, choice: Streamed) -> Graph:
    """Return the graph that a streamed choice computes for each beat."""
    (source, *_) = graph.feeding(graph.node(choice.nodes[0]))
    return beat_graph(graph, choice.nodes, choice.lanes_in[0] // source.shape[-1])


def _windowed(graph: Graph, head: Windowed, window: Window, beats: Beats) -> list[AnyNode]:
    """Return the input of a window, and what computes its output pixels: a matrix product, or a pool without pads."""
    (source,) = graph.feeding(head)
    columns = beats.kernel * beats.pixels_in
    size = window.kernel[0] * columns * window.channels
    name = f"{head.name}_window"
    port = Input(name=name, label=head.label, inputs=(), shape=(size,), type=source.type)
    if not isinstance(head, Pool):
        return [port, _product(head, window, beats, name)]
    needed = (beats.pixels_out - 1) * window.stride[1] + window.kernel[1]
    part = Window(window.kernel[0], needed, window.channels, window.kernel, window.stride, (0, 0, 0, 0))
    pool = replace(head, window=part, inputs=(name,), shape=(beats.pixels_out, window.channels))
    if needed == columns:
        return [port, pool]
    cells = np.arange(size).reshape(window.kernel[0], columns, window.channels)
    cells = cells[:, beats.offset : beats.offset + needed].reshape(-1)
    crop = Rearrange(
        name=f"{head.name}_cells",
        label=head.label,
        inputs=(name,),
        shape=(cells.size,),
        type=source.type,
        indices=cells,
    )
    return [port, crop, replace(pool, inputs=(crop.name,))]


def _reduced(graph: Graph, head: Pool, reducer: Reducer, pixels: int) -> list[AnyNode]:
    """Return the running results of neighbouring pixels, and what makes one of them."""
    (source,) = graph.feeding(head)
    name, size = f"{head.name}_reduced", pixels * head.window.channels
    port = Input(name=name, label=head.label, inputs=(), shape=(size,), type=reducer.held(source.type))
    window = Window(1, pixels, head.window.channels, (1, pixels), (1, 1), (0, 0, 0, 0))
    divisor = None if head.op == "max" else head.window.cells
    return [port, replace(head, window=window, inputs=(name,), shape=(1, window.channels), divisor=divisor)]


def _product(head: Conv | DepthwiseConv, window: Window, beats: Beats, source: str) -> Dense:
    """Return the matrix product from a window in beats to its output pixels."""
    place = head.matrix
    rows, kernel = window.kernel
    columns = beats.kernel * beats.pixels_in
    cells = place.weights.reshape(rows, kernel, window.channels, place.n_out)
    spread: IntArray = np.zeros(
        (rows, columns, window.channels, beats.pixels_out, place.n_out), dtype=place.weights.dtype
    )
    for pixel in range(beats.pixels_out):
        first = beats.offset + pixel * window.stride[1]
        spread[:, first : first + kernel, :, pixel] = cells
    return replace(
        place,
        inputs=(source,),
        shape=(beats.pixels_out * place.n_out,),
        weights=spread.reshape(rows * columns * window.channels, -1),
        bias=np.tile(place.bias, beats.pixels_out),
    )
