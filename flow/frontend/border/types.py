"""hls4ml's precisions as fixed-point types."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, IntArray, Overflow, Rounding


def fixed_type(precision: Any, where: str) -> FixedType:
    """Translate an hls4ml precision; raise UserError, naming `where`, when it has no fixed-point equivalent."""
    from hls4ml.model import types

    if isinstance(precision, types.FixedPrecisionType):
        if precision.saturation_bits:
            raise UserError(f"{where}: saturation bits ({precision}) are not supported; write 0 or leave them out")
        return FixedType(
            int(precision.width),
            int(precision.integer),
            bool(precision.signed),
            Rounding(str(precision.rounding_mode)),
            Overflow(str(precision.saturation_mode)),
        )
    if isinstance(precision, types.IntegerPrecisionType):
        # ap_int takes the integer part as C does, towards zero
        return FixedType(int(precision.width), int(precision.width), bool(precision.signed), Rounding.TRN_ZERO)
    if isinstance(precision, types.XnorPrecisionType):
        raise UserError(f"{where}: binary values coded 0/1 are not supported here; use a quantizer of 2 bits or more")
    raise UserError(f"{where}: type {precision} is not supported; use fixed<W,I>, ufixed<W,I> or int<W>")


def tensor_type(precision: Any, where: str) -> FixedType:
    """Translate the precision of a tensor; one that codes -1 and +1 as 0 and 1 becomes the type of the true values."""
    return FixedType(2, 2) if is_xnor(precision) else fixed_type(precision, where)


def is_integer(precision: Any) -> bool:
    """Tell whether the C++ type is an ap_int."""
    from hls4ml.model import types

    return isinstance(precision, types.IntegerPrecisionType)


def is_one_bit(precision: Any) -> bool:
    """Tell whether the C++ type is ap_uint<1>, to which hls4ml's templates give a meaning of its own."""
    from hls4ml.model import types

    one = isinstance(precision, types.IntegerPrecisionType) and precision.width == 1 and not precision.signed
    return one or isinstance(precision, types.XnorPrecisionType)


def is_xnor(precision: Any) -> bool:
    """Tell whether the values -1 and +1 are coded 0 and 1 in C++."""
    from hls4ml.model import types

    return isinstance(precision, types.XnorPrecisionType)


def no_integer_bits(what: str, target: FixedType) -> str:
    """Explain why a cast to ap_int is refused."""
    width, sign = target.width, "" if target.signed else "u"
    return (
        f"the {what} type {sign}int<{width}> reads values without integer bits, which hls4ml's C++ types turn from "
        f"small negative numbers into -1; write {sign}fixed<{width},{width},TRN_ZERO>"
    )


def frozen(codes: IntArray) -> IntArray:
    """Return the codes as a read-only array, int64 where they fit."""
    big = codes.size and max(abs(int(codes.min())), abs(int(codes.max()))) >> 62
    array = np.array(codes, dtype=object if big else np.int64)
    array.setflags(write=False)
    return array


def no_small_to_integer(source: Any, layer: Any, where: str) -> None:
    """Refuse a cast that the ap_types headers get wrong: signed, no integer bits, assigned to an ap_int."""
    target = layer.get_output_variable().type.precision
    if is_integer(target) and source.signed and source.integer <= 0:
        raise UserError(f"{where}: {no_integer_bits('output', fixed_type(target, where))}")
