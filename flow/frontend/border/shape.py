"""Layers that move elements: transposing, padding, cropping, up-sampling, concatenating, repacking, embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import IntArray
from flow.frontend.border.copy import Copy
from flow.frontend.border.types import fixed_type, frozen, is_integer, no_integer_bits
from flow.frontend.border.weights import codes_of
from flow.graph.nodes import AnyNode, Embedding, Quantize, Rearrange, Reshape


def transpose(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Rearrange:
    """Translate a permutation of the axes."""
    places, order = _places(copy, common), tuple(int(axis) for axis in layer.get_attr("perm"))
    if sorted(order) != list(range(places.ndim)):
        raise UserError(f"{where}: the order {order} does not name each of {places.ndim} axes once")
    if places.ndim == 2 and order == (0, 1) and _is_streamed(layer):
        raise UserError(f"{where}: hls4ml's io_stream turns the axes that the layer keeps; leave the layer out")
    return _moved(layer, where, common, places.transpose(order))


def zero_padding(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Rearrange:
    """Translate cells of zeros around a sequence or an image."""
    places = _places(copy, common)
    _channels_last(layer, where)
    around = [(_number(layer, "pad_left", where), _number(layer, "pad_right", where))]
    if layer.class_name.endswith("2D"):
        around.insert(0, (_number(layer, "pad_top", where), _number(layer, "pad_bottom", where)))
    if len(around) + 1 != places.ndim:
        raise UserError(f"{where}: pads {len(around)} axes of a tensor of shape {places.shape}")
    return _moved(layer, where, common, np.pad(places, [*around, (0, 0)], constant_values=-1))


def cropping(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Rearrange:
    """Translate the cutting of an image's or a sequence's borders."""
    places = _places(copy, common)
    _channels_last(layer, where)
    left = _number(layer, "crop_left", where)
    across = slice(left, left + _number(layer, "out_width", where))
    if layer.class_name.endswith("2D"):
        top = _number(layer, "crop_top", where)
        return _moved(layer, where, common, places[top : top + _number(layer, "out_height", where), across])
    return _moved(layer, where, common, places[across])


def resize(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Rearrange:
    """Translate up-sampling that repeats rows and columns."""
    places = _places(copy, common)
    _channels_last(layer, where)
    algorithm = str(layer.get_attr("algorithm"))
    if algorithm != "nearest":
        raise UserError(f"{where}: interpolation '{algorithm}' is not supported; 'nearest' is")
    image = places.reshape(-1, places.shape[-2], places.shape[-1])
    rows = _repeated(image.shape[0], _number(layer, "out_height", where) if places.ndim == 3 else 1, where)
    columns = _repeated(image.shape[1], _number(layer, "out_width", where), where)
    return _moved(layer, where, common, image[rows][:, columns])


def _repeated(old: int, new: int, where: str) -> IntArray:
    """Return which of `old` places each of `new` ones shows, each the same number of times."""
    if new % old:
        raise UserError(f"{where}: a size of {old} becomes {new}, which is no multiple of it; use an integer factor")
    shown = np.arange(new) // (new // old)
    # nnet_image.h multiplies by a ratio of 16 fraction bits, rounded up
    if not np.array_equal(np.arange(new) * ((old << 16) // new + 1) >> 16, shown):
        raise UserError(f"{where}: hls4ml repeats wrong pixels when {old} of them become {new}; use a smaller factor")
    return shown


def concatenate(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Rearrange:
    """Translate the joining of two tensors along an axis."""
    first, second = (copy.by_name[name] for name in common["inputs"])
    axes, axis = len(first.shape), int(layer.get_attr("axis"))
    if axes > 3:
        raise UserError(f"{where}: hls4ml concatenates tensors of up to 3 axes, not of shape {first.shape}")
    along = axis if axis < 0 else axis - 1  # the batch is axis 0
    if not -axes <= along < axes or axis == 0:
        raise UserError(f"{where}: there is no axis {axis} in tensors of shape {first.shape} and {second.shape}")
    places = [
        np.arange(first.size).reshape(first.shape),
        first.size + np.arange(second.size).reshape(second.shape),
    ]
    try:
        joined = np.concatenate(places, axis=along)
    except ValueError:
        raise UserError(f"{where}: shapes {first.shape} and {second.shape} do not fit along axis {axis}") from None
    return _moved(layer, where, common, joined)


def repack(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Reshape:
    """Translate a stream of other beats: a new shape, and where the user asked for it another type."""
    (before,) = common["inputs"]
    _castable(layer, where)
    if copy.by_name[before].type.exact() != common["type"].exact():
        cast = Quantize(**{**common, "name": f"{common['name']}_cast", "shape": copy.by_name[before].shape})
        copy.append(cast)
        before = cast.name
    return Reshape(**{**common, "inputs": (before,), "type": copy.by_name[before].type})


def embedding(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Embedding:
    """Translate a table of rows that integers pick."""
    if not is_integer(layer.get_input_variable().type.precision):
        raise UserError(
            f"{where}: its input's type {copy.type_before(common)} does not hold integers alone; give the input a "
            "precision such as uint<8>"
        )
    rows, row_type = codes_of(copy, layer, "embeddings", None, where)
    rows = rows.reshape(int(layer.get_attr("vocab_size")), int(layer.get_attr("n_out")))
    if is_integer(layer.get_output_variable().type.precision) and row_type.signed and row_type.integer <= 0:
        raise UserError(f"{where}: {no_integer_bits('output', common['type'])}")
    x = copy.type_before(common)
    if x.lo < 0 or x.hi >= len(rows):
        copy.notes.append(
            f"layer '{common['label']}': inputs of {x} reach from {x.lo} to {x.hi}, the table has {len(rows)} rows; "
            "beyond them hls4ml reads foreign memory, here the elements are 0"
        )
    return Embedding(**common, rows=frozen(rows), row_type=row_type)


def _places(copy: Copy, common: dict[str, Any]) -> IntArray:
    """Return the number of each element of the first input, in its shape."""
    node = copy.by_name[common["inputs"][0]]
    return np.arange(node.size).reshape(node.shape)


def _moved(layer: Any, where: str, common: dict[str, Any], indices: IntArray) -> Rearrange:
    """Return the node that gathers `indices`, after a check that hls4ml has the same shape in mind."""
    if indices.size != np.prod(common["shape"]):
        raise UserError(f"{where}: gives shape {indices.shape}, hls4ml expects {common['shape']}")
    _castable(layer, where)
    return Rearrange(**common, indices=frozen(indices.reshape(-1)))


def _castable(layer: Any, where: str) -> None:
    """Refuse casts, from whichever input, that the ap_types headers get wrong."""
    target = layer.get_output_variable().type.precision
    for tensor in layer.inputs:
        source = layer.get_input_variable(tensor).type.precision
        if is_integer(target) and source.signed and source.integer <= 0:
            raise UserError(f"{where}: {no_integer_bits('output', fixed_type(target, where))}")


def _number(layer: Any, name: str, where: str) -> int:
    value = layer.get_attr(name)
    if value is None or int(value) < 0:
        raise UserError(f"{where}: hls4ml gives {name} = {value}; a number from 0 on is supported")
    return int(value)


def _channels_last(layer: Any, where: str) -> None:
    if layer.get_attr("data_format") == "channels_first":
        raise UserError(f"{where}: data_format 'channels_first' is not supported; use 'channels_last'")


def _is_streamed(layer: Any) -> bool:
    return bool(layer.model.config.get_config_value("IOType") == "io_stream")


MOVES: Mapping[str, Callable[[Copy, Any, str, dict[str, Any]], AnyNode]] = MappingProxyType(
    {
        "Transpose": transpose,
        "ZeroPadding1D": zero_padding,
        "ZeroPadding2D": zero_padding,
        "Cropping1D": cropping,
        "Cropping2D": cropping,
        "Resize": resize,
        "Concatenate": concatenate,
        "Repack": repack,
        "Embedding": embedding,
    }
)
"""What translates which class of layers."""
