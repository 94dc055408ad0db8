"""Dense layers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, IntArray, Overflow
from flow.frontend.border.copy import Copy
from flow.frontend.border.signs import multiplies_signs
from flow.frontend.border.types import (
    fixed_type,
    frozen,
    is_integer,
    is_one_bit,
    is_xnor,
    no_integer_bits,
    no_small_to_integer,
)
from flow.frontend.border.weights import codes_of
from flow.graph.nodes import Dense


class Products(NamedTuple):
    """Hold what a layer multiplies and adds: codes in the shapes that hls4ml stores, and their types."""

    weights: IntArray
    weight_type: FixedType
    bias: IntArray
    bias_type: FixedType
    accumulator: FixedType


def dense(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Dense:
    """Translate a dense layer: codes from the stored arrays, turned back when hls4ml has transposed them."""
    x = copy.type_before(common)
    found = products(copy, layer, where, x)
    weights = found.weights.T if layer.get_attr("_weights_transposed", False) else found.weights
    node = Dense(
        **common,
        weights=frozen(weights.reshape(int(layer.get_attr("n_in")), int(layer.get_attr("n_out")))),
        bias=frozen(found.bias.reshape(-1)),
        weight_type=found.weight_type,
        bias_type=found.bias_type,
        accumulator=found.accumulator,
    )
    check_sums(copy, layer, where, node, x)
    return node


def products(copy: Copy, layer: Any, where: str, x: FixedType) -> Products:
    """Return a layer's codes and types; refuse what the C++ types get wrong. x: what the weights multiply."""
    source, stored = layer.get_input_variable().type.precision, layer.weights["weight"].type.precision
    if is_one_bit(source) and is_one_bit(stored) and not multiplies_signs(layer):
        raise UserError(f"{where}: one-bit inputs times one-bit weights are not supported here; use 2 bits")
    if is_xnor(source) and is_integer(stored) and stored.width == 2 and np.any(layer.weights["weight"].data < -1):
        raise UserError(f"{where}: weights of -2 in int<2> times binary inputs are not supported; use int<3>")
    weights, weight_type = codes_of(copy, layer, "weight", x, where)
    bias, bias_type = codes_of(copy, layer, "bias", None, where)
    accumulator_precision = layer.get_attr("accum_t").precision
    accumulator = fixed_type(accumulator_precision, f"{where}: accumulator")
    if is_integer(accumulator_precision):
        if x.integer + weight_type.integer <= 0 and (x.signed or weight_type.signed):
            raise UserError(f"{where}: {no_integer_bits('accumulator', accumulator)}")
        if bias_type.integer <= 0 and bias_type.signed:
            raise UserError(f"{where}: {no_integer_bits('accumulator', accumulator)}")
    no_small_to_integer(accumulator_precision, layer, where)
    return Products(weights, weight_type, bias, bias_type, accumulator)


def check_sums(copy: Copy, layer: Any, where: str, node: Dense, x: FixedType) -> None:
    """Refuse sums whose order matters in another strategy than the reference's; note those that can wrap."""
    if multiplies_signs(layer):
        return  # counts, whose accumulator must not overflow
    if str(layer.get_attr("strategy", "latency")).lower() != "latency" and not node.is_linear(x):
        raise UserError(
            f"{where}: strategy '{layer.get_attr('strategy')}' adds in another order than the reference, and the "
            f"accumulator {node.accumulator} can saturate; use the Latency strategy or a wider accumulator"
        )
    warn_of_wrapping(copy, node, x)


def warn_of_wrapping(copy: Copy, node: Dense, x: FixedType) -> None:
    """Say so when the worst-case sum leaves a wrapping accumulator."""
    if node.accumulator.overflow is not Overflow.WRAP:
        return
    weights, bias = node.weights.astype(object), node.bias.astype(object)
    scale = Fraction(2) ** (-x.fraction - node.weight_type.fraction)
    offset = Fraction(2) ** -node.bias_type.fraction
    low = min(np.minimum(weights * x.lo, weights * x.hi).sum(axis=0) * scale + bias * offset)
    high = max(np.maximum(weights * x.lo, weights * x.hi).sum(axis=0) * scale + bias * offset)
    step = Fraction(2) ** -node.accumulator.fraction
    if low < node.accumulator.lo * step or high >= (node.accumulator.hi + 1) * step:
        copy.notes.append(
            f"layer '{node.label}': sums can reach {float(low):g} … {float(high):g}, beyond the accumulator "
            f"{node.accumulator}, which wraps"
        )
