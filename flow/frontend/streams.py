"""What io_stream needs: words of a stream that the next layer reads as they are.

hls4ml 1.3.0 does not repack a stream that is flattened inside the network: its words keep the pixels' channels. Its
dense layers and concatenations gather such words, all other layers take one word for the whole vector. And where
several layers read a stream, it pads the stream of the wrong one, and gives a reshaped stream its default type.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from flow.errors import UserError
from flow.frontend.records import ParsedModel, Port, Record

_MOST_READERS = 7  # hls4ml's clone_stream
_GATHERING = ("Dense", "Concatenate")


def packed_streams(model: ParsedModel) -> ParsedModel:
    """Return the model with flattened streams packed into one word where a layer needs that.

    Raises UserError for tensors that more layers read than hls4ml can copy a stream for.
    """
    model = _padded_apart(_split_reshapes(model))
    records: list[Record] = []
    for record in model.records:
        readers = [other for other in model.records if record.port in other.inputs]
        count = len(readers) + (record.port in model.outputs)
        if count > _MOST_READERS:
            raise UserError(
                f"layer '{record.label}': {count} readers of its output in io_stream; up to {_MOST_READERS} are "
                "supported, in io_parallel any number"
            )
        plain = all(other.entry["class_name"] in _GATHERING for other in readers)
        if record.entry["class_name"] != "Reshape" or len(record.entry["target_shape"]) != 1 or plain:
            records.append(record)
            continue
        row = row_record(record.label, record.inputs, tuple(record.entry["target_shape"]), record.suffix)
        records += [row, replace(record, inputs=(row.port,))]
    return replace(model, records=tuple(records))


def _split_reshapes(model: ParsedModel) -> ParsedModel:
    """Return the model with as many copies of a reshape as it has readers; an output is one."""
    records = list(model.records)
    for at in range(len(records) - 1, -1, -1):
        record = records[at]
        if record.entry["class_name"] != "Reshape":
            continue
        used = model.outputs.count(record.port)
        for place in range(at + 1, len(records)):
            inputs: list[Port] = []
            for port in records[place].inputs:
                is_reader = port == record.port
                inputs.append((record.label, _numbered(record.suffix, used)) if is_reader else port)
                used += is_reader
            records[place] = replace(records[place], inputs=tuple(inputs))
        copies = [replace(record, suffix=_numbered(record.suffix, number)) for number in range(1, used)]
        records[at + 1 : at + 1] = copies
    return replace(model, records=tuple(records))


def _numbered(suffix: str, number: int) -> str:
    """Return the suffix of a copy; the first is the layer itself."""
    return f"{suffix}_again{number}" if number else suffix


def _padded_apart(model: ParsedModel) -> ParsedModel:
    """Return the model with frames of zeros as layers where a padded convolution shares its input.

    hls4ml itself puts such a layer in front of the first reader of the stream, whichever that is
    (`insert_zero_padding_before_conv1d` of 1.3.0 does not say which one it means).
    """
    records: list[Record] = []
    for record in model.records:
        pads = {name: size for name, size in record.entry.items() if name.startswith("pad_")}
        is_conv = "Conv" in str(record.entry["class_name"])
        shared = sum(other.inputs.count(port) for other in model.records for port in record.inputs)
        shared += sum(port in model.outputs for port in record.inputs)
        if not is_conv or not any(pads.values()) or shared < 2:
            records.append(record)
            continue
        frame = _frame_record(record, pads)
        grown = {name: frame.entry[name.replace("in_", "out_")] for name in record.entry if name.startswith("in_")}
        entry = {**record.entry, **dict.fromkeys(pads, 0), **grown}
        records += [frame, replace(record, entry=entry, inputs=(frame.port,))]
    return replace(model, records=tuple(records))


def _frame_record(record: Record, pads: dict[str, Any]) -> Record:
    """Return the record of the zeros around a convolution's input."""
    entry = {"data_format": "channels_last", "n_chan": record.entry["n_chan"]} | pads
    axes = {"width": ("left", "right")} | ({"height": ("top", "bottom")} if "in_height" in record.entry else {})
    for axis, (before, behind) in axes.items():
        size = record.entry[f"in_{axis}"]
        entry |= {f"in_{axis}": size, f"out_{axis}": size + pads[f"pad_{before}"] + pads[f"pad_{behind}"]}
    entry["class_name"] = f"ZeroPadding{len(axes)}D"
    kinds = (str(entry["class_name"]),)
    return Record(record.label, entry, record.inputs, f"{record.suffix}_frame", kinds, keeps_type=True)


def row_record(label: str, inputs: tuple[Port, ...], shape: tuple[int, ...], suffix: str = "") -> Record:
    """Return the record of a reshape of all elements into one word of a stream."""
    entry = {"class_name": "Reshape", "target_shape": [1, prod(shape)]}
    return Record(label, entry, inputs, f"{suffix}_row", ("Reshape",))
