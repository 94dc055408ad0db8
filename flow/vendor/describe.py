"""From our graph and the knobs of hls4ml's project to the network that the vendor's compiler gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

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
    Pool,
    PRelu,
    Quantize,
    Relu,
    Reshape,
    Sign,
    Softmax,
    Table,
)
from flow.plan.knobs import Knob
from flow.plan.reuse import used_by_hls4ml
from flow.vendor.area import needs_multiplier
from flow.vendor.layer import Layer, Network

REFERENCE = Knob(1, "Latency")
"""What layers are told that the plan does not name."""


def describe(graph: Graph, knobs: Mapping[str, Knob]) -> Network:
    """Return hls4ml's Vitis project of a graph; knobs: by label, as the project is told them."""
    layers = tuple(_layer(graph, node, knobs.get(node.label, REFERENCE)) for node in graph.nodes)
    return Network(layers, graph.io_type, "vitis")


def _layer(  # noqa: PLR0911 (one per kind of node)
    graph: Graph, node: AnyNode, knob: Knob
) -> Layer:
    lanes = node.shape[-1] if graph.io_type == "io_stream" and node.shape else node.size
    pixels = node.size // max(lanes, 1)
    bare = Layer(
        name=node.name,
        label=node.label,
        inputs=node.inputs,
        kind="other",
        what=node.kind.replace("_", " "),
        lanes=lanes,
        pixels=pixels,
        places=pixels,
    )
    bits = graph.feeding(node)[0].type.width if node.inputs else 0
    match node:
        case Input() | Reshape():
            return replace(bare, kind="wire")
        case Dense():
            factor = used_by_hls4ml(node.n_in, node.n_out, knob.reuse_factor, knob.strategy)
            return replace(
                bare,
                kind="dense",
                pixels=_beats(graph, node),
                n_in=node.n_in,
                n_out=node.n_out,
                strategy=knob.strategy,
                reuse_factor=factor,
                operand_bits=(bits, node.weight_type.width),
                products=needs_multiplier(node.weights),
            )
        case Conv() | DepthwiseConv():
            return _convolution(graph, node, knob, bare, bits)
        case Quantize() | BoundedRelu() | Sign():
            return replace(bare, kind="rectify")
        case Relu():
            if node.slope_type is None:
                return replace(bare, kind="rectify")
            return _scaled(bare, (bits, node.slope_type.width), lanes * needs_multiplier(np.array([node.slope])))
        case PRelu():
            share = needs_multiplier(node.slopes) / max(node.slopes.size, 1)
            return _scaled(bare, (bits, node.slope_type.width), lanes * share)
        case Affine():
            share = needs_multiplier(node.scale) / max(node.scale.size, 1)
            return _scaled(bare, (bits, node.scale_type.width), lanes * share)
        case Table() if not node.multiplications:
            return replace(bare, kind="table", lookups=(lanes,), entries=node.entries, entry_bits=node.table_type.width)
        case Softmax():
            width = max(node.exponential_type.width, node.inverse_type.width)
            same = len(node.exponentials) == len(node.inverses)
            return _softmax(bare, node, (node.shape[-1], 1), len(node.exponentials) if same else 0, width)
        case LegacySoftmax():
            count, same = node.shape[-1], len(node.exponentials) == len(node.inverses)
            entries = len(node.exponentials) if same else 0
            return _softmax(bare, node, (count * (count - 1), count), entries, node.table_type.width)
        case Pool():
            window = node.window
            return replace(
                bare,
                kind=node.op,
                what="pooling",
                cells=window.cells,
                padded=any(window.pads),
                pixels=window.rows * window.columns,
            )
    return bare


def _beats(graph: Graph, node: Dense) -> int:
    """Return in how many places a vector comes: a flattened image in a stream comes pixel by pixel."""
    before: AnyNode = graph.feeding(node)[0]
    while isinstance(before, Reshape):
        before = graph.feeding(before)[0]
    return before.size // max(before.shape[-1], 1) if graph.io_type == "io_stream" else 1


def _convolution(graph: Graph, node: Conv | DepthwiseConv, knob: Knob, bare: Layer, bits: int) -> Layer:
    window = node.window
    if graph.io_type == "io_stream" and any(window.pads):
        return replace(bare, what="zero padding on streams")
    depthwise = isinstance(node, DepthwiseConv)
    n_in = window.cells if depthwise else window.cells * window.channels
    return replace(
        bare,
        kind="depthwise" if depthwise else "conv",
        what="depthwise convolution" if depthwise else "convolution",
        lanes=node.channels,
        pixels=window.rows * window.columns,
        places=node.places,
        columns=window.columns,
        n_in=n_in,
        n_out=node.channels,
        strategy=knob.strategy,
        reuse_factor=used_by_hls4ml(n_in, node.channels, knob.reuse_factor, knob.strategy),
        operand_bits=(bits, node.weight_type.width),
        products=needs_multiplier(node.weights),
    )


def _softmax(bare: Layer, node: AnyNode, lookups: tuple[int, ...], entries: int, width: int) -> Layer:
    """Return softmax along the last axis; hls4ml's legacy form has no product."""
    lanes = node.shape[-1]
    places = node.size // max(lanes, 1)
    return replace(
        bare,
        kind="softmax",
        lanes=lanes,
        pixels=places,
        places=places,
        lookups=lookups,
        entries=entries,
        entry_bits=width,
        products=node.multiplications,
    )


def _scaled(bare: Layer, operand_bits: tuple[int, int], products: float) -> Layer:
    return replace(bare, kind="scale", operand_bits=operand_bits, products=products)
