"""What all steps of a run share."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from flow import __version__
from flow.errors import UserError
from flow.files import digest, digest_folder
from flow.plan.request import Request
from flow.progress import Progress
from flow.project import Project
from flow.samples import DEFAULT_COUNT
from flow.zoo import Subject, find_subject

MOST_RANDOM = 1_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """Hold what a command line gives; None leaves the model's request as it is.

    vectors: a file or a count. out: the run's folder.
    """

    model: str
    budget: str | None = None
    rate: str | None = None
    part: str | None = None
    clock: str | None = None
    link: str | None = None
    boundary: str | None = None
    config: Path | None = None
    vectors: str | None = None
    clip: bool = False
    out: Path | None = None
    waves: bool = False
    netlist: bool = False
    route: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """Hold a run: its model, what is asked of it, its folder, and who is told of its progress."""

    subject: Subject
    request: Request
    options: Options
    project: Project
    progress: Progress

    @property
    def config(self) -> Any:
        """Return the hls4ml configuration: a YAML file, the request's table, or None."""
        return self.options.config if self.options.config is not None else (self.request.hls or None)

    @property
    def is_graph(self) -> bool:
        """Tell whether the model is a saved graph rather than a Keras file."""
        if self.subject.path.suffix != ".json":
            return False
        with self.subject.path.open("rb") as file:
            return file.read(10).lstrip().startswith(b'{"format"')

    def vector_source(self) -> tuple[Path | None, int]:
        """Return the file of the vectors, or None and how many to draw."""
        text = self.options.vectors
        if text is None:
            return self.subject.vectors, DEFAULT_COUNT
        if text.isdigit():
            if not 1 <= int(text) <= MOST_RANDOM:
                raise UserError(f"--vectors {text}: draw between 1 and {MOST_RANDOM:,} vectors")
            return None, int(text)
        if not Path(text).is_file():
            raise UserError(f"--vectors {text}: there is no such file; give a .npy or .npz file, or a count")
        return Path(text), DEFAULT_COUNT

    # ---- digests: what the result of each step depends on ----

    def conversion_digest(self) -> str:
        """Return what the conversion depends on."""
        path, count = self.vector_source()
        vectors = b"" if path is None else path.read_bytes()
        return digest(
            __version__, *self._model_files(), self._config_text(), vectors, str(count), str(self.options.clip)
        )

    def plan_digest(self) -> str:
        """Return what plan and hardware depend on."""
        return digest(__version__, self.project.model.read_bytes(), repr(asdict(self.request)))

    def hardware_digest(self) -> str:
        """Return what synthesis depends on: the RTL as it lies there."""
        return digest(__version__, digest_folder(self.project.rtl), self.project.signature.read_bytes())

    def simulation_digest(self) -> str:
        """Return what the simulation depends on: the RTL as it lies there and the vectors."""
        return digest(self.hardware_digest(), self.project.inputs.read_bytes())

    def _model_files(self) -> tuple[bytes, ...]:
        """Return the contents of the model's file and of those that may belong to it: JSON and weights of one stem."""
        path = self.subject.path
        family = [p for p in path.parent.glob("*") if p.suffix in {".json", ".h5"} and p.is_file()]
        related = [p for p in family if p.stem.startswith(path.stem) or path.stem.startswith(p.stem)]
        try:
            return tuple(p.read_bytes() for p in sorted({path, *related}))
        except OSError as error:
            raise UserError(f"{path}: cannot read it ({error.strerror})") from None

    def _config_text(self) -> str:
        if self.options.config is None:
            return repr(self.request.hls)
        try:
            return self.options.config.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"--config {self.options.config}: cannot read it ({error})") from None


def open_context(options: Options, progress: Progress) -> Context:
    """Find the model and put its request together with the options; raise UserError for what is not there."""
    subject = find_subject(options.model)
    names = ("budget", "rate", "part", "clock", "link", "boundary")
    request = subject.request.overridden(**{name: getattr(options, name) for name in names})
    if options.link is not None and options.boundary is None:
        request = replace(request, boundary=None)  # the link's own
    if options.link is not None or options.boundary is not None:
        # the rows that the zoo's request names belong to its own link and boundary
        request = replace(request, must_beat=())
    folder = options.out if options.out is not None else Path("hls_projects") / _folder_name(subject.name)
    return Context(subject, request, options, Project(folder), progress)


def _folder_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name).lstrip(".") or "model"
