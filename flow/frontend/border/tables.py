"""Activations that hls4ml looks up in tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedArray, FixedType, from_float
from flow.frontend.border.copy import Copy
from flow.frontend.border.functions import SELU_SCALE, Function, bin_values, table_function
from flow.frontend.border.types import fixed_type, frozen, no_small_to_integer
from flow.graph.nodes import Table

SPANS = {"sigmoid": 16, "tanh": 8, "softplus": 16, "softsign": 16, "elu": -8, "selu": -8}
"""What each table covers, as in the node `Table`."""
_ONE = FixedType(1, 1, signed=False)
_SELU_SCALE = FixedType(16, 1, signed=False)  # selu_const_t
_INT_BITS = 31  # of C's int, which numbers the entries
_DIVISOR_BITS = 33  # that hls4ml's product and quotient have left of the point, beyond the element's


def table(copy: Copy, layer: Any, function: str, where: str, common: dict[str, Any]) -> Table:
    """Translate an activation with a table; its entries are computed here and stored in the node."""
    entries = int(layer.get_attr("table_size"))
    if entries < 1:
        raise UserError(f"{where}: table_size {entries} is not supported; 1 or more is")
    table_type = fixed_type(layer.get_attr("table_t").precision, f"{where}: table")
    bare, span = table_function(function), SPANS[function]
    values = from_float(np.array([bare(x) for x in bin_values(span, entries)]), table_type)
    source = fixed_type(layer.get_input_variable().type.precision, f"{where}: input")
    scale, scale_type = _scale(layer, function, source)
    factor = 1.0
    if function == "elu":
        alpha, alpha_type = _alpha(copy, layer, where, common)
        factor = alpha * alpha_type.step
        values = values.astype(object) * alpha
        table_type = FixedType(
            table_type.width + alpha_type.width,
            table_type.integer + alpha_type.integer,
            table_type.signed or alpha_type.signed,
        )
    no_small_to_integer(table_type, layer, where)
    if scale_type is not None:
        product = FixedType(source.width + scale_type.width, source.integer + scale_type.integer, source.signed)
        no_small_to_integer(source if scale_type == _ONE else product, layer, where)
    node = Table(**common, values=frozen(values), table_type=table_type, span=span, scale=scale, scale_type=scale_type)
    _check_numbers(node, source, where)
    _note_coarse(copy, node, source, function)
    _note_end(copy, node, source, lambda x: factor * bare(x))
    return node


def _scale(layer: Any, function: str, source: FixedType) -> tuple[int, FixedType | None]:
    """Return what elements from 0 on are multiplied by; without a type the table serves them too."""
    if function == "elu":
        return 1, _ONE
    if function != "selu":
        return 0, None
    # the stream's version takes its scale in the element's own type
    streamed = layer.model.config.get_config_value("IOType") == "io_stream"
    kind = source if streamed else _SELU_SCALE
    return int(from_float(np.array([SELU_SCALE]), kind)[0]), kind


def _alpha(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> tuple[int, FixedType]:
    """Return ELU's factor below 0 and its type."""
    if layer.class_name == "Activation":
        return 1, _ONE
    kind = fixed_type(layer.get_attr("param_t").precision, f"{where}: alpha")
    value = float(str(layer.get_attr("activ_param", 1.0)))  # hls4ml prints the number into the C++ call
    alpha = int(from_float(np.array([value]), kind)[0])
    if alpha * kind.step != value:
        copy.notes.append(f"layer '{common['label']}': alpha {value:g} is stored as {alpha * kind.step:g} ({kind})")
    return alpha, kind


def _check_numbers(node: Table, source: FixedType, where: str) -> None:
    """Refuse input types whose entry numbers leave C's int."""
    largest = max(-source.lo, source.hi) * node.entries >> max(0, node.span_bits + source.fraction)
    largest <<= max(0, -node.span_bits - source.fraction)
    if source.integer <= -_DIVISOR_BITS or (largest + node.entries).bit_length() > _INT_BITS:
        most = _INT_BITS - (node.entries - 1).bit_length() + node.span_bits - (not source.signed)
        raise UserError(
            f"{where}: input type {source} is not supported: hls4ml's numbers of table entries overflow; use "
            f"{1 - _DIVISOR_BITS} to {most} integer bits"
        )


def _note_coarse(copy: Copy, node: Table, source: FixedType, function: str) -> None:
    """Say so when a bin holds several inputs and neighbouring bins differ by more than one step of the output."""
    width = abs(node.span) / node.entries
    if width <= source.step:
        return
    ends = np.array([source.lo, min(source.hi, 0) if node.span < 0 else source.hi], dtype=object)
    numbers = node.entry_numbers(FixedArray(ends, source))
    reached = node.results[int(numbers.min()) : int(numbers.max()) + 1].astype(object)
    steps = int(np.abs(np.diff(reached)).max(initial=0))
    if steps > 1:
        needed = 1 << (round(abs(node.span) / source.step) - 1).bit_length()
        copy.notes.append(
            f"layer '{node.label}': the table of '{function}' has bins of {width:g}, its input comes in steps of "
            f"{source.step:g}; neighbouring entries differ by up to {steps} steps of {node.type}; a table_size of "
            f"{needed} has a bin for every input"
        )


def _note_end(copy: Copy, node: Table, source: FixedType, compute: Function) -> None:
    """Say so when the function changes by more than one step of the output beyond the table."""
    edges = bin_values(node.span, node.entries)
    ends = [(source.lo * source.step, edges[-1 if node.span < 0 else 0]), (source.hi * source.step, edges[-1])]
    beyond = [(abs(compute(x) - compute(edge)), x, edge) for x, edge in ends if x * edge > 0 and abs(x) > abs(edge)]
    change, x, edge = max(beyond, default=(0.0, 0.0, 0.0))
    if change > node.type.step:
        true = compute(x) if math.isfinite(compute(x)) else x  # softplus, whose exponential overflows
        copy.notes.append(
            f"layer '{node.label}': its table ends at {edge:g} with {compute(edge):g}, which is also the result up to "
            f"{x:g}, the end of the input's type, where the function is {true:g}"
        )
