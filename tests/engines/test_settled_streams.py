"""What is early by nature behind streamed engines, merges, delays and gathering."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flow.engines.dataflow import Arrival, Traffic, dataflow
from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.engines.settled import Settled, settled_early
from flow.fixed import FixedType, IntArray
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode, Conv, Input, Merge, Pool, Quantize, Rearrange
from flow.graph.window import Window
from tests.folding import dense_graph
from tests.streaming import by_pixels, streamed

KIND, WIDE = FixedType(8, 4), FixedType(20, 10)
VECTORS = 20


def image(rows: int, columns: int, channels: int) -> Input:
    return Input(name="x", label="x", inputs=(), shape=(rows, columns, channels), type=KIND)


def pool(window: Window) -> Pool:
    shape = (*window.positions, window.channels)
    return Pool(
        name="pool", label="p", inputs=("x",), shape=shape, type=KIND, window=window, op="max", accumulator=KIND
    )


def alone(*nodes: AnyNode) -> Graph:
    return Graph("alone", nodes, ("x",), (nodes[-1].name,))


def numbers(graph: Graph, seed: int = 3) -> IntArray:
    return np.random.default_rng(seed).integers(1, 100, (VECTORS, *graph.node("x").shape))


def test_what_a_gathering_has_before_its_last_beat_is_early_where_that_is_not_read() -> None:
    x = image(3, 1, 2)
    head = Rearrange(name="head", label="h", inputs=("x",), shape=(2, 1, 2), type=KIND, indices=np.arange(4))
    graph = alone(x, head)
    values = evaluate(graph, {"x": numbers(graph)})

    def flags(spacing: int, graph: Graph = graph) -> Settled:
        flow = dataflow(graph, (Unrolled(("head",), 1),), by_pixels(graph, 1, spacing))
        return settled_early(graph, flow, values)

    assert np.all(flags(2).edges["head"])
    assert "head" not in flags(1).edges  # beats that come every cycle are not in their places yet
    last = alone(x, replace(head, indices=np.array([0, 1, 2, 5])))
    values = evaluate(last, {"x": numbers(last)})
    assert not np.any(flags(2, last).edges.get("head", False))


def test_a_merge_shows_early_what_both_of_its_inputs_do() -> None:
    graph = dense_graph(4, 3, seed=7)
    dense = graph.node("dense")
    weights = dense.weights.copy()  # a dense layer it is
    weights[3] = 0
    y = Input(name="y", label="y", inputs=(), shape=(3,), type=KIND)
    total = Merge(name="sum", label="s", inputs=("dense", "cut"), shape=(3,), type=WIDE, op="add")
    cut = Quantize(name="cut", label="c", inputs=("dense",), shape=(3,), type=WIDE)
    other = Merge(name="other", label="o", inputs=("dense", "y"), shape=(3,), type=WIDE, op="add")
    nodes = (graph.nodes[0], y, replace(dense, weights=weights), cut, total, other)
    graph = Graph("merged", nodes, ("x", "y"), ("sum", "other"))
    values = evaluate(graph, {"x": numbers(graph), "y": np.random.default_rng(4).integers(1, 100, (VECTORS, 3))})
    folded = Folded.plain(("dense",), "output_serial", (4, 3), (1, 1), store="bram", multiplier="dsp")
    choices = (folded, Unrolled(("cut",), 2), Unrolled(("sum",), 1), Unrolled(("other",), 1))
    flow = dataflow(graph, choices)
    settled = settled_early(graph, flow, values)
    late = next(edge.name for edge in flow.timeline.edges if edge.engine == "delay" and edge.node == "dense")
    assert all(np.all(settled.edges[name]) for name in ("dense", "cut", late, "sum"))
    assert "other" not in settled.edges  # the input beside it comes in its own cycle


def conv(last: int) -> Conv:
    """Return 2 x 1 kernels over 3 x 4 pixels; last: the weights of the last pixel under it."""
    window = Window(3, 4, 1, (2, 1), (1, 1), (1, 0, 0, 0))
    weights = np.array([3, 5, -7, last, last, last]).reshape(2, 1, 1, 3)
    return Conv(
        name="conv",
        label="c",
        inputs=("x",),
        shape=(*window.positions, 3),
        type=WIDE,
        window=window,
        weights=weights,
        bias=np.array([1, 2, 3]),
        weight_type=KIND,
        bias_type=KIND,
        accumulator=WIDE,
    )


def test_a_folded_beat_whose_last_step_adds_nothing_is_early() -> None:
    for last in (0, 6):
        graph = alone(image(3, 4, 1), conv(last))
        values = evaluate(graph, {"x": numbers(graph)})
        choice = streamed(graph, ("conv",), 1, pace=6, fold=(1, 1))
        settled = settled_early(graph, dataflow(graph, (choice,), by_pixels(graph, 1, 6, beats_out=True)), values)
        flags = settled.edges.get("conv", np.zeros((VECTORS, 36), dtype=bool))
        assert flags.shape == (VECTORS, 36)
        assert np.all(flags == (last == 0))


def test_a_pool_over_an_image_is_early_where_the_last_beat_changes_nothing() -> None:
    graph = alone(image(2, 3, 2), pool(Window(2, 3, 2, (2, 3), (1, 1), (0, 0, 0, 0))))
    raw = numbers(graph)
    raw[:, 1, 2] = 0
    raw[5, 1, 2, 1] = 101
    values = evaluate(graph, {"x": raw})
    beat = streamed(graph, ("pool",), 1)
    settled = settled_early(graph, dataflow(graph, (beat,), by_pixels(graph, 1, 3)), values)
    np.testing.assert_array_equal(settled.edges["pool"], [[k != 5] for k in range(VECTORS)])


def test_a_window_over_an_image_is_early_where_its_last_step_changes_nothing() -> None:
    graph = alone(image(4, 2, 1), pool(Window(4, 2, 1, (3, 2), (2, 2), (0, 0, 0, 0))))
    raw = numbers(graph)
    raw[:, 2, 1] = 0
    raw[7, 2, 1] = 101
    raw[:, 0, 0] = 100
    values = evaluate(graph, {"x": raw})
    traffic = Traffic((Arrival(1, 8, 3),))
    settled = settled_early(graph, dataflow(graph, (streamed(graph, ("pool",), 1),), traffic), values)
    np.testing.assert_array_equal(settled.edges["pool"], [[k != 7] for k in range(VECTORS)])


def test_beside_a_tensor_that_never_changes_the_other_input_alone_decides() -> None:
    x, y = image(2, 3, 1), replace(image(2, 3, 1), name="y", label="y")
    first = pool(Window(2, 3, 1, (1, 1), (1, 1), (0, 0, 0, 0)))
    late = Merge(name="late", label="l", inputs=("pool", "y"), shape=(2, 3, 1), type=KIND, op="add")
    graph = Graph("late", (x, y, first, late), ("x", "y"), ("late",))
    choices = (streamed(graph, ("pool",), 1, depth=3), streamed(graph, ("late",), 1))
    flow = dataflow(graph, choices, by_pixels(graph, 1, 1, beats_out=True))
    assert "fifo" in {edge.engine for edge in flow.timeline.edges}
    for constant in (True, False):
        raw = np.full((VECTORS, 2, 3, 1), 5) if constant else numbers(graph)
        values = evaluate(graph, {"x": raw, "y": numbers(graph)})
        assert ("late" in settled_early(graph, flow, values).edges) == constant
