"""Small networks for the vendor route."""

from __future__ import annotations

import numpy as np

from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Dense, Input, Merge, Relu, Table
from flow.vendor.layer import Layer, Network, Tool

WIDE = FixedType(16, 6)


def folded(n_in: int, n_out: int, factor: int, *, bits: int = 16, tool: Tool = "vitis") -> Network:
    """Return one dense layer under Resource."""
    layer = Layer(
        name="fc",
        label="fc",
        inputs=(),
        kind="dense",
        lanes=n_out,
        n_in=n_in,
        n_out=n_out,
        strategy="Resource",
        reuse_factor=factor,
        operand_bits=(bits, bits),
    )
    return Network((layer,), "io_parallel", tool)


def dense(name: str, before: str, weights: np.ndarray, kind: FixedType = WIDE) -> Dense:
    """Return a dense node of one type."""
    return Dense(
        name=name,
        label=name,
        inputs=(before,),
        shape=(weights.shape[1],),
        type=kind,
        weights=weights,
        bias=np.zeros(weights.shape[1], dtype=np.int64),
        weight_type=kind,
        bias_type=kind,
        accumulator=FixedType(32, 12),
    )


def chain(kind: FixedType = WIDE, io_type: str = "io_parallel") -> Graph:
    """Return 8 inputs, dense 6, ReLU, dense 4; the weights are 11, which has three signed digits (8 + 4 - 1)."""
    nodes: list[AnyNode] = [
        Input(name="x", label="x", inputs=(), shape=(8,), type=kind),
        dense("first", "x", np.full((8, 6), 11), kind),
        Relu(name="relu", label="relu", inputs=("first",), shape=(6,), type=kind),
        dense("last", "relu", np.full((6, 4), 11), kind),
    ]
    return Graph("chain", tuple(nodes), ("x",), ("last",), io_type=io_type)


def branches() -> Graph:
    """Return a table on one branch and a ReLU on the other, behind one input, both added."""
    x = Input(name="x", label="x", inputs=(), shape=(8,), type=WIDE)
    table = Table(
        name="tanh",
        label="tanh",
        inputs=("x",),
        shape=(8,),
        type=WIDE,
        values=np.zeros(1024, dtype=np.int64),
        table_type=FixedType(18, 8),
        span=8,
    )
    relu = Relu(name="relu", label="relu", inputs=("x",), shape=(8,), type=WIDE)
    added = Merge(name="sum", label="sum", inputs=("tanh", "relu"), shape=(8,), type=WIDE, op="add")
    return Graph("branches", (x, table, relu, added), ("x",), ("sum",))
