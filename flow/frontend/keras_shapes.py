"""Records of Keras 3's layers that move, merge or pool elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from flow.frontend.keras_call import Call, Shape
from flow.frontend.records import Port, Record
from flow.frontend.sliding import Sliding, sliding
from flow.frontend.streams import row_record


def _one(call: Call, entry: dict[str, Any], *, keeps_type: bool = False) -> list[Record]:
    kinds = tuple(dict.fromkeys((call.kind, str(entry["class_name"]))))
    return [Record(call.label, entry, call.inputs, "", kinds, keeps_type=keeps_type)]


def reshape(call: Call) -> list[Record]:
    """Return the records of Flatten and Reshape."""
    call.check_channels_last()
    entry = {"class_name": "Reshape", "target_shape": list(call.shape)}
    last, made = call.shapes[0][-1], call.shape[-1]
    if not call.is_stream or last % made == 0 or made % last == 0:
        return _one(call, entry)
    # hls4ml repacks words whose sizes divide one another
    row = row_record(call.label, call.inputs, call.shape)
    return [row, Record(call.label, entry, (row.port,), "", (call.kind, "Reshape"))]


def permute(call: Call) -> list[Record]:
    """Return the record of Permute."""
    if call.is_stream and len(call.shape) > 3:
        raise call.refuse(f"a tensor of shape {call.shape} in io_stream", "tensors of up to three axes are")
    perm = [axis - 1 for axis in call.layer.dims]
    return _one(call, {"class_name": "Transpose", "perm": perm, "data_format": "channels_last"})


def repeat_vector(call: Call) -> list[Record]:
    """Return the records of RepeatVector: one row, up-sampled."""
    (size,), count = call.shapes[0], call.shape[0]
    row = row_record(call.label, call.inputs, call.shapes[0])
    return [row, Record(call.label, _upsampling((1, size), (count,)), (row.port,), "", (call.kind, "UpSampling1D"))]


def up_sampling(call: Call) -> list[Record]:
    """Return the record of UpSampling1D and UpSampling2D."""
    call.check_channels_last()
    layer = call.layer
    if getattr(layer, "interpolation", "nearest") != "nearest":
        raise call.refuse(f"interpolation={layer.interpolation!r}", "'nearest' is (hls4ml takes it silently)")
    factors = (layer.size,) if isinstance(layer.size, int) else tuple(layer.size)
    return _one(call, _upsampling(call.shapes[0], factors))


def _upsampling(shape: Shape, factors: tuple[int, ...]) -> dict[str, Any]:
    height, width = (1, shape[0]) if len(factors) == 1 else shape[:2]
    tall, wide = (1, factors[0]) if len(factors) == 1 else factors
    return {
        "class_name": f"UpSampling{len(factors)}D",
        "data_format": "channels_last",
        "algorithm": "nearest",
        "in_height": height,
        "in_width": width,
        "height_factor": tall,
        "width_factor": wide,
        "out_height": height * tall,
        "out_width": width * wide,
        "n_chan": shape[-1],
    }


def zero_padding(call: Call) -> list[Record]:
    """Return the record of ZeroPadding1D and ZeroPadding2D."""
    return _one(call, _border(call, call.layer.padding, "pad"), keeps_type=True)


def cropping(call: Call) -> list[Record]:
    """Return the record of Cropping1D and Cropping2D."""
    return _one(call, _border(call, call.layer.cropping, "crop"), keeps_type=True)


def _border(call: Call, cells: Any, word: str) -> dict[str, Any]:
    """Return hls4ml's description of a border that is added or cut off; cells: per axis, before and behind."""
    call.check_channels_last()
    shape = call.shapes[0]
    pairs = (cells,) if len(shape) == 2 else cells
    entry: dict[str, Any] = {"class_name": call.kind, "data_format": "channels_last", "n_chan": shape[-1]}
    names = [("top", "bottom", "height"), ("left", "right", "width")]
    for (before, behind, axis), pair, size, made in zip(
        names[-len(pairs) :], pairs, shape[:-1], call.shape[:-1], strict=True
    ):
        entry |= {f"{word}_{before}": int(pair[0]), f"{word}_{behind}": int(pair[1])}
        entry |= {f"in_{axis}": size, f"out_{axis}": made}
    return entry


def pooling(call: Call) -> list[Record]:
    """Return the record of pooling with a window."""
    call.check_channels_last()
    layer = call.layer
    window = sliding(call.shapes[0], tuple(layer.pool_size), tuple(layer.strides), layer.padding, where=call.where)
    if call.is_stream and any(window.pads):
        raise call.refuse(f"padding='{layer.padding}' in io_stream", "padding='valid' is (hls4ml aborts)")
    if call.is_stream and window.kernel != window.strides:
        raise call.refuse(
            f"strides={tuple(layer.strides)} with pool_size={tuple(layer.pool_size)} in io_stream",
            "strides equal to pool_size are (hls4ml aborts)",
        )
    return _one(call, _pool(window, call.kind))


def global_pooling(call: Call) -> list[Record]:
    """Return the record of global pooling; with keepdims that of a window over everything."""
    call.check_channels_last()
    shape = call.shapes[0]
    window = sliding(shape, shape[:-1], shape[:-1], "valid", where=call.where)
    return _one(call, _pool(window, call.kind.removeprefix("Global") if call.layer.keepdims else call.kind))


def _pool(window: Sliding, kind: str) -> dict[str, Any]:
    entry = {"class_name": kind, "data_format": "channels_last", "n_chan": window.channels, "n_filt": window.channels}
    if window.flat:
        entry |= {"n_in": window.size[1], "n_out": window.positions[1]}
    return entry | window.places("pool")


def merge(call: Call) -> list[Record]:
    """Return the records of Add, Subtract, Multiply, Average, Maximum and Minimum, more than two inputs in pairs."""
    op, count = call.kind.lower(), len(call.inputs)
    for shape in call.shapes:
        _check_broadcast(call, shape)
    if op == "average" and count & (count - 1):
        raise call.refuse(f"the average of {count} tensors", "2, 4, 8 … are; or add them and scale the sum")

    def pair(a: tuple[Port, Shape], b: tuple[Port, Shape], suffix: str) -> tuple[Record, Shape]:
        shape = a[1] if prod(a[1]) >= prod(b[1]) else b[1]
        entry = {"class_name": "Merge", "op": op, "output_shape": list(shape)}
        return Record(call.label, entry, (a[0], b[0]), suffix, (call.kind, "Merge")), shape

    return _in_pairs(call, pair, balanced=op == "average")


def _check_broadcast(call: Call, shape: Shape) -> None:
    """Refuse what nnet_merge.h gets wrong: it repeats the smaller tensor as a whole, and in streams not at all."""
    whole = call.shape
    if shape == whole:
        return
    if call.is_stream:
        raise call.refuse(f"a tensor of shape {shape} beside one of {whole} in io_stream", "equal shapes are")
    kept = next((k for k, size in enumerate(shape) if size > 1), len(shape))
    if len(shape) != len(whole) or shape[kept:] != whole[kept:]:
        raise call.refuse(
            f"broadcasting {shape} to {whole}", "shapes that differ in leading axes of size 1 are; repeat the others"
        )


def concatenate(call: Call) -> list[Record]:
    """Return the records of Concatenate along any axis, more than two inputs in pairs."""
    rank = len(call.shape)
    axis = call.layer.axis if call.layer.axis > 0 else rank + 1 + call.layer.axis
    if rank > 3 or not 1 <= axis <= rank:
        raise call.refuse(f"axis={call.layer.axis} of tensors of shape {call.shapes[0]}", "up to three axes are")

    def pair(a: tuple[Port, Shape], b: tuple[Port, Shape], suffix: str) -> tuple[Record, Shape]:
        shape = tuple(size + b[1][k] if k == axis - 1 else size for k, size in enumerate(a[1]))
        entry = {
            "class_name": "Concatenate",
            "op": f"concatenate{rank}d",
            "axis": axis,
            "output_shape": list(shape),
        }
        return Record(call.label, entry, (a[0], b[0]), suffix, (call.kind,)), shape

    return _in_pairs(call, pair, balanced=False)


def _in_pairs(
    call: Call,
    pair: Callable[[tuple[Port, Shape], tuple[Port, Shape], str], tuple[Record, Shape]],
    *,
    balanced: bool,
) -> list[Record]:
    """Return the records that join all inputs, two at a time: from the left, or in a balanced tree."""
    if len(call.inputs) < 2:
        raise call.refuse("a single input", "two or more are")
    waiting = list(zip(call.inputs, call.shapes, strict=True))
    records: list[Record] = []
    while len(waiting) > 1:
        last = len(waiting) == 2
        first, second, *rest = waiting
        record, shape = pair(first, second, "" if last else f"_pair{len(records) + 1}")
        records.append(record)
        waiting = [*rest, (record.port, shape)] if balanced else [(record.port, shape), *rest]
    return records


def dot(call: Call) -> list[Record]:
    """Return the record of Dot of two vectors."""
    if len(call.inputs) != 2 or any(len(shape) != 1 for shape in call.shapes):
        raise call.refuse(f"tensors of shapes {', '.join(map(str, call.shapes))}", "two vectors are")
    if call.layer.normalize:
        raise call.refuse("normalize=True", "False is (hls4ml ignores it)")
    if call.is_stream:
        raise call.refuse("io_stream", "io_parallel is (hls4ml has no stream version)")
    return _one(call, {"class_name": "Dot", "op": "dot1d", "axes": call.layer.axes, "output_shape": [1]})
