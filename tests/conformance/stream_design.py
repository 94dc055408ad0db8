"""A small residual network that crosses in beats: what the deliberate faults of streams are made in."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from flow.engines.settled import settled_early
from flow.fixed import FixedType, Overflow
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Conv, Input, Merge, Pool, Relu
from flow.graph.window import Window
from flow.rtl.signature import Signature
from flow.rtl.top import write_rtl
from flow.simulate.vectors import Vectors, expected
from tests.conformance.random_designs import RandomDesign
from tests.networks import vectors
from tests.streaming import build, by_pixels, streamed

SPACING = 2
PIXELS = FixedType(5, 2)
HIDDEN = FixedType(6, 3, overflow=Overflow.SAT)
SAME = Window(3, 4, 2, (3, 3), (1, 1), (1, 1, 1, 1))
STRIDED = Window(3, 4, 2, (3, 2), (2, 2), (1, 1, 0, 0))
LAST = Window(2, 2, 2, (2, 1), (1, 1), (0, 0, 0, 0))


def _conv(name: str, source: str, window: Window, channels: int, seed: int) -> Conv:
    rng, kind = np.random.default_rng(seed), FixedType(4, 1)
    return Conv(
        name=name,
        label=f"layer {name}",
        inputs=(source,),
        shape=(*window.positions, channels),
        type=FixedType(12, 6),
        window=window,
        weights=rng.integers(-7, 8, (*window.kernel, window.channels, channels)),
        bias=rng.integers(-8, 8, channels),
        weight_type=kind,
        bias_type=kind,
        accumulator=FixedType(20, 10),
    )


@cache
def stream_graph() -> Graph:
    """Return 3 x 4 pixels of 2 channels: a convolution, its sum with the input, a strided pool, a convolution."""
    conv = _conv("conv", "x", SAME, 2, 1)
    shape = conv.shape
    nodes = (
        Input(name="x", label="x", inputs=(), shape=shape, type=PIXELS),
        conv,
        Relu(name="relu", label="layer relu", inputs=("conv",), shape=shape, type=HIDDEN),
        Merge(name="sum", label="layer sum", inputs=("relu", "x"), shape=shape, type=HIDDEN, op="subtract"),
        Pool(
            name="pool",
            label="layer pool",
            inputs=("sum",),
            shape=(*STRIDED.positions, 2),
            type=HIDDEN,
            window=STRIDED,
            op="max",
            accumulator=HIDDEN,
        ),
        _conv("last", "pool", LAST, 3, 2),
    )
    return Graph("stream", nodes, ("x",), ("last",), io_type="io_stream")


@cache
def stream_design() -> RandomDesign:
    """Return its hardware: rows in LUT RAM, a FIFO for the skip connection, a folded product of the last windows."""
    graph = stream_graph()
    choices = (
        streamed(graph, ("conv", "relu"), 1, depth=2, pace=SPACING, store="lutram"),
        streamed(graph, ("sum",), 1),
        streamed(graph, ("pool",), 1, pace=SPACING),
        streamed(graph, ("last",), 1, pace=3, fold=(4, 1)),
    )
    return build(graph, choices, by_pixels(graph, 1, SPACING, beats_out=True))


@cache
def stream_vectors() -> Vectors:
    """Return vectors and all that is due for them."""
    design, graph = stream_design(), stream_graph()
    values = evaluate(graph, vectors(np.random.default_rng(5), graph, 60))
    assert design.flow is not None
    return expected(design.signature, values, settled_early(graph, design.flow, values))


def write_stream(folder: Path) -> Signature:
    """Write the design into a folder."""
    design = stream_design()
    return write_rtl(folder, design.modules, design.signature)
