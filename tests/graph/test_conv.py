"""Convolutions by their definition, one sum at a time."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from flow.fixed import FixedArray, FixedType, IntArray, Overflow, Rounding, cast, limit
from flow.graph.graph import Graph
from flow.graph.nodes import Conv, DepthwiseConv, Input, convolution
from flow.graph.store import from_json, to_json
from flow.graph.verify import verify
from flow.graph.window import Window
from tests.networks import random_raw

X = FixedType(7, 3)
WIDE = FixedType(30, 14)
SATURATING = FixedType(9, 5, True, Rounding.RND, Overflow.SAT)
WINDOWS = {
    "valid": Window(5, 7, 3, (3, 2), (1, 1), (0, 0, 0, 0)),
    "same": Window(5, 7, 3, (3, 4), (1, 1), (1, 1, 1, 2)),
    "strides": Window(6, 9, 2, (2, 3), (3, 2), (0, 1, 1, 0)),
    "skips": Window(7, 8, 2, (2, 1), (3, 3), (0, 0, 0, 0)),
    "whole": Window(4, 3, 2, (4, 3), (1, 1), (0, 0, 0, 0)),
    "pointwise": Window(3, 4, 5, (1, 1), (1, 1), (0, 0, 0, 0)),
    "causal": Window(1, 9, 3, (1, 3), (1, 1), (0, 0, 2, 0)),
}


def conv(window: Window, *, filters: int = 4, seed: int = 0, accumulator: FixedType = WIDE, bits: int = 6) -> Conv:
    rng, weight = np.random.default_rng(seed), FixedType(bits, 2)
    rows, columns = window.positions
    return Conv(
        name="c",
        label="c",
        inputs=("x",),
        shape=(columns, filters) if window.rows == 1 else (rows, columns, filters),
        type=FixedType(12, 6, True, Rounding.RND_CONV, Overflow.SAT),
        window=window,
        weights=random_raw(rng, weight, (*window.kernel, window.channels, filters)),
        bias=random_raw(rng, weight, (filters,)),
        weight_type=weight,
        bias_type=weight,
        accumulator=accumulator,
    )


def depthwise(window: Window, *, seed: int = 0, accumulator: FixedType = WIDE) -> DepthwiseConv:
    like = conv(window, filters=window.channels, seed=seed, accumulator=accumulator)
    return DepthwiseConv(
        name="c",
        label="c",
        inputs=("x",),
        shape=like.shape,
        type=like.type,
        window=window,
        weights=like.weights[:, :, 0],
        bias=like.bias,
        weight_type=like.weight_type,
        bias_type=like.bias_type,
        accumulator=accumulator,
    )


def by_definition(node: Conv | DepthwiseConv, raw: IntArray, x: FixedType) -> IntArray:
    """Return the outputs of one vector of shape (rows, columns, channels), one product after another."""
    window = node.window
    rows, columns = window.positions
    fraction = x.fraction + node.weight_type.fraction
    out = np.zeros((rows, columns, node.channels), dtype=object)
    for row, column, channel in np.ndindex(out.shape):
        total = cast(node.bias[channel : channel + 1], node.bias_type.fraction, node.accumulator, 64)
        for i, j, source in np.ndindex(*window.kernel, window.channels):
            r, c = row * window.stride[0] + i - window.pads[0], column * window.stride[1] + j - window.pads[2]
            if not (0 <= r < window.rows and 0 <= c < window.columns):
                continue
            if isinstance(node, DepthwiseConv):
                if source != channel:
                    continue
                weight = int(node.weights[i, j, channel])
            else:
                weight = int(node.weights[i, j, source, channel])
            product = np.array([int(raw[r, c, source]) * weight], dtype=object)
            term = cast(product, fraction, node.accumulator, 200)
            total = limit(total.astype(object) + term.astype(object), node.accumulator)
        out[row, column, channel] = int(cast(total, node.accumulator.fraction, node.type, 200)[0])
    return out


def assert_defined(node: Conv | DepthwiseConv, x: FixedType = X) -> None:
    window = node.window
    shape = (
        (window.columns, window.channels) if len(node.shape) == 2 else (window.rows, window.columns, window.channels)
    )
    raw = random_raw(np.random.default_rng(5), x, (3, *shape))
    got = node.evaluate((FixedArray(raw, x),))
    assert got.raw.shape == (3, *node.shape)
    for vector, ours in zip(raw, got.raw, strict=True):
        image = vector.reshape(window.rows, window.columns, window.channels)
        assert (ours.reshape(-1) == by_definition(node, image, x).reshape(-1)).all()


@pytest.mark.parametrize("accumulator", [WIDE, SATURATING, FixedType(8, 4)])
@pytest.mark.parametrize("name", WINDOWS)
def test_sums_are_those_of_the_definition(name: str, accumulator: FixedType) -> None:
    assert_defined(conv(WINDOWS[name], accumulator=accumulator))
    assert_defined(depthwise(WINDOWS[name], accumulator=accumulator))


def test_wide_types_are_exact() -> None:
    wide = FixedType(70, 30)
    assert_defined(conv(WINDOWS["same"], accumulator=FixedType(120, 60), bits=40), wide)
    assert_defined(depthwise(WINDOWS["strides"], accumulator=FixedType(120, 60)), wide)


def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    node = conv(WINDOWS["same"])
    raw = random_raw(np.random.default_rng(1), X, (4, 5, 7, 3))
    whole = node.evaluate((FixedArray(raw, X),)).raw
    for elements in (1, 36 * 5, 36 * 35 + 1):
        monkeypatch.setattr(convolution, "BLOCK_ELEMENTS", elements)
        assert (node.evaluate((FixedArray(raw, X),)).raw == whole).all()
    assert node.evaluate((FixedArray(raw[:0], X),)).raw.shape == (0, *node.shape)


def test_many_images_of_digits_take_seconds() -> None:
    node = conv(Window(28, 28, 1, (3, 3), (1, 1), (0, 0, 0, 0)), filters=16)
    raw = random_raw(np.random.default_rng(1), X, (500, 28, 28, 1))
    start = time.process_time()
    assert node.evaluate((FixedArray(raw, X),)).raw.shape == (500, 26, 26, 16)
    assert time.process_time() - start < 8.0  # 2 s on a slow machine


@pytest.mark.parametrize("node", [conv(WINDOWS["same"]), depthwise(WINDOWS["same"])])
def test_the_matrix_of_a_place_is_the_kernel(node: Conv | DepthwiseConv) -> None:
    """A kernel as large as the image makes the convolution one matrix product."""
    window = Window(3, 4, 3, (3, 4), (1, 1), (0, 0, 0, 0))
    one = replace(node, window=window, shape=(1, 1, node.channels), accumulator=SATURATING)
    raw = random_raw(np.random.default_rng(3), X, (50, 3, 4, 3))
    ours = one.evaluate((FixedArray(raw, X),)).raw.reshape(50, -1)
    assert (one.matrix.evaluate((FixedArray(raw, X),)).raw == ours).all()


def graph_of(node: Conv | DepthwiseConv, shape: tuple[int, ...]) -> Graph:
    source = Input(name="x", label="x", inputs=(), shape=shape, type=X)
    return Graph("net", (source, node), ("x",), ("c",))


def test_nodes_are_stored_and_read_back() -> None:
    for node in (conv(WINDOWS["same"]), depthwise(WINDOWS["same"])):
        graph = graph_of(node, (5, 7, 3))
        verify(graph)
        again = from_json(to_json(graph), "model.json").nodes[1]
        assert type(again) is type(node)
        assert again.window == node.window
        assert (again.weights == node.weights).all()


@pytest.mark.parametrize(
    ("node", "shape", "part"),
    [
        (conv(WINDOWS["same"]), (7, 5, 3), "expects an input of shape"),
        (conv(WINDOWS["causal"]), (3, 9), "expects an input of shape"),
        (replace(conv(WINDOWS["same"]), shape=(7, 5, 4)), (5, 7, 3), r"is not \(5, 7, 4\)"),
        (replace(conv(WINDOWS["same"]), weights=np.zeros((4, 3, 3, 4), dtype=int)), (5, 7, 3), r"should have shape"),
        (replace(depthwise(WINDOWS["same"]), weights=np.zeros((3, 4, 2), dtype=int)), (5, 7, 3), r"should have shape"),
        (replace(conv(WINDOWS["same"]), bias=np.zeros(3, dtype=int)), (5, 7, 3), "bias .3,. should have shape"),
        (replace(conv(WINDOWS["same"]), weight_type=FixedType(2, 2)), (5, 7, 3), "a weight is outside"),
    ],
)
def test_shapes_that_do_not_fit_are_named(node: Conv | DepthwiseConv, shape: tuple[int, ...], part: str) -> None:
    with pytest.raises(ValueError, match=part):
        verify(graph_of(node, shape))


def test_multiplications_count_every_place() -> None:
    assert conv(WINDOWS["same"]).multiplications == 5 * 7 * 3 * 4 * 3 * 4
    assert depthwise(WINDOWS["same"]).multiplications == 5 * 7 * 3 * 4 * 3
