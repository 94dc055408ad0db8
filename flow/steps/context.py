"""What all steps of a run share."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import flow
from flow import __version__
from flow.baseline.gpu import check_must_beat
from flow.errors import UserError
from flow.files import digest, digest_folder
from flow.graph.store import to_json
from flow.latency.arrival_file import read_arrivals
from flow.latency.arrivals import is_file
from flow.latency.queue import Overrun
from flow.plan.freeze import Frozen, kept, load_frozen
from flow.plan.limits import written
from flow.plan.load import LOADS
from flow.plan.plan import load_plan
from flow.plan.planner import boundary_of
from flow.plan.request import Request, Spared
from flow.plan.solve import Objective
from flow.progress import Progress
from flow.project import Project
from flow.samples import DEFAULT_COUNT
from flow.steps.chosen import chosen, spelled
from flow.zoo import Subject

MOST_RANDOM = 1_000_000
_GRAPH = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"(format|graph)"')
# what only shows results changes none of them
_CODE = {".py", ".sv", ".v", ".toml", ".cpp", ".h"}
_SHOWS = ("cli", "progress.py", "report", "steps/show.py")


@dataclass(frozen=True, slots=True)
class Options:
    """Hold what a command line gives; None leaves the model's request as it is.

    layers, bits, sparsity, seed, input_type: of a list of layers in the place of a model. vectors: a file or a count.
    out: the run's folder.
    """

    model: str | None = None
    budget: str | None = None
    rate: str | None = None
    part: str | None = None
    clock: str | None = None
    link: str | None = None
    boundary: str | None = None
    spare: tuple[Spared, ...] = ()
    objective: Objective | None = None
    limits: tuple[str, ...] = ()
    payload_in: str | None = None
    payload_out: str | None = None
    arrivals: str | None = None
    buffer: int | None = None
    overrun: Overrun | None = None
    output_buffer: int | None = None
    latency_exact: int | None = None
    freeze: Path | None = None
    bunch_crossings: bool = False
    config: Path | None = None
    vectors: str | None = None
    clip: bool = False
    out: Path | None = None
    measured: tuple[Path, ...] = ()
    waves: bool = False
    netlist: bool = False
    route: bool = False
    layers: str | None = None
    bits: str | None = None
    sparsity: str | None = None
    seed: int | None = None
    input_type: str | None = None
    sensitivity: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """Hold a run: its model, what is asked of it, its folder, who is told of its progress, and what it must keep."""

    subject: Subject
    request: Request
    options: Options
    project: Project
    progress: Progress
    frozen: Frozen | None = None

    @property
    def config(self) -> Any:
        """Return the hls4ml configuration: a YAML file, the request's table, or None; types of single layers added."""
        config = self.options.config if self.options.config is not None else (self.request.hls or None)
        if not self.request.precision:
            return config
        from flow.frontend.config import read_config

        return replace(read_config(config), precision=self.request.precision)

    @property
    def is_graph(self) -> bool:
        """Tell whether the model is a graph, saved or of a list of layers, rather than a Keras file."""
        if self.subject.graph is not None:
            return True
        if self.subject.path.suffix != ".json":
            return False
        with self.subject.path.open("rb") as file:
            return _GRAPH.match(file.read(64)) is not None

    @property
    def is_own_graph(self) -> bool:
        """Tell whether the model is the very graph that lies in the run's folder."""
        if self.subject.graph is not None:
            return False
        return self.project.model.exists() and self.project.model.samefile(self.subject.path)

    def vector_source(self) -> tuple[Path | None, int]:
        """Return the file of the vectors, or None and how many to draw."""
        text = self.options.vectors
        if text is None:
            return self.subject.vectors, DEFAULT_COUNT
        if re.fullmatch(r"[-+]?[0-9]+", text):
            count = int(text) if len(text) < 10 else MOST_RANDOM + 1
            if not 1 <= count <= MOST_RANDOM:
                raise UserError(f"--vectors {text[:20]}: draw between 1 and {MOST_RANDOM:,} vectors")
            return None, count
        path = Path(text)
        try:
            found = path.is_file()
        except OSError:
            found = False
        if not found:
            raise UserError(f"--vectors {text[:200]}: there is no such file; give a .npy or .npz file, or a count")
        return path, DEFAULT_COUNT

    # ---- digests: what the result of each step depends on ----

    def conversion_digest(self) -> str:
        """Return what the conversion depends on."""
        path, count = self.vector_source()
        vectors = b"" if path is None else path.read_bytes()
        return digest(program(), *self._model_files(), self._config_text(), vectors, str(count), str(self.options.clip))

    def plan_digest(self) -> str:
        """Return what plan and hardware depend on."""
        frozen = "" if self.frozen is None else self.frozen.digest
        return digest(program(), self.project.model.read_bytes(), repr(asdict(self.request.unloaded())), frozen)

    def hardware_digest(self) -> str:
        """Return what synthesis depends on: the RTL as it lies there, and the part in the plan."""
        rtl = digest_folder(self.project.rtl) if self.project.rtl.is_dir() else ""
        return digest(program(), rtl, self.project.signature.read_bytes(), load_plan(self.project.plan).part)

    def simulation_digest(self) -> str:
        """Return what the simulation depends on: the RTL as it lies there, the graph and the vectors."""
        return digest(self.hardware_digest(), self.project.model.read_bytes(), self.project.inputs.read_bytes())

    def netlist_digest(self) -> str:
        """Return what the simulation of the netlist depends on."""
        return digest(self.simulation_digest(), self.project.synthesis.read_bytes())

    def routing_digest(self) -> str:
        """Return what place and route depends on: the netlist and the period in the plan."""
        period_ns = load_plan(self.project.plan).clock.period_ns
        return digest(self.hardware_digest(), self.project.synthesis.read_bytes(), repr(period_ns))

    def _model_files(self) -> tuple[bytes, ...]:
        """Return the contents of the model's file and of those that may belong to it: JSON and weights of one stem."""
        if self.subject.graph is not None:
            return (to_json(self.subject.graph),)
        path = self.subject.path
        family = [p for p in path.parent.glob("*") if p.suffix in {".json", ".h5"} and p.is_file()]
        related = [p for p in family if p.stem.startswith(path.stem) or path.stem.startswith(p.stem)]
        try:
            return tuple(p.read_bytes() for p in sorted({path, *related}))
        except OSError as error:
            raise UserError(f"{path}: cannot read it ({error.strerror})") from None

    def _config_text(self) -> str:
        if self.options.config is None:
            return repr((self.request.hls, self.request.precision))
        try:
            return self.options.config.read_text() + repr(self.request.precision)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"--config {self.options.config}: cannot read it ({error})") from None


@cache
def program() -> str:
    """Return a digest of the program itself: what another version left is made again."""
    package = Path(flow.__file__).parent
    files = sorted(p for p in package.rglob("*") if p.suffix in _CODE and p.is_file())
    shows = tuple(package / name for name in _SHOWS)
    computes = [p for p in files if not any(p.is_relative_to(other) for other in shows)]
    return digest(__version__, *(part for p in computes for part in (p.name, p.read_bytes())))


def open_context(options: Options, progress: Progress) -> Context:
    """Find the model and put its request together with the options; raise UserError for what is not there."""
    subject = chosen(options)
    options = replace(options, model=spelled(options))
    names = (
        "budget",
        "rate",
        "part",
        "clock",
        "link",
        "boundary",
        "payload_in",
        "payload_out",
        *LOADS,
        "latency_exact",
        "objective",
    )
    request = subject.request.overridden(**{name: getattr(options, name) for name in names})
    if options.spare:
        request = replace(request, spare=options.spare)
    if options.limits:
        request = replace(request, limits=written(options.limits))
    if options.bunch_crossings:
        request = replace(request, bunch_crossings=True)
    if options.link is not None and options.boundary is None:
        request = replace(request, boundary=None)  # the link's own
    if options.link is not None or options.boundary is not None:
        # the rows that the zoo's request names belong to its own link and boundary
        request = replace(request, must_beat=())
    frozen = _frozen(options.freeze or request.freeze)
    if frozen is not None:
        named = {name: getattr(options, name) for name in ("part", "clock", "link", "boundary")}
        request = kept(request, frozen, **named)
    check_must_beat(request.must_beat, boundary_of(request))
    if request.arrivals is not None and is_file(request.arrivals):
        read_arrivals(request.arrivals)  # a mistake in it must not show only after hours of work
    folder = options.out if options.out is not None else Path("hls_projects") / _folder_name(subject.name)
    return Context(subject, request, options, Project(folder), progress, frozen)


def _frozen(path: Path | str | None) -> Frozen | None:
    return None if path is None else load_frozen(Path(path))


def _folder_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name).lstrip(".") or "model"
