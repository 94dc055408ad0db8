"""The inputs and outputs of a parsed model: what hls4ml cannot keep apart, and inputs that number rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flow.errors import UserError
from flow.fixed import FixedType, Rounding
from flow.frontend.records import Port, Record


def check_outputs(name: str, ends: tuple[Port, ...], records: Sequence[Record]) -> None:
    """Refuse outputs that hls4ml cannot keep apart; name: the model's, ends: the records that make its outputs."""
    inputs = {record.port for record in records if record.entry["class_name"] == "InputLayer"}
    by_port = {record.port: record for record in records}
    for end in ends:
        if end in inputs:
            raise UserError(f"{name}: an output is the input '{end[0]}' as it is; leave it out")
        if ends.count(end) > 1:
            raise UserError(f"{name}: layer '{end[0]}' makes two outputs that are the same; leave one out")
        source = end
        while by_port[source].entry["class_name"] == "Reshape":
            (source,) = by_port[source].inputs
        if source == end:
            continue
        if source in inputs:
            raise UserError(f"{name}: the output '{end[0]}' is the input '{source[0]}' in another shape; leave it out")
        if source in ends:
            raise UserError(
                f"{name}: the outputs '{end[0]}' and '{source[0]}' hold the same elements in two shapes; leave one out"
            )


def with_index_types(records: Sequence[Record]) -> tuple[Record, ...]:
    """Give the inputs that feed an embedding the type of its row numbers."""
    types: dict[Port, FixedType] = {}
    for record in records:
        if record.entry["class_name"] != "Embedding":
            continue
        (source,) = record.inputs
        first = next(other for other in records if other.port == source)
        if first.entry["class_name"] != "InputLayer" or sum(source in other.inputs for other in records) > 1:
            raise UserError(
                f"layer '{record.label}' (Embedding): an input of its own is needed for the row numbers; "
                f"'{source[0]}' is none, or feeds other layers too"
            )
        bits = max(1, (int(record.entry["vocab_size"]) - 1).bit_length())
        types[source] = FixedType(bits, bits, signed=False, rounding=Rounding.TRN_ZERO)  # as an ap_uint
    return tuple(replace(r, owned={"result": types[r.port]}) if r.port in types else r for r in records)
