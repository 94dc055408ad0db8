"""Convolutions: plain, pointwise and depthwise, over images and sequences.

hls4ml has split separable convolutions into a depthwise and a pointwise one before this, turned dense layers on
tensors of several axes into pointwise convolutions and, in io_stream, padding into layers of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.frontend.border.copy import Copy
from flow.frontend.border.dense import check_sums, products
from flow.frontend.border.types import frozen, is_xnor
from flow.graph.nodes import Conv, DepthwiseConv
from flow.graph.window import Window

CONVOLUTIONS = frozenset(
    ["Conv1D", "Conv2D", "Conv2DBatchnorm", "PointwiseConv1D", "PointwiseConv2D", "DepthwiseConv1D", "DepthwiseConv2D"]
)
"""hls4ml's classes that are convolutions after `vitis:ip`."""


def convolution(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Conv | DepthwiseConv:
    """Translate a convolution; codes from the stored arrays, turned back when hls4ml has transposed them."""
    is_depthwise = layer.class_name.startswith("Depthwise")
    window = _window(layer, where)
    _check(layer, where, window, is_depthwise=is_depthwise)
    x = copy.type_before(common)
    found = products(copy, layer, where, x)
    weights = found.weights
    if layer.get_attr("_weights_transposed", False):
        weights = np.moveaxis(weights, 0, -1)  # output channels were brought to the front
    filters = int(layer.get_attr("n_filt"))
    shape = (*window.kernel, window.channels) if is_depthwise else (*window.kernel, window.channels, filters)
    if weights.size != np.prod(shape):
        raise UserError(f"{where}: {_wrong_kernel(weights.shape, shape, is_depthwise=is_depthwise)}")
    if found.bias.size != filters:
        raise UserError(f"{where}: {found.bias.size} biases for {filters} channels are not supported")
    kind = DepthwiseConv if is_depthwise else Conv
    node = kind(
        **common,
        window=window,
        weights=frozen(weights.reshape(shape)),
        bias=frozen(found.bias.reshape(-1)),
        weight_type=found.weight_type,
        bias_type=found.bias_type,
        accumulator=found.accumulator,
    )
    check_sums(copy, layer, where, node.columns, x)
    return node


def _window(layer: Any, where: str) -> Window:
    """Return the geometry; a sequence is an image of one row."""

    def given(name: str, default: int) -> int:
        return int(layer.get_attr(name, default))

    try:
        return Window(
            rows=given("in_height", 1),
            columns=given("in_width", 1),
            channels=given("n_chan", 1),
            kernel=(given("filt_height", 1), given("filt_width", 1)),
            stride=(given("stride_height", 1), given("stride_width", 1)),
            pads=(given("pad_top", 0), given("pad_bottom", 0), given("pad_left", 0), given("pad_right", 0)),
        )
    except ValueError as error:
        raise UserError(f"{where}: {error} is not supported") from None


def _check(layer: Any, where: str, window: Window, *, is_depthwise: bool) -> None:
    """Refuse, by name, what hls4ml's C++ does not compute or computes as something else."""
    for name in ("dilation", "dilation_width", "dilation_height", "dilation_rate"):
        value = layer.get_attr(name, 1)
        if np.any(np.asarray(value) != 1):
            raise UserError(f"{where}: {name} {value} is not supported, only 1: hls4ml ignores it")
    for name in ("n_groups", "groups", "group"):
        if int(layer.get_attr(name, 1)) != 1 and not is_depthwise:
            raise UserError(
                f"{where}: {name} {layer.get_attr(name)} is not supported, only 1 or a depthwise convolution: "
                "hls4ml reads it as a dense kernel"
            )
    if (layout := layer.get_attr("data_format", "channels_last")) != "channels_last":
        raise UserError(f"{where}: data_format '{layout}' is not supported, only 'channels_last'")
    if is_depthwise:
        _check_depthwise(layer, where, window)
    filters = int(layer.get_attr("n_filt"))
    expected = (*window.positions, filters)
    shape = tuple(int(n) for n in layer.get_output_variable().shape)
    if shape != expected[3 - len(shape) :]:
        raise UserError(
            f"{where}: the model's output has shape {shape}, but kernel {window.kernel}, strides {window.stride} and "
            f"padding {window.pads} give {expected[3 - len(shape) :]}; dilation is not supported"
        )
    if is_xnor(layer.get_input_variable().type.precision):
        _check_binary(layer, where, window)
    by_row = layer.class_name.endswith("2D") and not layer.class_name.startswith("Pointwise") and window.kernel[0] == 1
    if by_row and window.stride[0] > 1 and layer.model.config.get_config_value("IOType") == "io_stream":
        raise UserError(
            f"{where}: a kernel of one row with a vertical stride of {window.stride[0]} is not supported in io_stream: "
            "hls4ml's line buffer ignores the stride; use io_parallel or a stride of 1"
        )


def _check_binary(layer: Any, where: str, window: Window) -> None:
    """Refuse what hls4ml gets wrong on inputs that code -1 as 0."""
    if any(window.pads):
        raise UserError(
            f"{where}: padding of binary inputs is not supported: hls4ml pads with the code 0, which stands for -1; "
            "use padding 'valid' or inputs of 2 bits"
        )
    at_once = layer.class_name == "PointwiseConv1D" and int(layer.get_attr("n_partitions", 1)) == 1
    is_streamed = layer.model.config.get_config_value("IOType") == "io_stream"
    if at_once and not is_streamed and window.columns > 1 and is_xnor(layer.weights["weight"].type.precision):
        # BatchedDenseForConv1D takes the pairs of all places off each sum (`cast` in nnet_mult.h)
        raise UserError(
            f"{where}: binary weights on binary inputs, all {window.columns} places at once, are not supported: "
            "hls4ml miscounts them; use parallelization factor 1, a stride of 1, io_stream or weights of 2 bits"
        )


def _check_depthwise(layer: Any, where: str, window: Window) -> None:
    """Refuse several output channels per channel, and two kinds whose headers exclude each other."""
    filters, multiplier = int(layer.get_attr("n_filt")), int(layer.get_attr("depth_multiplier", 1))
    if multiplier != 1 or filters != window.channels:
        multiplier = max(multiplier, filters // window.channels)
        raise UserError(f"{where}: depth_multiplier {multiplier} is not supported, only 1")
    kinds = {str(other.class_name) for other in layer.model.get_layers()}
    if {"DepthwiseConv1D", "DepthwiseConv2D"} <= kinds:
        raise UserError(
            f"{where}: depthwise convolutions over sequences and over images in one model are not supported: "
            "hls4ml's headers exclude each other; write the sequence as an image of one row"
        )


def _wrong_kernel(found: tuple[int, ...], expected: tuple[int, ...], *, is_depthwise: bool) -> str:
    if is_depthwise:
        return (
            f"its kernel has shape {found}, expected {(*expected, 1)}: hls4ml merged a batch normalization into it "
            "wrongly; the front end should have prevented it"
        )
    return f"its kernel has shape {found}, expected {expected}: grouped convolutions are not supported"
