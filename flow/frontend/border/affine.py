"""Constant scales and biases: batch normalization and QKeras' alpha."""

from __future__ import annotations

from math import prod
from typing import Any

from flow.errors import UserError
from flow.frontend.border.copy import Copy
from flow.frontend.border.types import frozen, is_integer, no_integer_bits
from flow.frontend.border.weights import codes_of
from flow.graph.nodes import Affine


def affine(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Affine:
    """Translate a constant scale and bias along the last axis."""
    x = copy.type_before(common)
    scale, scale_type = codes_of(copy, layer, "scale", x, where)
    bias, bias_type = codes_of(copy, layer, "bias", None, where)
    scale, bias = scale.reshape(-1), bias.reshape(-1)
    channels, filters = common["shape"][-1], int(layer.get_attr("n_filt", -1))
    expected = prod(common["shape"]) if filters == -1 else filters
    if not expected == channels == scale.size == bias.size:
        raise UserError(
            f"{where}: {scale.size} scales and {bias.size} biases for a tensor of shape {common['shape']}; "
            "only one of each per element of the last axis is supported"
        )
    integer_bits = max(x.integer + scale_type.integer, bias_type.integer)
    if is_integer(layer.get_output_variable().type.precision) and integer_bits <= 0:
        raise UserError(f"{where}: {no_integer_bits('output', common['type'])}")
    return Affine(**common, scale=frozen(scale), bias=frozen(bias), scale_type=scale_type, bias_type=bias_type)
