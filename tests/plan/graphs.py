"""Small networks of dense layers with known sizes, to plan for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Asked, Graph
from flow.graph.nodes import Affine, AnyNode, Dense, Input, Relu


def dense_network(*sizes: int, bits: int = 8, seed: int = 0, asked: tuple[Asked, ...] = ()) -> Graph:
    """Return dense layers of these sizes, each with a ReLU, that keep every bit of their sums."""
    rng = np.random.default_rng(seed)
    weight = FixedType(bits, 1)
    nodes: list[AnyNode] = [Input(name="x", label="x", inputs=(), shape=(sizes[0],), type=FixedType(bits, 2))]
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        before = nodes[-1]
        integer = before.type.integer + weight.integer + n_in.bit_length() + 1
        wide = FixedType(integer + before.type.fraction + weight.fraction, integer)
        nodes.append(
            Dense(
                name=f"d{k}",
                label=f"layer {k}",
                inputs=(before.name,),
                shape=(n_out,),
                type=wide,
                weights=rng.integers(weight.lo, weight.hi + 1, (n_in, n_out)),
                bias=rng.integers(weight.lo, weight.hi + 1, (n_out,)),
                weight_type=weight,
                bias_type=weight,
                accumulator=wide,
            )
        )
        rectified = FixedType(bits, 2, False, Rounding.RND_CONV, Overflow.SAT)
        nodes.append(Relu(name=f"r{k}", label=f"relu {k}", inputs=(f"d{k}",), shape=(n_out,), type=rectified))
    return Graph(name="layers", nodes=tuple(nodes), inputs=("x",), outputs=(nodes[-1].name,), asked=asked)


def changed(graph: Graph, name: str, change: Callable[[Dense], Dense]) -> Graph:
    """Return the graph with one dense node changed."""
    return replace(graph, nodes=tuple(change(n) if n.name == name and isinstance(n, Dense) else n for n in graph.nodes))


def saturating(node: Dense) -> Dense:
    """Return the node with an accumulator so narrow that its sums saturate, in the order of its inputs."""
    kind = node.accumulator
    return replace(node, accumulator=FixedType(8, 8 - kind.fraction, True, Rounding.TRN, Overflow.SAT))


def with_affine(graph: Graph) -> Graph:
    """Return the graph with an affine node behind its last node."""
    last = graph.nodes[-1]
    kind = FixedType(8, 2)
    affine = Affine(
        name="a",
        label="affine",
        inputs=(last.name,),
        shape=last.shape,
        type=FixedType(16, 6),
        scale=np.arange(1, last.size + 1),
        bias=np.arange(last.size),
        scale_type=kind,
        bias_type=kind,
    )
    return replace(graph, nodes=(*graph.nodes, affine), outputs=("a",))
