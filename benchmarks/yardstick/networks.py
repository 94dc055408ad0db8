"""The networks that are measured, converted once and kept below `hls_projects/benchmarks/`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from flow.graph.graph import Graph
from flow.graph.store import load_graph
from flow.plan.planner import make_plan
from flow.progress import Progress
from flow.rtl.design import realize
from flow.rtl.top import write_rtl
from flow.steps.context import Options, open_context
from flow.steps.run import run_to

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "hls_projects" / "benchmarks"
PUBLIC = ROOT.parent / "shared" / "models" / "qkeras_3layer.json"
JETS = ROOT.parent / "shared" / "data" / "jets_500.npz"
PART = "xcvu13p"


@dataclass(frozen=True, slots=True)
class Network:
    """Name a network and say how it is run; missing: why it cannot be, or None."""

    name: str
    options: Options
    missing: str | None = None

    @property
    def folder(self) -> Path:
        """Return the run's folder."""
        return KEPT / self.name

    def graph(self) -> Graph:
        """Return the graph, equal to hls4ml's C simulation on the run's vectors; converted where it is not current."""
        run_to("budget", self.options)
        return load_graph(self.folder / "model.json")

    def built(self) -> Path:
        """Return the run's folder with its vectors and its RTL in it."""
        graph = self.graph()
        request = open_context(self.options, Progress.silent()).request
        design = realize(graph, request, make_plan(graph, request))
        write_rtl(self.folder, design.modules, design.signature)
        return self.folder


def networks() -> tuple[Network, ...]:
    """Return the zoo's jet tagger and the public jet network."""
    public = Options(str(PUBLIC), part=PART, clock="200MHz", boundary="core", vectors=str(JETS), clip=True)
    absent = [str(path.relative_to(ROOT.parent)) for path in (PUBLIC, JETS) if not path.is_file()]
    found = (
        Network("jet_tagger", Options("jet_tagger")),
        Network("qkeras_3layer", public, f"{', '.join(absent)} not there" if absent else None),
    )
    return tuple(replace(n, options=replace(n.options, out=n.folder)) for n in found)
