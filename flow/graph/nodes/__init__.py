"""All node kinds, one file each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flow.graph.nodes.affine import Affine
from flow.graph.nodes.conv import Conv
from flow.graph.nodes.dense import Dense
from flow.graph.nodes.depthwise import DepthwiseConv
from flow.graph.nodes.dot import Dot
from flow.graph.nodes.embedding import Embedding
from flow.graph.nodes.input import Input
from flow.graph.nodes.layer_norm import LayerNorm
from flow.graph.nodes.merge import Merge
from flow.graph.nodes.pool import Pool
from flow.graph.nodes.quantize import Quantize
from flow.graph.nodes.rearrange import Rearrange
from flow.graph.nodes.relu import Relu
from flow.graph.nodes.reshape import Reshape
from flow.graph.nodes.softmax import Argmax, LegacySoftmax, Softmax

AnyNode = Annotated[
    Input
    | Dense
    | Conv
    | DepthwiseConv
    | Quantize
    | Relu
    | Affine
    | Reshape
    | Rearrange
    | Pool
    | Embedding
    | Merge
    | Dot
    | Softmax
    | LegacySoftmax
    | Argmax
    | LayerNorm,
    Field(discriminator="kind"),
]

__all__ = [
    "Affine",
    "AnyNode",
    "Argmax",
    "Conv",
    "Dense",
    "DepthwiseConv",
    "Dot",
    "Embedding",
    "Input",
    "LayerNorm",
    "LegacySoftmax",
    "Merge",
    "Pool",
    "Quantize",
    "Rearrange",
    "Relu",
    "Reshape",
    "Softmax",
]
