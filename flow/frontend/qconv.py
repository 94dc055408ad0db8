"""Convolutions of Keras and QKeras: records for hls4ml and float64 functions.

hls4ml 1.3.0 ignores dilation and groups and aborts on a depth multiplier; here the kernel is written out with zeros
instead, which is the same function: zeros cost nothing where weights are wiring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flow.errors import UserError
from flow.frontend.part import Part
from flow.frontend.qdense import codes_of, values_of, weighted_records
from flow.frontend.qkeras import Floats, Weights
from flow.frontend.records import Port, Record
from flow.frontend.sliding import Sliding, convolve, convolve_depthwise, sliding


@dataclass(frozen=True, slots=True)
class Layout:
    """Hold the options of a convolution: one size per dimension, padding "valid", "same" or "causal"."""

    strides: tuple[int, ...]
    padding: str
    dilation: tuple[int, ...]
    groups: int = 1


@dataclass(frozen=True, slots=True)
class ConvWeights:
    """Hold the weights of a convolution with the last axis for outputs; kernel: (*sizes, inputs, outputs)."""

    kernel: Floats | Weights
    bias: Floats | Weights | None


def convolution(
    label: str,
    source: Port,
    shape: tuple[int, ...],
    layout: Layout,
    weights: ConvWeights,
    *,
    kinds: tuple[str, ...],
    where: str,
) -> Part:
    """Return a convolution of a tensor of a shape; grouped where the layout says so.

    Raises UserError when the window or the kernel does not fit the tensor.
    """
    kernel, filters = weights.kernel, codes_of(weights.kernel).shape[-1]
    per_group = codes_of(kernel).shape[-2]
    if per_group * layout.groups != shape[-1] or filters % layout.groups:
        raise UserError(
            f"{where}: a kernel for {per_group} channels and {filters} filters in {layout.groups} group(s) does not "
            f"fit a tensor of shape {shape}"
        )
    if layout.groups > 1 and layout.groups == shape[-1] == filters:
        turned = _mapped(kernel, lambda k: np.moveaxis(k, -1, -2))
        return depthwise(
            label, source, shape, replace(layout, groups=1), ConvWeights(turned, weights.bias), kinds=kinds, where=where
        )
    kernel = _mapped(kernel, lambda k: _ungrouped(k, layout.groups))
    return _convolved(label, source, shape, layout, ConvWeights(kernel, weights.bias), kinds=kinds, where=where)


def with_window_of_one(kernel: Floats | Weights, ones: tuple[int, ...]) -> Floats | Weights:
    """Return the kernel of a dense layer (inputs, outputs) as that of a convolution; ones: sizes of its window."""
    return _mapped(kernel, lambda matrix: matrix.reshape(*ones, *matrix.shape))


def depthwise(
    label: str,
    source: Port,
    shape: tuple[int, ...],
    layout: Layout,
    weights: ConvWeights,
    *,
    kinds: tuple[str, ...],
    where: str,
    suffix: str = "",
) -> Part:
    """Return a depthwise convolution; kernel: (*sizes, channels, multiplier), a scale is that of the outputs."""
    *_, channels, multiplier = codes_of(weights.kernel).shape
    if channels != shape[-1]:
        raise UserError(f"{where}: a kernel for {channels} channels does not fit a tensor of shape {shape}")
    if multiplier > 1:
        kernel = _mapped(weights.kernel, _multiplied)
        return _convolved(
            label, source, shape, layout, replace(weights, kernel=kernel), kinds=kinds, where=where, suffix=suffix
        )
    kernel = _dilated(weights.kernel, layout.dilation)
    window = _window(shape, kernel, layout, where)
    entry = _entry(window, f"DepthwiseConv{window.dimensions}", channels) | {"depth_multiplier": 1}
    records = weighted_records(
        label,
        source,
        entry,
        "depthwise_data",
        kernel=kernel,
        bias=weights.bias,
        kinds=tuple(dict.fromkeys((*kinds, str(entry["class_name"])))),
        channels=channels,
        positions=window.positions[0] * window.positions[1],
        suffix=suffix,
    )
    # a scale belongs to the outputs, which are the channels here
    flat = _mapped(kernel, lambda k: k[..., 0])
    values, offset = _cells(values_of(flat), window, 1), _offset(weights.bias, channels)
    return Part(records, window.shape(channels), lambda x: convolve_depthwise(window, x, values, offset))


def separable(
    label: str,
    source: Port,
    shape: tuple[int, ...],
    layout: Layout,
    *,
    first: Floats | Weights,
    weights: ConvWeights,
    kinds: tuple[str, ...],
    where: str,
) -> Part:
    """Return a depthwise convolution and a pointwise one behind it.

    first: the depthwise kernel; weights: the pointwise kernel (1, …, inputs, outputs) and the bias. hls4ml splits its
    separable layer itself; what that layer has no place for (a scale, a depth multiplier) makes two layers here.
    """
    inner = depthwise(
        label, source, shape, layout, ConvWeights(first, None), kinds=(), where=where, suffix="_depthwise"
    )
    pointwise = Layout((1,) * len(layout.strides), "valid", (1,) * len(layout.strides))
    outer = convolution(label, inner.records[-1].port, inner.shape, pointwise, weights, kinds=kinds, where=where)
    if len(inner.records) + len(outer.records) > 2 or "depthwise_data" not in inner.records[0].entry:
        return inner.then(outer)
    one, two = inner.records[0], outer.records[0]
    entry = dict(one.entry) | {
        "class_name": str(one.entry["class_name"]).replace("Depthwise", "Separable"),
        "n_filt": two.entry["n_filt"],
        "pointwise_data": two.entry["weight_data"],
        "use_bias": two.entry["use_bias"],
        "bias_data": two.entry["bias_data"],
    }
    owned = {"depthwise": one.owned["weight"]} if one.owned else {}
    owned |= {{"weight": "pointwise"}.get(name, name): kind for name, kind in two.owned.items()}
    names = tuple(dict.fromkeys((*kinds, str(entry["class_name"]))))
    return replace(inner.then(outer), records=(Record(label, entry, (source,), "", names, owned),))


def _convolved(
    label: str,
    source: Port,
    shape: tuple[int, ...],
    layout: Layout,
    weights: ConvWeights,
    *,
    kinds: tuple[str, ...],
    where: str,
    suffix: str = "",
) -> Part:
    kernel = _dilated(weights.kernel, layout.dilation)
    window = _window(shape, kernel, layout, where)
    filters = codes_of(kernel).shape[-1]
    entry = _entry(window, f"Conv{window.dimensions}", filters)
    records = weighted_records(
        label,
        source,
        entry,
        "weight_data",
        kernel=kernel,
        bias=weights.bias,
        kinds=tuple(dict.fromkeys((*kinds, str(entry["class_name"])))),
        channels=filters,
        positions=window.positions[0] * window.positions[1],
        suffix=suffix,
    )
    values, offset = _cells(values_of(kernel), window, 2), _offset(weights.bias, filters)
    return Part(records, window.shape(filters), lambda x: convolve(window, x, values, offset))


def _window(shape: tuple[int, ...], kernel: Floats | Weights, layout: Layout, where: str) -> Sliding:
    return sliding(shape, codes_of(kernel).shape[:-2], layout.strides, layout.padding, where=where)


def _entry(window: Sliding, kind: str, filters: int) -> dict[str, object]:
    geometry = {"data_format": "channels_last", "n_chan": window.channels, "n_filt": filters}
    return {"class_name": kind} | geometry | window.places("filt")


def _offset(bias: Floats | Weights | None, channels: int) -> Floats:
    return np.zeros(channels) if bias is None else values_of(bias)


def _cells(kernel: Floats, window: Sliding, axes: int) -> Floats:
    """Return a kernel with both its window's axes; axes: how many it has besides."""
    return kernel.reshape(*window.kernel, *kernel.shape[kernel.ndim - axes :])


def _mapped(kernel: Floats | Weights, change: Callable[[Floats], Floats]) -> Floats | Weights:
    return replace(kernel, codes=change(kernel.codes)) if isinstance(kernel, Weights) else change(kernel)


def _dilated(kernel: Floats | Weights, rates: tuple[int, ...]) -> Floats | Weights:
    """Return a kernel with rate - 1 zeros between its cells."""
    if all(rate == 1 for rate in rates):
        return kernel

    def spread(cells: Floats) -> Floats:
        count = cells.ndim - 2
        wide = [(size - 1) * rate + 1 for size, rate in zip(cells.shape[:count], rates, strict=True)]
        result: Floats = np.zeros((*wide, *cells.shape[count:]))
        result[tuple(slice(None, None, rate) for rate in rates)] = cells
        return result

    return _mapped(kernel, spread)


def _ungrouped(kernel: Floats, groups: int) -> Floats:
    """Return a grouped kernel for all channels: zeros where a filter does not look."""
    *window, inputs, outputs = kernel.shape
    result: Floats = np.zeros((*window, groups, inputs, groups, outputs // groups))
    split = kernel.reshape(*window, inputs, groups, outputs // groups)
    for group in range(groups):
        result[..., group, :, group, :] = split[..., group, :]
    return result.reshape(*window, groups * inputs, outputs)


def _multiplied(kernel: Floats) -> Floats:
    """Return a depthwise kernel (…, channels, multiplier) as one of a convolution (…, channels, outputs)."""
    *window, channels, multiplier = kernel.shape
    result: Floats = np.zeros((*window, channels, channels, multiplier))
    for channel in range(channels):
        result[..., channel, channel, :] = kernel[..., channel, :]
    return result.reshape(*window, channels, channels * multiplier)
