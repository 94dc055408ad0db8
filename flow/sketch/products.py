"""Dense layers and convolutions with random weights."""

from __future__ import annotations

from typing import Any

from flow.errors import UserError
from flow.graph.nodes import Conv, Dense
from flow.graph.window import Window
from flow.sketch import layers, types
from flow.sketch.place import Place
from flow.sketch.weights import random_bias, random_weights

VARIABLES = ("weight", "bias", "accum", "result")
WIDEST_WEIGHT = 32


def dense(place: Place, layer: layers.Dense, bits: int, sparsity: float) -> Dense:
    """Return a dense layer's node."""
    shape = place.x.shape
    if len(shape) != 1:
        raise UserError(f"{place.where}: takes a row, the layer before gives shape {shape}; put a flatten before it")
    common = place.common() | {"shape": (layer.units,)}
    return Dense(**common, **_products(place, (shape[0], layer.units), bits, sparsity, bias=layer.bias))


def window(place: Place, layer: layers.Conv1D | layers.Conv2D) -> Window:
    """Return where a convolution's kernel goes; raise UserError where it does not fit."""
    if isinstance(layer, layers.Conv1D):
        kernel, stride = (1, layer.kernel), (1, layer.stride)
    else:
        kernel, stride = layer.kernel, layer.stride
        if kernel[0] == 1 and kernel[1] > 1 and stride[0] > 1 and place.streamed:
            raise UserError(
                f"{place.where}: a kernel of one row with a vertical stride of {stride[0]} is not supported in "
                "io_stream; use io_parallel or a stride of 1"
            )
    rank = 2 if isinstance(layer, layers.Conv1D) else 3
    return slid(place, place.pixels(rank=rank), kernel, stride, layer.padding)


def slid(
    place: Place, pixels: tuple[int, int, int], kernel: tuple[int, int], stride: tuple[int, int], padding: str
) -> Window:
    """Return a window as Keras pads it: `same` gives ⌈size / stride⌉ places, the odd cell of zeros at the end."""
    pads: list[int] = []
    for size, cells, step in zip(pixels, kernel, stride, strict=False):  # rows and columns, no channels
        beyond = max((-(-size // step) - 1) * step + cells - size, 0) if padding == "same" else 0
        pads += [beyond // 2, beyond - beyond // 2]
    rows, columns, channels = pixels
    try:
        return Window(rows, columns, channels, kernel, stride, (pads[0], pads[1], pads[2], pads[3]))
    except ValueError as error:
        raise UserError(f"{place.where}: {error}: it takes {rows} × {columns} pixels") from None


def conv(place: Place, layer: layers.Conv1D | layers.Conv2D, bits: int, sparsity: float) -> Conv:
    """Return a convolution's node."""
    under = window(place, layer)
    rows, columns = under.positions
    shape = (columns, layer.filters) if isinstance(layer, layers.Conv1D) else (rows, columns, layer.filters)
    kernel = (*under.kernel, under.channels, layer.filters)
    common = place.common() | {"shape": shape, "window": under}
    return Conv(**common, **_products(place, kernel, bits, sparsity, bias=layer.bias))


def _products(place: Place, shape: tuple[int, ...], bits: int, sparsity: float, *, bias: bool) -> dict[str, Any]:
    """Return the weights, last axis the outputs, and every type."""
    terms, outputs = 1, shape[-1]
    for size in shape[:-1]:
        terms *= size
    weight = place.types.of("weight", types.weight_type(bits))
    bias_type = place.types.of("bias", types.weight_type(bits) if bias else types.NO_BIAS)
    for what, kind in (("weight", weight), ("bias", bias_type)):
        if kind.width > WIDEST_WEIGHT:
            raise UserError(f"{place.where}: the {what} type {kind} has more than {WIDEST_WEIGHT} bits")
    exact = types.sum_type(place.x.type, weight, bias_type, terms)
    codes = random_weights(place.draw, shape, weight, terms, sparsity)
    added = random_bias(place.draw, outputs, bias_type)
    return {
        "weights": codes,
        "bias": added if bias else added * 0,
        "weight_type": weight,
        "bias_type": bias_type,
        "accumulator": place.types.of("accum", exact),
        "type": place.types.of("result", exact),
    }
