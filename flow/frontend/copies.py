"""Tensors with several readers, where hls4ml 1.3.0 merges one reader into the layer that makes the tensor.

Its passes multiply a batch normalization into the layer before it although that layer's own output is an output of the
model, and give a layer the type of a linear activation behind it although others read the layer too. So an output gets
a copy of its own, and such linear activations a spelling that the passes do not know (the C++ function is called by
the name in small letters).

Transpositions get a copy too where its passes would drop them: before a flatten and a dense layer, whose weights it
turns as for channels in front whatever the permutation (`RemoveTransposeBeforeFlatten`), and behind an input with a
first axis of 1, whatever the permutation (`RemoveSingleChannelTranspose`).
"""

from __future__ import annotations

from dataclasses import replace

from flow.frontend.records import ParsedModel, Port, Record

UNMERGED = "Linear"
"""A linear activation that stays a layer of its own."""
_MERGED = ("BatchNormalization", "ApplyAlpha")


def keep_apart(model: ParsedModel) -> ParsedModel:
    """Return the model with copies where an output also feeds a layer that hls4ml would merge with its source.

    And where a scale of a type of its own follows another scale, or a transposition would be dropped.
    """
    made = {record.port: record for record in model.records}
    records: list[Record] = []
    moved: dict[Port, Port] = {}
    for record in model.records:
        readers = [other for other in model.records if record.port in other.inputs]
        is_output = record.port in model.outputs
        if _is_linear(record) and is_output and made[record.inputs[0]].entry["class_name"] == "InputLayer":
            # without it the C++ function would take and give one and the same argument
            entry = {**record.entry, "activation": UNMERGED}
            record = replace(record, entry=entry, keeps_type=True)  # noqa: PLW2901 — one record in, one out
        elif _is_linear(record) and _is_shared(model, record.inputs[0]):
            record = replace(record, entry={**record.entry, "activation": UNMERGED})  # noqa: PLW2901 — one record in, one out
        before = made[record.inputs[0]] if record.inputs else None
        # of two scales hls4ml would keep the product, in this one's type
        scales_twice = before and _is_merged(record) and "scale" in record.owned and _is_merged(before)
        if scales_twice or (before and _is_dropped(before, record)):
            copy = _copy(record.label, record.inputs[0], f"{record.suffix}_copy")
            records.append(copy)
            record = replace(record, inputs=(copy.port,))  # noqa: PLW2901 — one record in, two out
        records.append(record)
        if is_output and any(_is_merged(other) for other in readers):
            copy = _copy(record.label, record.port, f"{record.suffix}_copy")
            records.append(copy)
            moved[record.port] = copy.port
    outputs = tuple(moved.get(port, port) for port in model.outputs)
    return replace(model, records=tuple(records), outputs=outputs)


def _copy(label: str, source: Port, suffix: str) -> Record:
    entry = {"class_name": "Activation", "activation": UNMERGED}
    return Record(label, entry, (source,), suffix, ("Activation",), keeps_type=True)


def _is_merged(record: Record) -> bool:
    return record.entry["class_name"] in _MERGED


def _is_dropped(before: Record, record: Record) -> bool:
    """Tell whether hls4ml would drop a transposition: the first of two records, or the second behind an input."""
    first, second = before.entry["class_name"], record.entry["class_name"]
    if first == "Transpose":
        return bool(second == "Reshape" and len(record.entry["target_shape"]) == 1)
    return bool(first == "InputLayer" and second == "Transpose" and before.entry["input_shape"][0] == 1)


def _is_linear(record: Record) -> bool:
    return record.entry["class_name"] == "Activation" and record.entry.get("activation") == "linear"


def _is_shared(model: ParsedModel, port: Port) -> bool:
    readers = sum(port in record.inputs for record in model.records)
    return readers + (port in model.outputs) > 1
