"""Read Keras 3 models, with or without qkeras-v3 layers: `.keras` files, `.h5` files of Keras 3, live models."""

from __future__ import annotations

import contextlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError
from flow.frontend import qkeras
from flow.frontend.config import Configuration, read_config
from flow.frontend.keras_parser import Parser
from flow.frontend.reference import ReferenceSource, prepare
from flow.frontend.silence import hush_tensorflow, silence, silence_libraries

_BATCH = 1024
_ACCEPTED = "Keras's own layers and qkeras-v3's are accepted"


class KerasSource(ReferenceSource):
    """Offer a Keras 3 model: hls4ml's conversion, and the framework's own outputs."""

    def __init__(self, model: Any, name: str, config: Configuration) -> None:
        """model: a built functional or Sequential keras.Model; it is not changed."""
        self._model = model
        given = read_config(config)
        parser = Parser(name, _functional(model), given.io_type, skip_softmax=given.skip_softmax)
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


def load_keras(path: Path, config: Configuration) -> KerasSource:
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


def load_keras_h5(path: Path, description: Any, config: Configuration) -> KerasSource:
    """Return the source of an `.h5` file that Keras 3 wrote. description: its model_config, parsed."""
    return _load(path, description, config)


def _load(path: Path, description: Any, config: Configuration) -> KerasSource:
    check_safe(description, path)
    keras, qkeras_names = import_keras()
    with silence(), silence_libraries():
        try:
            model = keras.models.load_model(str(path), custom_objects=qkeras_names, compile=False, safe_mode=True)
        except Exception as error:
            raise UserError(f"{path}: Keras cannot load this model: {_reason(error)}; {_ACCEPTED}") from error
    return from_model(model, path.stem, config)


def from_model(model: Any, name: str, config: Configuration) -> KerasSource:
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
