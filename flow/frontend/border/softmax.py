"""Softmax in hls4ml's four implementations, with the tables that its C++ program fills when it starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, IntArray
from flow.frontend.border.c_floats import assigned_floats, exp_float32, leading_values
from flow.frontend.border.copy import Copy
from flow.frontend.border.types import fixed_type, frozen, is_integer, no_integer_bits
from flow.graph.nodes import Argmax, LegacySoftmax, Softmax
from flow.graph.nodes.softmax import LEGACY_INVERSE_RANGE, LEGACY_RANGE

# what hls4ml's softmax inherits from nnet::activ_config (nnet_activation.h), whatever its configuration says
LEGACY_TABLE_TYPE, LEGACY_STREAM_TABLE_SIZE = FixedType(18, 8), 1024


def softmax(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Softmax | LegacySoftmax | Argmax:
    """Translate a softmax over the last axis."""
    _check_axis(layer, where, common["shape"])
    implementation = str(layer.get_attr("implementation"))  # hls4ml knows these four
    if implementation == "argmax":
        return Argmax(**common)
    if implementation == "legacy":
        return _legacy(layer, common)
    return _with_tables(layer, where, common, copy.type_before(common), stable=implementation == "stable")


def _check_axis(layer: Any, where: str, shape: tuple[int, ...]) -> None:
    """Refuse what hls4ml computes along other elements than those of the last axis."""
    inner, outer = int(layer.get_attr("n_inner", 1)), int(layer.get_attr("n_outer", 1))
    if inner != 1:
        raise UserError(f"{where}: only the last axis is supported; put a Permute in front that moves the axis there")
    if layer.model.config.get_config_value("IOType") == "io_stream":
        if int(layer.get_attr("axis", -1)) != -1:
            raise UserError(f"{where}: axis {layer.get_attr('axis')} is not supported with io_stream; write axis -1")
        size = int(layer.get_input_variable().type.n_elem)
    else:
        size = int(layer.get_attr("n_in")) // outer
    if size != shape[-1]:
        raise UserError(
            f"{where}: hls4ml computes it over {size} elements at once, the last axis of {shape} has {shape[-1]}; "
            "write it as a Softmax layer on a tensor of that shape"
        )


def _legacy(layer: Any, common: dict[str, Any]) -> LegacySoftmax:
    sizes = tuple(
        int(layer.get_attr(name, layer.get_attr("table_size"))) for name in ("exp_table_size", "inv_table_size")
    )
    if layer.model.config.get_config_value("IOType") == "io_stream":
        sizes = (LEGACY_STREAM_TABLE_SIZE, LEGACY_STREAM_TABLE_SIZE)
    arguments = LEGACY_RANGE * (np.arange(sizes[0]) - sizes[0] / 2) / sizes[0]
    sums = (LEGACY_INVERSE_RANGE * np.arange(sizes[1]) / sizes[1]).astype(np.float32).astype(np.float64)
    inverses = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return LegacySoftmax(
        **common,
        exponentials=frozen(assigned_floats(exp_float32(arguments.astype(np.float32)), LEGACY_TABLE_TYPE)),
        inverses=frozen(assigned_floats(inverses, LEGACY_TABLE_TYPE)),
        table_type=LEGACY_TABLE_TYPE,
    )


def _with_tables(layer: Any, where: str, common: dict[str, Any], x: FixedType, *, stable: bool) -> Softmax:
    """Translate the stable and the latency implementation; sizes and types as hls4ml's SoftmaxConfigTemplate."""
    size = layer.get_attr("table_size")
    sizes = {name: int(layer.get_attr(f"{name}_table_size", size)) for name in ("exp", "inv")}
    exponential_type, inverse_type, accumulator, inverse_argument = (
        _type_of(layer, which, where) for which in ("exp_table_t", "inv_table_t", "accum_t", "inv_inp_t")
    )
    difference = None
    if stable and layer.get_attr("inp_norm_t") is not None:
        difference = _type_of(layer, "inp_norm_t", where)
    elif stable:
        if x.width == x.signed:
            raise UserError(f"{where}: an input of {x} has no bits besides the sign; use 2 bits or more")
        difference = FixedType(x.width - x.signed, x.integer - x.signed, signed=False)
        if x.signed:
            sizes["exp"] = min(sizes["inv"], 1 << difference.width)
    argument = difference or x
    _check_table(where, "exponential", sizes["exp"], argument)
    _check_table(where, "inverse", sizes["inv"], inverse_argument)
    if is_integer(layer.get_output_variable().type.precision) and accumulator.integer + inverse_type.integer <= 0:
        raise UserError(f"{where}: {no_integer_bits('output', common['type'])}")
    scaled = leading_values(argument, sizes["exp"]) * np.float32(layer.get_attr("exp_scale", 1.0))
    return Softmax(
        **common,
        difference=difference,
        exponentials=frozen(assigned_floats(exp_float32(-scaled if stable else scaled), exponential_type)),
        exponential_type=exponential_type,
        accumulator=accumulator,
        inverse_argument=inverse_argument,
        inverses=frozen(_inverses(leading_values(inverse_argument, sizes["inv"]), inverse_type)),
        inverse_type=inverse_type,
    )


def _inverses(values: Any, target: FixedType) -> IntArray:
    """Return 1/x in single precision, 1/0 being infinite, assigned to a type."""
    with np.errstate(divide="ignore"):
        return assigned_floats(np.float32(1) / values, target)


def _type_of(layer: Any, which: str, where: str) -> FixedType:
    named = layer.get_attr(which)
    if which == "inv_inp_t" and named.name == "model_default_t":
        named = layer.get_attr("exp_table_t")  # as SoftmaxConfigTemplate does
    if is_integer(named.precision):
        raise UserError(f"{where}: {which} {named.precision} is not supported; write it as fixed<W,I>")
    return fixed_type(named.precision, f"{where}: {which}")


def _check_table(where: str, name: str, size: int, argument: FixedType) -> None:
    """Refuse tables that hls4ml's indices, the first bits of the argument, do not match."""
    if size < 2 or size & (size - 1) or size > 1 << argument.width:
        raise UserError(
            f"{where}: a table of {size} {name}s cannot be read by the first bits of {argument}; "
            f"TableSize must be a power of two from 2 to {1 << min(argument.width, 24)}"
        )
