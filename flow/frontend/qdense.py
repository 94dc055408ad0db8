"""Records of QKeras layers: QDense and QActivation, from either QKeras."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType
from flow.frontend.qkeras import NAMES, ActivationForm, Floats, Quantizer, Weights, activation_form
from flow.frontend.records import Port, Record


def activation_record(label: str, source: Port, quantizer: Quantizer, *, where: str, suffix: str = "") -> Record:
    """Return the record of a quantized activation, of its own layer or inside another one."""
    form = activation_form(quantizer, where=where)
    kinds = ("QActivation", "LeakyReLU" if form.activation == "leaky_relu" else "Activation")
    return Record(label, _entry(form), (source,), suffix, kinds, {"result": form.type}, limit=form.limit)


def inline_suffix(quantizer: Quantizer) -> str:
    """Return what hls4ml appends to a layer's name for a quantized activation inside it."""
    return f"_{NAMES[type(quantizer)]}"


def _entry(form: ActivationForm) -> dict[str, Any]:
    if form.activation == "leaky_relu":
        return {"class_name": "LeakyReLU", "activation": "leakyrelu", "activ_param": form.slope}
    return {"class_name": "Activation", "activation": form.activation}


def dense_records(
    label: str, source: Port, *, kernel: Floats | Weights, bias: Floats | Weights | None, kinds: tuple[str, ...]
) -> tuple[Record, ...]:
    """Return the records of a dense layer: one, or two where weights have a scale that is no power of two.

    kernel: (inputs, outputs), as floats or quantized; bias: (outputs,). The bias then moves behind the scale.
    """
    owned: dict[str, FixedType] = {}
    scale: Floats | None = None
    if isinstance(kernel, Weights):
        owned["weight"], scale, data = kernel.type, kernel.scale, kernel.codes
    else:
        data = kernel
    offset: dict[str, Any] = {}
    bias_owned: dict[str, FixedType] = {}
    if isinstance(bias, Weights):
        if bias.scale is not None:
            raise UserError(f"layer '{label}': a bias whose scale is not a power of two is not supported; alpha=1 is")
        bias_owned, offset = {"bias": bias.type}, {"bias_data": bias.codes}
    elif bias is not None:
        offset = {"bias_data": bias}
    n_in, n_out = data.shape
    entry = {
        "class_name": "Dense",
        "data_format": "channels_last",
        "weight_data": data,
        "n_in": n_in,
        "n_out": n_out,
        "use_bias": bias is not None,
    }
    if scale is None:
        return (Record(label, entry | {"bias_data": None} | offset, (source,), "", kinds, owned | bias_owned),)
    dense = Record(label, entry | {"bias_data": None}, (source,), "", kinds, owned)
    factors = {
        "class_name": "ApplyAlpha",
        "n_in": n_out,
        "n_filt": -1,
        "scale_data": scale,
        "bias_data": np.zeros(n_out),
    }
    alpha = Record(
        label, factors | offset, (dense.port,), "_alpha", ("ApplyAlpha",), bias_owned, {"scale": _scale_type(scale)}
    )
    return (dense, alpha)


def _scale_type(scale: Floats) -> FixedType:
    """Return a type with 17 magnitude bits for the largest scale."""
    return FixedType(18, int(np.frexp(np.max(np.abs(scale)))[1]) + 1)
