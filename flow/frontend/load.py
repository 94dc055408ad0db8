"""Open a model, whatever kind of file it lies in."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flow.errors import UserError
from flow.frontend.config import Configuration
from flow.frontend.legacy import load_legacy
from flow.frontend.legacy_file import read_architecture
from flow.frontend.source import Source

ACCEPTED = (
    "accepted are .keras files (Keras 3, qkeras-v3), Keras 2/QKeras .json files with <name>_weights.h5 beside them, "
    "their weights files, and .h5 files that hold a whole model"
)


def load(model: Path | str | object, config: Configuration = None) -> Source:
    """Return the source of a model file or of a live Keras model.

    model: a `.keras` file; a Keras 2 or QKeras `.json` with its weights beside it (X.json with X_weights.h5,
    X.weights.h5 or X.h5); such a weights file, whose name begins with the JSON's; an `.h5` file with the whole
    model; or a keras.Model. config: an hls4ml configuration (YAML file or dict) that overrides inferred
    precisions. Raises UserError naming the file and what would be accepted.
    """
    if not isinstance(model, (str, Path)):
        from flow.frontend.keras import from_model

        return from_model(model, str(getattr(model, "name", "model")), config)
    path = Path(model)
    if not path.exists():
        raise UserError(f"{path}: there is no such file; {ACCEPTED}")
    if path.is_dir():
        raise UserError(f"{path}: this is a folder, not a model file; {ACCEPTED}")
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise UserError(f"{path}: cannot read it ({error.strerror})") from None
    suffix = path.suffix.lower()
    if suffix == ".keras" or (head[:2] == b"PK" and suffix not in (".pt", ".pth", ".npz") and zipfile.is_zipfile(path)):
        from flow.frontend.keras import load_keras

        return load_keras(path, config)
    if suffix == ".json":
        return _load_json(path, config)
    if suffix in (".h5", ".hdf5") or head == b"\x89HDF\r\n\x1a\n":
        return _load_h5(path, config)
    raise UserError(f"{path}: this kind of file is not known; {ACCEPTED}")


def _load_json(path: Path, config: Configuration) -> Source:
    architecture = read_architecture(path.read_bytes(), path)
    _refuse_keras_3(architecture, path)
    names = [f"{path.stem}_weights.h5", f"{path.stem}.weights.h5", f"{path.stem}.h5"]
    weights = next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
    if weights is None:
        raise UserError(f"{path}: the weights are not beside it; expected {names[0]} (or {' or '.join(names[1:])})")
    return load_legacy(path.stem, architecture, weights, config, file=path)


def _refuse_keras_3(architecture: Mapping[str, Any], path: Path) -> None:
    if "module" in architecture or "registered_name" in architecture:
        raise UserError(f"{path}: Keras 3 wrote this JSON; save the whole model instead: model.save('x.keras')")


def _load_h5(path: Path, config: Configuration) -> Source:
    import h5py

    try:
        with h5py.File(path, "r") as file:
            text = file.attrs.get("model_config")
            version = file.attrs.get("keras_version")
    except OSError:
        raise UserError(f"{path}: not an HDF5 file, or a damaged one; {ACCEPTED}") from None
    if text is None:
        return _load_weights(path, config)
    architecture = read_architecture(text, path)
    written_by = version.decode() if isinstance(version, bytes) else str(version or "")
    if written_by.startswith("3."):
        from flow.frontend.keras import load_keras_h5

        return load_keras_h5(path, architecture, config)
    return load_legacy(path.stem, architecture, path, config, file=path)


def _load_weights(path: Path, config: Configuration) -> Source:
    """Load a weights file through the JSON beside it whose name its own begins with; the longest such name wins."""
    beside = sorted(
        (other for other in path.parent.glob("*.json") if path.stem.startswith(other.stem)),
        key=lambda other: len(other.stem),
    )
    if not beside:
        raise UserError(
            f"{path}: this file holds weights only; its architecture is sought in a .json file beside it whose name "
            f"this file's begins with (such as {path.stem.removesuffix('_weights')}.json), and there is none"
        )
    json_file = beside[-1]
    architecture = read_architecture(json_file.read_bytes(), json_file)
    _refuse_keras_3(architecture, json_file)
    return load_legacy(path.stem.removesuffix("_weights"), architecture, path, config, file=json_file)
