"""Records of Keras 3's activations, as layers of their own and inside others.

hls4ml 1.3.0 computes relu, leaky_relu, elu, selu, softplus, softsign, sigmoid, tanh and softmax as Keras does, up to
its tables. Keras 3's hard_sigmoid has a slope of 1/6 where hls4ml's reader takes Keras 2's 0.2, so the slope is handed
over here; relu6 and ReLU(max_value) are made of layers that it knows.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from flow.errors import UserError, nearest
from flow.fixed import FixedType
from flow.frontend.keras_call import Call, Shape
from flow.frontend.qkeras import covering_type
from flow.frontend.records import Port, Record

ACTIVATIONS = (
    "linear",
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "sigmoid",
    "hard_sigmoid",
    "tanh",
    "hard_tanh",
    "softplus",
    "softsign",
    "softmax",
)


def activation_name(activation: Any) -> str | None:
    """Return the name of a Keras activation that is supported, "linear" for none, else None."""
    import keras

    if activation is None:
        return "linear"
    name = getattr(activation, "__name__", "")
    known = name in ACTIVATIONS and getattr(keras.activations, name, None) is activation
    return str(name) if known else None


def checked_name(activation: Any, where: str) -> str:
    """Return the name of a supported activation; raise UserError for others."""
    name = activation_name(activation)
    if name is None:
        given = getattr(activation, "__name__", type(activation).__name__)
        raise UserError(f"{where}: activation '{given}' is not supported; {nearest(given, ACTIVATIONS)}")
    return name


def activation_records(
    label: str, source: Port, name: str, shape: Shape, *, suffix: str = "", kind: str = "Activation"
) -> list[Record]:
    """Return the records of an activation by Keras's name, on a tensor of a shape; the last has `suffix`."""
    if name == "relu6":
        return _limited(label, source, _entry("relu", shape), 6.0, shape=shape, suffix=suffix, kind=kind)
    entry = _entry(name, shape)
    return [Record(label, entry, (source,), suffix, _kinds(kind, entry))]


def _kinds(kind: str, entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((kind, str(entry["class_name"]))))


def _entry(name: str, shape: Shape) -> dict[str, Any]:
    if name == "softmax":
        return {
            "class_name": "Softmax",
            "activation": "softmax",
            "axis": -1,
            "n_in": prod(shape),
            "n_outer": prod(shape[:-1]),
            "n_inner": 1,
        }
    if name == "leaky_relu":
        return _leaky(0.2)
    if name == "elu":
        return {"class_name": "ELU", "activation": "elu", "activ_param": 1.0}
    if name in ("hard_sigmoid", "hard_tanh"):
        from hls4ml.model.types import FixedPrecisionType

        # hls4ml has 16 fraction bits for the slope; 1/6 starts behind the second of them
        slope, kind = (1 / 6, FixedPrecisionType(16, -2, signed=False)) if name == "hard_sigmoid" else (0.5, None)
        entry = {"class_name": "HardActivation", "activation": name, "slope": slope, "shift": 0.5}
        return entry | ({"slope_prec": kind} if kind is not None else {})
    return {"class_name": "Activation", "activation": name}


def _leaky(slope: float) -> dict[str, Any]:
    return {"class_name": "LeakyReLU", "activation": "leakyrelu", "activ_param": slope}


def _limited(
    label: str, source: Port, entry: dict[str, Any], most: float, *, shape: Shape, suffix: str, kind: str
) -> list[Record]:
    """Return min(f(x), most) as most - relu(most - f(x)), where `entry` is f; exact in fixed point."""
    below = Record(label, entry, (source,), f"{suffix}_below", _kinds(kind, entry), keeps_type=True)
    room = _mirror(label, below.port, most, shape=shape, suffix=f"{suffix}_room", kind=kind)
    rest_entry = {"class_name": "Activation", "activation": "relu"}
    rest = Record(label, rest_entry, (room.port,), f"{suffix}_rest", ("Activation",), keeps_type=True)
    return [below, room, rest, _mirror(label, rest.port, most, shape=shape, suffix=suffix, kind=kind)]


def _mirror(label: str, source: Port, most: float, *, shape: Shape, suffix: str, kind: str) -> Record:
    """Return the record of most - x."""
    channels = shape[-1]
    entry = {
        "class_name": "ApplyAlpha",
        "n_in": prod(shape),
        "n_filt": channels if len(shape) > 1 else -1,
        "scale_data": np.full(channels, -1.0),
        "bias_data": np.full(channels, most),
    }
    owned = {"scale": FixedType(2, 2), "bias": covering_type(np.array([most]))}
    return Record(label, entry, (source,), suffix, _kinds(kind, entry), owned)


def activation_layer(call: Call) -> list[Record]:
    """Return the records of Activation."""
    name = checked_name(call.layer.activation, call.where)
    return activation_records(call.label, call.inputs[0], name, call.shape, kind=call.kind)


def relu(call: Call) -> list[Record]:
    """Return the records of ReLU with its slope, threshold and limit."""
    layer = call.layer
    slope, threshold, most = float(layer.negative_slope), float(layer.threshold), layer.max_value
    if slope and threshold:
        raise call.refuse(
            f"negative_slope={slope:g} together with threshold={threshold:g}", "one of them is, the other 0"
        )
    if slope:
        entry = _leaky(slope)
    elif threshold:
        entry = {"class_name": "ThresholdedReLU", "activation": "thresholdedrelu", "activ_param": threshold}
    else:
        entry = _entry("relu", call.shape)
    if most is None:
        return [Record(call.label, entry, call.inputs, "", _kinds(call.kind, entry))]
    return _limited(call.label, call.inputs[0], entry, float(most), shape=call.shape, suffix="", kind=call.kind)


def leaky_relu(call: Call) -> list[Record]:
    """Return the record of LeakyReLU."""
    slope = float(call.layer.negative_slope)
    entry = _leaky(slope) if slope else _entry("relu", call.shape)
    return [Record(call.label, entry, call.inputs, "", _kinds(call.kind, entry))]


def prelu(call: Call) -> list[Record]:
    """Return the record of PReLU; parameters that several elements share are written out for each."""
    slopes = np.broadcast_to(call.weights("alpha"), call.shape)
    entry = {"class_name": "PReLU", "activation": "prelu", "param_data": np.array(slopes)}
    return [Record(call.label, entry, call.inputs, "", _kinds(call.kind, entry))]


def elu(call: Call) -> list[Record]:
    """Return the record of ELU."""
    entry = _entry("elu", call.shape) | {"activ_param": float(call.layer.alpha)}
    return [Record(call.label, entry, call.inputs, "", _kinds(call.kind, entry))]


def softmax(call: Call) -> list[Record]:
    """Return the record of a softmax along the last axis."""
    axis = call.layer.axis
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if axes not in ([-1], [len(call.shape)]):
        raise call.refuse(f"axis={axis}", "the last axis is; put a Permute in front and one behind")
    if len(call.inputs) != 1:
        raise call.refuse("a mask", "softmax of one tensor is")
    return activation_records(call.label, call.inputs[0], "softmax", call.shape, kind=call.kind)
