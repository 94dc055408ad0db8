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
from flow.graph.nodes.merge import Merge
from flow.graph.nodes.pool import Pool
from flow.graph.nodes.quantize import Quantize
from flow.graph.nodes.rearrange import Rearrange
from flow.graph.nodes.relu import Relu
from flow.graph.nodes.reshape import Reshape

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
    | Dot,
    Field(discriminator="kind"),
]

__all__ = [
    "Affine",
    "AnyNode",
    "Conv",
    "Dense",
    "DepthwiseConv",
    "Dot",
    "Embedding",
    "Input",
    "Merge",
    "Pool",
    "Quantize",
    "Rearrange",
    "Relu",
    "Reshape",
]
