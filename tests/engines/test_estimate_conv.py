"""The cost of unrolled convolutions, judged by one place, against what is lowered and placed."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.area import area
from flow.engines.estimate import estimate
from flow.engines.lower import lower_graph, runs
from flow.engines.network import connect
from flow.engines.pipeline import place
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Affine, Conv, DepthwiseConv, Input, PRelu, Rearrange, Relu
from flow.graph.verify import verify
from flow.graph.window import Window
from tests.cones import DELAYS

VALID = (0, 0, 0, 0)
SATURATING = FixedType(12, 8, True, Rounding.TRN, Overflow.SAT)
OUT = FixedType(6, 2, False, Rounding.RND_CONV, Overflow.SAT)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FPGAFLOW_CACHE", str(tmp_path))


def layer(
    window: Window,
    filters: int,
    *,
    bits: int = 5,
    zeros: float = 0.0,
    x: FixedType = FixedType(6, 2, False),  # noqa: B008 (immutable)
    accumulator: FixedType = FixedType(30, 12),  # noqa: B008
    depthwise: bool = False,
) -> Graph:
    """Return input -> convolution with normally distributed weights, as trained ones are -> relu."""
    rng, kind = np.random.default_rng(0), FixedType(bits, 1)
    shape = (*window.kernel, window.channels) if depthwise else (*window.kernel, window.channels, filters)
    weights: IntArray = np.clip(np.round(rng.normal(size=shape) * kind.hi / 2.5), kind.lo, kind.hi).astype(int)
    image = (*window.positions, filters)
    node = (DepthwiseConv if depthwise else Conv)(
        name="c",
        label="c",
        inputs=("x",),
        shape=image,
        type=FixedType(20, 10),
        window=window,
        weights=np.where(rng.random(shape) < zeros, 0, weights),
        bias=rng.integers(kind.lo, kind.hi + 1, filters),
        weight_type=kind,
        bias_type=kind,
        accumulator=accumulator,
    )
    source = Input(name="x", label="x", inputs=(), shape=(window.rows, window.columns, window.channels), type=x)
    relu = Relu(name="r", label="r", inputs=("c",), shape=image, type=OUT)
    return Graph("layer", (source, node, relu), ("x",), ("r",))


LAYERS = {
    "one_channel": layer(Window(7, 8, 1, (3, 3), (1, 1), VALID), 4),
    "same": layer(Window(6, 7, 2, (3, 3), (1, 1), (1, 1, 1, 1)), 4),
    "channels": layer(Window(5, 6, 4, (3, 3), (1, 1), VALID), 6, bits=6),
    "strides": layer(Window(8, 9, 3, (3, 3), (2, 2), (0, 1, 0, 0)), 6),
    "large_kernel": layer(Window(7, 6, 1, (5, 5), (1, 1), (2, 2, 2, 2)), 3, bits=6, x=FixedType(8, 2)),
    "apart": layer(Window(8, 8, 3, (2, 2), (2, 2), VALID), 8, bits=4),
    "pointwise": layer(Window(5, 5, 8, (1, 1), (1, 1), VALID), 8),
    "sparse": layer(Window(6, 6, 4, (3, 3), (1, 1), VALID), 8, bits=6, zeros=0.7),
    "sequence": layer(Window(1, 20, 4, (1, 5), (1, 1), (0, 0, 2, 2)), 6),
    "ternary": layer(Window(6, 6, 3, (3, 3), (1, 1), VALID), 6, bits=2),
    "depthwise": layer(Window(7, 6, 4, (3, 3), (1, 1), (1, 1, 1, 1)), 4, depthwise=True, bits=6),
    "depthwise_strides": layer(Window(9, 9, 3, (3, 3), (2, 2), VALID), 3, depthwise=True),
    "in_order": layer(Window(5, 5, 2, (3, 3), (1, 1), (1, 0, 1, 0)), 3, accumulator=SATURATING),
    "depthwise_in_order": layer(Window(5, 6, 3, (3, 3), (1, 1), VALID), 3, depthwise=True, accumulator=SATURATING),
}


def errors(graph: Graph) -> tuple[float, float]:
    """Return the relative errors of the LUTs and of the delay."""
    (run,) = runs(graph)
    guess = estimate(graph, run, DELAYS, "xcup")
    # without registers, into which some choices move
    placement = place(connect(lower_graph(graph, (run,)), ()), (0,), DELAYS)
    lut, delay = area(placement.cones[0], "xcup").lut, placement.worst_ns - DELAYS.register_ns
    assert guess.output_bits == graph.node(run[-1]).size * OUT.width
    return guess.lut / lut - 1, guess.delay_ns / delay - 1


def test_estimates_come_near_solved_cones() -> None:
    found = np.array([errors(graph) for graph in LAYERS.values()])
    lut, delay = np.abs(found).max(axis=0)
    assert lut < 0.25  # the worst has one channel: its windows share parts of sums
    assert delay < 0.22
    mean_lut, mean_delay = np.abs(found).mean(axis=0)
    assert mean_lut < 0.10
    assert mean_delay < 0.07


def test_padding_costs_nothing() -> None:
    """As many places, most of them over zeros: the estimate follows what is left."""
    inside = LAYERS["one_channel"]
    outside = layer(Window(3, 4, 1, (3, 3), (1, 1), (2, 2, 2, 2)), 4)
    guesses = [estimate(graph, ("c", "r"), DELAYS, "xcup") for graph in (inside, outside)]
    places = [graph.node("c").size // 4 for graph in (inside, outside)]
    assert guesses[1].lut / places[1] < 0.6 * guesses[0].lut / places[0]
    assert 0 < errors(outside)[0] < 0.6  # what the windows share weighs more here


def test_what_follows_is_judged_per_channel_and_place() -> None:
    graph = LAYERS["strides"]
    conv = graph.node("c")
    kind = FixedType(4, 2)
    steps = np.arange(conv.shape[-1]) - 3
    scale = Affine(
        name="s",
        label="s",
        inputs=("c",),
        shape=conv.shape,
        type=FixedType(9, 5),
        scale=steps,
        bias=steps,
        scale_type=kind,
        bias_type=kind,
    )
    slopes = PRelu(
        name="p", label="p", inputs=("s",), shape=conv.shape, type=FixedType(7, 4), slopes=steps, slope_type=kind
    )
    order = np.arange(conv.size).reshape(conv.shape).transpose(2, 0, 1)
    turned = Rearrange(name="t", label="t", inputs=("p",), shape=order.shape, type=OUT, indices=order.reshape(-1))
    graph = replace(graph, nodes=(*graph.nodes[:2], scale, slopes, turned), outputs=("t",))
    verify(graph)
    assert runs(graph) == (("c", "s", "p", "t"),)
    lut, delay = errors(graph)
    assert abs(lut) < 0.15
    assert abs(delay) < 0.22
    alone = estimate(replace(graph, nodes=graph.nodes[:2], outputs=("c",)), ("c",), DELAYS, "xcup")
    assert estimate(graph, ("c", "s", "p", "t"), DELAYS, "xcup").lut > alone.lut + conv.size


def test_a_large_image_is_judged_at_once() -> None:
    for accumulator in (FixedType(30, 12), SATURATING):
        graph = layer(Window(64, 64, 16, (3, 3), (1, 1), (1, 1, 1, 1)), 32, bits=6, accumulator=accumulator)
        start = time.process_time()
        assert estimate(graph, ("c", "r"), DELAYS, "xcup").lut > 1_000_000
        assert time.process_time() - start < 2.0
