"""All node kinds, one file each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flow.graph.nodes.affine import Affine
from flow.graph.nodes.bounded_relu import BoundedRelu
from flow.graph.nodes.conv import Conv
from flow.graph.nodes.dense import Dense
from flow.graph.nodes.depthwise import DepthwiseConv
from flow.graph.nodes.dot import Dot
from flow.graph.nodes.embedding import Embedding
from flow.graph.nodes.hard import HardSigmoid
from flow.graph.nodes.input import Input
from flow.graph.nodes.layer_norm import LayerNorm
from flow.graph.nodes.merge import Merge
from flow.graph.nodes.pool import Pool
from flow.graph.nodes.prelu import PRelu
from flow.graph.nodes.quantize import Quantize
from flow.graph.nodes.rearrange import Rearrange
from flow.graph.nodes.relu import Relu
from flow.graph.nodes.reshape import Reshape
from flow.graph.nodes.sign import Sign
from flow.graph.nodes.softmax import Argmax, LegacySoftmax, Softmax
from flow.graph.nodes.table import Table

AnyNode = Annotated[
    Input
    | Dense
    | Conv
    | DepthwiseConv
    | Quantize
    | Relu
    | BoundedRelu
    | PRelu
    | HardSigmoid
    | Sign
    | Table
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
    "BoundedRelu",
    "Conv",
    "Dense",
    "DepthwiseConv",
    "Dot",
    "Embedding",
    "HardSigmoid",
    "Input",
    "LayerNorm",
    "LegacySoftmax",
    "Merge",
    "PRelu",
    "Pool",
    "Quantize",
    "Rearrange",
    "Relu",
    "Reshape",
    "Sign",
    "Softmax",
    "Table",
]
