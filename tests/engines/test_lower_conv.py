"""Unrolled convolutions equal their nodes' integer semantics, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.adder_graph import solve_matrix
from flow.engines.adders import AdderGraph, plain_graph
from flow.engines.cone import Add, Cone, Limit
from flow.engines.lower import lower, lower_graph, runs
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Conv, DepthwiseConv, Input
from flow.graph.verify import verify
from flow.graph.window import Window
from tests.engines.test_lower import Draw, assert_equal, relu
from tests.graph.test_conv import SATURATING, WINDOWS, conv, depthwise


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FPGAFLOW_CACHE", str(tmp_path))


def graph_of(node: Conv | DepthwiseConv, x: FixedType) -> Graph:
    window = node.window
    shape = (window.rows, window.columns, window.channels)[3 - len(node.shape) :]
    source = Input(name="x", label="x", inputs=(), shape=shape, type=x)
    graph = Graph("net", (source, node), ("x",), ("c",))
    verify(graph)
    return graph


def random_conv(draw: Draw, window: Window) -> tuple[Conv | DepthwiseConv, FixedType]:
    """Draw types and weights as for a dense layer over the window."""
    is_depthwise = draw.integer(0, 1) == 1
    elements = window.cells if is_depthwise else window.cells * window.channels
    before = Input(name="x", label="x", inputs=(), shape=(elements,), type=draw.type(1, 8))
    like = draw.dense(before, "c")
    node = depthwise(window) if is_depthwise else conv(window, filters=like.n_out)
    if is_depthwise:
        columns = np.resize(like.weights.T, (window.channels, elements)).T
        weights, bias = columns.reshape(node.weights.shape), np.resize(like.bias, window.channels)
    else:
        weights, bias = like.weights.reshape(node.weights.shape), like.bias
    node = replace(
        node,
        type=like.type,
        weights=weights,
        bias=bias,
        weight_type=like.weight_type,
        bias_type=like.bias_type,
        accumulator=like.accumulator,
    )
    return node, before.type


@pytest.mark.parametrize("name", WINDOWS)
def test_random_convolutions(name: str) -> None:
    for seed in range(8):
        draw = Draw(seed)
        node, x = random_conv(draw, WINDOWS[name])
        graph = graph_of(node, x)
        solve = plain_graph if seed % 4 else solve_matrix
        assert_equal(graph, lower_graph(graph, runs(graph), solve=solve), draw.vectors(x, graph.nodes[0].size))


@pytest.mark.parametrize("make", [conv, depthwise])
def test_sums_that_saturate_keep_their_order(make: type) -> None:
    x = FixedType(7, 3)
    node = make(WINDOWS["same"], accumulator=SATURATING)
    graph = graph_of(node, x)
    (cone,) = lower_graph(graph, runs(graph))
    assert any(isinstance(op, Limit) for op in cone.ops)
    assert_equal(graph, (cone,), Draw(1).vectors(x, graph.nodes[0].size))


def test_what_follows_joins_the_run() -> None:
    node = conv(WINDOWS["strides"])
    graph = graph_of(node, FixedType(7, 3))
    rectified = replace(relu("ufixed<6,3,RND,SAT>", 1, source="c"), shape=node.shape)
    graph = replace(graph, nodes=(*graph.nodes, rectified), outputs=("r",))
    assert runs(graph) == (("c", "r"),)
    assert_equal(graph, lower_graph(graph, runs(graph)), Draw(2).vectors(FixedType(7, 3), graph.nodes[0].size))


def test_a_matrix_is_solved_once_for_all_places() -> None:
    calls: list[tuple[int, ...]] = []

    def counted(matrix: IntArray, lo: int, hi: int) -> AdderGraph:
        calls.append(matrix.shape)
        return plain_graph(matrix, lo, hi)

    lower(graph_of(conv(WINDOWS["same"]), FixedType(7, 3)), ("c",), solve=counted)
    assert calls == [(36, 4)]
    calls.clear()
    lower(graph_of(depthwise(WINDOWS["same"]), FixedType(7, 3)), ("c",), solve=counted)
    assert calls == [(12, 1)] * 3


def adders(cone: Cone) -> int:
    return sum(isinstance(op, Add) for op in cone.ops)


def of_kernel(kernel: list[int], *, pads: tuple[int, int], columns: int = 5) -> Graph:
    window = Window(1, columns, 1, (1, len(kernel)), (1, 1), (0, 0, *pads))
    weights = np.array(kernel).reshape(1, len(kernel), 1, 1)
    whole = FixedType(8, 8)
    node = replace(conv(window, filters=1), weights=weights, weight_type=whole, bias=np.zeros(1, dtype=int))
    return graph_of(replace(node, bias_type=whole, accumulator=FixedType(20, 20), type=FixedType(12, 12)), whole)


def test_padded_cells_cost_nothing() -> None:
    """One adder per pair of taps that lie on the image; zeros and powers of two need none of their own."""
    graph = of_kernel([1, -2, 0, 8], pads=(3, 3))
    on_image = [sum(p >= 0 for p, w in zip(place, (1, -2, 0, 8), strict=True) if w) for place in conv_taps(graph)]
    negated = sum(list(place[[0, 1, 3]] >= 0) == [False, True, False] for place in conv_taps(graph))
    (cone,) = lower_graph(graph, runs(graph))
    assert adders(cone) == sum(max(0, n - 1) for n in on_image) + negated
    assert_equal(graph, (cone,), Draw(3).vectors(FixedType(8, 8), 5))


def conv_taps(graph: Graph) -> IntArray:
    node = graph.node("c")
    assert isinstance(node, Conv)
    return node.window.taps()


def test_places_share_what_they_have_in_common() -> None:
    """Three times a pixel is formed once, however many windows see it."""
    graph = of_kernel([3, 3], pads=(0, 0), columns=6)
    (cone,) = lower_graph(graph, runs(graph))
    assert adders(cone) <= 6 + 5


@pytest.mark.parametrize("rounding", [Rounding.TRN, Rounding.RND_CONV])
def test_geometry_matters(rounding: Rounding) -> None:
    """A window with rows and columns exchanged, or without its padding, gives something else."""
    x = FixedType(7, 3)
    square = Window(6, 6, 2, (2, 3), (1, 1), (1, 0, 1, 1))
    node = replace(conv(square), type=FixedType(14, 8, True, rounding, Overflow.WRAP))
    right = graph_of(node, x)
    raw = Draw(4).vectors(x, right.nodes[0].size)
    turned = replace(square, kernel=(3, 2), pads=(1, 1, 1, 0))
    swapped = replace(node, weights=node.weights.swapaxes(0, 1), window=turned)
    unpadded = replace(node, window=replace(square, pads=(0, 1, 1, 1)))
    assert_equal(right, lower_graph(right, runs(right)), raw)
    for wrong in (swapped, unpadded, replace(node, weights=node.weights[::-1])):
        cones = lower_graph(graph_of(wrong, x), (("c",),))
        with pytest.raises(AssertionError, match="vector, element"):
            assert_equal(right, cones, raw)
