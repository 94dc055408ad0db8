"""Read Keras 2 and QKeras files (JSON or `model_config` with HDF5 weights) without Keras 2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError
from flow.frontend import floats, qkeras
from flow.frontend.qdense import activation_record, dense_records, inline_suffix
from flow.frontend.qkeras import Floats, Quantizer, Weights
from flow.frontend.records import ParsedModel, Port, Record
from flow.frontend.reference import Reference, ReferenceSource, prepare

Evaluate = Callable[[Floats], Floats]
# Keras 2's hard_sigmoid is hls4ml's
_ACTIVATIONS = tuple(floats.ACTIVATIONS)


@dataclass(frozen=True, slots=True)
class _Step:
    """Hold one layer's float function. source: the label that feeds it; None for inputs."""

    label: str
    source: str | None
    evaluate: Evaluate


@dataclass(frozen=True, slots=True)
class _Layer:
    """Hold one layer of the file. kind: its class; options: its config; shape: of its input, without batch axis."""

    label: str
    kind: str
    options: Mapping[str, Any]
    source: str | None
    shape: tuple[int, ...]

    @property
    def where(self) -> str:
        return f"layer '{self.label}' ({self.kind})"


class LegacySource(ReferenceSource):
    """Offer a Keras 2 or QKeras file: hls4ml's conversion, and this project's own float evaluation of the file."""

    def __init__(self, reference: Reference, steps: tuple[_Step, ...]) -> None:
        """Take the layers' float functions in topological order."""
        super().__init__(reference)
        self._steps = steps

    def predict(self, inputs: tuple[NDArray[np.float64], ...]) -> dict[str, NDArray[np.float64]]:
        """Return every layer's output in float64; see `Source.predict`."""
        fed = dict(zip(self.input_shapes, inputs, strict=True))
        values: dict[str, Floats] = {}
        for step in self._steps:
            given = fed[step.label] if step.source is None else values[step.source]
            values[step.label] = step.evaluate(np.asarray(given, dtype=np.float64))
        return values


def load_legacy(
    name: str,
    architecture: Mapping[str, Any],
    weights: Path,
    config: Path | Mapping[str, Any] | None,
    *,
    file: Path,
) -> LegacySource:
    """Return the source of a Keras 2 architecture whose weights lie in an HDF5 file.

    file: named in messages. Raises UserError for layers, options, quantizers and weights that do not fit.
    """
    entries = _entries(architecture, file)
    stored = _read_weights(weights)
    reader = _Reader(file, weights, stored)
    return reader.build(name, entries, _outputs(architecture, entries, file), config, _declared(architecture))


def read_architecture(text: str | bytes, file: Path) -> Mapping[str, Any]:
    """Return a model's description from JSON text; raise UserError when it is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError(f"{file}: not a JSON file; a Keras model's JSON or a .keras file is accepted") from None
    if not isinstance(content, dict) or "class_name" not in content or "config" not in content:
        raise UserError(f"{file}: this JSON describes no Keras model (it has no class_name and config)")
    if content["class_name"] not in ("Sequential", "Model", "Functional"):
        raise UserError(f"{file}: a {content['class_name']} is not supported; Sequential and functional models are")
    return content


def _layer_list(architecture: Mapping[str, Any]) -> Any:
    config = architecture["config"]
    return config if isinstance(config, list) else config.get("layers") if isinstance(config, dict) else None


@dataclass(frozen=True, slots=True)
class _Entry:
    """Hold one layer as the file lists it: label, class, config and the labels that feed it."""

    label: str
    kind: str
    options: Mapping[str, Any]
    sources: tuple[str, ...]


def _entries(architecture: Mapping[str, Any], file: Path) -> tuple[_Entry, ...]:
    listed = _layer_list(architecture)
    if not isinstance(listed, list) or not listed:
        raise UserError(f"{file}: the model has no layers")
    entries: list[_Entry] = []
    for raw in listed:
        try:
            kind, options = str(raw["class_name"]), dict(raw["config"])
            label = str(options["name"])
            nodes = raw.get("inbound_nodes") if architecture["class_name"] != "Sequential" else None
            calls = [tuple(str(call[0]) for call in node) for node in nodes or []]
        except (KeyError, TypeError, IndexError, ValueError):
            raise UserError(f"{file}: a layer of this JSON lacks its class_name, config or name") from None
        where = f"{file}, layer '{label}' ({kind})"
        if kind in ("Sequential", "Model", "Functional"):
            raise UserError(f"{where}: flatten the nested model: put its layers into the outer one")
        if len(calls) > 1:
            raise UserError(f"{where}: the layer is used {len(calls)} times; give each use a layer of its own")
        if architecture["class_name"] == "Sequential":
            if not entries and kind != "InputLayer":
                shape = options.get("batch_input_shape")
                entries.append(_Entry(f"{label}_input", "InputLayer", {"batch_input_shape": shape}, ()))
            sources: tuple[str, ...] = (entries[-1].label,) if entries else ()
        else:
            sources = calls[0] if calls else ()
        entries.append(_Entry(label, kind, options, sources))
    labels = [entry.label for entry in entries]
    for label in labels:
        if labels.count(label) > 1:
            raise UserError(f"{file}: two layers are named '{label}'")
    return _sorted(entries, file)


def _sorted(entries: list[_Entry], file: Path) -> tuple[_Entry, ...]:
    """Return the entries with every layer after those that feed it."""
    placed: dict[str, _Entry] = {}
    waiting = list(entries)
    while waiting:
        ready = next((entry for entry in waiting if all(source in placed for source in entry.sources)), None)
        if ready is None:
            raise UserError(f"{file}: layer '{waiting[0].label}' is fed by a layer that does not exist or by itself")
        placed[ready.label] = ready
        waiting.remove(ready)
    return tuple(placed.values())


def _declared(architecture: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the inputs in declared order; empty where the file does not list them."""
    config = architecture["config"]
    listed = config.get("input_layers") if isinstance(config, dict) else None
    return tuple(str(item[0]) for item in listed or [])


def _outputs(architecture: Mapping[str, Any], entries: tuple[_Entry, ...], file: Path) -> tuple[str, ...]:
    config = architecture["config"]
    listed = config.get("output_layers") if isinstance(config, dict) else None
    outputs = tuple(str(item[0]) for item in listed) if listed else (entries[-1].label,)
    missing = set(outputs) - {entry.label for entry in entries}
    if missing:
        raise UserError(f"{file}: the output layer '{min(missing)}' does not exist")
    return outputs


def _read_weights(path: Path) -> dict[str, dict[str, Floats]]:
    """Return layer -> variable -> values of an HDF5 weights file."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            root = file.get("model_weights", file)
            return {str(name): dict(_datasets(root[name], path)) for name in root if isinstance(root[name], h5py.Group)}
    except OSError:
        raise UserError(
            f"{path}: not an HDF5 file; the weights of a Keras 2 model lie in one (model.save_weights)"
        ) from None


def _datasets(group: Any, path: Path) -> Iterator[tuple[str, Floats]]:
    import h5py

    found: list[tuple[str, Any]] = []
    group.visititems(lambda name, item: found.append((name, item)) if isinstance(item, h5py.Dataset) else None)
    names: set[str] = set()
    for full, item in found:
        name = full.rsplit("/", 1)[-1].split(":")[0]
        if name in names:
            raise UserError(f"{path}: the group '{group.name}' holds two variables named '{name}'")
        if item.dtype.kind not in "fiu":
            raise UserError(f"{path}: '{full}' in '{group.name}' holds no numbers")
        names.add(name)
        yield name, np.asarray(item[()], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turn the layers of a file into records and float steps."""

    file: Path
    weights: Path
    stored: Mapping[str, Mapping[str, Floats]]

    def build(
        self,
        name: str,
        entries: tuple[_Entry, ...],
        outputs: tuple[str, ...],
        config: Path | Mapping[str, Any] | None,
        declared: tuple[str, ...],
    ) -> LegacySource:
        """Return the source of all layers."""
        fed = {source for entry in entries for source in entry.sources}
        softmax = next(
            (e.label for e in entries if (e.label,) == outputs and e.label not in fed and _ends_in_softmax(e)), None
        )
        shapes: dict[str, tuple[int, ...]] = {}
        inputs: dict[str, tuple[int, ...]] = {}
        ports: dict[str, Port] = {}
        records: list[Record] = []
        steps: list[_Step] = []
        for entry in entries:
            if entry.kind == "InputLayer":
                shape = self._input_shape(entry)
                shapes[entry.label] = inputs[entry.label] = shape
                ports[entry.label] = (entry.label, "")
                given = {"class_name": "InputLayer", "input_shape": list(shape)}
                records.append(Record(entry.label, given, kinds=("InputLayer", "Input")))
                steps.append(_Step(entry.label, None, lambda x: x))
                continue
            if len(entry.sources) != 1:
                raise UserError(
                    f"{self.file}, layer '{entry.label}' ({entry.kind}): layers with {len(entry.sources)} inputs are "
                    f"not supported; {_supported()}"
                )
            source = entry.sources[0]
            layer = _Layer(entry.label, entry.kind, entry.options, source, shapes[source])
            part = self._layer(layer, ports[source], drop_softmax=entry.label == softmax)
            records += part.records
            steps += [_Step(entry.label, source, part.evaluate)]
            shapes[entry.label] = part.shape
            ports[entry.label] = part.records[-1].port if part.records else ports[source]
        order = declared if set(declared) == set(inputs) else tuple(inputs)
        notes = (
            (f"the final softmax '{softmax}' is left out: outputs are its inputs, their order (argmax) is the same",)
            if softmax
            else ()
        )
        model = ParsedModel(
            name,
            tuple(entry.label for entry in entries),
            tuple(records),
            tuple(ports[label] for label in outputs),
            {label: inputs[label] for label in order},
            softmax,
            notes,
        )
        return LegacySource(prepare(model, config), tuple(steps))

    def _input_shape(self, entry: _Entry) -> tuple[int, ...]:
        shape = entry.options.get("batch_input_shape")
        if not isinstance(shape, list) or len(shape) < 2:
            raise UserError(f"{self.file}: the input '{entry.label}' has no shape; build the model with an Input layer")
        if not all(isinstance(size, int) and size > 0 for size in shape[1:]):
            raise UserError(
                f"{self.file}: the input '{entry.label}' has the open shape {shape[1:]}; sizes must be known"
            )
        return tuple(shape[1:])

    def _layer(self, layer: _Layer, source: Port, *, drop_softmax: bool) -> _Part:
        where = f"{self.file}, {layer.where}"
        if layer.kind in _IDENTITY:
            return _Part((), layer.shape, lambda x: x)
        if layer.kind in ("Dense", "QDense"):
            return self._dense(layer, source, where, drop_softmax=drop_softmax)
        if layer.kind in ("Activation", "QActivation", "Softmax"):
            return self._activation(layer, source, where, drop_softmax=drop_softmax)
        if layer.kind == "BatchNormalization":
            return self._batch_norm(layer, source, where)
        if layer.kind not in _PLAIN:
            reason = _REFUSED.get(layer.kind, "this kind of layer is not supported")
            raise UserError(f"{where}: {reason}; {_supported()}")
        return _PLAIN[layer.kind](layer, source, where)

    def _variable(self, layer: _Layer, name: str, shape: tuple[int, ...], where: str) -> Floats:
        found = self.stored.get(layer.label, {}).get(name)
        if found is None:
            raise UserError(f"{where}: {self.weights} holds no '{name}' for it; are these the weights of this model?")
        if found.shape != shape:
            raise UserError(f"{where}: '{name}' in {self.weights} has shape {found.shape}; this layer needs {shape}")
        if not np.all(np.isfinite(found)):
            raise UserError(f"{where}: '{name}' in {self.weights} holds NaN or infinite values")
        return found

    def _weights(self, layer: _Layer, name: str, values: Floats, where: str) -> Floats | Weights:
        """Return a variable, quantized where the layer has a quantizer for it."""
        identifier = layer.options.get(f"{name}_quantizer") if layer.kind == "QDense" else None
        if identifier is None:
            return values
        where = f"{where}, {name}_quantizer"
        quantizer = qkeras.check_weights(qkeras.read(identifier, where=where), where=where)
        if isinstance(quantizer, qkeras.QuantizedPo2) and (
            quantizer.quadratic_approximation or quantizer.log2_rounding == "floor"
        ):
            raise UserError(
                f"{where}: quantized_po2 with quadratic_approximation or log2_rounding='floor' hangs on the last bit "
                "of TensorFlow's logarithm; save the model with Keras 3 and qkeras-v3 (model.save('x.keras'))"
            )
        if name == "kernel":
            quantizer = qkeras.trainable(quantizer)
        return qkeras.settle(quantizer, *floats.quantize_weights(quantizer, values), where=where)

    def _dense(self, layer: _Layer, source: Port, where: str, *, drop_softmax: bool) -> _Part:
        units = layer.options.get("units")
        if not isinstance(units, int) or units < 1:
            raise UserError(f"{where}: units={units!r} is not a whole number of 1 or more")
        kernel = self._weights(layer, "kernel", self._variable(layer, "kernel", (layer.shape[-1], units), where), where)
        bias: Floats | Weights | None = None
        if layer.options.get("use_bias", True):
            bias = self._weights(layer, "bias", self._variable(layer, "bias", (units,), where), where)
        kinds = (layer.kind, "Dense") if layer.kind != "Dense" else ("Dense",)
        records = dense_records(layer.label, source, kernel=kernel, bias=bias, kinds=kinds)
        matrix, offset = _values(kernel), _values(bias) if bias is not None else np.zeros(units)
        inner = self._inline(layer, records[-1].port, where, drop_softmax=drop_softmax)
        return _Part(
            (*records, *inner.records), (*layer.shape[:-1], units), lambda x: inner.evaluate(x @ matrix + offset)
        )

    def _inline(self, layer: _Layer, source: Port, where: str, *, drop_softmax: bool) -> _Part:
        """Return the activation inside a dense layer; no record for linear."""
        activation = layer.options.get("activation") or "linear"
        if isinstance(activation, str) and activation in floats.ACTIVATIONS:
            if activation == "linear":
                return _Part((), layer.shape, lambda x: x)
            return _plain_activation(layer, source, activation, drop=drop_softmax, suffix=f"_{activation}")
        where = f"{where}, activation"
        quantizer = _quantized(activation, where)
        record = activation_record(layer.label, source, quantizer, where=where, suffix=inline_suffix(quantizer))
        return _Part((record,), layer.shape, _evaluator(quantizer))

    def _activation(self, layer: _Layer, source: Port, where: str, *, drop_softmax: bool) -> _Part:
        activation = layer.options.get("activation")
        if layer.kind == "Softmax":
            if layer.options.get("axis", -1) not in (-1, len(layer.shape)):
                raise UserError(f"{where}: axis={layer.options['axis']} is not supported; the last axis is")
            activation = "softmax"
        if isinstance(activation, str) and activation in floats.ACTIVATIONS:
            return _plain_activation(layer, source, activation, drop=drop_softmax)
        where = f"{where}, activation"
        quantizer = _quantized(activation, where)
        record = activation_record(layer.label, source, quantizer, where=where)
        return _Part((record,), layer.shape, _evaluator(quantizer))

    def _batch_norm(self, layer: _Layer, source: Port, where: str) -> _Part:
        axis = layer.options.get("axis", -1)
        axes = axis if isinstance(axis, list) else [axis]
        if axes not in ([-1], [len(layer.shape)]):
            raise UserError(f"{where}: axis={axis} is not supported; the last axis is (hls4ml would use it silently)")
        size = (layer.shape[-1],)
        mean = self._variable(layer, "moving_mean", size, where)
        variance = self._variable(layer, "moving_variance", size, where)
        gamma = self._variable(layer, "gamma", size, where) if layer.options.get("scale", True) else np.ones(size)
        beta = self._variable(layer, "beta", size, where) if layer.options.get("center", True) else np.zeros(size)
        epsilon = float(layer.options.get("epsilon", 1e-3))
        entry = {
            "class_name": "BatchNormalization",
            "data_format": "channels_last",
            "n_in": int(np.prod(layer.shape)),
            "n_out": int(np.prod(layer.shape)),
            "n_filt": -1 if len(layer.shape) == 1 else layer.shape[-1],
            "epsilon": epsilon,
            "use_gamma": True,
            "use_beta": True,
            "gamma_data": gamma,
            "beta_data": beta,
            "mean_data": mean,
            "variance_data": variance,
        }
        scale = gamma / np.sqrt(variance + epsilon)
        record = Record(layer.label, entry, (source,), kinds=("BatchNormalization",))
        return _Part((record,), layer.shape, lambda x: scale * (x - mean) + beta)


@dataclass(frozen=True, slots=True)
class _Part:
    """Hold a layer's records, the shape of its output and its float function."""

    records: tuple[Record, ...]
    shape: tuple[int, ...]
    evaluate: Evaluate


def _quantized(identifier: object, where: str) -> Quantizer:
    if isinstance(identifier, str) and identifier.isidentifier() and identifier not in qkeras.NAMES.values():
        raise UserError(
            f"{where}: the activation '{identifier}' is not supported; {', '.join(_ACTIVATIONS)} and QKeras's "
            "quantized_relu, quantized_bits, quantized_linear are"
        )
    return qkeras.read(identifier, where=where)


def _evaluator(quantizer: Quantizer) -> Evaluate:
    assert isinstance(quantizer, qkeras.ACTIVATION_KINDS)
    return lambda x: floats.quantize(quantizer, x)


def _values(array: Floats | Weights) -> Floats:
    if not isinstance(array, Weights):
        return array
    return array.codes if array.scale is None else array.codes * array.scale


def _ends_in_softmax(entry: _Entry) -> bool:
    return entry.kind == "Softmax" or entry.options.get("activation") == "softmax"


def _plain_activation(layer: _Layer, source: Port, name: str, *, drop: bool, suffix: str = "") -> _Part:
    if drop:
        return _Part((), layer.shape, lambda x: x)
    entry: dict[str, Any] = {"class_name": "Activation", "activation": name}
    if name == "softmax":
        entry |= {"class_name": "Softmax", "axis": -1}
    elif name == "hard_sigmoid":
        entry["class_name"] = "HardActivation"
    elif name == "elu":
        entry |= {"class_name": "ELU", "activ_param": 1.0}
    record = Record(layer.label, entry, (source,), suffix, (layer.kind, entry["class_name"]))
    return _Part((record,), layer.shape, floats.ACTIVATIONS[name])


def _relu(layer: _Layer, source: Port, where: str) -> _Part:
    options = layer.options
    if options.get("max_value") is not None:
        raise UserError(f"{where}: max_value={options['max_value']} is not supported (hls4ml drops it silently)")
    default = 0.3 if layer.kind == "LeakyReLU" else 0.0
    slope = float(options.get("negative_slope", options.get("alpha", default)) or 0.0)
    if layer.kind == "ThresholdedReLU":
        threshold = float(options.get("theta", 1.0))
    else:
        threshold = float(options.get("threshold") or 0.0)
    if slope and threshold:
        raise UserError(f"{where}: negative_slope together with threshold is not supported; one of them is")
    if threshold:
        entry = {"class_name": "ThresholdedReLU", "activation": "thresholdedrelu", "activ_param": threshold}
    elif slope:
        entry = {"class_name": "LeakyReLU", "activation": "leakyrelu", "activ_param": slope}
    else:
        entry = {"class_name": "Activation", "activation": "relu"}
    record = Record(layer.label, entry, (source,), kinds=(layer.kind, str(entry["class_name"])))
    return _Part((record,), layer.shape, lambda x: floats.relu(x, slope=slope, threshold=threshold))


def _elu(layer: _Layer, source: Port, where: str) -> _Part:
    del where
    slope = float(layer.options.get("alpha", 1.0))
    entry = {"class_name": "ELU", "activation": "ELU", "activ_param": slope}
    record = Record(layer.label, entry, (source,), kinds=("ELU",))
    return _Part((record,), layer.shape, lambda x: np.where(x > 0, x, slope * np.expm1(np.minimum(x, 0))))


def _flatten(layer: _Layer, source: Port, where: str) -> _Part:
    del where
    return _reshaped(layer, source, (int(np.prod(layer.shape)),))


def _reshape(layer: _Layer, source: Port, where: str) -> _Part:
    return _reshaped(layer, source, _target(layer, where))


def _reshaped(layer: _Layer, source: Port, target: tuple[int, ...]) -> _Part:
    entry = {"class_name": "Reshape", "target_shape": list(target)}
    record = Record(layer.label, entry, (source,), kinds=(layer.kind, "Reshape"))
    return _Part((record,), target, lambda x: x.reshape(len(x), *target))


def _target(layer: _Layer, where: str) -> tuple[int, ...]:
    target = layer.options.get("target_shape")
    size = int(np.prod(layer.shape))
    if not isinstance(target, list) or not all(isinstance(n, int) for n in target) or target.count(-1) > 1:
        raise UserError(f"{where}: target_shape={target!r} is not a list of sizes")
    known = int(np.prod([n for n in target if n != -1]))
    sizes = tuple(size // known if n == -1 and known else n for n in target)
    if int(np.prod(sizes)) != size or min(sizes, default=1) < 1:
        raise UserError(f"{where}: target_shape={target} does not hold the {size} values of {layer.shape}")
    return sizes


_IDENTITY = frozenset(("Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise", "ActivityRegularization"))
_PLAIN: dict[str, Callable[[_Layer, Port, str], _Part]] = {
    "ReLU": _relu,
    "LeakyReLU": _relu,
    "ThresholdedReLU": _relu,
    "ELU": _elu,
    "Flatten": _flatten,
    "Reshape": _reshape,
}
_REFUSED = {
    "TimeDistributed": "flatten the nested model: TimeDistributed is not supported",
    "Lambda": "a Lambda holds arbitrary code and is never loaded",
    "QBatchNormalization": "hls4ml drops its quantizers silently, so it is not supported; BatchNormalization is",
    "PruneLowMagnitude": "take the pruning wrapper off first (strip_pruning)",
}


def _supported() -> str:
    return (
        "Dense, Activation, ReLU, LeakyReLU, ThresholdedReLU, ELU, Softmax, BatchNormalization, Flatten, Reshape, "
        "Dropout, QDense and QActivation are"
    )
