"""A network with windows and branches that meet, small enough to count by hand."""

from __future__ import annotations

import numpy as np

from flow.fixed import FixedType, Overflow
from flow.graph.graph import Graph
from flow.graph.nodes import Conv, Input, Merge, Pool, Relu
from flow.graph.window import Window

SPACING = 2
PIXELS = FixedType(5, 2)
HIDDEN = FixedType(6, 3, overflow=Overflow.SAT)
SAME = Window(5, 6, 2, (3, 3), (1, 1), (1, 1, 1, 1))
STRIDED = Window(5, 6, 2, (3, 2), (2, 2), (1, 1, 0, 0))
LAST = Window(3, 3, 2, (2, 2), (1, 1), (0, 0, 0, 0))


def skip_graph() -> Graph:
    """Return 5 x 6 pixels of 2 channels: a convolution, its difference from the input, a pool, a convolution."""
    shape = (5, 6, 2)
    pool = Pool(
        name="pool",
        label="pool",
        inputs=("sum",),
        shape=(*STRIDED.positions, 2),
        type=HIDDEN,
        window=STRIDED,
        op="max",
        accumulator=HIDDEN,
    )
    nodes = (
        Input(name="x", label="x", inputs=(), shape=shape, type=PIXELS),
        _conv("conv", "x", SAME, 2),
        Relu(name="relu", label="relu", inputs=("conv",), shape=shape, type=HIDDEN),
        Merge(name="sum", label="sum", inputs=("relu", "x"), shape=shape, type=HIDDEN, op="subtract"),
        pool,
        _conv("last", "pool", LAST, 3),
    )
    return Graph("skip", nodes, ("x",), ("last",), io_type="io_stream")


def _conv(name: str, source: str, window: Window, filters: int) -> Conv:
    rng, kind = np.random.default_rng(filters), FixedType(4, 1)
    return Conv(
        name=name,
        label=name,
        inputs=(source,),
        shape=(*window.positions, filters),
        type=FixedType(12, 6),
        window=window,
        weights=rng.integers(-7, 8, (*window.kernel, window.channels, filters)),
        bias=rng.integers(-8, 8, filters),
        weight_type=kind,
        bias_type=kind,
        accumulator=FixedType(20, 10),
    )
