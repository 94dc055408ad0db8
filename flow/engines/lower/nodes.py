"""Which file lowers which kind of node."""

from __future__ import annotations

from flow.engines.cone import ConeBuilder
from flow.engines.lower.activation import lower_activation
from flow.engines.lower.convolution import lower_convolution
from flow.engines.lower.dense import Solve, lower_dense
from flow.engines.lower.elementwise import lower_elementwise
from flow.engines.lower.layer_norm import lower_layer_norm
from flow.engines.lower.merge import lower_dot, lower_merge
from flow.engines.lower.open_sum import Sum
from flow.engines.lower.pooling import lower_pool
from flow.engines.lower.shape import lower_embedding, lower_rearrange
from flow.engines.lower.softmax import lower_softmax
from flow.fixed import FixedType
from flow.graph.node import Node
from flow.graph.nodes import (
    Argmax,
    BoundedRelu,
    Conv,
    Dense,
    DepthwiseConv,
    Dot,
    Embedding,
    HardSigmoid,
    LayerNorm,
    LegacySoftmax,
    Merge,
    Pool,
    PRelu,
    Rearrange,
    Sign,
    Softmax,
    Table,
)


def lower_node(  # noqa: PLR0911 (one per family of nodes)
    builder: ConeBuilder, node: Node, args: tuple[tuple[Sum, ...], ...], sources: tuple[FixedType, ...], solve: Solve
) -> tuple[Sum, ...]:
    """Return the elements of a node's output; args: of each input the elements, in the types `sources`."""
    match node:
        case Dense():
            return lower_dense(builder, node, args[0], sources[0], solve)
        case Conv() | DepthwiseConv():
            return lower_convolution(builder, node, args[0], sources[0], solve)
        case Table() | PRelu() | BoundedRelu() | HardSigmoid() | Sign():
            return lower_activation(builder, node, args[0], sources[0])
        case Merge():
            return lower_merge(builder, node, args, sources)
        case Dot():
            return lower_dot(builder, node, args, sources)
        case Softmax() | LegacySoftmax() | Argmax():
            return lower_softmax(builder, node, args[0], sources[0])
        case LayerNorm():
            return lower_layer_norm(builder, node, args[0], sources[0])
        case Pool():
            return lower_pool(builder, node, args[0], sources[0])
        case Rearrange():
            return lower_rearrange(builder, node, args, sources)
        case Embedding():
            return lower_embedding(builder, node, args[0])
        case _:
            return lower_elementwise(builder, node, args[0], sources[0])
