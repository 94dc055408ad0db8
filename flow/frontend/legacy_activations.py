"""Activations of Keras 2 files: layers of their own, and those inside other layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.frontend import floats, keras_activations, qkeras
from flow.frontend.keras_call import Shape
from flow.frontend.legacy_call import stored_call
from flow.frontend.legacy_file import Layer
from flow.frontend.part import Part
from flow.frontend.qactivation import activation_records, inline_suffix
from flow.frontend.qkeras import Quantizer
from flow.frontend.records import Port, Record

# Keras 2's hard_sigmoid is hls4ml's
_ACTIVATIONS = tuple(floats.ACTIVATIONS)


def inline(layer: Layer, source: Port, shape: Shape, *, drop_softmax: bool) -> Part:
    """Return the activation inside a layer with weights; no record for linear. shape: of the layer's output."""
    activation = layer.options.get("activation") or "linear"
    if isinstance(activation, str) and activation in floats.ACTIVATIONS:
        if activation == "linear":
            return Part((), shape, lambda x: x)
        return _plain(layer, source, activation, shape, drop=drop_softmax, suffix=f"_{activation}")
    where = f"{layer.where}, activation"
    quantizer = _quantizer(activation, where)
    suffix = inline_suffix(quantizer)
    records = activation_records(
        layer.label, source, quantizer, shape, io_type=layer.io_type, where=where, suffix=suffix
    )
    return Part(records, shape, lambda x: floats.quantize(quantizer, x))


def activation(layer: Layer, source: Port, *, drop_softmax: bool) -> Part:
    """Return an Activation, QActivation or Softmax layer."""
    chosen = layer.options.get("activation")
    if layer.kind == "Softmax":
        if layer.options.get("axis", -1) not in (-1, len(layer.shape)):
            raise UserError(f"{layer.where}: axis={layer.options['axis']} is not supported; the last axis is")
        chosen = "softmax"
    if isinstance(chosen, str) and chosen in floats.ACTIVATIONS:
        return _plain(layer, source, chosen, layer.shape, drop=drop_softmax)
    where = f"{layer.where}, activation"
    quantizer = _quantizer(chosen, where)
    records = activation_records(layer.label, source, quantizer, layer.shape, io_type=layer.io_type, where=where)
    return Part(records, layer.shape, lambda x: floats.quantize(quantizer, x))


def ends_in_softmax(kind: str, options: Any) -> bool:
    """Tell whether a layer's last step is a softmax."""
    return bool(kind == "Softmax" or options.get("activation") == "softmax")


def relu(layer: Layer, source: Port) -> Part:
    """Return a ReLU, LeakyReLU or ThresholdedReLU."""
    options = layer.options
    default = 0.3 if layer.kind == "LeakyReLU" else 0.0
    slope = float(options.get("negative_slope", options.get("alpha", default)) or 0.0)
    if layer.kind == "ThresholdedReLU":
        threshold = float(options.get("theta", 1.0))
    else:
        threshold = float(options.get("threshold") or 0.0)
    cap = options.get("max_value")
    given = {"negative_slope": slope, "threshold": threshold, "max_value": cap}
    records = keras_activations.relu(stored_call(layer, (source,), layer.shape, given))
    limit = None if cap is None else float(cap)
    return Part(tuple(records), layer.shape, lambda x: floats.relu(x, slope=slope, threshold=threshold, limit=limit))


def elu(layer: Layer, source: Port) -> Part:
    """Return an ELU."""
    slope = float(layer.options.get("alpha", 1.0))
    records = keras_activations.elu(stored_call(layer, (source,), layer.shape, {"alpha": slope}))
    return Part(tuple(records), layer.shape, lambda x: np.where(x > 0, x, slope * np.expm1(np.minimum(x, 0))))


def _quantizer(identifier: object, where: str) -> Quantizer:
    if isinstance(identifier, str) and identifier.isidentifier() and identifier not in qkeras.NAMES.values():
        raise UserError(
            f"{where}: the activation '{identifier}' is not supported; {', '.join(_ACTIVATIONS)} and QKeras's "
            f"{', '.join(qkeras.NAMES[kind] for kind in qkeras.ACTIVATION_KINDS)} are"
        )
    return qkeras.read(identifier, where=where)


def _plain(layer: Layer, source: Port, name: str, shape: Shape, *, drop: bool, suffix: str = "") -> Part:
    if drop:
        return Part((), shape, lambda x: x)
    if name == "hard_sigmoid":  # without a slope hls4ml takes 0.2
        entry = {"class_name": "HardActivation", "activation": name}
        records = [Record(layer.label, entry, (source,), suffix, (layer.kind, "HardActivation"))]
    else:
        records = keras_activations.activation_records(layer.label, source, name, shape, suffix=suffix, kind=layer.kind)
    return Part(tuple(records), shape, floats.ACTIVATIONS[name])
