"""Write Keras 2 files, as Keras 2 would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

Layers = list[tuple[str, dict[str, Any], dict[str, np.ndarray]]]  # class, config, variables
_random = np.random.default_rng(0)


def dense(name: str, n_in: int, n_out: int, *, kind: str = "Dense", **options: Any) -> tuple[str, dict, dict]:
    variables = {"kernel": _random.normal(0, 0.5, (n_in, n_out)), "bias": _random.normal(0, 0.3, n_out)}
    return kind, {"name": name, "units": n_out, "activation": "linear", "use_bias": True} | options, variables


def quantizer(name: str, **config: Any) -> dict[str, Any]:
    return {"class_name": name, "config": config}


def inlet(n: int, name: str = "x") -> tuple[str, dict, dict]:
    return "InputLayer", {"name": name, "batch_input_shape": [None, n], "dtype": "float32"}, {}


DENSE_NET: Layers = [
    inlet(6),
    dense("fc1", 6, 5, activation="relu"),
    dense("fc2", 5, 3),
    ("Activation", {"name": "softmax", "activation": "softmax"}, {}),
]


def architecture(layers: Layers) -> dict[str, Any]:
    listed = [{"class_name": kind, "config": config} for kind, config, _ in layers]
    return {"class_name": "Sequential", "config": {"name": "sequential", "layers": listed}, "keras_version": "2.4.0"}


def write_weights(path: Path, layers: Layers, attributes: Mapping[str, Any] | None = None) -> Path:
    with h5py.File(path, "w") as file:
        root = file.create_group("model_weights") if attributes else file
        for key, value in (attributes or {}).items():
            file.attrs[key] = value
        for _, config, variables in layers:
            group = root.require_group(config["name"])
            for variable, data in variables.items():
                group.create_dataset(f"{config['name']}/{variable}:0", data=np.float32(data))
    return path


def write_legacy(folder: Path, name: str, layers: Layers) -> Path:
    write_weights(folder / f"{name}_weights.h5", layers)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(architecture(layers)))
    return path


def write_whole(path: Path, layers: Layers) -> Path:
    attributes = {"model_config": json.dumps(architecture(layers)), "keras_version": "2.4.0"}
    return write_weights(path, layers, attributes)


def functional(inputs: Mapping[str, list[int]], layers: list[tuple[str, dict, list[str]]], outputs: list[str]) -> dict:
    """Return a functional model's JSON; layers: class, config and the labels that feed it."""
    listed: list[dict] = [
        {"class_name": "InputLayer", "config": {"name": name, "batch_input_shape": [None, *shape]}, "inbound_nodes": []}
        for name, shape in inputs.items()
    ]
    for kind, config, sources in layers:
        calls = [[source, 0, 0, {}] for source in sources]
        listed.append({"class_name": kind, "config": config, "inbound_nodes": [calls]})
    config = {
        "name": "model",
        "layers": listed,
        "input_layers": [[name, 0, 0] for name in inputs],
        "output_layers": [[name, 0, 0] for name in outputs],
    }
    return {"class_name": "Model", "config": config, "keras_version": "2.4.0"}


def write_functional(
    folder: Path,
    name: str,
    inputs: Mapping[str, list[int]],
    layers: list[tuple[str, dict, dict, list[str]]],
    outputs: list[str],
) -> Path:
    """Write a functional model; layers: class, config, variables and the labels that feed it."""
    write_weights(folder / f"{name}_weights.h5", [layer[:3] for layer in layers])
    path = folder / f"{name}.json"
    path.write_text(json.dumps(functional(inputs, [(kind, c, s) for kind, c, _, s in layers], outputs)))
    return path
