"""All node kinds, one file each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flow.graph.nodes.affine import Affine
from flow.graph.nodes.conv import Conv
from flow.graph.nodes.dense import Dense
from flow.graph.nodes.depthwise import DepthwiseConv
from flow.graph.nodes.dot import Dot
from flow.graph.nodes.input import Input
from flow.graph.nodes.merge import Merge
from flow.graph.nodes.quantize import Quantize
from flow.graph.nodes.relu import Relu
from flow.graph.nodes.reshape import Reshape

AnyNode = Annotated[
    Input | Dense | Conv | DepthwiseConv | Quantize | Relu | Affine | Reshape | Merge | Dot, Field(discriminator="kind")
]

__all__ = [
    "Affine",
    "AnyNode",
    "Conv",
    "Dense",
    "DepthwiseConv",
    "Dot",
    "Input",
    "Merge",
    "Quantize",
    "Relu",
    "Reshape",
]
