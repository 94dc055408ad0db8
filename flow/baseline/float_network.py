"""The network in floating point, as a list of steps that any framework can run: weights are the quantized ones.

What quantizes (types, roundings, tables' bins) is left out or made a plain function, as a GPU or CPU would run it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError
from flow.fixed import FixedType, IntArray
from flow.graph.graph import Graph
from flow.graph.nodes import (
    Affine,
    AnyNode,
    BoundedRelu,
    Conv,
    Dense,
    DepthwiseConv,
    Input,
    LegacySoftmax,
    Merge,
    Pool,
    PRelu,
    Quantize,
    Rearrange,
    Relu,
    Reshape,
    Softmax,
    Table,
)
from flow.graph.window import Window

Floats = NDArray[np.float32]
Op = Literal[
    "input",
    "dense",
    "conv",
    "depthwise",
    "clip",
    "prelu",
    "scale",
    "pool",
    "reshape",
    "gather",
    "merge",
    "softmax",
    "table",
]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Describe one operation on tensors of shape (1, *shape), channels last.

    weights, bias: dense (n_in, n_out); conv (rows, columns, in, out); depthwise (rows, columns, channels); slopes of
    prelu, factors of scale, entries of table, indices of gather (-1 for zero). low, high: of clip, None for no bound.
    detail: the operation of a pool or merge. bins: of a table, entries per unit and the entry at 0.
    """

    name: str
    op: Op
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    weights: NDArray[Any] | None = None
    bias: Floats | None = None
    window: Window | None = None
    low: float | None = None
    high: float | None = None
    detail: str = ""
    bins: tuple[float, int] = (0.0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class FloatNetwork:
    """Hold the steps in order, and which are inputs and outputs."""

    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def step(self, name: str) -> Step:
        """Return the step of that name."""
        return next(step for step in self.steps if step.name == name)


def float_network(graph: Graph) -> FloatNetwork:
    """Return the steps of a graph; raise UserError naming a layer that has no such form here."""
    return FloatNetwork(tuple(map(_step, graph.nodes)), graph.inputs, graph.outputs)


def floats(raw: IntArray, kind: FixedType) -> Floats:
    """Return the values of raw integers."""
    return (raw.astype(np.float64) * kind.step).astype(np.float32)


def _step(node: AnyNode) -> Step:  # noqa: PLR0911, PLR0912 (one per kind of node)
    def step(op: Op, **more: Any) -> Step:
        return Step(node.name, op, node.inputs, node.shape, **more)

    match node:
        case Input():
            return step("input")
        case Dense() | Conv() | DepthwiseConv():
            op: Op = "dense" if isinstance(node, Dense) else "conv" if isinstance(node, Conv) else "depthwise"
            weights, bias = floats(node.weights, node.weight_type), floats(node.bias, node.bias_type)
            return step(op, weights=weights, bias=bias, window=None if isinstance(node, Dense) else node.window)
        case Relu():
            return step("clip", low=0.0)
        case BoundedRelu() if node.threshold == 0:
            return step("clip", low=0.0, high=None if node.bound is None else float(node.bound))
        case PRelu():
            return step("prelu", weights=floats(node.slopes, node.slope_type))
        case Affine():
            return step("scale", weights=floats(node.scale, node.scale_type), bias=floats(node.bias, node.bias_type))
        case Quantize() | Reshape():
            return step("reshape")
        case Rearrange():
            return step("gather", weights=node.indices)
        case Merge():
            return step("merge", detail=node.op)
        case Softmax() | LegacySoftmax():
            return step("softmax")
        case Pool() if node.divisor is None:
            return step("pool", window=node.window, detail=_pooling(node))
        case Table() if node.scale_type is None:
            per_unit = node.entries / node.span
            return step("table", weights=floats(node.values, node.table_type), bins=(per_unit, node.offset))
        case _:
            raise UserError(
                f"layer '{node.label}' ({node.kind}) cannot be timed here; what can: dense and convolutional layers, "
                "pooling, merging, ReLUs, batch normalization, softmax and activations from tables"
            )


def _pooling(node: Pool) -> str:
    if node.op == "max":
        return "max"
    return "average_all" if node.count_padding else "average"
