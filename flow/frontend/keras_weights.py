"""Records of Keras 3's layers with weights: dense layers, convolutions, normalizations, embeddings."""

from __future__ import annotations

from math import isclose, log10, prod

import numpy as np

from flow.errors import UserError
from flow.frontend.keras_call import Call
from flow.frontend.keras_quantizers import quantized, variable
from flow.frontend.qconv import ConvWeights, Layout, convolution, depthwise, separable, with_window_of_one
from flow.frontend.qdense import dense_records
from flow.frontend.qkeras import Floats, Weights
from flow.frontend.records import Record
from flow.frontend.silence import silence


def dense(call: Call) -> list[Record]:
    """Return the records of Dense and QDense; on a tensor of several axes it is a convolution with a window of one."""
    shape, kernel = call.shapes[0], variable(call, "kernel")
    bias, kinds = _bias(call), _kinds(call, "Dense")
    if len(shape) == 1:
        return list(dense_records(call.label, call.inputs[0], kernel=kernel, bias=bias, kinds=kinds))
    if len(shape) > 3:
        raise call.refuse(f"an input of shape {shape}", "tensors of up to three axes are; put a Reshape in front")
    ones = (1,) * (len(shape) - 1)
    weights = ConvWeights(with_window_of_one(kernel, ones), bias)
    layout = Layout(ones, "valid", ones)
    part = convolution(call.label, call.inputs[0], shape, layout, weights, kinds=kinds, where=call.where)
    return list(part.records)


def conv(call: Call) -> list[Record]:
    """Return the records of Conv1D, Conv2D and their QKeras versions."""
    if getattr(call.layer, "_mask", None) is not None:
        raise call.refuse("a mask of the kernel", "set the weights under it to zero")
    layout = _layout(call, call.layer.groups)
    weights = ConvWeights(variable(call, "kernel"), _bias(call))
    kinds = _kinds(call, f"Conv{call.kind[-2:]}")
    part = convolution(call.label, call.inputs[0], call.shapes[0], layout, weights, kinds=kinds, where=call.where)
    return list(part.records)


def depthwise_conv(call: Call) -> list[Record]:
    """Return the records of DepthwiseConv1D, DepthwiseConv2D and QDepthwiseConv2D."""
    name = "kernel" if hasattr(call.layer, "kernel") else "depthwise_kernel"
    weights = ConvWeights(variable(call, name, "depthwise", outputs=2), _bias(call))
    source, shape = call.inputs[0], call.shapes[0]
    part = depthwise(call.label, source, shape, _layout(call), weights, kinds=(call.kind,), where=call.where)
    return list(part.records)


def separable_conv(call: Call) -> list[Record]:
    """Return the records of SeparableConv1D, SeparableConv2D and their QKeras versions."""
    first = variable(call, "depthwise_kernel", "depthwise", outputs=2)
    weights = ConvWeights(variable(call, "pointwise_kernel", "pointwise"), _bias(call))
    part = separable(
        call.label,
        call.inputs[0],
        call.shapes[0],
        _layout(call),
        first=first,
        weights=weights,
        kinds=(call.kind,),
        where=call.where,
    )
    return list(part.records)


def folded_conv(call: Call) -> list[Record]:
    """Return the records of QConv2DBatchnorm and QDepthwiseConv2DBatchnorm: quantizers see the folded weights."""
    import keras

    with silence():
        kernel, bias = (
            np.asarray(keras.ops.convert_to_numpy(tensor), dtype=np.float64)
            for tensor in call.layer.get_folded_weights()
        )
    if not (np.all(np.isfinite(kernel)) and np.all(np.isfinite(bias))):
        raise UserError(f"{call.where}: the folded weights hold NaN or infinite values")
    is_depthwise = "Depthwise" in call.kind
    option = "depthwise_quantizer" if is_depthwise else "kernel_quantizer"
    weights = ConvWeights(
        quantized(call, option, kernel, outputs=1 + is_depthwise), quantized(call, "bias_quantizer", bias)
    )
    make, layout = (depthwise, _layout(call)) if is_depthwise else (convolution, _layout(call, call.layer.groups))
    source, shape = call.inputs[0], call.shapes[0]
    return list(make(call.label, source, shape, layout, weights, kinds=(call.kind,), where=call.where).records)


def _layout(call: Call, groups: int = 1) -> Layout:
    call.check_channels_last()
    count = len(call.shapes[0]) - 1
    strides, rates = (_each(option, count) for option in (call.layer.strides, call.layer.dilation_rate))
    return Layout(strides, str(call.layer.padding), rates, groups)


def _each(option: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    return (int(option),) * count if isinstance(option, int) else tuple(int(size) for size in option)


def _bias(call: Call) -> Floats | Weights | None:
    return variable(call, "bias") if call.layer.use_bias else None


def _kinds(call: Call, plain: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((call.kind, plain)))


def batch_normalization(call: Call) -> list[Record]:
    """Return the record of BatchNormalization along the last axis."""
    layer, shape = call.layer, call.shape
    if layer.axis not in (-1, len(shape)):
        raise call.refuse(f"axis={layer.axis}", "the last axis is (hls4ml normalizes along it silently)")
    entry = {
        "class_name": "BatchNormalization",
        "n_in": prod(shape),
        "n_out": prod(shape),
        "n_filt": shape[-1] if len(shape) > 1 else -1,
        "epsilon": float(layer.epsilon),
        "use_gamma": bool(layer.scale),
        "use_beta": bool(layer.center),
        "gamma_data": call.weights("gamma") if layer.scale else np.ones(shape[-1]),
        "beta_data": call.weights("beta") if layer.center else np.zeros(shape[-1]),
        "mean_data": call.weights("moving_mean"),
        "variance_data": call.weights("moving_variance"),
    }
    return [Record(call.label, entry, call.inputs, "", (call.kind,))]


def quantized_batch_normalization(call: Call) -> list[Record]:
    """Return the record of QBatchNormalization without quantizers; raise UserError naming the first that it has."""
    for name in ("gamma", "beta", "mean", "variance", "inverse"):
        quantizer = getattr(call.layer, f"{name}_quantizer_internal", None)
        if quantizer is not None:
            raise call.refuse(
                f"{name}_quantizer={type(quantizer).__name__}",
                "BatchNormalization is, or None for all its quantizers (hls4ml drops them silently)",
            )
    return batch_normalization(call)


def layer_normalization(call: Call) -> list[Record]:
    """Return the record of LayerNormalization along the last axis of a tensor of two axes."""
    layer, shape = call.layer, call.shape
    axes = list(layer.axis) if isinstance(layer.axis, (list, tuple)) else [layer.axis]
    if axes not in ([-1], [len(shape)]) or len(shape) != 2:
        raise call.refuse(f"axis={layer.axis} of a tensor of shape {shape}", "the last axis of a tensor of two axes is")
    if call.is_stream:
        raise call.refuse("io_stream", "io_parallel is (hls4ml has no stream version)")
    if getattr(layer, "rms_scaling", False):
        raise call.refuse("rms_scaling=True", "False is")
    power = -round(log10(layer.epsilon)) if layer.epsilon > 0 else 0
    if power < 1 or not isclose(layer.epsilon, 10.0**-power, rel_tol=1e-6):
        raise call.refuse(f"epsilon={layer.epsilon:g}", "a power of ten below 1 is, such as 0.001")
    entry = {
        "class_name": "LayerNormalization",
        "n_in": prod(shape),
        "n_out": prod(shape),
        "seq_len": shape[0],
        "axis": 2,
        "epsilon_power_of_10": power,
        "gamma_data": call.weights("gamma") if layer.scale else np.ones(shape[-1]),
        "beta_data": call.weights("beta") if layer.center else np.zeros(shape[-1]),
    }
    return [Record(call.label, entry, call.inputs, "", (call.kind,))]


def embedding(call: Call) -> list[Record]:
    """Return the record of Embedding of a vector of numbers."""
    if len(call.shapes[0]) != 1:
        raise call.refuse(f"an input of shape {call.shapes[0]}", "a vector of numbers is")
    if call.layer.mask_zero:
        raise call.refuse("mask_zero=True", "False is")
    table = call.weights("embeddings")
    entry = {
        "class_name": "Embedding",
        "n_in": call.shapes[0][0],
        "n_out": table.shape[1],
        "vocab_size": table.shape[0],
        "embeddings_data": table,
    }
    return [Record(call.label, entry, call.inputs, "", (call.kind,))]
