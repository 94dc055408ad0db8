"""The graph of a beat computes what the whole graph computes at those places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flow.engines.beat import beat_graph, computed, joins_channels, reducer_of, streamable
from flow.engines.line_buffer import in_beats
from flow.fixed import FixedType, IntArray
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode, Conv, DepthwiseConv, Input, Merge, Pool, Rearrange, Relu, Reshape
from flow.graph.verify import verify
from flow.graph.window import Window

X = FixedType(6, 2)
W = FixedType(4, 1)


def _image(name: str, window: Window) -> Input:
    shape = (window.rows, window.columns, window.channels)
    return Input(name=name, label=name, inputs=(), shape=shape, type=X)


def _head(kind: str, window: Window, rng: np.random.Generator) -> AnyNode:
    channels = 3 if kind == "conv" else window.channels
    common: dict[str, Any] = {
        "name": "head",
        "label": "head",
        "inputs": ("x",),
        "shape": (*window.positions, channels),
        "type": FixedType(9, 5),
        "window": window,
        "accumulator": FixedType(18, 10),
    }
    if kind in {"max", "average"}:
        return Pool(**common, op=kind)
    shape = (*window.kernel, window.channels, channels) if kind == "conv" else (*window.kernel, channels)
    weights = {"weights": rng.integers(-8, 8, shape), "bias": rng.integers(-8, 8, channels)}
    node = Conv if kind == "conv" else DepthwiseConv
    return node(**common, **weights, weight_type=W, bias_type=W)


def _windows(raw: IntArray, window: Window, pixels: int) -> IntArray:
    """Return the windows in beats of a batch of images, shape (batch, windows, elements), zero outside."""
    beats = in_beats(window, pixels)
    assert beats is not None
    top, left = window.pads[0], beats.left * pixels
    padded = np.pad(raw, ((0, 0), (top, 99), (left, 99), (0, 0)))
    found = []
    for row in range(window.positions[0]):
        for column in range(window.positions[1] // beats.pixels_out):
            y, x = row * window.stride[0], column * beats.stride * pixels
            part = padded[:, y : y + window.kernel[0], x : x + beats.kernel * pixels]
            found.append(part.reshape(len(raw), -1))
    return np.stack(found, axis=1)


@pytest.mark.parametrize("kind", ["conv", "depthwise", "max", "average"])
@pytest.mark.parametrize("pixels", [1, 2, 3, 6])
def test_a_window_in_beats_computes_its_output_pixels(kind: str, pixels: int) -> None:
    rng = np.random.default_rng(pixels)
    pads = (1, 1, 1, 1) if kind in {"conv", "depthwise"} else (0, 0, 0, 0)
    stride = (1, 1) if kind in {"conv", "depthwise"} else (2, 2)
    kernel = (3, 3) if kind in {"conv", "depthwise"} else (2, 2)
    window = Window(4, 12, 2, kernel, stride, pads)
    head = _head(kind, window, rng)
    relu = Relu(name="relu", label="relu", inputs=("head",), shape=head.shape, type=FixedType(6, 4, False))
    flat = Reshape(name="flat", label="flat", inputs=("relu",), shape=(relu.size,), type=relu.type)
    graph = Graph("net", (_image("x", window), head, relu, flat), ("x",), ("flat",))
    run = ("head", "relu", "flat")
    assert streamable(graph, run) == 3
    beat = beat_graph(graph, run, pixels)
    verify(beat)
    assert computed(beat)[-1] == "flat"
    raw = rng.integers(X.lo, X.hi + 1, (7, 4, 12, 2))
    whole = evaluate(graph, {"x": raw})["flat"].raw
    windows = _windows(raw, window, pixels)
    batch, count, size = windows.shape
    made = evaluate(beat, {beat.inputs[0]: windows.reshape(batch * count, size)})["flat"].raw
    assert np.array_equal(made.reshape(batch, -1), whole)


def test_merges_and_channels_side_by_side_are_cut_to_beats() -> None:
    a = Input(name="a", label="a", inputs=(), shape=(2, 3, 2), type=X)
    b = Input(name="b", label="b", inputs=(), shape=(2, 3, 1), type=FixedType(5, 1))
    indices = np.array([[2 * k, 2 * k + 1, 12 + k] for k in range(6)]).reshape(-1)
    both = Rearrange(name="c", label="c", inputs=("a", "b"), shape=(2, 3, 3), type=X, indices=indices)
    twice = Merge(name="m", label="m", inputs=("c", "c"), shape=(2, 3, 3), type=FixedType(12, 4), op="multiply")
    graph = Graph("net", (a, b, both, twice), ("a", "b"), ("m",))
    assert joins_channels(graph, both)
    rng = np.random.default_rng(0)
    raw = {"a": rng.integers(X.lo, X.hi + 1, (5, 2, 3, 2)), "b": rng.integers(-16, 16, (5, 2, 3, 1))}
    whole = evaluate(graph, raw)
    joined = beat_graph(graph, ("c",), 3)
    rows = {name: array.reshape(10, 3, -1) for name, array in raw.items()}
    assert np.array_equal(evaluate(joined, rows)["c"].raw.reshape(5, 2, 3, 3), whole["c"].raw)
    squared = beat_graph(graph, ("m",), 3)
    assert squared.inputs == ("c",)
    assert np.array_equal(
        evaluate(squared, {"c": whole["c"].raw.reshape(10, 3, 3)})["m"].raw.reshape(5, 2, 3, 3), whole["m"].raw
    )
    other = Rearrange(name="c", label="c", inputs=("a", "b"), shape=(2, 3, 3), type=X, indices=indices[::-1].copy())
    assert not joins_channels(graph, other)


def test_what_differs_from_place_to_place_is_not_streamed() -> None:
    window = Window(4, 6, 2, (3, 3), (1, 1), (1, 1, 1, 1))
    average = _head("average", window, np.random.default_rng(0))
    graph = Graph("net", (_image("x", window), average), ("x",), ("head",))
    assert streamable(graph, ("head",)) == 0


def test_a_pool_over_all_keeps_running_results_where_sums_are_exact() -> None:
    window = Window(4, 6, 2, (4, 6), (1, 1), (0, 0, 0, 0))
    head = _head("average", window, np.random.default_rng(0))
    graph = Graph("net", (_image("x", window), head), ("x",), ("head",))
    reducer = reducer_of(graph, head, 2)
    assert reducer is not None
    assert (reducer.beats, reducer.op, reducer.held(X)) == (12, "sum", FixedType(10, 6))
    beat = beat_graph(graph, ("head",), 2)
    verify(beat)
    rng = np.random.default_rng(1)
    raw = rng.integers(X.lo, X.hi + 1, (9, 4, 6, 2))
    sums = raw.reshape(9, 12, 4).sum(axis=1)
    made = evaluate(beat, {beat.inputs[0]: sums})["head"].raw
    assert np.array_equal(made.reshape(9, 2), evaluate(graph, {"x": raw})["head"].raw.reshape(9, 2))
    narrow = Pool(
        name="head",
        label="head",
        inputs=("x",),
        shape=(1, 1, 2),
        type=X,
        window=window,
        op="average",
        accumulator=FixedType(8, 7),
    )
    assert reducer_of(Graph("net", (_image("x", window), narrow), ("x",), ("head",)), narrow, 2) is None
