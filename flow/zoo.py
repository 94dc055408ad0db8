"""The models that come with fpgaflow, and what MODEL may mean on a command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flow.errors import UserError, nearest
from flow.plan.request import Request, load_request

REQUEST = "request.toml"


@dataclass(frozen=True, slots=True)
class Subject:
    """Hold a model to work on: its name, its file, its request, and its vectors if it has any."""

    name: str
    path: Path
    request: Request
    vectors: Path | None


def zoo_folder() -> Path:
    """Return where the zoo lies: beside the package in a checkout, inside it in an installed wheel."""
    package = Path(__file__).parent
    installed = package / "zoo"
    return installed if installed.is_dir() else package.parent / "models"


def zoo_names() -> tuple[str, ...]:
    """Return the names of all zoo models."""
    return tuple(sorted(path.parent.name for path in zoo_folder().glob(f"*/{REQUEST}")))


def zoo_requests() -> dict[str, Request]:
    """Return the request of every zoo model by name."""
    return {name: load_request(zoo_folder() / name / REQUEST) for name in zoo_names()}


def find_subject(model: str) -> Subject:
    """Resolve a zoo name, a folder with a request.toml, or a model file; raise UserError otherwise."""
    if model in zoo_names():
        return _from_folder(zoo_folder() / model)
    path = Path(model)
    if (path / REQUEST).is_file():
        return _from_folder(path)
    if path.is_dir():
        raise UserError(f"'{model}' is a folder without a {REQUEST}; give a model file, or write one")
    if not path.is_file():
        raise UserError(
            f"there is no model '{model}': neither a file nor in the zoo; {nearest(model, zoo_names())} "
            "(fpgaflow models lists the zoo)"
        )
    return Subject(path.parent.resolve().name if path.name == "model.json" else path.stem, path, Request(), None)


def _from_folder(folder: Path) -> Subject:
    request = load_request(folder / REQUEST)
    if request.model is None:
        raise UserError(f"{folder / REQUEST}: the key 'model' names no file")
    paths = [folder / request.model] + ([folder / request.vectors] if request.vectors else [])
    for path in paths:
        if not path.is_file():
            raise UserError(f"{folder / REQUEST} names {path.name}, but {path} does not exist")
    return Subject(folder.resolve().name, paths[0], request, paths[1] if request.vectors else None)
