"""Read Keras 3 models, with or without qkeras-v3 layers: `.keras` files, `.h5` files of Keras 3, live models."""

from __future__ import annotations

import contextlib
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError, nearest
from flow.frontend import qkeras
from flow.frontend.qdense import activation_record, dense_records, inline_suffix
from flow.frontend.qkeras import Floats, Quantizer, Weights
from flow.frontend.records import ParsedModel, Port, Record
from flow.frontend.reference import ReferenceSource, prepare
from flow.frontend.silence import hush_tensorflow, silence, silence_libraries

_BATCH = 1024
# identity at inference; hls4ml would put a cast to its default type in their place
_IDENTITY = frozenset(
    [
        "Dropout",
        "AlphaDropout",
        "GaussianDropout",
        "SpatialDropout1D",
        "SpatialDropout2D",
        "SpatialDropout3D",
        "GaussianNoise",
        "ActivityRegularization",
    ]
)
# activations that hls4ml 1.3.0 computes as Keras 3 does; for others its C++ fails or differs (hard_sigmoid)
_ACTIVATIONS = ("linear", "relu", "sigmoid", "tanh", "softmax", "softplus", "softsign", "elu", "selu", "leaky_relu")
_ACCEPTED = "Keras's own layers and qkeras-v3's QDense and QActivation are accepted"


class KerasSource(ReferenceSource):
    """Offer a Keras 3 model: hls4ml's conversion, and the framework's own outputs."""

    def __init__(self, model: Any, name: str, config: Path | Mapping[str, Any] | None) -> None:
        """model: a built functional or Sequential keras.Model; it is not changed."""
        self._model = model
        parser = _Parser(name, model)
        super().__init__(prepare(parser.parsed(), config))
        self._softmax_layer = parser.softmax

    def predict(self, inputs: tuple[NDArray[np.float64], ...]) -> dict[str, NDArray[np.float64]]:
        """Return every layer's output as Keras computes it (float32); see `Source.predict`."""
        import keras

        functional = _functional(self._model)
        layers = [functional.get_layer(label) for label in self.labels]
        tensors = [layer.output for layer in layers]
        shapes = tuple(self.input_shapes.values())
        if len(inputs) != len(shapes):
            raise UserError(f"{self.name}: {len(inputs)} input arrays for {len(shapes)} inputs")
        fed = [np.asarray(x, dtype=np.float32) for x in inputs]
        parts: list[list[NDArray[np.float64]]] = []
        with silence(), _without_softmax(self._softmax_layer) as skipped:
            if skipped is not None:  # a softmax of its own: what enters it is what leaves it
                tensors[layers.index(skipped)] = skipped.input
            probe = keras.Model(functional.inputs, tensors)
            for start in range(0, len(fed[0]), _BATCH):
                batch = [x[start : start + _BATCH] for x in fed]
                values = probe(batch if len(batch) > 1 else batch[0], training=False)
                listed = values if isinstance(values, (list, tuple)) else [values]
                parts.append([np.asarray(keras.ops.convert_to_numpy(v), dtype=np.float64) for v in listed])
        return {label: np.concatenate([part[i] for part in parts]) for i, label in enumerate(self.labels)}


@contextlib.contextmanager
def _without_softmax(layer: Any) -> Iterator[Any]:
    """Take a final softmax out for a while; yield the layer when it is a layer of its own, else None."""
    import keras

    if layer is None:
        yield None
        return
    if type(layer).__name__ in ("Softmax", "Activation"):
        yield layer
        return
    kept = layer.activation
    layer.activation = keras.activations.linear
    try:
        yield None
    finally:
        layer.activation = kept


def load_keras(path: Path, config: Path | Mapping[str, Any] | None) -> KerasSource:
    """Return the source of a `.keras` file; raise UserError for anything that is not one, or not safe."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            missing = {"config.json", "model.weights.h5"} - names
            if missing:
                raise UserError(f"{path}: this zip file is no Keras model (it has no {min(missing)}); {_ACCEPTED}")
            text = archive.read("config.json")
            broken = archive.testzip()
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError):
        raise UserError(
            f"{path}: not a .keras file, or a damaged one; save the model with model.save('x.keras')"
        ) from None
    if broken is not None:
        raise UserError(f"{path}: the .keras file is damaged ({broken} does not match its checksum)")
    try:
        description = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError(f"{path}: the config.json inside is no JSON; save the model again") from None
    return _load(path, description, config)


def load_keras_h5(path: Path, description: Any, config: Path | Mapping[str, Any] | None) -> KerasSource:
    """Return the source of an `.h5` file that Keras 3 wrote. description: its model_config, parsed."""
    return _load(path, description, config)


def _load(path: Path, description: Any, config: Path | Mapping[str, Any] | None) -> KerasSource:
    check_safe(description, path)
    keras, qkeras_names = import_keras()
    with silence(), silence_libraries():
        try:
            model = keras.models.load_model(str(path), custom_objects=qkeras_names, compile=False, safe_mode=True)
        except Exception as error:
            raise UserError(f"{path}: Keras cannot load this model: {_reason(error)}; {_ACCEPTED}") from error
    return from_model(model, path.stem, config)


def from_model(model: Any, name: str, config: Path | Mapping[str, Any] | None) -> KerasSource:
    """Return the source of a live model; raise UserError unless it is a built functional or Sequential one."""
    keras, _ = import_keras()
    if not isinstance(model, keras.Model):
        raise UserError(f"an object of type {type(model).__name__} is not a model; a path or a keras.Model is accepted")
    if not model.built or not hasattr(_functional(model), "_nodes_by_depth"):
        raise UserError(f"model '{name}': only built Sequential and functional models are accepted")
    return KerasSource(model, name, config)


def import_keras() -> tuple[Any, dict[str, Any]]:
    """Import Keras and, where it is installed, qkeras-v3; return keras and qkeras's classes by name."""
    hush_tensorflow()
    try:
        with silence(), silence_libraries():
            import keras
    except ImportError:
        raise UserError("reading Keras models needs the extra packages: pip install 'fpgaflow[keras]'") from None
    if not keras.__version__.startswith("3."):
        raise UserError(f"Keras {keras.__version__} is installed; Keras 3 is needed: pip install 'fpgaflow[keras]'")
    names: dict[str, Any] = {}
    try:
        with silence(), silence_libraries():
            from qkeras.utils import _add_supported_quantized_objects
    except ImportError:
        return keras, names
    _add_supported_quantized_objects(names)
    return keras, names


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200].rstrip(".") if lines else type(error).__name__


def check_safe(description: Any, path: Path) -> None:
    """Refuse a model description that would run code of the file's choice, naming the layer; import nothing."""
    if not isinstance(description, dict) or not isinstance(description.get("config"), dict):
        raise UserError(f"{path}: the description inside is no Keras model")
    if description.get("class_name") not in ("Sequential", "Functional", "Model"):
        raise UserError(
            f"{path}: a {description.get('class_name')} is not supported; Sequential and functional models are"
        )
    layers = description["config"].get("layers")
    if not isinstance(layers, list) or not layers:
        raise UserError(f"{path}: the model has no layers")
    for layer in layers:
        if not isinstance(layer, dict) or not isinstance(layer.get("config"), dict):
            raise UserError(f"{path}: a layer inside has no configuration")
        kind = str(layer.get("class_name"))
        where = f"{path}, layer '{layer['config'].get('name', '?')}' ({kind})"
        if kind in ("Sequential", "Functional", "Model"):
            raise UserError(f"{where}: flatten the nested model: put its layers into the outer one")
        if kind == "TimeDistributed":
            raise UserError(f"{where}: flatten the nested model: TimeDistributed is not supported; {_ACCEPTED}")
        if kind in ("Lambda", "SlicingOpLambda", "TFOpLambda"):
            raise UserError(f"{where}: a Lambda holds arbitrary code and is never loaded; {_ACCEPTED}")
        _check_objects(layer, where)
    _check_objects({k: v for k, v in description["config"].items() if k != "layers"}, str(path))


def _check_objects(value: Any, where: str, depth: int = 0) -> None:
    """Refuse serialized objects that belong neither to Keras nor to QKeras."""
    if depth > 50:
        raise UserError(f"{where}: nested too deeply")
    if isinstance(value, list):
        for item in value:
            _check_objects(item, where, depth + 1)
    if not isinstance(value, dict):
        return
    kind, module = value.get("class_name"), value.get("module")
    if isinstance(kind, str):
        package = str(value.get("registered_name") or "").rpartition(">")[0]
        root = str(module or "keras").split(".")[0]
        is_function = kind == "function" and root == "builtins"
        if kind in ("__lambda__", "Lambda") or value.get("class_name") == "__lambda__":
            raise UserError(f"{where}: a lambda holds arbitrary code and is never loaded; {_ACCEPTED}")
        if package not in ("", "qkeras", "keras", "Custom") or (root not in ("keras", "qkeras") and not is_function):
            raise UserError(f"{where}: '{kind}' is custom code ({module or package}); {_ACCEPTED}")
        if module is not None and root == "keras" and not _is_plain_module(str(module)):
            raise UserError(f"{where}: '{module}.{kind}' has no place in a model; {_ACCEPTED}")
    for key, item in value.items():
        if isinstance(item, str) and "(" in item and ("quantizer" in str(key) or key in ("activation", "config")):
            qkeras.read(item, where=f"{where}, {key}")  # QKeras would look such text up among its globals
        _check_objects(item, where, depth + 1)


def _is_plain_module(module: str) -> bool:
    parts = module.split(".")
    if len(parts) > 1 and parts[1] == "src":
        parts = parts[:1] + parts[2:]
    allowed = {"layers", "initializers", "regularizers", "constraints", "activations", "models", "dtype_policies"}
    return len(parts) == 1 or parts[1] in allowed


def _functional(model: Any) -> Any:
    return getattr(model, "_functional", model) or model


class _Parser:
    """Walk a Keras model's layers in topological order and make a record of each part that hls4ml shall see."""

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self.model = _functional(model)
        self.ports: dict[str, Port] = {}  # Keras tensor's name -> the record that makes it
        self.softmax: Any = None

    def parsed(self) -> ParsedModel:
        """Return the parsed model; raise UserError for layers that cannot be converted faithfully."""
        from hls4ml.converters.keras_v2_to_hls import layer_handlers as v2_handlers
        from hls4ml.converters.keras_v3 import layer_handlers as v3_handlers
        from hls4ml.converters.keras_v3_to_hls import KerasV3HandlerDispatcher, resolve_dependency_relation

        self.dispatch = KerasV3HandlerDispatcher(v3_handlers, True, False, v2_handlers)
        _, outputs, calls, tensors = resolve_dependency_relation(self.model)
        seen: set[str] = set()
        for label, _, _ in calls:
            if label in seen:
                raise UserError(f"layer '{label}' of {self.name} is used more than once; give each use its own layer")
            seen.add(label)
        self.softmax = self._final_softmax(outputs, calls)
        records: list[Record] = []
        labels: list[str] = []
        waiting = list(calls)
        while waiting:
            call = next(c for c in waiting if all(tensor in self.ports for tensor in c[1]))
            waiting.remove(call)
            label, sources, targets = call
            layer = self.model.get_layer(label)
            labels.append(label)
            made = self._layer(layer, [tensors[t] for t in sources], [tensors[t] for t in targets])
            records += made
            for target in targets:
                if target not in self.ports:
                    self.ports[target] = made[-1].port if made else self.ports[sources[0]]
        softmax = self.softmax.name if self.softmax is not None else None
        notes = (
            (f"the final softmax '{softmax}' is left out: outputs are its inputs, their order (argmax) is the same",)
            if softmax
            else ()
        )
        shapes: dict[str, tuple[int, ...]] = {}
        for tensor in self.model.inputs:
            shape = tuple(tensor.shape[1:])
            label = self.ports[tensor.name][0]
            if not shape or any(size is None for size in shape):
                raise UserError(f"{self.name}: the input '{label}' has the open shape {shape}; sizes must be known")
            shapes[label] = shape
        ends = tuple(self.ports[name] for name in outputs)
        return ParsedModel(self.name, tuple(labels), tuple(records), ends, shapes, softmax, notes)

    def _final_softmax(self, outputs: tuple[str, ...], calls: list[Any]) -> Any:
        """Return the layer whose softmax makes the only output and feeds nothing, or None."""
        if len(outputs) != 1 or any(outputs[0] in sources for _, sources, _ in calls):
            return None
        import keras

        label = next(label for label, _, targets in calls if outputs[0] in targets)
        layer = self.model.get_layer(label)
        inline = getattr(layer, "activation", None) is keras.activations.softmax
        own = isinstance(layer, keras.layers.Softmax) and layer.axis in (-1, len(layer.output.shape) - 1)
        return layer if inline or own else None

    def _layer(self, layer: Any, sources: list[Any], targets: list[Any]) -> list[Record]:
        kind = type(layer).__name__
        where = f"layer '{layer.name}' ({kind})"
        drop = self.softmax is layer
        if kind in _IDENTITY or (drop and kind in ("Softmax", "Activation")):
            return []
        if type(layer).__module__.split(".")[0] == "qkeras":
            return self._qkeras(layer, self.ports[sources[0].name], kind, where, drop=drop)
        _refuse_known_wrong(layer, kind, where)
        with silence():
            try:
                parts = self.dispatch(layer, sources, targets)
            except Exception as error:
                if "not found in registry" in str(error):
                    raise UserError(f"{where}: hls4ml does not know this kind of layer; {_ACCEPTED}") from error
                raise UserError(f"{where}: hls4ml cannot convert it: {_reason(error)}; {_ACCEPTED}") from error
        if drop:
            parts = parts[:1]
        return [self._record(layer, kind, dict(part)) for part in parts]

    def _record(self, layer: Any, kind: str, entry: dict[str, Any]) -> Record:
        """Return a record of hls4ml's own layer dictionary, its tensors resolved to records."""
        name, made = str(entry.pop("name")), entry.pop("output_keras_tensor_names")
        inputs = tuple(self.ports[tensor] for tensor in entry.pop("input_keras_tensor_names"))
        suffix = name.removeprefix(layer.name) if name.startswith(layer.name) else f"_{name}"
        for tensor in made:
            self.ports[tensor] = (layer.name, suffix)
        if isinstance(entry.get("activation"), dict) or entry.get("activation") is None:
            entry.pop("activation", None)
        return Record(layer.name, entry, inputs, suffix, tuple(dict.fromkeys((kind, str(entry["class_name"])))))

    def _qkeras(self, layer: Any, source: Port, kind: str, where: str, *, drop: bool) -> list[Record]:
        if kind == "QActivation":
            return self._activation(layer, source, where, suffix=False)
        if kind != "QDense":
            raise UserError(f"{where}: this QKeras layer is not supported; QDense and QActivation are")
        kernel = _quantized(layer.kernel, layer.kernel_quantizer_internal, f"{where}, kernel_quantizer")
        bias = None
        if layer.use_bias:
            bias = _quantized(layer.bias, layer.bias_quantizer_internal, f"{where}, bias_quantizer")
        records = list(dense_records(layer.name, source, kernel=kernel, bias=bias, kinds=(kind, "Dense")))
        return records if drop else records + self._activation(layer, records[-1].port, where, suffix=True)

    def _activation(self, layer: Any, source: Port, where: str, *, suffix: bool) -> list[Record]:
        import keras

        activation = layer.activation
        where = f"{where}, activation"
        if activation in (None, keras.activations.linear):
            return [] if suffix else [_plain(layer.name, source, "linear", "")]
        name = getattr(activation, "__name__", "")
        if callable(activation) and name in _ACTIVATIONS and getattr(keras.activations, name) is activation:
            return [_plain(layer.name, source, name, f"_{name}" if suffix else "")]
        quantizer = _describe(activation, where)
        tail = inline_suffix(quantizer) if suffix else ""
        return [activation_record(layer.name, source, quantizer, where=where, suffix=tail)]


def _plain(label: str, source: Port, name: str, suffix: str) -> Record:
    entry: dict[str, Any] = {"class_name": "Activation", "activation": name}
    if name == "softmax":
        entry |= {"class_name": "Softmax", "axis": -1}
    elif name in ("elu", "leaky_relu"):
        kind, slope = ("ELU", 1.0) if name == "elu" else ("LeakyReLU", 0.2)
        entry |= {"class_name": kind, "activ_param": slope, "activation": kind.lower()}
    return Record(label, entry, (source,), suffix, tuple(dict.fromkeys(("QActivation", entry["class_name"]))))


def _describe(quantizer: Any, where: str) -> Quantizer:
    """Return the description of a live qkeras-v3 quantizer, with the options that its get_config leaves out."""
    name = getattr(quantizer, "__name__", None) or type(quantizer).__name__
    if not hasattr(quantizer, "get_config"):
        raise UserError(f"{where}: '{name}' is not supported; {nearest(name, (*_ACTIVATIONS, *qkeras.NAMES.values()))}")
    options = dict(quantizer.get_config())
    for option in ("is_quantized_clip", "scale_axis", "elements_per_scale", "min_po2_exponent", "max_po2_exponent"):
        value = getattr(quantizer, option, None)
        if value is not None:
            options[option] = value
    return qkeras.read({"class_name": type(quantizer).__name__, "config": options}, where=where)


def _quantized(variable: Any, quantizer: Any, where: str) -> Floats | Weights:
    """Return a layer's weights as its own quantizer makes them, exactly on the quantizer's grid."""
    import keras

    data = np.asarray(keras.ops.convert_to_numpy(variable), dtype=np.float64)
    if not np.all(np.isfinite(data)):
        raise UserError(f"{where}: the weights hold NaN or infinite values")
    if quantizer is None:
        return data
    description = qkeras.check_weights(_describe(quantizer, where), where=where)
    with silence():
        values = np.asarray(keras.ops.convert_to_numpy(quantizer(variable)), dtype=np.float64)
    held = getattr(quantizer, "scale", None)
    scale = np.asarray(1.0 if held is None else keras.ops.convert_to_numpy(held), dtype=np.float64)
    return qkeras.settle(description, values, scale, where=where)


# (layer class, option, test that hls4ml 1.3.0 fails, what it does instead)
_KNOWN_WRONG: tuple[tuple[tuple[str, ...], str, Callable[[Any], bool], str], ...] = (
    (("Conv1D", "Conv2D", "DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D"),
     "dilation_rate", lambda v: any(n != 1 for n in np.atleast_1d(v)), "ignores it"),
    (("Conv1D", "Conv2D"), "groups", lambda v: v != 1, "ignores it"),
    (("DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D"),
     "depth_multiplier", lambda v: v != 1, "aborts on it"),
    (("UpSampling2D",), "interpolation", lambda v: v != "nearest", "takes the nearest value"),
    (("LSTM", "GRU", "SimpleRNN"), "go_backwards", bool, "ignores it"),
    (("GRU",), "reset_after", lambda v: not v, "computes reset_after=True"),
    (("PReLU",), "shared_axes", lambda v: v is not None, "reads beyond the parameters"),
    (("ReLU",), "max_value", lambda v: v is not None, "does not know it"),
)  # fmt: skip


def _refuse_known_wrong(layer: Any, kind: str, where: str) -> None:
    """Refuse layers and options that hls4ml 1.3.0 turns into another function, or into C++ that fails."""
    import keras

    if isinstance(layer, keras.Model) or kind == "TimeDistributed":
        raise UserError(f"{where}: flatten the nested model: put its layers into the outer one")
    if kind == "Lambda":
        raise UserError(f"{where}: a Lambda holds arbitrary code; {_ACCEPTED}")
    for kinds, option, wrong, instead in _KNOWN_WRONG:
        if kind in kinds and wrong(getattr(layer, option, None)):
            raise UserError(f"{where}: {option}={getattr(layer, option)} is not supported (hls4ml {instead})")
    if kind in ("BatchNormalization", "Softmax"):
        axes = layer.axis if isinstance(layer.axis, (list, tuple)) else [layer.axis]
        if list(axes) not in ([-1], [len(layer.output.shape) - 1]):
            raise UserError(f"{where}: axis={layer.axis} is not supported; the last axis is (hls4ml uses it silently)")
    activation = getattr(layer, "activation", None)
    if activation is not None and kind not in ("LSTM", "GRU", "SimpleRNN"):
        name = getattr(activation, "__name__", type(activation).__name__)
        if name not in _ACTIVATIONS or getattr(keras.activations, name, None) is not activation:
            raise UserError(f"{where}: activation '{name}' is not supported; {', '.join(_ACTIVATIONS)} are")
