"""Random dense layers and ways to fold them, shared by tests; all seeded."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.engines.folded import Folded, Multiplier, Order, Store
from flow.fixed import FixedType, IntArray, Overflow
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Dense, Input, Quantize, Relu
from tests.networks import random_raw, random_type


def dense_graph(n_in: int, n_out: int, *, seed: int, width: int = 8) -> Graph:
    """Return one dense layer of random weights on signed inputs, its sums exact."""
    rng = np.random.default_rng(seed)
    kind = FixedType(width, 2)
    half = 1 << (width - 1)
    node = Dense(
        name="dense",
        label="dense",
        inputs=("x",),
        shape=(n_out,),
        type=FixedType(2 * width + 4, 12),
        weights=rng.integers(-half, half, (n_in, n_out)),
        bias=rng.integers(-half, half, n_out),
        weight_type=kind,
        bias_type=kind,
        accumulator=FixedType(2 * width + 10, 14),
    )
    source = Input(name="x", label="x", inputs=(), shape=(n_in,), type=kind)
    return Graph(f"dense_{n_in}x{n_out}", (source, node), ("x",), ("dense",))


def random_dense_graph(
    rng: np.random.Generator, *, vectors: int, most: int = 9, widths: tuple[int, int] = (1, 9)
) -> tuple[Graph, IntArray]:
    """Draw a dense layer with up to two elementwise nodes behind it, of random types, and inputs for it."""
    source = Input(name="x", label="x", inputs=(), shape=(int(rng.integers(1, most + 1)),), type=_type(rng, widths))
    nodes: list[AnyNode] = [source, random_dense(rng, "dense", source, int(rng.integers(1, most + 1)), widths)]
    nodes += random_tail(rng, nodes[-1], widths)
    graph = Graph("folding", tuple(nodes), ("x",), (nodes[-1].name,))
    return graph, random_raw(rng, source.type, (vectors, *source.shape))


def _type(rng: np.random.Generator, widths: tuple[int, int]) -> FixedType:
    return random_type(rng, width=widths)


def random_dense(rng: np.random.Generator, name: str, source: AnyNode, n_out: int, widths: tuple[int, int]) -> Dense:
    """Draw a dense layer behind a node: half of the time its accumulator keeps every sum."""
    weight, bias = _type(rng, widths), _type(rng, widths)
    n_in = source.shape[0]
    accumulator = _type(rng, (widths[0], widths[1] + 8))
    if rng.random() < 0.5:
        integer = max(source.type.integer + weight.integer + n_in.bit_length() + 2, bias.integer + 2)
        fraction = max(source.type.fraction + weight.fraction, bias.fraction)
        accumulator = FixedType(max(integer + fraction, 1), integer)
    return Dense(
        name=name,
        label=name,
        inputs=(source.name,),
        shape=(n_out,),
        type=_type(rng, widths),
        weights=random_raw(rng, weight, (n_in, n_out)),
        bias=random_raw(rng, bias, (n_out,)) * int(rng.random() < 0.8),
        weight_type=weight,
        bias_type=bias,
        accumulator=accumulator,
    )


def random_tail(rng: np.random.Generator, node: AnyNode, widths: tuple[int, int]) -> list[AnyNode]:
    """Draw up to two elementwise nodes that a folded engine can absorb."""
    nodes: list[AnyNode] = []
    for k in range(int(rng.integers(3))):
        before = (node, *nodes)[-1]
        common: dict[str, Any] = {
            "name": f"{node.name}_tail{k}",
            "label": f"{node.name} tail {k}",
            "inputs": (before.name,),
            "shape": before.shape,
            "type": _type(rng, widths),
        }
        which = rng.integers(3)
        if which == 0:
            nodes.append(Quantize(**common))
        elif which == 1:
            nodes.append(Relu(**common))
        else:
            slope = FixedType(1, int(rng.integers(-3, 2)), signed=False)
            nodes.append(Relu(**common, slope=1, slope_type=slope))
    return nodes


def orders_freely(graph: Graph, node: Dense) -> bool:
    """Tell whether a layer's products may be added in any order."""
    (source,) = graph.feeding(node)
    return node.is_linear(source.type) or node.accumulator.overflow is Overflow.WRAP


def random_fold(rng: np.random.Generator, graph: Graph, nodes: tuple[str, ...]) -> Folded:
    """Draw a way to fold a dense layer: lanes, loop order, weight store, multipliers, registers."""
    node = graph.node(nodes[0])
    assert isinstance(node, Dense)
    n_in, n_out = node.weights.shape
    p = int(rng.integers(1, n_in + 1)) if orders_freely(graph, node) else 1
    q = int(rng.integers(1, n_out + 1))
    orders: tuple[Order, ...] = ("output_serial", "input_serial") if p < n_in else ("output_serial",)
    stores: tuple[Store, ...] = ("registers", "lutrom", "bram")
    multipliers: tuple[Multiplier, ...] = ("dsp", "dsp_pair", "lut")
    multiplier = multipliers[rng.integers(3)]
    store = stores[rng.integers(3)]
    return Folded(
        nodes,
        orders[rng.integers(len(orders))],
        n_in,
        n_out,
        p,
        q,
        store,
        multiplier,
        read=int(rng.integers(1, 3)) if store != "registers" else 1,
        multiply=0 if multiplier == "lut" else int(rng.integers(1, 4)),
        add=int(rng.integers(1, 4)),
        finish=int(rng.integers(1, 4)) if p < n_in else 0,
    )


def random_folds(rng: np.random.Generator, graph: Graph, count: int) -> list[Folded]:
    """Draw ways to fold the whole of a graph that `random_dense_graph` drew."""
    nodes = tuple(node.name for node in graph.nodes[1:])
    return [random_fold(rng, graph, nodes) for _ in range(count)]
