"""Evaluate layers and quantizers in float64, as Keras 2 and QKeras define them.

For files whose framework is not installed. Quantizers round halves to even; scales of weights (`auto`,
`auto_po2`) are computed in float32 as QKeras does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.frontend.qkeras import (
    Alpha,
    Binary,
    Floats,
    QuantizedBits,
    QuantizedLinear,
    QuantizedPo2,
    QuantizedRelu,
    QuantizedSigmoid,
    QuantizedTanh,
    Quantizer,
    Ternary,
)

_EPSILON = np.float32(1e-7)  # keras.backend.epsilon()
_Singles = NDArray[np.float32]


def quantize(quantizer: Quantizer, x: Floats) -> Floats:
    """Return quantized activations (alpha 1); quantizers as `qactivation.activation_form` accepts them."""
    if isinstance(quantizer, QuantizedRelu):
        leaky = quantizer.negative_slope
        levels = 2.0 ** (quantizer.bits - (leaky != 0))
        step = 2.0**quantizer.integer / levels
        positive = np.clip(np.rint(x / step), 0, levels - 1)
        return np.asarray((positive + np.clip(np.rint(x * leaky / step), -leaky * levels, 0)) * step)
    if isinstance(quantizer, QuantizedTanh):
        levels = 2.0 ** (quantizer.bits - 1)
        value = np.tanh(x) if quantizer.use_real_tanh else np.clip(x, -1, 1)
        return np.asarray(np.clip(np.rint(value * levels), -levels + quantizer.symmetric, levels - 1) / levels)
    if isinstance(quantizer, QuantizedSigmoid):
        levels = 2.0**quantizer.bits
        value = ACTIVATIONS["sigmoid"](x) if quantizer.use_real_sigmoid else np.clip((x + 1) / 2, 0, 1)
        return np.asarray(np.clip(np.rint(value * levels), 0, levels - 1) / levels)
    if isinstance(quantizer, (Binary, Ternary)):
        return _signs(quantizer, x, None)
    assert isinstance(quantizer, (QuantizedBits, QuantizedLinear))
    lo, hi, step = _grid(quantizer)
    return np.asarray(np.clip(np.rint(x / step), lo, hi) * step)


def _grid(quantizer: QuantizedBits | QuantizedLinear) -> tuple[float, float, float]:
    levels = 2.0 ** (quantizer.bits - quantizer.keep_negative)
    lo = -levels + quantizer.symmetric if quantizer.keep_negative else 0.0
    return lo, levels - 1, 2.0**quantizer.integer / levels


def quantize_weights(quantizer: Quantizer, weights: Floats) -> tuple[Floats, Floats]:
    """Return quantized weights and their scale (last axis: output channels), both float64."""
    x = weights.astype(np.float32)
    alpha: Alpha = quantizer.alpha if isinstance(quantizer, (QuantizedBits, QuantizedLinear, Binary, Ternary)) else 1.0
    codes: NDArray[np.floating[Any]]
    scale: NDArray[np.floating[Any]]
    if isinstance(quantizer, QuantizedPo2):
        codes, scale = _powers(quantizer, x), np.ones(())
    elif isinstance(alpha, str):
        codes, scale = _AUTO[type(quantizer)](quantizer, x, alpha)
    else:
        codes, scale = _signs(quantizer, x, alpha), np.asarray(1.0 if alpha is None else alpha)
    return codes.astype(np.float64) * scale.astype(np.float64), scale.astype(np.float64)


def _signs(quantizer: Quantizer, x: Floats | _Singles, alpha: float | None) -> Floats:
    """Return the codes of a quantizer whose scale is given."""
    if isinstance(quantizer, Binary):
        return np.where(x >= 0, 1.0, 0.0 if quantizer.use_01 else -1.0)
    if isinstance(quantizer, Ternary):
        threshold = np.float32(0.33 if quantizer.threshold is None else quantizer.threshold)
        return np.where(np.abs(x) >= threshold, np.sign(x), 0.0).astype(np.float64)
    assert isinstance(quantizer, (QuantizedBits, QuantizedLinear))
    if quantizer.bits == int(quantizer.keep_negative):
        return np.where(x >= 0, 1.0, -1.0)
    lo, hi, step = _grid(quantizer)
    divisor = step * alpha if isinstance(quantizer, QuantizedLinear) and alpha else step
    return np.asarray(np.clip(np.rint(x.astype(np.float64) / divisor), lo, hi) * step)


def _powers(quantizer: QuantizedPo2, x: _Singles) -> Floats:
    """Return signed powers of two; no even exponents only, no rounding down (see `legacy`)."""
    sign_of_exponent = quantizer.max_value is None or quantizer.max_value > 1
    span = 2 ** (quantizer.bits - 1 - sign_of_exponent)
    magnitude = np.maximum(np.abs(x), _EPSILON)
    if quantizer.max_value is not None:
        magnitude = np.minimum(magnitude, np.float32(quantizer.max_value))
    exponent = np.clip(np.rint(np.log(magnitude) / np.float32(np.log(2.0))), -span, span - 1)
    exponent = np.where(np.abs(x) < _EPSILON, -span, exponent).astype(np.float64)
    return np.asarray(np.where(x >= 0, 1.0, -1.0) * np.exp2(exponent))


def _channel_axes(x: _Singles) -> tuple[int, ...]:
    return tuple(range(max(x.ndim - 1, 0)))


def _power_of_two(scale: _Singles) -> _Singles:
    return np.asarray(np.exp2(np.rint(np.log(scale + _EPSILON) / np.float32(np.log(2.0)))), dtype=np.float32)


def _least_squares(x: _Singles, codes: _Singles, alpha: str) -> _Singles:
    if x.ndim > 1:
        axes = _channel_axes(x)
        dot, norm = np.mean(x * codes, axis=axes, keepdims=True), np.mean(codes * codes, axis=axes, keepdims=True)
    else:
        dot, norm = x * codes, codes * codes
    scale = (dot / (norm + _EPSILON)).astype(np.float32)
    return _power_of_two(scale) if alpha == "auto_po2" else scale


def _auto_bits(quantizer: Quantizer, x: _Singles, alpha: str) -> tuple[_Singles, _Singles]:
    assert isinstance(quantizer, QuantizedBits)
    whole = np.float32(2.0**quantizer.integer)
    unit = x / whole
    levels = np.float32((2 ** (quantizer.bits - 1) - 1) * 2)
    axes = _channel_axes(x) if x.ndim > 1 else (0,)
    scale = (np.max(np.abs(unit), axis=axes, keepdims=True) * 2 / levels).astype(np.float32)

    def codes() -> _Singles:
        return np.asarray(np.sign(unit) * np.minimum(np.floor(np.abs(unit) / scale + np.float32(0.5)), levels / 2))

    if alpha == "auto_po2":
        scale = _power_of_two(scale)
        for _ in range(5):
            scale = _least_squares(unit, codes(), alpha)
    magnitude = np.float32(2.0 ** (quantizer.bits - quantizer.keep_negative))
    return codes() * whole / magnitude, scale * magnitude


def _auto_binary(quantizer: Quantizer, x: _Singles, alpha: str) -> tuple[_Singles, _Singles]:
    del quantizer
    signs = np.where(x >= 0, 1.0, -1.0).astype(np.float32)
    return signs, _least_squares(x, signs, alpha)


def _auto_ternary(quantizer: Quantizer, x: _Singles, alpha: str) -> tuple[_Singles, _Singles]:
    assert isinstance(quantizer, Ternary)
    axes = None if x.ndim == 1 else _channel_axes(x)
    scale = (2 * np.max(np.abs(x), axis=axes, keepdims=True) / np.float32(3.0)).astype(np.float32)
    if alpha == "auto_po2":
        scale = _power_of_two(scale)
    codes = np.zeros_like(x)
    for _ in range(quantizer.number_of_unrolls):
        with np.errstate(divide="ignore", invalid="ignore"):  # a scale of 0 gives NaN, and NaN gives code 0
            codes = np.where(np.abs(scale * np.rint(x / scale)) >= scale / 2, np.sign(x), 0).astype(np.float32)
        scale = _least_squares(x, codes, alpha)
    return codes, scale


def _auto_linear(quantizer: Quantizer, x: _Singles, alpha: str) -> tuple[_Singles, _Singles]:
    assert isinstance(quantizer, QuantizedLinear)
    lo, hi, step = _grid(quantizer)
    axes = _channel_axes(x)
    if quantizer.keep_negative:
        scale = np.max(np.abs(x), axis=axes, keepdims=True) * 2 / np.float32(hi - lo)
    else:
        scale = np.max(x, axis=axes, keepdims=True) / np.float32(hi - lo)
    scale = np.maximum(scale, _EPSILON).astype(np.float32)

    def codes() -> _Singles:
        return np.asarray(np.rint(np.clip(x / scale, np.float32(lo), np.float32(hi))), dtype=np.float32)

    if alpha == "auto_po2":
        scale = _power_of_two(scale)
        for _ in range(5):
            scale = _least_squares(x, codes(), alpha)
    return codes() * np.float32(step), scale / np.float32(step)


_AUTO: dict[type, Callable[[Quantizer, _Singles, str], tuple[_Singles, _Singles]]] = {
    QuantizedBits: _auto_bits,
    QuantizedLinear: _auto_linear,
    Binary: _auto_binary,
    Ternary: _auto_ternary,
}


def relu(x: Floats, *, slope: float = 0.0, threshold: float = 0.0, limit: float | None = None) -> Floats:
    """Return Keras's ReLU: slope below the threshold, capped at `limit`."""
    y = np.where(x > threshold, x, slope * (x - threshold))
    return y if limit is None else np.minimum(y, limit)


def _softmax(x: Floats) -> Floats:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _elu(x: Floats) -> Floats:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


# Keras 2's activations by name; hard_sigmoid is Keras 2's
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda x: x,
    "relu": relu,
    "sigmoid": lambda x: 0.5 * (1 + np.tanh(0.5 * x)),
    "tanh": np.tanh,
    "softmax": _softmax,
    "softplus": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "elu": _elu,
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
}
