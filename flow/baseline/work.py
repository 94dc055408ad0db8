"""What one inference asks of any machine, and the least time that a GPU could take for it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from flow.baseline.catalogue import Gpu, Weights
from flow.files import digest
from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.graph.nodes import (
    Affine,
    Conv,
    Dense,
    DepthwiseConv,
    Embedding,
    Input,
    LayerNorm,
    Merge,
    PRelu,
    Quantize,
    Rearrange,
    Reshape,
)

_FREE = (Input, Merge, Quantize, Rearrange, Reshape)
_NAMES = {"name", "label", "inputs"}


@dataclass(frozen=True, slots=True)
class Work:
    """Count what one inference does.

    weight_bytes: of the weights at their own widths. kernels: how many a GPU launches where each layer is one; an
    activation or a sum of two tensors is fused with the layer before it, and moving data is free: in the GPU's favour.
    """

    multiplications: int
    weight_bytes: int
    kernels: int = 1


def work_of(graph: Graph) -> Work:
    """Return what one inference of a graph does."""
    bits = sum(map(_weight_bits, graph.nodes))
    layers = sum(not node.elementwise and not isinstance(node, _FREE) for node in graph.nodes)
    return Work(graph.multiplications, -(-bits // 8), max(layers, 1))


def fingerprint(graph: Graph) -> str:
    """Return a digest of what a graph computes, whatever its nodes are called."""
    place = {node.name: k for k, node in enumerate(graph.nodes)}
    parts: list[bytes | str] = [repr([place[name] for name in (*graph.inputs, *graph.outputs)])]
    for node in graph.nodes:
        parts.append(repr([place[name] for name in node.inputs]))
        for field in fields(node):
            value = getattr(node, field.name)
            if field.name not in _NAMES:
                parts += [field.name, repr(value.tolist()) if isinstance(value, np.ndarray) else repr(value)]
    return digest(*parts)[:16]


def _weight_bits(node: Node) -> int:
    """Return the bits of what a node has learned; tables of functions are none of it."""
    match node:
        case Dense() | Conv() | DepthwiseConv():
            return node.weights.size * node.weight_type.width + node.bias.size * node.bias_type.width
        case Affine() | LayerNorm():
            return node.scale.size * node.scale_type.width + node.bias.size * node.bias_type.width
        case PRelu():
            return node.slopes.size * node.slope_type.width
        case Embedding():
            return node.rows.size * node.row_type.width
        case _:
            return 0


def least_ns(work: Work, gpu: Gpu, weights: Weights) -> float:
    """Return a lower bound, in ns, of the network's own work at batch 1: the longest of arithmetic and memories.

    A multiplication counts as two operations (with its addition). weights: where they lie from one inference to the
    next, "chip" (what does not fit into registers and shared memory is read from L2) or "l2"; what does not fit
    there either is read from memory. Activations, layers that wait for one another, and a multiplier array that a
    single vector leaves almost idle add nothing.
    """
    beyond_chip = max(work.weight_bytes - (gpu.chip_bytes if weights == "chip" else 0), 0)
    beyond_l2 = max(beyond_chip - gpu.l2_bytes, 0)
    return 1e9 * max(
        2 * work.multiplications / gpu.operations_per_s,
        beyond_chip / gpu.l2_bytes_per_s,
        beyond_l2 / gpu.memory_bytes_per_s,
    )
