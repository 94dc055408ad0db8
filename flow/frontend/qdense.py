"""Records of layers with weights, from either QKeras: dense layers, and what convolutions share with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType
from flow.frontend.qkeras import Floats, Weights
from flow.frontend.records import Port, Record


def dense_records(
    label: str,
    source: Port,
    *,
    kernel: Floats | Weights,
    bias: Floats | Weights | None,
    kinds: tuple[str, ...],
) -> tuple[Record, ...]:
    """Return the records of a dense layer: one, or two where weights have a scale that is no power of two.

    kernel: (inputs, outputs), as floats or quantized; bias: (outputs,).
    """
    n_in, n_out = (kernel.codes if isinstance(kernel, Weights) else kernel).shape
    entry = {"class_name": "Dense", "data_format": "channels_last", "n_in": n_in, "n_out": n_out}
    return weighted_records(
        label, source, entry, "weight_data", kernel=kernel, bias=bias, kinds=kinds, channels=n_out, positions=None
    )


def weighted_records(
    label: str,
    source: Port,
    entry: Mapping[str, Any],
    data: str,
    *,
    kernel: Floats | Weights,
    bias: Floats | Weights | None,
    kinds: tuple[str, ...],
    channels: int,
    positions: int | None,
    suffix: str = "",
) -> tuple[Record, ...]:
    """Return the records of a layer with weights; a scale that is no power of two becomes a stage of its own.

    entry: hls4ml's layer dictionary without weights; data: what it calls them. channels: how many the output has;
    positions: how many vectors of them, None where the output is one vector. The bias moves behind the scale.
    """
    owned = {"weight": kernel.type} if isinstance(kernel, Weights) else {}
    scale = kernel.scale if isinstance(kernel, Weights) else None
    main: dict[str, Any] = dict(entry)
    main |= {data: codes_of(kernel), "use_bias": bias is not None, "bias_data": None}
    offset, bias_owned = bias_entry(label, bias)
    if scale is None:
        return (Record(label, main | offset, (source,), suffix, kinds, owned | bias_owned),)
    first = Record(label, main, (source,), suffix, kinds, owned)
    factors = {
        "class_name": "ApplyAlpha",
        "n_in": channels * (positions or 1),
        "n_filt": -1 if positions is None else channels,
        "scale_data": scale,
        "bias_data": np.zeros(channels),
    }
    advised = {"scale": _scale_type(scale)}
    alpha = Record(label, factors | offset, (first.port,), f"{suffix}_alpha", ("ApplyAlpha",), bias_owned, advised)
    return (first, alpha)


def bias_entry(label: str, bias: Floats | Weights | None) -> tuple[dict[str, Any], dict[str, FixedType]]:
    """Return a bias as part of a layer's dictionary, and the type that its quantizer sets."""
    if not isinstance(bias, Weights):
        return ({} if bias is None else {"bias_data": bias}), {}
    if bias.scale is not None:
        raise UserError(f"layer '{label}': a bias whose scale is not a power of two is not supported; alpha=1 is")
    return {"bias_data": bias.codes}, {"bias": bias.type}


def codes_of(weights: Floats | Weights) -> Floats:
    """Return weights as hls4ml stores them, without a scale of their own."""
    return weights.codes if isinstance(weights, Weights) else weights


def values_of(weights: Floats | Weights) -> Floats:
    """Return the values of weights, quantized or not; a scale is that of the last axis."""
    if not isinstance(weights, Weights):
        return weights
    return weights.codes if weights.scale is None else weights.codes * weights.scale


def _scale_type(scale: Floats) -> FixedType:
    """Return a type with 17 magnitude bits for the largest scale."""
    return FixedType(18, int(np.frexp(np.max(np.abs(scale)))[1]) + 1)
