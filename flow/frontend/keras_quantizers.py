"""What live qkeras-v3 layers quantize: their weights and activations, with options that no file holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError, nearest
from flow.frontend import qkeras
from flow.frontend.keras_activations import ACTIVATIONS, activation_name
from flow.frontend.keras_activations import activation_records as plain_records
from flow.frontend.keras_call import Call
from flow.frontend.qactivation import activation_records, inline_suffix
from flow.frontend.qkeras import Floats, Quantizer, Weights
from flow.frontend.records import Port, Record
from flow.frontend.silence import silence


def variable(call: Call, name: str, quantized_by: str | None = None, *, outputs: int = 1) -> Floats | Weights:
    """Return a variable of a layer, exactly on its quantizer's grid where it has one.

    quantized_by: what the layer's options call the variable, where that is not its name. outputs: see
    `qkeras.settle`.
    """
    data = call.weights(name)
    return quantized(call, f"{quantized_by or name}_quantizer", data, outputs=outputs)


def quantized(call: Call, option: str, data: Floats, *, outputs: int = 1) -> Floats | Weights:
    """Return values as the quantizer that is a layer's option makes them; as they are where the layer has none."""
    quantizer = getattr(call.layer, f"{option}_internal", None)
    if quantizer is None:
        return data
    import keras

    where = f"{call.where}, {option}"
    description = qkeras.check_weights(_describe(quantizer, where), where=where)
    with silence():
        values = np.asarray(keras.ops.convert_to_numpy(quantizer(np.float32(data))), dtype=np.float64)
    held = getattr(quantizer, "scale", None)
    scale = np.asarray(1.0 if held is None else keras.ops.convert_to_numpy(held), dtype=np.float64)
    return qkeras.settle(description, values, scale, where=where, outputs=outputs)


def inline_activation(call: Call, source: Port) -> list[Record]:
    """Return the records of the activation inside a layer, none for linear."""
    activation = getattr(call.layer, "activation", None)
    name = activation_name(activation)
    if name == "linear":
        return []
    if name is not None:
        return plain_records(call.label, source, name, call.shape, suffix=f"_{name}")
    where = f"{call.where}, activation"
    quantizer = _describe(activation, where)
    suffix = inline_suffix(quantizer)
    return list(
        activation_records(call.label, source, quantizer, call.shape, io_type=call.io_type, where=where, suffix=suffix)
    )


def activation_layer(call: Call) -> list[Record]:
    """Return the records of QActivation."""
    name = activation_name(call.layer.activation)
    if name is not None:
        return plain_records(call.label, call.inputs[0], name, call.shape, kind=call.kind)
    where = f"{call.where}, activation"
    quantizer = _describe(call.layer.activation, where)
    return list(
        activation_records(call.label, call.inputs[0], quantizer, call.shape, io_type=call.io_type, where=where)
    )


def _describe(quantizer: Any, where: str) -> Quantizer:
    """Return the description of a live qkeras-v3 quantizer, with the options that its get_config leaves out."""
    name = getattr(quantizer, "__name__", None) or type(quantizer).__name__
    if not hasattr(quantizer, "get_config"):
        raise UserError(f"{where}: '{name}' is not supported; {nearest(name, (*ACTIVATIONS, *qkeras.NAMES.values()))}")
    options = dict(quantizer.get_config())
    for option in ("is_quantized_clip", "scale_axis", "elements_per_scale", "min_po2_exponent", "max_po2_exponent"):
        value = getattr(quantizer, option, None)
        if value is not None:
            options[option] = value
    return qkeras.read({"class_name": type(quantizer).__name__, "config": options}, where=where)
