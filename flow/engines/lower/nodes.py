"""Which file lowers which kind of node."""

from __future__ import annotations

from flow.engines.cone import ConeBuilder
from flow.engines.lower.convolution import lower_convolution
from flow.engines.lower.dense import Solve, lower_dense
from flow.engines.lower.elementwise import lower_elementwise
from flow.engines.lower.open_sum import Sum
from flow.engines.lower.pooling import lower_pool
from flow.engines.lower.shape import lower_embedding, lower_rearrange
from flow.fixed import FixedType
from flow.graph.node import Node
from flow.graph.nodes import Conv, Dense, DepthwiseConv, Embedding, Pool, Rearrange


def lower_node(
    builder: ConeBuilder, node: Node, args: tuple[tuple[Sum, ...], ...], sources: tuple[FixedType, ...], solve: Solve
) -> tuple[Sum, ...]:
    """Return the elements of a node's output; args: of each input the elements, in the types `sources`."""
    match node:
        case Dense():
            return lower_dense(builder, node, args[0], sources[0], solve)
        case Conv() | DepthwiseConv():
            return lower_convolution(builder, node, args[0], sources[0], solve)
        case Pool():
            return lower_pool(builder, node, args[0], sources[0])
        case Rearrange():
            return lower_rearrange(builder, node, args, sources)
        case Embedding():
            return lower_embedding(builder, node, args[0])
        case _:
            return lower_elementwise(builder, node, args[0], sources[0])
