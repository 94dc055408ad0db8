"""Layers of Keras 2 files that move values or pick among them: shapes, padding, pooling, merges.

Each function checks the options of the file, gives the float64 function of the layer, and leaves its records to the
function that makes them for Keras 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.frontend import keras_shapes
from flow.frontend.keras_call import Call, Shape
from flow.frontend.legacy_call import stored_call
from flow.frontend.legacy_file import Layer
from flow.frontend.part import Evaluate, Part
from flow.frontend.qkeras import Floats
from flow.frontend.records import Port, Record
from flow.frontend.sliding import pool, sizes, sliding

Ports = tuple[Port, ...]
_Make = Callable[[Call], list[Record]]


def _part(
    layer: Layer,
    sources: Ports,
    make: _Make,
    shape: Shape,
    evaluate: Evaluate,
    *,
    options: Mapping[str, Any] | None = None,
) -> Part:
    given: dict[str, Any] = {"data_format": layer.options.get("data_format") or "channels_last"}
    given |= options or {}
    return Part(tuple(make(stored_call(layer, sources, shape, given))), shape, evaluate)


def flatten(layer: Layer, sources: Ports) -> Part:
    """Return a flattening, rows first."""
    return _reshaped(layer, sources, (int(np.prod(layer.shape)),))


def reshape(layer: Layer, sources: Ports) -> Part:
    """Return a change of shape; one size may be -1."""
    target = layer.options.get("target_shape")
    size = int(np.prod(layer.shape))
    if not isinstance(target, list) or not all(isinstance(n, int) for n in target) or target.count(-1) > 1:
        raise UserError(f"{layer.where}: target_shape={target!r} is not a list of sizes")
    known = int(np.prod([n for n in target if n != -1]))
    result = tuple(size // known if n == -1 and known else n for n in target)
    if int(np.prod(result)) != size or min(result, default=1) < 1:
        raise UserError(f"{layer.where}: target_shape={target} does not hold the {size} values of {layer.shape}")
    return _reshaped(layer, sources, result)


def _reshaped(layer: Layer, sources: Ports, target: Shape) -> Part:
    return _part(layer, sources, keras_shapes.reshape, target, lambda x: x.reshape(len(x), *target))


def permute(layer: Layer, sources: Ports) -> Part:
    """Return a transposition; Keras counts the axes from 1."""
    dims = layer.options.get("dims")
    if not isinstance(dims, list) or sorted(dims) != list(range(1, len(layer.shape) + 1)):
        raise UserError(f"{layer.where}: dims={dims!r} is not an order of the {len(layer.shape)} axes")
    target = tuple(layer.shape[dim - 1] for dim in dims)
    return _part(layer, sources, keras_shapes.permute, target, lambda x: x.transpose(0, *dims), options={"dims": dims})


def zero_padding(layer: Layer, sources: Ports) -> Part:
    """Return a frame of zeros."""
    edges = _edges(layer, "padding")
    target = tuple(n + a + b for n, (a, b) in zip(layer.shape, (*edges, (0, 0)), strict=True))
    options = {"padding": edges if len(edges) > 1 else edges[0]}
    return _part(
        layer,
        sources,
        keras_shapes.zero_padding,
        target,
        lambda x: np.pad(x, ((0, 0), *edges, (0, 0))),
        options=options,
    )


def cropping(layer: Layer, sources: Ports) -> Part:
    """Return what is left when the edges are cut off."""
    edges = _edges(layer, "cropping")
    target = tuple(n - a - b for n, (a, b) in zip(layer.shape, (*edges, (0, 0)), strict=True))
    if min(target) < 1:
        raise UserError(f"{layer.where}: cropping={edges} leaves nothing of {layer.shape}; cut less")
    cut = (slice(None), *(slice(a, n - b) for n, (a, b) in zip(layer.shape, edges, strict=False)))
    options = {"cropping": edges if len(edges) > 1 else edges[0]}
    return _part(layer, sources, keras_shapes.cropping, target, lambda x: x[cut], options=options)


def _edges(layer: Layer, option: str) -> tuple[tuple[int, int], ...]:
    """Return the cells before and behind each axis but the channels."""
    count = int(layer.kind[-2])
    _needs_axes(layer, count + 1)
    value = layer.options.get(option, 1)
    listed = list(value) if isinstance(value, (list, tuple)) and count > 1 else [value] * count
    pairs = [tuple(item) if isinstance(item, (list, tuple)) else (item, item) for item in listed]
    if len(pairs) != count or not all(len(p) == 2 and all(isinstance(n, int) and n >= 0 for n in p) for p in pairs):
        raise UserError(f"{layer.where}: {option}={value!r} is not supported; whole numbers of 0 or more are")
    return tuple((int(a), int(b)) for a, b in pairs)


def up_sampling(layer: Layer, sources: Ports) -> Part:
    """Return every pixel repeated (nearest)."""
    count = int(layer.kind[-2])
    _needs_axes(layer, count + 1)
    factors = sizes(layer.options.get("size", 2), count, "size", where=layer.where)
    if min(factors) < 1:
        raise UserError(f"{layer.where}: size={factors} is not supported; 1 or more is")
    target = (*(n * factor for n, factor in zip(layer.shape, factors, strict=False)), layer.shape[-1])
    options = {"size": factors, "interpolation": layer.options.get("interpolation", "nearest")}

    def evaluate(x: Floats) -> Floats:
        for axis, factor in enumerate(factors, 1):
            x = x.repeat(factor, axis=axis)
        return x

    return _part(layer, sources, keras_shapes.up_sampling, target, evaluate, options=options)


def repeat_vector(layer: Layer, sources: Ports) -> Part:
    """Return a vector repeated as a sequence."""
    _needs_axes(layer, 1)
    count = layer.options.get("n")
    if not isinstance(count, int) or count < 1:
        raise UserError(f"{layer.where}: n={count!r} is not a whole number of 1 or more")
    target = (count, layer.shape[0])
    return _part(layer, sources, keras_shapes.repeat_vector, target, lambda x: x[:, None].repeat(count, axis=1))


def pooling(layer: Layer, sources: Ports) -> Part:
    """Return a maximum or average over windows; padded cells do not count."""
    given, where = layer.options, layer.where
    count = int(layer.kind[-2])
    size = sizes(given.get("pool_size", 2), count, "pool_size", where=where)
    strides = size if given.get("strides") is None else sizes(given["strides"], count, "strides", where=where)
    padding = str(given.get("padding", "valid")).lower()
    window = sliding(layer.shape, size, strides, padding, where=where)
    operation = "max" if layer.kind.startswith("Max") else "average"
    options = {"pool_size": size, "strides": strides, "padding": padding}
    shape = window.shape(layer.shape[-1])
    return _part(layer, sources, keras_shapes.pooling, shape, lambda x: pool(window, x, operation), options=options)


def global_pooling(layer: Layer, sources: Ports) -> Part:
    """Return the maximum or average of all pixels; with keepdims their axes stay, of size 1."""
    count = int(layer.kind[-2])
    _needs_axes(layer, count + 1)
    combine = np.max if "Max" in layer.kind else np.mean
    kept = bool(layer.options.get("keepdims", False))
    shape = (*(1,) * (count if kept else 0), layer.shape[-1])
    axes = tuple(range(1, count + 1))

    def evaluate(x: Floats) -> Floats:
        return np.asarray(combine(x, axis=axes, keepdims=kept))

    return _part(layer, sources, keras_shapes.global_pooling, shape, evaluate, options={"keepdims": kept})


def _needs_axes(layer: Layer, count: int) -> None:
    if len(layer.shape) != count:
        raise UserError(f"{layer.where}: a tensor of shape {layer.shape} enters; it needs {count} axes")


_MERGES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "Add": np.add,
    "Subtract": np.subtract,
    "Multiply": np.multiply,
    "Average": np.add,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
}


def merge(layer: Layer, sources: Ports) -> Part:
    """Return a merge of tensors; their shapes may differ in axes of size 1."""
    shapes, count = layer.shapes, len(sources)
    if layer.kind == "Subtract" and count != 2:
        raise UserError(f"{layer.where}: {count} inputs are not supported; 2 are")
    try:
        target = tuple(int(n) for n in np.broadcast_shapes(*shapes))
    except ValueError:
        raise UserError(f"{layer.where}: shapes {', '.join(map(str, shapes))} do not fit together") from None
    operation, divisor = _MERGES[layer.kind], count if layer.kind == "Average" else 1

    def evaluate(*x: Floats) -> Floats:
        total = x[0]
        for other in x[1:]:
            total = operation(total, other)
        return total / divisor

    return _part(layer, sources, keras_shapes.merge, target, evaluate)


def concatenate(layer: Layer, sources: Ports) -> Part:
    """Return tensors joined along one axis."""
    shapes, rank = layer.shapes, len(layer.shape)
    axis = layer.options.get("axis", -1)
    if not isinstance(axis, int) or not (1 <= axis <= rank or -rank <= axis <= -1):
        raise UserError(f"{layer.where}: axis={axis!r} is not supported; 1 to {rank} or -1 are")
    place = axis if axis > 0 else rank + 1 + axis
    others = {(*shape[: place - 1], *shape[place:]) for shape in shapes}
    if len(others) > 1 or len({len(shape) for shape in shapes}) > 1:
        raise UserError(f"{layer.where}: shapes {', '.join(map(str, shapes))} do not fit together along axis {place}")
    target = (*layer.shape[: place - 1], sum(shape[place - 1] for shape in shapes), *layer.shape[place:])
    return _part(
        layer,
        sources,
        keras_shapes.concatenate,
        target,
        lambda *x: np.concatenate(x, axis=place),
        options={"axis": axis},
    )


def dot(layer: Layer, sources: Ports) -> Part:
    """Return the scalar product of two vectors."""
    if len(set(layer.shapes)) > 1:
        raise UserError(f"{layer.where}: shapes {', '.join(map(str, layer.shapes))} are not supported; equal ones are")
    options = {"axes": layer.options.get("axes", 1), "normalize": bool(layer.options.get("normalize", False))}
    return _part(
        layer, sources, keras_shapes.dot, (1,), lambda a, b: np.sum(a * b, axis=1, keepdims=True), options=options
    )
