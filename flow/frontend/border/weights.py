"""Weight arrays as the integer codes that the C++ program uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, IntArray, from_float
from flow.frontend.border.copy import Copy, label_for
from flow.frontend.border.types import fixed_type, is_xnor
from flow.frontend.silence import silence


def codes_of(copy: Copy, layer: Any, which: str, x: FixedType | None, where: str) -> tuple[IntArray, FixedType]:
    """Return the integer codes and the type of a weight array as the C++ program uses them.

    x: the type of what the weights multiply; None for a bias, which is added. hls4ml hands numbers to the
    program as decimal text with as many digits as the type has fraction bits: exact for every value on the
    type's grid; others round to that many digits first, and so do they here.
    """
    from hls4ml.model import types

    variable = layer.weights[which]
    precision = variable.type.precision
    label = label_for(str(layer.name), copy.label_of)
    if isinstance(variable, types.CompressedWeightVariable):
        raise UserError(f"{where}: compressed weights are not supported; leave Compression out")
    if isinstance(precision, types.ExponentPrecisionType):
        if x is not None and is_xnor(layer.get_input_variable().type.precision):
            raise UserError(
                f"{where}: power-of-two weights times binary inputs are not supported: hls4ml takes the codes 0 and 1 "
                "for numbers; use quantized_bits weights or inputs of 2 bits"
            )
        return _powers_of_two(variable, x, where)
    with silence():
        texts = tuple(variable)
    values = np.array([float(text) for text in texts]).reshape(variable.data.shape)
    if isinstance(precision, types.XnorPrecisionType):
        bits = values.astype(np.int64) & 1
        if x is None:
            return bits, FixedType(1, 1, signed=False)
        return 2 * bits - 1, FixedType(2, 2)
    kind = fixed_type(precision, f"{where}: {which}")
    codes = from_float(values, kind)
    copy.notes += _misfits(f"layer '{label}': {which}", np.asarray(variable.data, dtype=np.float64), codes, kind)
    if x is not None and isinstance(precision, types.IntegerPrecisionType) and precision.width == 2:
        lost = codes == -2 if kind.signed else np.zeros(codes.shape, dtype=bool)
        if lost.any():
            # nnet::product::weight_ternary knows 0 and -1; whatever else counts as 1
            copy.notes.append(f"layer '{label}': hls4ml computes {int(lost.sum())} {which}s of -2 in int<2> as 1")
            codes = np.where(lost, 1, codes)
    return codes, kind


def _powers_of_two(variable: Any, x: FixedType | None, where: str) -> tuple[IntArray, FixedType]:
    """Return signed powers of two as codes; nnet::product::weight_exponential shifts in a type of its own."""
    if x is None:
        raise UserError(f"{where}: power-of-two biases are not supported; use quantized_bits for the bias")
    precision = variable.type.precision
    pairs = np.asarray(variable._format())  # the public iterator gives text, and fails on numpy 2
    field = FixedType(int(precision.width), int(precision.width), bool(precision.signed))
    sign, exponent = pairs[..., 0], from_float(pairs[..., 1].astype(np.float64), field)
    low, high = int(exponent.min()), int(exponent.max())
    half = int(precision.width) + x.width  # r_T is ap_fixed<2 * half, half>
    if max(x.fraction, x.fraction - low) > half or max(x.integer, x.integer + high) >= half:
        raise UserError(
            f"{where}: weights from 2^{low} to 2^{high} times inputs of {x} lose bits in hls4ml's shifter; "
            "use a narrower input type or quantized_bits weights"
        )
    codes = np.where(sign == 1, 1, -1) * (1 << (exponent - low).astype(object))
    return codes, FixedType(high - low + 2, high + 2)


def _misfits(what: str, given: Any, codes: IntArray, kind: FixedType) -> tuple[str, ...]:
    """Say so when stored values differ from the trained ones by more than rounding."""
    stored = np.asarray(codes, dtype=np.float64) * kind.step
    off = np.flatnonzero(np.abs(stored - given) > kind.step)
    if not off.size:
        return ()
    first = int(off[0])
    more = f" (and {off.size - 1} more)" if off.size > 1 else ""
    return (f"{what} {given.flat[first]:g} does not fit {kind}, stored {stored.flat[first]:g}{more}",)
