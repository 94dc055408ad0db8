"""A frame of zeros in front of a convolution becomes part of its window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.fixed import FixedType, IntArray, Overflow
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Conv, DepthwiseConv, Input, Rearrange
from flow.graph.passes import absorb_padding, run_passes
from flow.graph.verify import verify
from flow.graph.window import Window
from tests.graph.test_conv import X, conv, depthwise
from tests.networks import vectors

PADDED = Window(6, 9, 2, (3, 2), (2, 1), (0, 0, 0, 0))


def framed(
    image: tuple[int, ...], around: list[tuple[int, int]], node: Conv | DepthwiseConv, **change: object
) -> Graph:
    """Return input -> frame of zeros -> convolution."""
    places = np.pad(np.arange(np.prod(image)).reshape(image), [*around, (0, 0)], constant_values=-1)
    return behind(image, places, node, **change)


def behind(image: tuple[int, ...], places: IntArray, node: Conv | DepthwiseConv, **change: object) -> Graph:
    source = Input(name="x", label="x", inputs=(), shape=image, type=X)
    indices = np.array(places.reshape(-1), dtype=np.int64)
    frame = Rearrange(name="p", label="p", inputs=("x",), shape=places.shape, type=X, indices=indices)
    graph = Graph("net", (source, replace(frame, **change), replace(node, inputs=("p",))), ("x",), ("c",))
    verify(graph)
    return graph


def assert_same(before: Graph, after: Graph) -> None:
    verify(after)
    raw = vectors(np.random.default_rng(0), before, 20)
    for name in before.outputs:
        assert (evaluate(before, raw)[name].raw == evaluate(after, raw)[name].raw).all()


@pytest.mark.parametrize("make", [conv, depthwise])
@pytest.mark.parametrize("around", [[(1, 1), (2, 0)], [(0, 2), (0, 0)], [(0, 0), (1, 3)], [(2, 3), (4, 4)]])
def test_frames_go(make: type, around: list[tuple[int, int]]) -> None:
    image = (6 - sum(around[0]), 9 - sum(around[1]), 2)
    graph = framed(image, around, make(PADDED))
    after = run_passes(graph)
    assert [node.kind for node in after.nodes] == ["input", graph.nodes[-1].kind]
    node = after.node("c")
    assert isinstance(node, Conv | DepthwiseConv)
    assert node.window == replace(PADDED, rows=image[0], columns=image[1], pads=(*around[0], *around[1]))
    assert_same(graph, after)


def test_a_frame_around_a_sequence_goes_and_joins_the_padding_that_is_there() -> None:
    window = Window(1, 9, 2, (1, 3), (1, 2), (0, 0, 2, 1))
    graph = framed((6, 2), [(1, 2)], conv(window))
    after = absorb_padding(graph)
    node = after.node("c")
    assert isinstance(node, Conv)
    assert node.window == Window(1, 6, 2, (1, 3), (1, 2), (0, 0, 3, 3))
    assert_same(graph, after)


def test_two_frames_go_one_after_the_other() -> None:
    inner = np.pad(np.arange(24).reshape(3, 4, 2), [(1, 0), (0, 1), (0, 0)], constant_values=-1)
    graph = framed((4, 5, 2), [(1, 1), (2, 2)], conv(PADDED))
    first = Rearrange(name="q", label="q", inputs=("x",), shape=inner.shape, type=X, indices=inner.reshape(-1))
    source, frame, node = graph.nodes
    nodes = (replace(source, shape=(3, 4, 2)), first, replace(frame, inputs=("q",)), node)
    graph = replace(graph, nodes=nodes)
    after = absorb_padding(graph)
    assert [node.kind for node in after.nodes] == ["input", "conv"]
    assert_same(graph, after)


def test_frames_stay_where_they_do_more() -> None:
    """Another type, an output, a second reader, a shift of the image, a turned one: each needs its own node."""
    image, around = (4, 6, 2), [(1, 1), (2, 1)]
    plain = framed(image, around, conv(PADDED))
    assert len(absorb_padding(plain).nodes) == 2
    node = plain.nodes[-1]
    other = replace(node, name="d", label="d")
    places = np.pad(np.arange(48).reshape(image), [*around, (0, 0)], constant_values=-1)
    shifted = np.where(places > 0, places - 1, places)
    turned = np.pad(np.arange(48).reshape(image)[::-1], [*around, (0, 0)], constant_values=-1)
    symmetric = FixedType(X.width, X.integer, overflow=Overflow.SAT_SYM)
    for graph in (
        framed(image, around, conv(PADDED), type=FixedType(6, 3)),
        framed(image, around, conv(PADDED), type=symmetric),
        replace(plain, outputs=("c", "p")),
        replace(plain, nodes=(*plain.nodes, other), outputs=("c", "d")),
        behind(image, shifted, conv(PADDED)),
        behind(image, turned, conv(PADDED)),
        behind(image, np.full(places.shape, -1), conv(PADDED)),
        behind((6, 4, 2), places, conv(PADDED)),
    ):
        after = absorb_padding(graph)
        assert after.node("p").kind == "rearrange"
        assert after.node("c").inputs == ("p",)
        verify(after)
