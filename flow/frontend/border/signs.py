"""Binary and ternary values: the activations that make them, and sums of products of two of them.

hls4ml codes -1 and +1 as 0 and 1 in one bit where it multiplies by comparing (XnorPrecisionType). The graph holds the
true values in FixedType(2, 2); the codes exist at the ports of the C++ program only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, IntArray, Overflow, Rounding, cast
from flow.frontend.border.copy import Copy
from flow.frontend.border.types import fixed_type, frozen, is_one_bit, is_xnor
from flow.frontend.border.weights import codes_of
from flow.graph.nodes import Affine, Conv, Dense, Quantize, Sign

_TWO = FixedType(3, 3)
_ZERO = FixedType(1, 1, signed=False)
_MULTIPLIES = frozenset(["Dense", "Conv1D", "Conv2D", "PointwiseConv1D", "PointwiseConv2D", "Conv2DBatchnorm"])
_SCALES = frozenset(["BatchNormalization", "ApplyAlpha"])
_POOLS = frozenset(["Pooling1D", "Pooling2D", "GlobalPooling1D", "GlobalPooling2D"])
_MOVES = frozenset(["Reshape", "Transpose", "Concatenate", "Clone", "Repack", "Cropping1D", "Cropping2D", "Resize"])
_SIGNS = frozenset(["Activation", "TernaryTanh", "BatchNormalizationQuantizedTanh"])


def check_signs(layer: Any, where: str) -> None:
    """Refuse layers that take the codes 0 and 1 of binary values for numbers, or give them such codes."""
    kind = str(layer.class_name)
    if kind == "Input":
        return
    reads = any(is_xnor(layer.get_input_variable(name).type.precision) for name in layer.inputs)
    writes = is_xnor(layer.get_output_variable().type.precision)
    if kind in _MOVES or (kind in _POOLS and str(layer.get_attr("pool_op")).lower() == "max"):
        if reads != writes:
            raise UserError(f"{where}: one side of it has binary values coded 0/1, the other not; use 2 bits for both")
        return
    compared = kind in _SCALES and is_xnor(layer.weights["scale"].type.precision)
    if reads and (kind not in _MULTIPLIES | _SCALES or compared):
        raise UserError(f"{where}: binary values coded 0/1 as its input are not supported; use 2 bits")
    is_sign = kind in _SIGNS and str(layer.get_attr("activation", "binary")).lower() in ("binary", "binary_tanh")
    if writes and not is_sign:
        raise UserError(f"{where}: binary values coded 0/1 as its output are not supported; use 2 bits")


def binary_tanh(layer: Any, where: str, common: dict[str, Any]) -> Sign:
    """Translate the sign function, 0 counting as positive."""
    target = layer.get_output_variable().type.precision
    if is_one_bit(target) and not is_xnor(target):
        raise UserError(f"{where}: output type uint<1> holds no -1; use int<2>")
    threshold = np.full(common["shape"][-1:], -1)
    return Sign(**common, high=frozen(threshold), low=frozen(threshold))


def ternary_tanh(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Sign:
    """Translate ternary tanh: hls4ml compares twice the element, in its own type, with 1 and -1; a stream's, itself."""
    source = fixed_type(layer.get_input_variable().type.precision, f"{where}: input")
    channels = common["shape"][-1:]
    if layer.model.config.get_config_value("IOType") != "io_stream":
        doubled = Affine(
            **common
            | {"name": f"{common['name']}_doubled", "type": source}
            | {"scale": np.full(channels, 2), "bias": np.zeros(channels, dtype=np.int64)},
            scale_type=_TWO,
            bias_type=_ZERO,
        )
        copy.append(doubled)
        common = common | {"inputs": (doubled.name,)}
        _note_wrapping(copy, source, common["label"])
    one = 1 << source.fraction if source.fraction >= 0 else 0
    minus_one = -one if one else -1
    return Sign(**common, high=frozen(np.full(channels, one)), low=frozen(np.full(channels, minus_one)))


def _note_wrapping(copy: Copy, source: FixedType, label: str) -> None:
    if source.overflow in (Overflow.WRAP, Overflow.SAT_ZERO):
        copy.notes.append(
            f"layer '{label}': hls4ml doubles the input of ternary_tanh in its own type {source}, which overflows from "
            f"{(source.hi + 1) / 2 * source.step:g} on; give it one more integer bit, or SAT, where inputs reach that"
        )


def sign_of_normalized(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Sign:
    """Translate a batch normalization that hls4ml merged with a binary or ternary activation into thresholds."""
    if int(layer.get_attr("quantize")) == 2:
        high = _thresholds(copy, layer, "threshold", where, common) - 1  # hls4ml compares with >=
        low = high
    else:
        high = _thresholds(copy, layer, "threshold_hi", where, common)
        low = _thresholds(copy, layer, "threshold_lo", where, common)
    return Sign(**common, high=frozen(high), low=frozen(low))


def _thresholds(copy: Copy, layer: Any, which: str, where: str, common: dict[str, Any]) -> IntArray:
    codes, kind = codes_of(copy, layer, which, None, where)
    source = fixed_type(layer.get_input_variable().type.precision, f"{where}: input")
    channels = common["shape"][-1]
    repeats = int(layer.get_attr("n_filt", -1))
    if codes.size != channels or (repeats == -1 and common["shape"] != (channels,)) or repeats not in (-1, channels):
        raise UserError(
            f"{where}: {codes.size} thresholds for a tensor of shape {common['shape']}; only one per element of the "
            "last axis is supported"
        )
    if kind.fraction != source.fraction:
        raise UserError(f"{where}: thresholds of {kind} for an input of {source}; they must have the same type")
    return codes.reshape(-1).astype(object)


def multiplies_signs(layer: Any) -> bool:
    """Tell whether hls4ml multiplies a layer's inputs and weights by comparing codes of -1 and +1."""
    if layer.class_name not in _MULTIPLIES:
        return False
    return is_xnor(layer.get_input_variable().type.precision) and is_xnor(layer.weights["weight"].type.precision)


def count_signs(copy: Copy, node: Dense | Conv, where: str) -> Dense | Conv | Quantize:
    """Return the node, or the two, that compute what hls4ml does with products of two binary values.

    It counts the equal pairs in the accumulator, on top of the bias, doubles that, takes the number of pairs off,
    and assigns the result to an ap_int of ceil(log2(pairs)) + 2 bits, then to the output type (`cast` in nnet_mult.h).
    That is the sum of the true products plus twice the bias.
    """
    pairs = int(np.prod(node.weights.shape[:-1]))
    accumulator = node.accumulator
    start = cast(node.bias, node.bias_type.fraction, accumulator, node.bias_type.width).astype(object)
    width = max(1, (pairs - 1).bit_length()) + 2
    one = 1 << max(0, accumulator.fraction)
    if accumulator.fraction < 0 or start.min() < accumulator.lo or start.max() + pairs * one > accumulator.hi:
        raise UserError(
            f"{where}: the accumulator {accumulator} cannot count {pairs} equal pairs on top of the bias; "
            f"use int<{width}>"
        )
    counted = FixedType(width, width, rounding=Rounding.TRN_ZERO)
    exact = FixedType(accumulator.width + width + 2, accumulator.integer + width + 2)
    summed = replace(
        node,
        bias=frozen(2 * start),
        bias_type=FixedType(accumulator.width + 2, accumulator.integer + 2),
        accumulator=exact,
    )
    if not start.any():  # the sum of the pairs fits the ap_int
        return summed
    inner = replace(summed, name=f"{node.name}_sum", type=counted)
    copy.append(inner)
    return Quantize(name=node.name, label=node.label, inputs=(inner.name,), shape=node.shape, type=node.type)
