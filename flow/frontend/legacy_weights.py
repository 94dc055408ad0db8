"""Layers with weights of Keras 2 files: dense layers, convolutions and normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.frontend import floats, keras_activations, keras_weights, qkeras
from flow.frontend.legacy_call import stored_call
from flow.frontend.legacy_file import Layer, WeightStore
from flow.frontend.part import Part
from flow.frontend.qconv import ConvWeights, Layout, convolution, depthwise, separable, with_window_of_one
from flow.frontend.qdense import dense_records, values_of
from flow.frontend.qkeras import Floats, Weights
from flow.frontend.records import Port
from flow.frontend.sliding import sizes

CONVOLUTIONS = frozenset(
    f"{quantized}{kind}{dimensions}D"
    for quantized in ("", "Q")
    for kind in ("Conv", "DepthwiseConv", "SeparableConv")
    for dimensions in (1, 2)
) | {"QConv2DBatchnorm", "QDepthwiseConv2DBatchnorm"}
_PARAMETER_QUANTIZERS = ("gamma", "beta", "mean", "variance", "inverse")


def dense(layer: Layer, store: WeightStore, source: Port) -> Part:
    """Return a dense layer without its activation; on several axes it works on the last one."""
    units = _count(layer, "units")
    kernel = _quantized(layer, "kernel", store.variable(layer, "kernel", (layer.shape[-1], units)))
    bias = _bias(layer, store, units)
    kinds = _kinds(layer, "Dense")
    if len(layer.shape) == 1:
        records = dense_records(layer.label, source, kernel=kernel, bias=bias, kinds=kinds)
        matrix, offset = values_of(kernel), np.zeros(units) if bias is None else values_of(bias)
        return Part(records, (units,), lambda x: x @ matrix + offset)
    if len(layer.shape) > 3:
        raise UserError(f"{layer.where}: an input of shape {layer.shape} is not supported; up to three axes are")
    # hls4ml's own conversion into a convolution forgets the quantizer, and a scale behind it is then multiplied in
    ones = (1,) * (len(layer.shape) - 1)
    weights = ConvWeights(with_window_of_one(kernel, ones), bias)
    layout = Layout(ones, "valid", ones)
    return convolution(layer.label, source, layer.shape, layout, weights, kinds=kinds, where=layer.where)


def conv(layer: Layer, store: WeightStore, source: Port) -> Part:
    """Return a convolution of any kind without its activation; a batch normalization inside is folded as QKeras does.

    Raises UserError for options that cannot be carried.
    """
    options, where = layer.options, layer.where
    if options.get("data_format") not in (None, "channels_last"):
        raise UserError(f"{where}: data_format={options['data_format']!r} is not supported; channels_last is")
    if options.get("mask") is not None:
        raise UserError(f"{where}: mask is not supported; set the weights under it to zero")
    base = layer.kind.removeprefix("Q").removesuffix("Batchnorm")
    count = int(base[-2])
    window = sizes(options.get("kernel_size"), count, "kernel_size", where=where)
    layout = Layout(
        sizes(options.get("strides", 1), count, "strides", where=where),
        str(options.get("padding", "valid")).lower(),
        sizes(options.get("dilation_rate", 1), count, "dilation_rate", where=where),
        _count(layer, "groups", 1),
    )
    if len(layer.shape) != count + 1:
        raise UserError(f"{where}: a tensor of shape {layer.shape} enters; it needs {count + 1} axes, channels last")
    inputs = layer.shape[-1]
    multiplier = _count(layer, "depth_multiplier", 1)
    if base.startswith("Conv"):
        filters = _count(layer, "filters")
        if inputs % layout.groups:
            raise UserError(f"{where}: groups={layout.groups} do not divide {inputs} channels")
        kernel = store.variable(layer, "kernel", (*window, inputs // layout.groups, filters))
        weights = _conv_weights(layer, store, "kernel", kernel, filters)
        return convolution(layer.label, source, layer.shape, layout, weights, kinds=_kinds(layer), where=where)
    first = store.variable(layer, "depthwise_kernel", (*window, inputs, multiplier))
    if base.startswith("Depthwise"):
        weights = _conv_weights(layer, store, "depthwise", first, inputs * multiplier)
        return depthwise(layer.label, source, layer.shape, layout, weights, kinds=_kinds(layer), where=where)
    filters = _count(layer, "filters")
    second = store.variable(layer, "pointwise_kernel", (*(1,) * count, inputs * multiplier, filters))
    return separable(
        layer.label,
        source,
        layer.shape,
        layout,
        first=_quantized(layer, "depthwise", first, outputs=2),
        weights=ConvWeights(_quantized(layer, "pointwise", second), _bias(layer, store, filters)),
        kinds=_kinds(layer),
        where=where,
    )


def _conv_weights(layer: Layer, store: WeightStore, name: str, kernel: Floats, outputs: int) -> ConvWeights:
    """Return kernel and bias, quantized; kernel: its last axes (one, or two of a depthwise one) number the outputs."""
    axes = 2 if name == "depthwise" else 1
    if not layer.kind.endswith("Batchnorm"):
        return ConvWeights(_quantized(layer, name, kernel, outputs=axes), _bias(layer, store, outputs))
    scale, mean, beta = _single(layer, store, outputs)
    bias = np.zeros(outputs, np.float32)
    if layer.options.get("use_bias", True):
        bias = store.variable(layer, "bias", (outputs,)).astype(np.float32)
    folded = (scale.reshape(kernel.shape[-axes:]) * kernel.astype(np.float32)).astype(np.float64)
    offset = (scale * (bias - mean) + beta).astype(np.float64)
    return ConvWeights(
        _quantized(layer, name, folded, outputs=axes), _quantized(layer, "bias", offset, trainable=False)
    )


def _single(layer: Layer, store: WeightStore, channels: int) -> tuple[np.ndarray[Any, Any], ...]:
    """Return scale, mean and offset of a batch normalization in float32, in which QKeras folds them."""
    mean, variance, gamma, beta = (x.astype(np.float32) for x in _normalization(layer, store, channels))
    epsilon = np.float32(layer.options.get("epsilon", 1e-3))
    return gamma * (np.float32(1) / np.sqrt(variance + epsilon)), mean, beta


def _normalization(layer: Layer, store: WeightStore, channels: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean, variance, gamma and beta."""
    size = (channels,)
    return (
        store.variable(layer, "moving_mean", size),
        store.variable(layer, "moving_variance", size),
        store.variable(layer, "gamma", size) if layer.options.get("scale", True) else np.ones(size),
        store.variable(layer, "beta", size) if layer.options.get("center", True) else np.zeros(size),
    )


def batch_normalization(layer: Layer, store: WeightStore, source: Port) -> Part:
    """Return a batch normalization of the last axis; QKeras's is accepted when none of its quantizers is set."""
    for name in _PARAMETER_QUANTIZERS if layer.kind == "QBatchNormalization" else ():
        # QKeras quantizes unless told not to; inverse_quantizer is younger than the others and off
        quantizer = layer.options.get(f"{name}_quantizer", None if name == "inverse" else "of QKeras's choice")
        if quantizer is not None:
            called = quantizer.get("class_name") if isinstance(quantizer, dict) else quantizer
            raise UserError(
                f"{layer.where}: {name}_quantizer {called} is not supported (hls4ml drops it silently); "
                "BatchNormalization is, or None for all its quantizers"
            )
    axis = layer.options.get("axis", -1)
    if (axis if isinstance(axis, list) else [axis]) not in ([-1], [len(layer.shape)]):
        raise UserError(f"{layer.where}: axis={axis} is not supported; the last axis is (hls4ml would use it silently)")
    mean, variance, gamma, beta = _normalization(layer, store, layer.shape[-1])
    epsilon = float(layer.options.get("epsilon", 1e-3))
    variables = {"moving_mean": mean, "moving_variance": variance, "gamma": gamma, "beta": beta}
    options = {"axis": -1, "epsilon": epsilon, "scale": True, "center": True}
    call = stored_call(layer, (source,), layer.shape, options, variables)
    scale = gamma / np.sqrt(variance + epsilon)
    return Part(tuple(keras_weights.batch_normalization(call)), layer.shape, lambda x: scale * (x - mean) + beta)


def layer_normalization(layer: Layer, store: WeightStore, source: Port) -> Part:
    """Return a layer normalization of the last axis."""
    epsilon = float(layer.options.get("epsilon", 1e-3))
    size = (layer.shape[-1],)
    gamma = store.variable(layer, "gamma", size) if layer.options.get("scale", True) else np.ones(size)
    beta = store.variable(layer, "beta", size) if layer.options.get("center", True) else np.zeros(size)
    options = {"axis": layer.options.get("axis", -1), "epsilon": epsilon, "scale": True, "center": True}
    call = stored_call(layer, (source,), layer.shape, options, {"gamma": gamma, "beta": beta})

    def evaluate(x: Floats) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
        return np.asarray(centred / spread * gamma + beta)

    return Part(tuple(keras_weights.layer_normalization(call)), layer.shape, evaluate)


def embedding(layer: Layer, store: WeightStore, source: Port) -> Part:
    """Return the rows of a table that a vector of numbers names; numbers beyond it name its first or last row."""
    rows, columns = _count(layer, "input_dim"), _count(layer, "output_dim")
    table = store.variable(layer, "embeddings", (rows, columns))
    options = {"mask_zero": bool(layer.options.get("mask_zero", False))}
    shape = (*layer.shape, columns)
    records = keras_weights.embedding(stored_call(layer, (source,), shape, options, {"embeddings": table}))
    return Part(tuple(records), shape, lambda x: table[np.clip(x, 0, rows - 1).astype(int)])


def prelu(layer: Layer, store: WeightStore, source: Port) -> Part:
    """Return a PReLU; axes may share a parameter."""
    shared = layer.options.get("shared_axes") or []
    size = tuple(1 if axis in shared else length for axis, length in enumerate(layer.shape, 1))
    slopes = store.variable(layer, "alpha", size)
    records = keras_activations.prelu(stored_call(layer, (source,), layer.shape, {}, {"alpha": slopes}))
    return Part(tuple(records), layer.shape, lambda x: np.where(x > 0, x, x * slopes))


def _kinds(layer: Layer, *plain: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((layer.kind, *plain)))


def _count(layer: Layer, option: str, default: int | None = None) -> int:
    value = layer.options.get(option, default)
    if not isinstance(value, int) or value < 1:
        raise UserError(f"{layer.where}: {option}={value!r} is not a whole number of 1 or more")
    return value


def _bias(layer: Layer, store: WeightStore, units: int) -> Floats | Weights | None:
    if not layer.options.get("use_bias", True):
        return None
    return _quantized(layer, "bias", store.variable(layer, "bias", (units,)), trainable=False)


def _quantized(
    layer: Layer, name: str, values: Floats, *, outputs: int = 1, trainable: bool = True
) -> Floats | Weights:
    """Return a variable, quantized where the layer has a quantizer for it; outputs: see `qkeras.settle`."""
    identifier = layer.options.get(f"{name}_quantizer") if layer.kind.startswith("Q") else None
    if identifier is None:
        return values
    where = f"{layer.where}, {name}_quantizer"
    quantizer = qkeras.check_weights(qkeras.read(identifier, where=where), where=where)
    if isinstance(quantizer, qkeras.QuantizedPo2) and (
        quantizer.quadratic_approximation or quantizer.log2_rounding == "floor"
    ):
        raise UserError(
            f"{where}: quantized_po2 with quadratic_approximation or log2_rounding='floor' hangs on the last bit "
            "of TensorFlow's logarithm; save the model with Keras 3 and qkeras-v3 (model.save('x.keras'))"
        )
    if trainable:
        quantizer = qkeras.trainable(quantizer)
    quantized, scale = floats.quantize_weights(quantizer, values)
    return qkeras.settle(quantizer, quantized, scale, where=where, outputs=outputs)
