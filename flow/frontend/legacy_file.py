"""Read what a Keras 2 model is made of, its layers and weights, from JSON text and HDF5 files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.frontend.qkeras import Floats


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
class Entry:
    """Hold one layer as the file lists it: label, class, config and the labels that feed it."""

    label: str
    kind: str
    options: Mapping[str, Any]
    sources: tuple[str, ...]


def read_entries(architecture: Mapping[str, Any], file: Path) -> tuple[Entry, ...]:
    """Return the layers, each after those that feed it; raise UserError for what makes no plain graph of them."""
    listed = _layer_list(architecture)
    if not isinstance(listed, list) or not listed:
        raise UserError(f"{file}: the model has no layers")
    entries: list[Entry] = []
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
                entries.append(Entry(f"{label}_input", "InputLayer", {"batch_input_shape": shape}, ()))
            sources: tuple[str, ...] = (entries[-1].label,) if entries else ()
        else:
            sources = calls[0] if calls else ()
        entries.append(Entry(label, kind, options, sources))
    labels = [entry.label for entry in entries]
    for label in labels:
        if labels.count(label) > 1:
            raise UserError(f"{file}: two layers are named '{label}'")
    return _sorted(entries, file)


def _sorted(entries: list[Entry], file: Path) -> tuple[Entry, ...]:
    """Return the entries with every layer after those that feed it."""
    placed: dict[str, Entry] = {}
    waiting = list(entries)
    while waiting:
        ready = next((entry for entry in waiting if all(source in placed for source in entry.sources)), None)
        if ready is None:
            raise UserError(f"{file}: layer '{waiting[0].label}' is fed by a layer that does not exist or by itself")
        placed[ready.label] = ready
        waiting.remove(ready)
    return tuple(placed.values())


def declared_inputs(architecture: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the inputs in declared order; empty where the file does not list them."""
    config = architecture["config"]
    listed = config.get("input_layers") if isinstance(config, dict) else None
    return tuple(str(item[0]) for item in listed or [])


def declared_outputs(architecture: Mapping[str, Any], entries: tuple[Entry, ...], file: Path) -> tuple[str, ...]:
    """Return the outputs in declared order, the last layer where the file lists none; raise UserError for others."""
    config = architecture["config"]
    listed = config.get("output_layers") if isinstance(config, dict) else None
    outputs = tuple(str(item[0]) for item in listed) if listed else (entries[-1].label,)
    missing = set(outputs) - {entry.label for entry in entries}
    if missing:
        raise UserError(f"{file}: the output layer '{min(missing)}' does not exist")
    return outputs


def read_weights(path: Path) -> dict[str, dict[str, Floats]]:
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
class Layer:
    """Hold one layer that computes something.

    shapes: of its inputs, without batch axis. io_type: of the conversion. file: for messages.
    """

    label: str
    kind: str
    options: Mapping[str, Any]
    shapes: tuple[tuple[int, ...], ...]
    io_type: str
    file: Path

    @property
    def where(self) -> str:
        """Return how messages name it."""
        return f"{self.file}, layer '{self.label}' ({self.kind})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the first input."""
        return self.shapes[0]


@dataclass(frozen=True, slots=True)
class WeightStore:
    """Hold the variables of all layers: label -> variable -> values; path: their file, for messages."""

    path: Path
    stored: Mapping[str, Mapping[str, Floats]]

    def variable(self, layer: Layer, name: str, shape: tuple[int, ...]) -> Floats:
        """Return a layer's variable; raise UserError when it is not there or does not fit."""
        found = self.stored.get(layer.label, {}).get(name)
        if found is None:
            raise UserError(
                f"{layer.where}: {self.path} holds no '{name}' for it; are these the weights of this model?"
            )
        if found.shape != shape:
            raise UserError(f"{layer.where}: '{name}' in {self.path} has shape {found.shape}; this layer needs {shape}")
        if not np.all(np.isfinite(found)):
            raise UserError(f"{layer.where}: '{name}' in {self.path} holds NaN or infinite values")
        return found
