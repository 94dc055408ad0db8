"""Quantized activations of QKeras: the exact form of each, and its records for hls4ml.

hls4ml 1.3.0 merges a batch normalization with a binary or ternary activation behind it into thresholds that are
rounded down and take every scale for positive (`set_thresholds` in fpga_layers.py): another function. It knows the
activations to merge by their names in small letters, and calls the C++ function by the name in small letters
whatever it was; so a name with a capital letter keeps both layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, Overflow, Rounding
from flow.frontend.qkeras import (
    ACTIVATION_KINDS,
    NAMES,
    Binary,
    QuantizedBits,
    QuantizedLinear,
    QuantizedRelu,
    QuantizedSigmoid,
    QuantizedTanh,
    Quantizer,
    Ternary,
    nominal,
)
from flow.frontend.records import Port, Record

TERNARY_THRESHOLD = 0.33  # QKeras's own
_SIGNS = FixedType(2, 2)
# nnet::ternary_tanh doubles its input and compares with 1; its version for streams does not double it
_LIMITS = {"io_parallel": 0.5, "io_stream": 1.0}
_FACTOR_BITS = 16


@dataclass(frozen=True, slots=True)
class ActivationForm:
    """Say what a quantized activation is to hls4ml.

    activation: linear, relu, leaky_relu, sigmoid, tanh, hard_sigmoid, hard_tanh, binary_tanh or ternary_tanh. type:
    what the result is cast to. slope: of the leaky side. limit: the range is cut to ±2**limit before the slope is
    applied, as QKeras does and a cast of the result cannot. threshold: of a ternary activation.
    """

    activation: str
    type: FixedType
    slope: float = 0.0
    limit: int | None = None
    threshold: float = 0.5


def activation_form(quantizer: Quantizer, *, where: str) -> ActivationForm:
    """Return the exact form of a quantizer on activations; raise UserError where there is none.

    | option                              | what happens here                                    |
    |---|---|
    | symmetric                           | SAT_SYM; on a sigmoid refused                        |
    | keep_negative=0                     | unsigned, one integer bit less                       |
    | integer >= bits                     | the width stays `bits`; hls4ml alone widens it       |
    | negative_slope                      | leaky ReLU with the range cut first                  |
    | binary, ternary                     | -1, (0,) +1 in 2 bits                                |
    | use_sigmoid, 1 bit, alpha, others   | refused                                              |
    """
    if isinstance(quantizer, QuantizedRelu):
        return _relu_form(quantizer, where)
    if isinstance(quantizer, (QuantizedBits, QuantizedLinear)):
        return _linear_form(quantizer, where)
    if isinstance(quantizer, QuantizedTanh):
        if quantizer.bits < 2:
            raise UserError(f"{where}: quantized_tanh with bits={quantizer.bits} is not supported; 2 or more are")
        overflow = Overflow.SAT_SYM if quantizer.symmetric else Overflow.SAT
        kind = FixedType(quantizer.bits, 1, True, Rounding.RND_CONV, overflow)
        return ActivationForm("tanh" if quantizer.use_real_tanh else "hard_tanh", kind)
    if isinstance(quantizer, QuantizedSigmoid):
        if quantizer.symmetric:
            raise UserError(f"{where}: quantized_sigmoid with symmetric=1 is not supported; symmetric=0 is")
        kind = FixedType(quantizer.bits, 0, False, Rounding.RND_CONV, Overflow.SAT)
        return ActivationForm("sigmoid" if quantizer.use_real_sigmoid else "hard_sigmoid", kind)
    if isinstance(quantizer, (Binary, Ternary)):
        return _sign_form(quantizer, where)
    raise UserError(
        f"{where}: {NAMES[type(quantizer)]} on activations is not supported; "
        f"{', '.join(NAMES[kind] for kind in ACTIVATION_KINDS)} are"
    )


def _relu_form(quantizer: QuantizedRelu, where: str) -> ActivationForm:
    if quantizer.use_sigmoid:
        raise UserError(f"{where}: quantized_relu with use_sigmoid=1 is not supported; use_sigmoid=0 is")
    if quantizer.relu_upper_bound is not None and not quantizer.is_quantized_clip:
        raise UserError(
            f"{where}: quantized_relu with is_quantized_clip=False and relu_upper_bound="
            f"{quantizer.relu_upper_bound} is not supported; choose bits and integer for the range instead"
        )
    slope = quantizer.negative_slope
    if slope == 0.0:
        unsigned = FixedType(quantizer.bits, quantizer.integer, False, Rounding.RND_CONV, Overflow.SAT)
        return ActivationForm("relu", unsigned)
    if slope < 0 or np.frexp(slope)[0] != 0.5 or slope > 1 or quantizer.bits < 2:
        raise UserError(
            f"{where}: quantized_relu({quantizer.bits},{quantizer.integer}) with negative_slope={slope} is not "
            "supported; 2 bits or more and a power of two up to 1 are"
        )
    signed = FixedType(quantizer.bits, quantizer.integer + 1, True, Rounding.RND_CONV, Overflow.SAT)
    return ActivationForm("leaky_relu", signed, slope, quantizer.integer if slope < 1 else None)


def _linear_form(quantizer: QuantizedBits | QuantizedLinear, where: str) -> ActivationForm:
    name = NAMES[type(quantizer)]
    if quantizer.alpha not in (None, 1.0):
        raise UserError(f"{where}: {name} with alpha={quantizer.alpha!r} on activations is not supported; alpha=1 is")
    if quantizer.bits == 1 and quantizer.keep_negative:
        raise UserError(f"{where}: {name} with 1 bit is a sign function; use binary(alpha=1), or 2 bits or more")
    symmetric = quantizer.symmetric and quantizer.keep_negative
    overflow = Overflow.SAT_SYM if symmetric else Overflow.SAT
    if isinstance(quantizer, QuantizedLinear) and quantizer.symmetric and not quantizer.keep_negative:
        overflow = Overflow.SAT  # the bound is multiplied by keep_negative, so nothing is left of it
    return ActivationForm("linear", nominal(quantizer, overflow))


def _sign_form(quantizer: Binary | Ternary, where: str) -> ActivationForm:
    name = NAMES[type(quantizer)]
    if quantizer.alpha not in (None, 1.0):
        raise UserError(f"{where}: {name} with alpha={quantizer.alpha!r} on activations is not supported; alpha=1 is")
    if isinstance(quantizer, Binary):
        if quantizer.use_01:
            raise UserError(f"{where}: binary with use_01=1 on activations is not supported; use_01=0 is")
        return ActivationForm("binary_tanh", _SIGNS)
    threshold = TERNARY_THRESHOLD if quantizer.threshold is None else quantizer.threshold
    if not threshold > 0:
        raise UserError(f"{where}: ternary with threshold={threshold} on activations is not supported; more than 0 is")
    return ActivationForm("ternary_tanh", _SIGNS, threshold=threshold)


def inline_suffix(quantizer: Quantizer) -> str:
    """Return what hls4ml appends to a layer's name for a quantized activation inside it."""
    return f"_{NAMES[type(quantizer)]}"


def activation_records(
    label: str,
    source: Port,
    quantizer: Quantizer,
    shape: tuple[int, ...],
    *,
    io_type: str,
    where: str,
    suffix: str = "",
) -> tuple[Record, ...]:
    """Return the records of a quantized activation on a tensor of a shape, of its own layer or inside another one."""
    form = activation_form(quantizer, where=where)
    scaled: tuple[Record, ...] = ()
    if form.activation == "ternary_tanh":
        factor = _LIMITS[io_type] / float(np.float32(form.threshold))
        scaled = (_threshold_scale(label, source, factor, shape, suffix),)
    entry = _entry(form)
    kinds = tuple(dict.fromkeys(("QActivation", str(entry["class_name"]))))
    source = scaled[0].port if scaled else source
    return (*scaled, Record(label, entry, (source,), suffix, kinds, {"result": form.type}, limit=form.limit))


def _entry(form: ActivationForm) -> dict[str, Any]:
    if form.activation == "leaky_relu":
        return {"class_name": "LeakyReLU", "activation": "leakyrelu", "activ_param": form.slope}
    if form.activation in ("hard_sigmoid", "hard_tanh"):
        return {"class_name": "HardActivation", "activation": form.activation, "slope": 0.5, "shift": 0.5}
    if form.activation in ("binary_tanh", "ternary_tanh"):
        return {"class_name": "Activation", "activation": form.activation.title()}
    return {"class_name": "Activation", "activation": form.activation}


def _threshold_scale(label: str, source: Port, factor: float, shape: tuple[int, ...], suffix: str) -> Record:
    """Return the scale that brings a ternary threshold to hls4ml's; factor: theirs divided by the model's.

    hls4ml takes x > limit for +1 and x <= -limit for -1, QKeras |x| >= threshold for both. A factor that is larger by
    less than 2**-15 makes them equal, also where |x| is the threshold, for all x on a grid coarser than about
    threshold * 2**-15.
    """
    integer = max(2, int(np.ceil(np.log2(factor))) + 2)
    fraction = max(_FACTOR_BITS, 3 - integer)
    larger = (np.floor(factor * 2.0**fraction) + 1) * 2.0**-fraction
    channels = shape[-1]
    entry = {
        "class_name": "ApplyAlpha",
        "n_in": int(np.prod(shape)),
        "n_filt": channels if len(shape) > 1 else -1,
        "scale_data": np.full(channels, larger),
        "bias_data": np.zeros(channels),
    }
    owned = {"scale": FixedType(integer + fraction, integer), "bias": FixedType(2, 2)}
    return Record(label, entry, (source,), f"{suffix}_scale", ("ApplyAlpha",), owned)
