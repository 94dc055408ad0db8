"""The reference conversion: parsed records and a configuration to hls4ml's ModelGraph.

Strategy Latency and reuse factor 1 everywhere, so that the function never depends on how it is built; a second
conversion with knobs makes the project that is written for the vendor's tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, Overflow, Rounding, from_float, parse_type
from flow.frontend.border import label_for
from flow.frontend.casts import cut_ranges, cut_tables, name_linear_activations
from flow.frontend.config import Configuration, Given, LayerTraits, UserConfig, check_config, read_config
from flow.frontend.copies import keep_apart
from flow.frontend.generous import (
    WEIGHT_VARIABLES,
    WIDE,
    WIDE_INPUT,
    WIDE_WEIGHT,
    WIDEST,
    generous_settings,
    generous_types,
)
from flow.frontend.names import clean, clean_all
from flow.frontend.records import ParsedModel, Port, Record
from flow.frontend.settle import Settled, settled_types
from flow.frontend.silence import silence
from flow.frontend.softmax import coarse_table
from flow.frontend.source import Knobs
from flow.frontend.streams import packed_streams

BACKEND = "Vitis"


class Preset:
    """Stand for a quantizer whose work is done: hls4ml takes the type and leaves the data alone."""

    alpha = 1  # nothing left to factor out

    def __init__(self, hls_type: Any) -> None:
        """hls_type: hls4ml's precision object."""
        self.hls_type = hls_type
        self.bits = hls_type.width

    def __call__(self, data: Any) -> Any:
        """Return the data as it is."""
        return data


@dataclass(frozen=True, slots=True)
class Reference:
    """Hold what converts: a parsed model with its checked configuration.

    names: record -> the name that hls4ml sees. said: notes gathered while converting, filled by `convert`.
    """

    model: ParsedModel
    config: UserConfig
    names: dict[Port, str]
    said: list[str] = field(default_factory=list)

    @property
    def label_of(self) -> dict[str, str]:
        """Return hls4ml's name -> the user's label, for records that are a layer's main part."""
        return {name: label for (label, suffix), name in self.names.items() if not suffix}

    @property
    def asked(self) -> dict[str, Knobs]:
        """Return the knobs that the configuration asks for, by label."""
        main = [record for record in self.model.records if not record.suffix and not _is_input(record)]
        knobs = {record.label: self.config.knobs(record) for record in main}
        return {label: knob for label, knob in knobs.items() if knob is not None}

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the user should know, each once."""
        return tuple(dict.fromkeys((*self.model.notes, *self.said)))

    def convert(self, folder: Path, *, generous: bool, knobs: Mapping[str, Knobs] | None) -> Any:
        """Return the ModelGraph after the complete vitis:ip flow; see `Source.convert`."""
        settled: Settled = {}
        records = cut_tables(self.model.records) if generous else self.model.records
        graph = self._build(folder, records, knobs, settled, generous=generous)
        for _ in records if not generous else ():  # each round settles one layer behind another, most models need one
            found = settled_types(graph, records, self.names, self._is_asked)
            if found == settled:
                break
            settled = found
            graph = self._build(folder, records, knobs, settled, generous=generous)
        cuts = self._cuts(graph)
        if cuts:
            cut = keep_apart(replace(self.model, records=cut_ranges(records, cuts)))
            graph = self._build(folder, cut.records, knobs, settled, generous=generous)
        label_of = self.label_of
        for name, note in (*_settle_weights(graph), *coarse_table(graph)):
            if not generous:
                self.said.append(f"layer '{label_for(name, label_of)}': {note}")
        return graph

    def _is_asked(self, record: Record, variable: str) -> bool:
        asked = self.config.of(record)
        return asked.whole is not None or variable in asked.precision

    def _cuts(self, graph: Any) -> dict[Port, FixedType]:
        """Return, for leaky ReLUs whose input can leave ±2**limit, the type that cuts it there without rounding."""
        cuts: dict[Port, FixedType] = {}
        for record in self.model.records:
            node = graph.graph.get(self.names[record.port])
            if record.limit is None or node is None:
                continue
            precision = node.get_input_variable().type.precision
            sign = int(bool(precision.signed))
            if precision.integer - sign > record.limit:
                fraction = max(precision.width - precision.integer, -record.limit)
                cuts[record.port] = FixedType(record.limit + 1 + fraction, record.limit + 1, overflow=Overflow.SAT)
        return cuts

    def _build(
        self,
        folder: Path,
        records: Sequence[Record],
        knobs: Mapping[str, Knobs] | None,
        settled: Settled,
        *,
        generous: bool,
    ) -> Any:
        with silence() as heard:
            try:
                graph = self._model_graph(folder, records, knobs or {}, settled, generous=generous)
            except UserError:
                raise
            except Exception as error:
                reason = str(error).strip().splitlines() or [type(error).__name__]
                raise UserError(f"{self.model.name}: hls4ml cannot convert this model: {reason[0]}") from error
        if not generous:
            self.said.extend(line for line in heard if line.startswith(("WARNING", "Unsupported")))
        return graph

    def _model_graph(
        self,
        folder: Path,
        records: Sequence[Record],
        knobs: Mapping[str, Knobs],
        settled: Settled,
        *,
        generous: bool,
    ) -> Any:
        import hls4ml
        from hls4ml.model import ModelGraph
        from hls4ml.utils.config import create_config

        backend = hls4ml.backends.get_backend(BACKEND)
        names = dict(self.names)
        for record in records:
            names.setdefault(record.port, clean(names[record.label, ""] + record.suffix, names.values()))
        layers: list[dict[str, Any]] = []
        by_name: dict[str, dict[str, Any]] = {}
        for record in records:
            types = self._types(record, settled.get(record.port, {}), generous=generous)
            entry = dict(record.entry) | {"name": names[record.port]}
            if record.inputs:
                entry["inputs"] = [names[port] for port in record.inputs]
            own = self.config.of(record) if not generous else None
            for variable, owned in record.owned.items():
                kept = own is None or (own.whole is None and variable not in own.precision)
                if variable in WEIGHT_VARIABLES and kept:
                    entry[f"{variable}_quantizer"] = Preset(backend.convert_precision_string(str(owned)))
            result = types.get("result", "auto")
            if entry["class_name"] == "Activation" and entry.get("activation") == "linear" and result != "auto":
                entry["quantizer"] = Preset(backend.convert_precision_string(result))
            if "depthwise_data" in entry:
                # (…, 1, channels): hls4ml multiplies a batch normalization in along the last axis
                entry["depthwise_data"] = np.moveaxis(entry["depthwise_data"], -1, -2)
            layers.append(entry)
            knob = knobs.get(record.label, Knobs(1, "Latency"))
            settings = self.config.of(record).settings
            if generous:
                settings = generous_settings(record.entry, settings)
            by_name[names[record.port]] = {
                **_table_types(record, types),
                "Precision": types,
                "ReuseFactor": knob.reuse_factor,
                "Strategy": knob.strategy,
            } | settings
        config = create_config(output_dir=str(folder), backend=BACKEND, io_type=self.config.io_type)
        default, maximum = (str(WIDE), str(WIDEST)) if generous else (self.config.default, self.config.maximum)
        config["HLSConfig"] = {
            "Model": {
                "Precision": {"default": default} | ({"maximum": maximum} if maximum else {}),
                "ReuseFactor": 1,
                "Strategy": "Latency",
                "BramFactor": 1_000_000_000,  # weights stay inside the design
                "BitExact": None,
            },
            "LayerName": by_name,
        }
        inputs = [names[label, ""] for label in self.model.input_shapes]
        outputs = [names[port] for port in self.model.outputs]
        return ModelGraph.from_layer_list(config, layers, inputs, outputs)

    def _types(self, record: Record, settled: Mapping[str, FixedType], *, generous: bool) -> dict[str, str]:
        """Return the precision of every variable of a record: quantizers', then the user's, then inferred."""
        traits = traits_of(str(record.entry["class_name"]))
        types = {name: default or "auto" for name, default in traits.defaults.items()}
        asked = self.config.of(record)
        if generous:
            explicit = set(types) if asked.whole else set(asked.precision)
            for variable in types:
                if variable in record.owned:
                    continue
                if variable in WEIGHT_VARIABLES:
                    types[variable] = str(WIDE_WEIGHT)
                elif variable in explicit and traits.defaults[variable] is None:
                    types[variable] = str(WIDE)
            if _is_input(record):
                types["result"] = str(WIDE_INPUT)
            types |= generous_types(record.entry, types)
        else:
            types |= {variable: str(advised) for variable, advised in record.advised.items()}
            types |= {variable: str(kind) for variable, kind in settled.items()}
            if record.entry["class_name"] == "Dot" and types["accum"] == "auto":
                types["accum"] = self.config.default  # hls4ml cannot infer it; the next round knows the inputs
        owned = {variable: _spelled(kind) for variable, kind in record.owned.items()}
        if generous:
            return types | owned
        if asked.whole is not None:
            # hls4ml: one type for all variables of the layer, tables apart
            types |= {variable: asked.whole for variable, default in traits.defaults.items() if default is None}
            return types | asked.precision
        return types | owned | asked.precision


def _spelled(kind: FixedType) -> str:
    """Return how hls4ml writes a type; one that takes whole numbers as an ap_int does is one."""
    if (kind.fraction, kind.rounding, kind.overflow) == (0, Rounding.TRN_ZERO, Overflow.WRAP):
        return f"{'' if kind.signed else 'u'}int<{kind.width}>"
    return str(kind)


def _table_types(record: Record, types: Mapping[str, str]) -> dict[str, str]:
    """Return the types of tables as the keys that hls4ml reads them from; it ignores those under Precision."""
    defaults = traits_of(str(record.entry["class_name"])).defaults
    return {
        f"{variable}_t": types[variable]
        for variable, default in defaults.items()
        if default is not None and variable != "accum" and types[variable] not in (default, "auto")
    }


@dataclass(frozen=True, slots=True)
class _Traits(LayerTraits):
    defaults: Mapping[str, str | None] = field(default_factory=dict)


def traits_of(class_name: str) -> _Traits:
    """Return what hls4ml lets the user configure on a layer of a class, with the types' defaults (None: inferred)."""
    with silence():
        import hls4ml
        from hls4ml.model.attributes import ChoiceAttribute, TypeAttribute
        from hls4ml.model.layers import layer_map

        backend = hls4ml.backends.get_backend(BACKEND)
        kind = backend.create_layer_class(layer_map[class_name])
    defaults: dict[str, str | None] = {}
    settings: dict[str, tuple[str, ...] | None] = {}
    for attribute in kind.expected_attributes:
        if not attribute.configurable:
            continue
        if isinstance(attribute, TypeAttribute):
            default = None if attribute.default is None else str(attribute.default)
            defaults[attribute.name.removesuffix("_t")] = default
        elif isinstance(attribute, ChoiceAttribute):
            settings[attribute.name] = tuple(str(choice) for choice in attribute.choices)
        elif attribute.name not in ("reuse_factor", "trace"):
            settings[attribute.name] = None
    return _Traits(tuple(defaults), settings, defaults)


def prepare(model: ParsedModel, config: Configuration) -> Reference:
    """Check a configuration against a parsed model and return what converts it; raise UserError for mistakes."""
    given = read_config(config)
    asked = given.content.get("LayerName")
    if given.io_type == "io_stream":
        model = packed_streams(model)
    named = {*given.precision, *(asked if isinstance(asked, Mapping) else ())}
    model = keep_apart(name_linear_activations(model, named))
    labels = clean_all(record.label for record in model.records if not record.suffix)
    names: dict[Port, str] = {(label, ""): name for label, name in labels.items()}
    for record in model.records:
        if record.suffix:
            names[record.port] = clean(labels[record.label] + record.suffix, names.values())
    traits: dict[str, LayerTraits] = {label: LayerTraits((), {}) for label in model.labels}
    if model.softmax is not None:
        traits |= {spelled: traits_of("Softmax") for spelled in (model.softmax, f"{model.softmax}_softmax")}
    for record in sorted(model.records, key=lambda record: not record.suffix):  # a layer outranks a part of one
        traits[record.spelled] = traits_of(str(record.entry["class_name"]))
    return Reference(model, _checked(given, model, traits), names)


def _checked(given: Given, model: ParsedModel, traits: Mapping[str, LayerTraits]) -> UserConfig:
    """Return the checked configuration; refuse what hls4ml takes and then computes or compiles wrongly."""
    config = check_config(given, model.records, traits)
    for record in model.records:
        asked, where = config.of(record), f"{given.origin}, LayerName, {record.spelled}"
        if record.entry["class_name"] == "Softmax" and asked.settings.get("skip"):
            raise UserError(f"{where}, Skip: only a final softmax can be left out, and is (Model, SkipSoftmax)")
        if str(record.entry["class_name"]).startswith("UpSampling") and "result" in asked.precision:
            raise UserError(f"{where}, Precision, result: up-sampled values keep the type of the layer's input")
    return config


def _is_input(record: Record) -> bool:
    return record.entry["class_name"] in ("Input", "InputLayer")


def _settle_weights(graph: Any) -> list[tuple[str, str]]:
    """Round every weight to its type, so that no decimal text decides its bits; say where values do not fit."""
    notes: list[tuple[str, str]] = []
    for node in graph.get_layers():
        for name, weight in node.weights.items():
            try:
                kind = parse_type(str(weight.type.precision))
            except UserError:
                continue  # exponents and 1-bit codes are exact as they are
            data = np.asarray(weight.data, dtype=np.float64)
            if not np.all(np.isfinite(data)):
                raise UserError(f"layer '{node.name}': its {name} holds NaN or infinite values")
            settled = np.asarray(from_float(data, kind), dtype=np.float64) * kind.step
            lost = np.abs(settled - data) >= kind.step  # more than rounding
            if np.any(lost):
                worst = np.unravel_index(int(np.argmax(np.abs(settled - data))), data.shape)
                note = (
                    f"{name} {data[worst]:.6g} does not fit {kind}, stored {settled[worst]:.6g} "
                    f"({int(np.count_nonzero(lost))} of {data.size} values)"
                )
                notes.append((node.name, note))
            weight.data = settled
    return notes


class ReferenceSource:
    """Offer everything of a `Source` but its float outputs, from its reference conversion."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference

    @property
    def name(self) -> str:
        """Return the file's stem or the model's name."""
        return self._reference.model.name

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the layer names in topological order."""
        return self._reference.model.labels

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the inputs without batch axis, in declared order."""
        return dict(self._reference.model.input_shapes)

    @property
    def label_of(self) -> dict[str, str]:
        """Return hls4ml's layer name -> label."""
        return self._reference.label_of

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the user should know about the conversion."""
        return self._reference.notes

    @property
    def asked(self) -> dict[str, Knobs]:
        """Return the knobs that the user's configuration asks for, by label."""
        return self._reference.asked

    @property
    def io_type(self) -> str:
        """Return "io_parallel" or "io_stream"."""
        return self._reference.config.io_type

    @property
    def softmax(self) -> str | None:
        """Return the label of the final softmax that is left out."""
        return self._reference.model.softmax

    def convert(self, folder: Path, *, generous: bool = False, knobs: Mapping[str, Knobs] | None = None) -> Any:
        """Return the converted ModelGraph; see `Source.convert`."""
        return self._reference.convert(folder, generous=generous, knobs=knobs)
