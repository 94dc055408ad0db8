"""Large runs without a matrix are judged by a part of them, near to what all of it takes."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from flow.engines.area import area
from flow.engines.estimate import estimate
from flow.engines.lower import lower
from flow.engines.network import connect
from flow.engines.pipeline import place
from flow.engines.sampled import part_of
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Affine, AnyNode, Input, Pool, PRelu, Quantize, Rearrange, Relu
from flow.graph.verify import verify
from flow.graph.window import Window
from tests.cones import DELAYS

X, NARROW = FixedType(6, 3), FixedType(5, 2, False, Rounding.RND, Overflow.SAT)
NONE = (0, 0, 0, 0)


def pooled(op: str, window: Window) -> Graph:
    """Return a pool, other scales for each channel, and a rectifier."""
    shape = (*window.positions, window.channels)
    x = Input(name="x", label="x", inputs=(), shape=(window.rows, window.columns, window.channels), type=X)
    pool = Pool(
        name="p",
        label="p",
        inputs=("x",),
        shape=shape,
        type=X,
        window=window,
        op="max" if op == "max" else "average",
        accumulator=FixedType(12, 8),
    )
    scale = Affine(
        name="s",
        label="s",
        inputs=("p",),
        shape=shape,
        type=FixedType(12, 6),
        scale=np.where(np.arange(window.channels) * 2 < window.channels, 1, 27),
        bias=np.zeros(window.channels, dtype=np.int64),
        scale_type=FixedType(6, 3),
        bias_type=FixedType(6, 3),
    )
    last = Relu(name="r", label="r", inputs=("s",), shape=shape, type=NARROW)
    graph = Graph("net", (x, pool, scale, last), ("x",), ("r",))
    verify(graph)
    return graph


RUN = ("p", "s", "r")


@pytest.mark.parametrize("op", ["max", "average"])
@pytest.mark.parametrize(
    "window",
    [
        Window(10, 12, 6, (2, 2), (2, 2), NONE),
        Window(9, 7, 4, (3, 3), (2, 1), NONE),
        Window(5, 6, 8, (3, 2), (1, 1), (1, 1, 0, 1)),
        Window(12, 9, 7, (12, 9), (12, 9), NONE),
    ],
)
def test_parts_cost_what_the_whole_costs(op: str, window: Window) -> None:
    graph = pooled(op, window)
    assert part_of(graph, RUN) is not None
    guess = estimate(graph, RUN, DELAYS, "ecp5")
    placement = place(connect((lower(graph, RUN),), graph.outputs), (1,), DELAYS)
    assert guess.lut == pytest.approx(area(placement.cones[0], "ecp5").lut, rel=0.1)
    assert guess.delay_ns == pytest.approx(placement.worst_ns - DELAYS.register_ns, rel=0.05)
    assert guess.output_bits == graph.node("r").size * NARROW.width


def test_small_runs_are_judged_whole() -> None:
    assert part_of(pooled("max", Window(4, 4, 2, (2, 2), (2, 2), NONE)), RUN) is None


def test_large_pools_are_judged_at_once() -> None:
    for window in (Window(28, 28, 16, (2, 2), (2, 2), NONE), Window(64, 64, 3, (3, 3), (1, 1), (1, 1, 1, 1))):
        start = time.process_time()
        guess = estimate(pooled("max", window), RUN, DELAYS, "ecp5")
        assert time.process_time() - start < 2.0
        assert guess.lut > 10_000


def test_moved_and_single_elements_are_judged_by_some_of_them() -> None:
    x, y = (Input(name=n, label=n, inputs=(), shape=(30, 30, 2), type=k) for n, k in (("x", X), ("y", FixedType(9, 4))))
    rng = np.random.default_rng(1)
    indices = np.where(rng.random(3000) < 0.3, -1, rng.integers(0, 3600, 3000))
    indices.setflags(write=False)
    moved = Rearrange(name="m", label="m", inputs=("x", "y"), shape=(1500, 2), type=FixedType(5, 3), indices=indices)
    slopes = np.array([1, 3])
    prelu = PRelu(
        name="l", label="l", inputs=("m",), shape=(1500, 2), type=X, slopes=slopes, slope_type=FixedType(4, 1)
    )
    rounded: AnyNode = Quantize(name="q", label="q", inputs=("l",), shape=(1500, 2), type=NARROW)
    graph = Graph("net", (x, y, moved, prelu, rounded), ("x", "y"), ("q",))
    verify(graph)
    run = ("m", "l", "q")
    small = replace(moved, indices=indices[:400], shape=(200, 2))
    part = replace(graph, nodes=(x, y, small, replace(prelu, shape=(200, 2)), replace(rounded, shape=(200, 2))))
    # without registers, into which some choices move
    placement = place(connect((lower(part, run),), ()), (0,), DELAYS)
    guess = estimate(graph, run, DELAYS, "ecp5")
    assert guess.lut == pytest.approx(area(placement.cones[0], "ecp5").lut * 7.5, rel=0.15)
    alone = replace(graph, nodes=(x, replace(rounded, inputs=("x",), shape=(30, 30, 2))), inputs=("x",))
    one = Graph(
        "one",
        (replace(x, shape=(1,)), Quantize(name="q", label="q", inputs=("x",), shape=(1,), type=NARROW)),
        ("x",),
        ("q",),
    )
    assert estimate(alone, ("q",), DELAYS, "ecp5").lut == estimate(one, ("q",), DELAYS, "ecp5").lut * 1800
