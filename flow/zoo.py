"""The models that come with fpgaflow, and what MODEL may mean on a command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from flow.errors import UserError, nearest
from flow.graph.graph import Graph
from flow.latency.arrivals import is_file
from flow.plan.accepted import FIELDS
from flow.plan.request import Request, load_request

REQUEST = "request.toml"


@dataclass(frozen=True, slots=True)
class Subject:
    """Hold a model to work on: its name, its file, its request, and its vectors if it has any.

    graph: of a list of layers, which nothing has to be read for.
    """

    name: str
    path: Path
    request: Request
    vectors: Path | None
    graph: Graph | None = None


def zoo_folder() -> Path:
    """Return where the zoo lies: `models/` beside the package in a checkout, inside it in an installed wheel."""
    package = Path(__file__).parent
    installed = package / "zoo_models"
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
    try:
        is_folder, is_file = bool(model) and path.is_dir(), path.is_file()
    except OSError as error:
        raise UserError(
            f"MODEL '{model[:60]}…' is no path ({error.strerror}); give a zoo name or a model file"
        ) from None
    if is_folder and (path / REQUEST).is_file():
        return _from_folder(path)
    if is_folder:
        raise UserError(f"'{model}' is a folder without a {REQUEST}; give a model file, or write one")
    if not is_file:
        raise UserError(
            f"there is no model '{model}': neither a file nor in the zoo; {nearest(model, zoo_names())} "
            "(fpgaflow models lists the zoo)"
        )
    name = _name(path.parent.resolve() if path.name == "model.json" else path)
    return _sketched(Subject(name, path, Request(), None))


def _name(path: Path) -> str:
    """Return a model's name: its file's, with bytes that are no text replaced."""
    return (path.name if path.is_dir() else path.stem).encode(errors="replace").decode() or "model"


def _from_folder(folder: Path) -> Subject:
    request = load_request(folder / REQUEST)
    request = replace(request, measured=tuple(str(folder / name) for name in request.measured))
    if request.freeze is not None:
        request = replace(request, freeze=str(_there(folder, "freeze", request.freeze, or_folder=True)))
    if request.model is None:
        raise UserError(f"{folder / REQUEST}: the key 'model' names no file")
    model = _there(folder, "model", request.model)
    vectors = None if request.vectors is None else _there(folder, "vectors", request.vectors)
    if request.arrivals is not None and is_file(request.arrivals):
        request = replace(request, arrivals=str(folder / request.arrivals))
    return _sketched(Subject(_name(folder.resolve()), model, request, vectors))


def _there(folder: Path, key: str, name: str, *, or_folder: bool = False) -> Path:
    """Return the file that a request's key names, from the request's folder; raise UserError where it is none."""
    path = folder / name
    wanted = f"write the name of a file, for example {FIELDS[key][1]}"
    try:
        is_folder, is_file, exists = path.is_dir(), path.is_file(), path.exists()
    except OSError as error:
        no_path = f"{key} is '{name[:60]}…', which is no path ({error.strerror})"
        raise UserError(f"{folder / REQUEST}: {no_path}; {wanted}") from None
    if is_file or (is_folder and or_folder and name):
        return path
    if not name.strip():
        raise UserError(f"{folder / REQUEST}: {key} is empty; {wanted}")
    if not exists:
        raise UserError(f"{folder / REQUEST} names {path.name}, but {path} does not exist")
    what = "a folder" if is_folder else "a device or a pipe"
    raise UserError(f"{folder / REQUEST}: {key} is '{name}', which is {what}; {wanted}")


def _sketched(subject: Subject) -> Subject:
    """Return the subject with its graph where its file is a layer list."""
    if subject.path.suffix.lower() not in (".yaml", ".yml"):
        return subject
    from flow.sketch.assemble import to_graph
    from flow.sketch.document import read_sketch

    if subject.request.hls:
        raise UserError(
            f"{subject.path}: a layer list takes no [hls] of a request; its own keys and [precision] say it"
        )
    sketch = read_sketch(subject.path, subject.name)
    return replace(subject, name=sketch.name, graph=to_graph(sketch, subject.request.precision))
