"""What io_stream needs: words of a stream that the next layer reads as they are.

hls4ml 1.3.0 does not repack a stream that is flattened inside the network: its words keep the pixels' channels. Its
dense layers and concatenations gather such words, all other layers take one word for the whole vector.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from flow.errors import UserError
from flow.frontend.records import ParsedModel, Port, Record

_MOST_READERS = 7  # hls4ml's clone_stream
_GATHERING = ("Dense", "Concatenate")


def packed_streams(model: ParsedModel) -> ParsedModel:
    """Return the model with flattened streams packed into one word where a layer needs that.

    Raises UserError for tensors that more layers read than hls4ml can copy a stream for.
    """
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


def row_record(label: str, inputs: tuple[Port, ...], shape: tuple[int, ...], suffix: str = "") -> Record:
    """Return the record of a reshape of all elements into one word of a stream."""
    entry = {"class_name": "Reshape", "target_shape": [1, prod(shape)]}
    return Record(label, entry, inputs, f"{suffix}_row", ("Reshape",))
