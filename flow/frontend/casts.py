"""Casts that the conversion puts between a model's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flow.fixed import FixedType
from flow.frontend.copies import UNMERGED
from flow.frontend.generous import SOFTMAX_CUT, SOFTMAX_INPUT, TABLE_CUT, TABLED
from flow.frontend.records import ParsedModel, Port, Record


def name_linear_activations(model: ParsedModel, asked: set[str]) -> ParsedModel:
    """Give layers the "_linear" activation that hls4ml's Keras 2 reader makes, where a configuration names it."""
    fed = {port for record in model.records if record.suffix for port in record.inputs}
    ports = {
        record.port: (record.label, "_linear")
        for record in model.records
        if record.spelled + "_linear" in asked and not record.suffix and record.port not in fed
        if record.entry["class_name"] in ("Dense", "Conv1D", "Conv2D")
    }
    records: list[Record] = []
    for record in model.records:
        moved = tuple(ports.get(port, port) for port in record.inputs)
        records.append(replace(record, inputs=moved))
        if record.port in ports:
            entry = {"class_name": "Activation", "activation": "linear"}
            records.append(Record(record.label, entry, (record.port,), "_linear", ("Activation",)))
    outputs = tuple(ports.get(port, port) for port in model.outputs)
    return replace(model, records=tuple(records), outputs=outputs)


def cut_tables(records: Sequence[Record]) -> tuple[Record, ...]:
    """Put casts in front of tables, so that their inputs lie within what hls4ml can number; see `generous`."""
    result: list[Record] = []
    for record in records:
        before = record.inputs
        if record.entry["class_name"] == "Softmax":
            for tail, kind in (("_cut", SOFTMAX_CUT), ("_wide", SOFTMAX_INPUT)):
                entry = {"class_name": "Activation", "activation": UNMERGED}
                suffix = f"{record.suffix}{tail}"
                result.append(Record(record.label, entry, before, suffix, ("Activation",), {"result": kind}))
                before = (result[-1].port,)
        elif str(record.entry.get("activation")).lower() in TABLED:
            entry = {"class_name": "Activation", "activation": UNMERGED}
            cut = Record(record.label, entry, before, f"{record.suffix}_cut", ("Activation",), {"result": TABLE_CUT})
            result.append(cut)
            before = (cut.port,)
        result.append(replace(record, inputs=before))
    return tuple(result)


def cut_ranges(records: Sequence[Record], cuts: Mapping[Port, FixedType]) -> tuple[Record, ...]:
    """Put a saturating cast in front of each record in `cuts`."""
    result: list[Record] = []
    for record in records:
        if record.port not in cuts:
            result.append(record)
            continue
        entry = {"class_name": "Activation", "activation": "linear"}
        cut = Record(
            record.label, entry, record.inputs, f"{record.suffix}_cut", ("Activation",), {"result": cuts[record.port]}
        )
        result += [cut, replace(record, inputs=(cut.port,))]
    return tuple(result)
