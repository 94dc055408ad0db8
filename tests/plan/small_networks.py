"""Random networks so small that all their plans can be tried: chains, trees, branches that meet, images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Conv, Dense, Input, Merge, Relu
from flow.graph.window import Window

HIDDEN = FixedType(5, 2, False, Rounding.RND, Overflow.SAT)
WEIGHT = FixedType(4, 1)


def small_network(seed: int) -> Graph:
    """Draw a network of two to five layers; a third have branches that meet, a third are images."""
    rng = np.random.default_rng(seed)
    return (_chain, _meeting, _image)[seed % 3](rng)


def _dense(rng: np.random.Generator, name: str, source: AnyNode, n_out: int) -> Dense:
    (n_in,) = source.shape
    wide = FixedType(20, 12)
    return Dense(
        name=name,
        label=name,
        inputs=(source.name,),
        shape=(n_out,),
        type=wide,
        weights=rng.integers(WEIGHT.lo, WEIGHT.hi + 1, (n_in, n_out)),
        bias=rng.integers(WEIGHT.lo, WEIGHT.hi + 1, (n_out,)),
        weight_type=WEIGHT,
        bias_type=WEIGHT,
        accumulator=wide,
    )


def _relu(source: AnyNode) -> Relu:
    return Relu(name=f"{source.name}_r", label=source.label, inputs=(source.name,), shape=source.shape, type=HIDDEN)


def _input(shape: tuple[int, ...]) -> Input:
    return Input(name="x", label="x", inputs=(), shape=shape, type=FixedType(5, 1))


def _chain(rng: np.random.Generator) -> Graph:
    """Return dense layers, now and then with a second output hung on one of them."""
    nodes: list[AnyNode] = [_input((int(rng.integers(3, 9)),))]
    for k in range(int(rng.integers(2, 4))):
        nodes.append(_dense(rng, f"d{k}", nodes[-1], int(rng.integers(2, 9))))
        nodes.append(_relu(nodes[-1]))
    outputs = [nodes[-1].name]
    if rng.random() < 0.3:
        nodes.append(_dense(rng, "side", nodes[2], int(rng.integers(2, 6))))
        outputs.append("side")
    return Graph(name="chain", nodes=tuple(nodes), inputs=("x",), outputs=tuple(outputs))


def _merged(name: str, one: AnyNode, other: AnyNode) -> Merge:
    kind = FixedType(8, 5, one.type.signed or other.type.signed)
    return Merge(name=name, label=name, inputs=(one.name, other.name), shape=one.shape, type=kind, op="add")


def _meeting(rng: np.random.Generator) -> Graph:
    """Return a dense layer, one or two more beside each other, their sum, and one layer behind it."""
    size = int(rng.integers(3, 7))
    nodes: list[AnyNode] = [_input((int(rng.integers(3, 7)),))]
    nodes.append(_dense(rng, "a", nodes[-1], size))
    nodes.append(_relu(nodes[-1]))
    before = nodes[-1]
    nodes.append(_dense(rng, "b", before, size))
    nodes.append(_relu(nodes[-1]))
    one, other = nodes[-1], before
    if rng.random() < 0.5:
        nodes.append(_dense(rng, "c", before, size))
        nodes.append(_relu(nodes[-1]))
        other = nodes[-1]
    nodes.append(_merged("sum", one, other))
    if rng.random() < 0.7:
        nodes.append(_dense(rng, "d", nodes[-1], int(rng.integers(2, 5))))
    return Graph(name="meeting", nodes=tuple(nodes), inputs=("x",), outputs=(nodes[-1].name,))


def _conv(rng: np.random.Generator, name: str, source: AnyNode, filters: int, kernel: int) -> Conv:
    rows, columns, channels = source.shape
    pad = kernel // 2
    window = Window(rows, columns, channels, (kernel, kernel), (1, 1), (pad, pad, pad, pad))
    return Conv(
        name=name,
        label=name,
        inputs=(source.name,),
        shape=(*window.positions, filters),
        type=FixedType(14, 8),
        window=window,
        weights=rng.integers(WEIGHT.lo, WEIGHT.hi + 1, (kernel, kernel, channels, filters)),
        bias=rng.integers(WEIGHT.lo, WEIGHT.hi + 1, filters),
        weight_type=WEIGHT,
        bias_type=WEIGHT,
        accumulator=FixedType(18, 10),
    )


def _image(rng: np.random.Generator) -> Graph:
    """Return a convolution, sometimes with a way around a second one, whole or in beats."""
    rows, columns = int(rng.integers(2, 4)), 2
    nodes: list[AnyNode] = [_input((rows, columns, int(rng.integers(1, 3))))]
    nodes.append(_conv(rng, "c", nodes[-1], 2, int(rng.choice([1, 3]))))
    nodes.append(_relu(nodes[-1]))
    before = nodes[-1]
    nodes.append(_conv(rng, "e", before, 2, int(rng.choice([1, 3]))))
    nodes.append(_relu(nodes[-1]))
    if rng.random() < 0.6:
        nodes.append(_merged("sum", nodes[-1], before))
    graph = Graph(name="image", nodes=tuple(nodes), inputs=("x",), outputs=(nodes[-1].name,))
    return replace(graph, io_type="io_stream") if rng.random() < 0.5 else graph
