"""Read and check an hls4ml configuration: the keys that hls4ml's users know, none of them taken without a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from flow.errors import UserError, nearest
from flow.fixed import parse_type
from flow.frontend.records import Record
from flow.frontend.source import Knobs

STRATEGIES = (
    "Latency",
    "Resource",
    "Resource_Unrolled",
    "ResourceUnrolled",
    "Distributed_Arithmetic",
    "distributed_arithmetic",
    "da",
)

IO_TYPES = ("io_parallel", "io_stream")

_RESOURCE = frozenset({"Resource", "Resource_Unrolled", "ResourceUnrolled"})

_FILE_KEYS = frozenset(
    [
        "KerasJson",
        "KerasH5",
        "KerasModel",
        "OnnxModel",
        "PytorchModel",
        "InputData",
        "OutputPredictions",
        "Backend",
        "OutputDir",
        "ProjectName",
        "ProjectDir",
        "Part",
        "Board",
        "ClockPeriod",
        "ClockUncertainty",
        "IOType",
        "HLSConfig",
        "Version",
        "WriterConfig",
        "TraceOutput",
        "Stamp",
        "InputShape",
        "InputShapes",
        "OutputShapes",
        "Interface",
        "Driver",
        "NumberOfDevices",
        "Precision",
    ]
)
_SECTIONS = ("Model", "LayerName", "LayerType")
_MODEL_KEYS = frozenset(
    [
        "Precision",
        "ReuseFactor",
        "Strategy",
        "BramFactor",
        "TraceOutput",
        "BitExact",
        "PipelineStyle",
        "PipelineInterval",
        "TargetCycles",
        "ConvImplementation",
        "Compression",
        "AllowDAFallback",
        "AllowV2Fallback",
        "SkipSoftmax",
    ]
)
# keys of hls4ml's own reader, legal for every layer
_LAYER_KEYS = {
    "precision": "Precision",
    "reuse_factor": "ReuseFactor",
    "strategy": "Strategy",
    "trace": "Trace",
    "target_cycles": "TargetCycles",
    "conv_implementation": "ConvImplementation",
    "parallelization_factor": "ParallelizationFactor",
    "compression": "Compression",
}
# keys that say how a layer is built, not what it computes: the reference conversion does not take them
_BUILD_KEYS = frozenset(
    {
        "reuse_factor",
        "strategy",
        "trace",
        "target_cycles",
        "conv_implementation",
        "parallelization_factor",
        "compression",
    }
)


@dataclass(frozen=True, slots=True)
class Given:
    """Hold a configuration as it was given.

    origin: its name for messages. content: the HLSConfig part. io_type: "io_parallel" or "io_stream". skip_softmax:
    whether a final softmax is left out (`SkipSoftmax` under Model, this project's own key; hls4ml has `skip` of a
    softmax layer, which its own optimizers apply). precision: layer -> its types, of a request; they outrank content.
    """

    origin: str
    content: Mapping[str, Any]
    io_type: str = "io_parallel"
    skip_softmax: bool = True
    precision: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)


Configuration = Path | Mapping[str, Any] | Given | None
"""A YAML file, its content, or what was read of it."""


@dataclass(frozen=True, slots=True)
class LayerTraits:
    """Say what hls4ml lets the user configure on one layer.

    types: variables that have a precision. settings: other attributes, with their legal choices where hls4ml
    lists them.
    """

    types: tuple[str, ...]
    settings: Mapping[str, tuple[str, ...] | None]


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """Hold what a configuration says of one layer.

    precision: variable -> type text or "auto". whole: a type for all variables ("Precision: fixed<8,2>").
    settings: attribute -> value (table sizes, a softmax's implementation).
    """

    precision: dict[str, str] = field(default_factory=dict)
    whole: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    reuse_factor: int | None = None
    strategy: str | None = None


@dataclass(frozen=True, slots=True)
class UserConfig:
    """Hold a checked configuration. default and maximum are hls4ml's types for what it cannot infer."""

    origin: str = "configuration"
    io_type: str = "io_parallel"
    model: LayerConfig = field(default_factory=LayerConfig)
    default: str = "fixed<16,6>"
    maximum: str | None = None
    by_type: dict[str, LayerConfig] = field(default_factory=dict)
    by_name: dict[str, LayerConfig] = field(default_factory=dict)

    def of(self, record: Record) -> LayerConfig:
        """Return what the configuration says of a record; a name outranks a type, a type the model."""
        precision: dict[str, str] = {}
        whole: str | None = None
        settings: dict[str, Any] = {}
        reuse, strategy = self.model.reuse_factor, self.model.strategy
        precision |= self.model.precision
        for layer in self._of_layer(record):
            if layer.whole is not None:
                whole, precision = layer.whole, {}
            precision |= layer.precision
            settings |= layer.settings
            reuse = layer.reuse_factor if layer.reuse_factor is not None else reuse
            strategy = layer.strategy or strategy
        return LayerConfig(precision, whole, settings, reuse, strategy)

    def knobs(self, record: Record) -> Knobs | None:
        """Return the knobs that the configuration asks for a record, or None where it asks for none.

        hls4ml writes reuse factor 1 for every layer into the configurations that it generates. So a 1 and Latency are
        a wish only where they stand against something: a layer's own 1 beside the model's 16.
        """
        scopes = (self.model, *self._of_layer(record))
        if not any((scope.reuse_factor or 1) > 1 or scope.strategy in _RESOURCE for scope in scopes):
            return None
        asked = self.of(record)
        return Knobs(asked.reuse_factor or 1, asked.strategy or "Latency")

    def _of_layer(self, record: Record) -> tuple[LayerConfig, ...]:
        """Return what is said of a record's kinds, then of its name."""
        named = self.by_name.get(record.spelled)
        kinds = (self.by_type[kind] for kind in self.by_type if kind in record.kinds)
        return (*kinds, *(() if named is None else (named,)))


def read_config(config: Configuration) -> Given:
    """Return a configuration as it was given; raise UserError for unreadable files and unknown sections."""
    if isinstance(config, Given):
        return config
    if config is None:
        return Given("configuration", {})
    origin, content = "configuration", config
    if isinstance(config, (str, Path)):
        origin = str(config)
        try:
            content = yaml.safe_load(Path(config).read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"{origin}: cannot read the hls4ml configuration ({error.strerror})") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            line = getattr(getattr(error, "problem_mark", None), "line", None)
            where = f" (line {line + 1})" if line is not None else ""
            raise UserError(f"{origin}: not a YAML file{where}; an hls4ml configuration is YAML or a dict") from None
    top = _mapping(content if content is not None else {}, origin)
    if set(top) <= set(_SECTIONS):
        return Given(origin, top, skip_softmax=_skips_softmax(top, origin))
    _known(top, _FILE_KEYS | set(_SECTIONS), origin, "key")
    io_type = top.get("IOType") or IO_TYPES[0]
    if io_type not in IO_TYPES:
        raise UserError(f"{origin}, IOType: {io_type!r} is not one of {', '.join(IO_TYPES)}")
    if "HLSConfig" in top:
        stray = [section for section in _SECTIONS if section in top]
        if stray:
            raise UserError(f"{origin}: {stray[0]} belongs under HLSConfig")
        inner = _mapping(top["HLSConfig"] or {}, f"{origin}, HLSConfig")
        _known(inner, _SECTIONS, f"{origin}, HLSConfig", "section")
        return Given(origin, inner, io_type, _skips_softmax(inner, origin))
    parts = {key: value for key, value in top.items() if key in _SECTIONS}
    return Given(origin, parts, io_type, _skips_softmax(parts, origin))


def _skips_softmax(content: Mapping[str, Any], origin: str) -> bool:
    value = _mapping(content.get("Model") or {}, f"{origin}, Model").get("SkipSoftmax", True)
    if not isinstance(value, bool):
        raise UserError(f"{origin}, Model, SkipSoftmax: {value!r} is not true or false")
    return value


def check_config(given: Given, records: Iterable[Record], traits: Mapping[str, LayerTraits]) -> UserConfig:
    """Check a configuration against a model and return it typed.

    traits: by spelled name, of every record and of the layers that the conversion leaves out (a final softmax);
    the latter may be configured, which has no effect. Raises UserError for unknown layers, keys, strategies,
    malformed types and reuse factors below 1.
    """
    origin, config = given.origin, given.content
    records = tuple(records)
    model_part = _mapping(config.get("Model") or {}, f"{origin}, Model")
    _known(model_part, _MODEL_KEYS, f"{origin}, Model", "key")
    every = LayerTraits(tuple(sorted({v for t in traits.values() for v in t.types})), {})
    precision = model_part.get("Precision")
    spread = (
        {"default": precision}
        if isinstance(precision, str)
        else dict(_mapping(precision or {}, f"{origin}, Model, Precision"))
    )
    default, maximum = spread.pop("default", "fixed<16,6>"), spread.pop("maximum", None)
    for text in filter(None, (default, maximum)):
        _type(text, f"{origin}, Model, Precision", auto=False)
    model = _layer({**model_part, "Precision": spread}, every, f"{origin}, Model", extra=_MODEL_KEYS)
    kinds = {kind for record in records for kind in record.kinds}
    by_type: dict[str, LayerConfig] = {}
    for kind, part in _mapping(config.get("LayerType") or {}, f"{origin}, LayerType").items():
        where = f"{origin}, LayerType, {kind}"
        if kind not in kinds:
            raise UserError(f"{where}: the model has no layer of this type; {nearest(str(kind), kinds)}")
        of_kind = [traits[record.spelled] for record in records if kind in record.kinds]
        by_type[kind] = _layer(_mapping(part or {}, where), _union(of_kind), where)
    by_name: dict[str, LayerConfig] = {}
    for name, part in _mapping(config.get("LayerName") or {}, f"{origin}, LayerName").items():
        where = f"{origin}, LayerName, {name}"
        if name in traits:
            by_name[name] = _layer(_mapping(part or {}, where), traits[name], where)
        else:
            raise UserError(f"{where}: the model has no such layer; {nearest(str(name), traits)}")
    for name, asked in given.precision.items():
        where = f"[precision], {name}"
        if name not in traits:
            raise UserError(f"{where}: the model has no such layer; {nearest(name, traits)}")
        by_name[name] = _over(_layer({"Precision": asked}, traits[name], where), by_name.get(name, LayerConfig()))
    return UserConfig(origin, given.io_type, model, str(default), maximum, by_type, by_name)


def _over(request: LayerConfig, config: LayerConfig) -> LayerConfig:
    """Return a layer's configuration with the types of the request in front; one for all takes the place of any."""
    if request.whole is not None:
        return replace(config, whole=request.whole, precision=request.precision)
    return replace(config, precision=config.precision | request.precision)


def _union(traits: list[LayerTraits]) -> LayerTraits:
    settings = {key: choices for one in traits for key, choices in one.settings.items()}
    return LayerTraits(tuple(sorted({name for one in traits for name in one.types})), settings)


def _layer(part: Mapping[str, Any], traits: LayerTraits, where: str, extra: Iterable[str] = ()) -> LayerConfig:
    precision: dict[str, str] = {}
    whole: str | None = None
    settings: dict[str, Any] = {}
    reuse: int | None = None
    strategy: str | None = None
    for key, value in part.items():
        snake = _snake(str(key))
        if snake == "precision":
            if isinstance(value, str):
                whole = _type(value, f"{where}, Precision")
                continue
            for variable, text in _mapping(value or {}, f"{where}, Precision").items():
                if variable == "default":
                    whole = _type(text, f"{where}, Precision, default")
                    continue
                if variable not in traits.types:
                    raise UserError(
                        f"{where}, Precision: there is no '{variable}' here; {nearest(str(variable), traits.types)}"
                    )
                precision[str(variable)] = _type(text, f"{where}, Precision, {variable}")
        elif snake == "reuse_factor":
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UserError(f"{where}: ReuseFactor {value!r} is not a whole number of 1 or more")
            reuse = value
        elif snake == "strategy":
            strategy = _strategy(value, where)
        elif snake.removesuffix("_t") in traits.types and snake.endswith("_t"):
            precision[snake.removesuffix("_t")] = _type(value, f"{where}, {key}")
        elif snake in traits.settings:
            settings[snake] = _setting(value, traits.settings[snake], f"{where}, {key}")
        elif snake not in _BUILD_KEYS and key not in extra:
            offered = [*_LAYER_KEYS.values(), *traits.settings]
            raise UserError(f"{where}: unknown key '{key}'; {nearest(str(key), offered)}")
    return LayerConfig(precision, whole, settings, reuse, strategy)


def _setting(value: Any, choices: tuple[str, ...] | None, where: str) -> Any:
    if choices is not None and value not in choices:
        raise UserError(f"{where}: {value!r} is not one of {', '.join(choices)}")
    if choices is None and not isinstance(value, (bool, int, float)):
        raise UserError(f"{where}: {value!r} is not a number or a truth value")
    if choices is None and where.endswith(("table_size", "TableSize")) and (isinstance(value, bool) or value < 1):
        raise UserError(f"{where}: {value!r} is not a whole number of 1 or more")
    return value


def _strategy(value: Any, where: str) -> str:
    if value not in STRATEGIES:
        raise UserError(
            f"{where}: unknown Strategy {value!r}; {nearest(str(value), STRATEGIES)} (one of {', '.join(STRATEGIES)}; "
            "capitals count)"
        )
    return str(value)


def _type(text: Any, where: str, *, auto: bool = True) -> str:
    if auto and text == "auto":
        return "auto"
    if not isinstance(text, str):
        raise UserError(f"{where}: {text!r} is not a fixed-point type; write for example fixed<16,6>")
    try:
        kind = parse_type(text)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    # an ap_int rounds, and numbers the rows of an embedding, as an ap_fixed does not
    return f"{'' if kind.signed else 'u'}int<{kind.width}>" if "int" in text else str(kind)


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UserError(f"{where}: expected keys with values, found {type(value).__name__}")
    return value


def _known(part: Mapping[str, Any], known: Iterable[str], where: str, what: str) -> None:
    known = sorted(known)
    for key in part:
        if key not in known:
            raise UserError(f"{where}: unknown {what} '{key}'; {nearest(str(key), known)}")


def _snake(key: str) -> str:
    """Spell a key as hls4ml does inside: `TableSize` and `table_size` are the same."""
    letters: list[str] = []
    for index, letter in enumerate(key):
        if letter.isupper() and index and not key[index - 1].isupper() and key[index - 1] != "_":
            letters.append("_")
        letters.append(letter.lower())
    return "".join(letters)
