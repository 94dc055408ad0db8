"""Layer normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, IntArray, from_float
from flow.frontend.border.c_floats import assigned_floats
from flow.frontend.border.copy import Copy
from flow.frontend.border.types import fixed_type, frozen, is_integer, is_one_bit, no_integer_bits
from flow.frontend.border.weights import codes_of
from flow.graph.nodes import LayerNorm

SMALLEST_EPSILON_POWER = 37
"""10**-37 is the last power of ten that a float holds with all its bits."""


def layer_norm(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> LayerNorm:
    """Translate a layer normalization over the last axis of (positions, channels)."""
    shape = common["shape"]
    if layer.model.config.get_config_value("IOType") != "io_parallel":
        raise UserError(f"{where}: hls4ml has no layer normalization for io_stream; use io_parallel")
    if len(shape) != 2 or int(layer.get_attr("axis")) != 2:
        raise UserError(f"{where}: only axis 2 of a tensor (batch, positions, channels) is supported, not {shape}")
    power = int(layer.get_attr("epsilon_power_of_10"))
    if not 1 <= power <= SMALLEST_EPSILON_POWER:
        raise UserError(f"{where}: epsilon 1e-{power} is not supported; 1e-1 to 1e-{SMALLEST_EPSILON_POWER} are")
    accumulator, root_type = (_type_of(layer, which, where) for which in ("accum_t", "table_t"))
    precision = layer.weights["scale"].type.precision
    if is_one_bit(precision) or (is_integer(precision) and precision.width == 2):
        raise UserError(f"{where}: hls4ml computes another function for a scale of {precision}; use fixed<W,I>")
    scale, scale_type = codes_of(copy, layer, "scale", None, where)
    bias, bias_type = codes_of(copy, layer, "bias", None, where)
    integer_bits = max(accumulator.integer + root_type.integer + scale_type.integer, bias_type.integer)
    if is_integer(layer.get_output_variable().type.precision) and integer_bits <= 0:
        raise UserError(f"{where}: {no_integer_bits('output', common['type'])}")
    range_power, size = int(layer.get_attr("table_range_power2")), int(layer.get_attr("table_size"))
    if range_power < 0 or size < 1:
        raise UserError(f"{where}: TableSize {size} and TableRangePower2 {range_power} must be positive")
    return LayerNorm(
        **common,
        scale=frozen(scale.reshape(-1)),
        bias=frozen(bias.reshape(-1)),
        scale_type=scale_type,
        bias_type=bias_type,
        accumulator=accumulator,
        inverse_count=int(from_float(np.array([1.0 / shape[-1]]), accumulator)[0]),
        inverse_roots=frozen(_inverse_roots(size, power, range_power, root_type)),
        root_type=root_type,
        range_power=range_power,
    )


def _inverse_roots(size: int, epsilon_power: int, range_power: int, target: FixedType) -> IntArray:
    """Return 1/sqrt(epsilon + k * step) for each entry k, as `init_invert_sqr_table` (nnet_layernorm.h).

    Arguments and roots are single precision, the quotients double.
    """
    step = np.float32(2.0**-range_power) / np.float32(size)
    arguments = np.float32(10.0**-epsilon_power) + step * np.arange(size).astype(np.float32)
    return assigned_floats(1.0 / np.sqrt(arguments).astype(np.float64), target)


def _type_of(layer: Any, which: str, where: str) -> FixedType:
    precision = layer.get_attr(which).precision
    if is_integer(precision):
        raise UserError(f"{where}: {which} {precision} is not supported; write it as fixed<W,I>")
    return fixed_type(precision, f"{where}: {which}")
