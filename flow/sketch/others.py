"""Nodes without weights: pools, sums, flattening and activations."""

from __future__ import annotations

from math import prod
from typing import Literal

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, from_float
from flow.graph.nodes import AnyNode, Merge, Pool, Relu, Reshape, Table
from flow.graph.nodes.pool import Arithmetic
from flow.graph.window import Window
from flow.sketch import layers, types
from flow.sketch.place import Place
from flow.sketch.products import slid

POOLED = ("accum", "result")
MADE = ("result",)
LOOKED_UP = ("result", "table")
_INT_BITS = 31  # of C's int, which numbers a table's entries


def pool(place: Place, layer: layers.MaxPool | layers.AveragePool) -> Pool:
    """Return the node of a pool under a window."""
    pixels = place.pixels()
    sequence = len(place.x.shape) == 2
    size, stride = layer.size, layer.stride or layer.size
    if sequence:
        size, stride = (1, size[1]), (1, stride[1])
    window = slid(place, pixels, size, stride, layer.padding)
    if place.streamed and any(window.pads):
        raise UserError(f"{place.where}: hls4ml pads no pools in io_stream; use padding 'valid', or io_parallel")
    if place.streamed and not sequence and stride != size:
        raise UserError(f"{place.where}: hls4ml's io_stream pools need a stride equal to their size; use io_parallel")
    largest = isinstance(layer, layers.MaxPool)
    if largest and any(window.pads) and not place.x.type.signed:
        raise UserError(
            f"{place.where}: hls4ml pads the largest of {place.x.type} with half of its range; use padding 'valid'"
        )
    rows, columns = window.positions
    shape = (columns, pixels[2]) if sequence else (rows, columns, pixels[2])
    accumulator = place.x.type if largest else types.average_type(place.x.type, window.cells)
    arithmetic: Arithmetic = "streamed" if place.streamed else "parallel"
    return _pool(place, window, shape, arithmetic, accumulator, largest=largest)


def global_pool(place: Place, layer: layers.GlobalMaxPool | layers.GlobalAveragePool) -> Pool:
    """Return the node of a pool over all pixels."""
    rows, columns, channels = place.pixels()
    window = Window(rows, columns, channels, (rows, columns), (rows, columns), (0, 0, 0, 0))
    largest = isinstance(layer, layers.GlobalMaxPool)
    x = place.x.type
    accumulator = x.exact() if largest else types.average_type(x, window.cells)
    return _pool(place, window, (channels,), "running" if place.streamed else "parallel", accumulator, largest=largest)


def _pool(
    place: Place,
    window: Window,
    shape: tuple[int, ...],
    arithmetic: Arithmetic,
    accumulator: FixedType,
    *,
    largest: bool,
) -> Pool:
    return Pool(
        **place.common(),
        shape=shape,
        type=place.types.of("result", place.x.type),
        window=window,
        op="max" if largest else "average",
        accumulator=place.types.of("accum", accumulator),
        arithmetic=arithmetic,
    )


def flatten(place: Place) -> Reshape:
    """Return the node that lays a tensor out as one row."""
    return Reshape(**place.common(), shape=(prod(place.x.shape),), type=place.x.type)


def add(place: Place, other: AnyNode) -> Merge:
    """Return the node of a sum; raise UserError unless both tensors have one shape."""
    if place.x.shape != other.shape:
        raise UserError(
            f"{place.where}: shapes {place.x.shape} of '{place.x.label}' and {other.shape} of '{other.label}' differ"
        )
    kind = place.types.of("result", types.add_type(place.x.type, other.type))
    return Merge(**place.common(other), shape=place.x.shape, type=kind, op="add")


def relu(place: Place, bits: int, integer: int) -> Relu:
    """Return the node of a quantized ReLU."""
    kind = place.types.of("result", types.activation_type(bits, integer))
    return Relu(**place.common(), shape=place.x.shape, type=kind)


def table(place: Place, function: Literal["sigmoid", "tanh"], bits: int, entries: int) -> Table:
    """Return the node of an activation that hls4ml reads from a table."""
    from flow.frontend.border.functions import bin_values, table_function
    from flow.frontend.border.tables import SPANS

    span = SPANS[function]
    kind = place.types.of("table", types.TABLE)
    result = types.activation_type(bits, 0) if function == "sigmoid" else types.activation_type(bits, 1, signed=True)
    bare = table_function(function)
    values = from_float(np.array([bare(x) for x in bin_values(span, entries)]), kind)
    values.setflags(write=False)
    _check_numbers(place, place.x.type, entries, span)
    return Table(
        **place.common(),
        shape=place.x.shape,
        type=place.types.of("result", result),
        values=values,
        table_type=kind,
        span=span,
    )


def _check_numbers(place: Place, x: FixedType, entries: int, span: int) -> None:
    """Refuse inputs whose entry numbers leave hls4ml's int."""
    most = _INT_BITS - (entries - 1).bit_length() + span.bit_length() - 1 - (not x.signed)
    if x.integer > most:
        raise UserError(
            f"{place.where}: its input's type {x} has more than {most} integer bits, and hls4ml's numbers of table "
            "entries overflow; quantize before it, or use a smaller table_size"
        )
