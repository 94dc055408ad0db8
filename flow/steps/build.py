"""From `model.json` to `plan.json`, `timeline.json`, `rtl/`, `signature.json` and `hls/`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flow.engines.engine import Choice
from flow.files import replace_folder, write_whole
from flow.graph.graph import Graph
from flow.graph.store import load_graph
from flow.latency.timeline import timeline_to_json
from flow.plan.freeze import check_built, plan_for
from flow.plan.knobs import knobs_of
from flow.plan.plan import Plan, plan_to_json, timeline_of
from flow.project import Project
from flow.report.tables import cycles_text
from flow.rtl.design import Design, realize
from flow.rtl.signature import load_signature
from flow.rtl.top import write_rtl
from flow.samples import load_samples
from flow.simulate.runner import changed_files
from flow.steps.context import Context

if TYPE_CHECKING:
    from flow.frontend.source import Knobs


def build(run: Context, *, renew: bool) -> None:
    """Bring the hardware up to date; what was changed by hand is kept and named, unless `renew`."""
    project = run.project
    inputs = run.plan_digest()
    if project.signature.exists() and not renew:
        changed = _changed(project)
        if changed:
            run.progress.warn(f"changed by hand, used as it is: {', '.join(changed)} (fpgaflow build renews it)")
            if not project.ran_on("build", inputs):
                run.progress.warn("model or request have changed since; this hardware follows the former ones")
            return
    if project.is_current("build", inputs) and (run.is_graph or project.hls.is_dir()):
        run.progress.skip("build", "nothing changed")
        return
    graph = load_graph(project.model)
    with run.progress.step("plan") as tell:
        plan = plan_for(graph, run.request, run.frozen)
        cycles = timeline_of(graph, plan.choices, plan.traffic).latency
        tell(f"{cycles_text(cycles)} of {plan.clock.period_ns:.4g} ns, {plan.resources.lut:,} LUTs (predicted)")
    with run.progress.step("build: solve matrices, place registers, write SystemVerilog") as tell:
        design = realize(graph, run.request, plan, revise=run.frozen is None)
        if run.frozen is not None:
            check_built(graph, design.plan, design.timeline, design.slowest, run.frozen)
        _write(run, design)
        tell(
            f"{cycles_text(design.timeline.latency)}; longest segment {design.worst_ns:.3g} ns, "
            f"{design.plan.resources.lut:,} LUTs (predicted)"
        )
    for revision in design.plan.revisions:
        run.progress.warn(f"plan revised: {revision}")
    if not run.is_graph:
        _write_hls(run, graph, design.plan)
    outputs = (project.plan, project.timeline, project.signature, *sorted(project.rtl.iterdir()))
    project.record("build", inputs, outputs)


def _changed(project: Project) -> tuple[str, ...]:
    """Return what is no longer as it was built; without a record of the build, the signature's hashes tell."""
    signature = load_signature(project.signature)
    present = all((project.folder / file.path).is_file() for file in signature.files)
    rtl = changed_files(project.folder, signature) if present else ()
    return tuple(dict.fromkeys((*project.changed("build"), *rtl)))


def _write(run: Context, design: Design) -> None:
    write_rtl(run.project.folder, design.modules, design.signature)
    write_whole(run.project.plan, plan_to_json(design.plan))
    write_whole(run.project.timeline, timeline_to_json(design.timeline))


def _write_hls(run: Context, graph: Graph, plan: Plan) -> None:
    """Write the hls4ml project with the plan's knobs; its C simulation is compared where they change the order of sums.

    Raises VerificationError when it differs from the reference.
    """
    from flow.frontend.convert import write_project
    from flow.frontend.load import load

    with run.progress.step("write the hls4ml project") as tell, run.project.scratch() as scratch:
        source = load(run.subject.path, run.config)
        knobs = planned_knobs(graph, plan.choices)
        samples = load_samples(run.project.inputs, graph)
        new = scratch / "hls"
        notes = write_project(source, new, knobs, graph=graph, inputs=samples.inputs, scratch=scratch / "csim")
        replace_folder(new, run.project.hls)
        tell("; ".join(notes) if notes else "Latency, reuse factor 1")


def planned_knobs(graph: Graph, choices: Iterable[Choice]) -> dict[str, Knobs]:
    """Return what hls4ml is told of each layer by label: Resource where a matrix is folded, Latency elsewhere."""
    from flow.frontend.source import Knobs

    return {label: Knobs(knob.reuse_factor, knob.strategy) for label, knob in knobs_of(graph, choices).items()}
