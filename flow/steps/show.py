"""The report of what a run's folder holds."""

from __future__ import annotations

from dataclasses import replace

from flow.errors import UserError
from flow.files import write_whole
from flow.graph.store import load_graph
from flow.latency.timeline import load_timeline
from flow.plan.freeze import plan_for
from flow.plan.plan import load_plan, timeline_of
from flow.report.collect import Findings, collect
from flow.report.report import Report, load_bulk, load_conversion, report_to_json
from flow.rtl.signature import load_signature
from flow.steps.context import Context
from flow.steps.convert import graph_of
from flow.steps.measure.measure import measurements_of
from flow.steps.study import of_budget, of_built

OTHERS = (
    "The hardware in this folder was built for another model, request or version of fpgaflow; fpgaflow build renews it."
)


def show_budget(run: Context) -> Report:
    """Plan and report on the plan alone; nothing but the conversion is written."""
    graph = graph_of(run)
    plan = plan_for(graph, run.request, run.frozen)
    conversion = None if run.is_graph else load_conversion(run.project.conversion)
    return collect(
        Findings(
            graph,
            plan,
            timeline_of(graph, plan.choices, plan.traffic),
            conversion,
            request=run.request,
            measured=measurements_of(run),
            sensitivity=of_budget(run, graph, plan),
        )
    )


def show(run: Context) -> Report:
    """Report on all that is there and current, and write `report.json` and `report.html`."""
    from flow.report.html import to_html

    project = run.project
    for path in (project.model, project.plan, project.timeline, project.signature):
        if not path.exists():
            raise UserError(
                f"{project.folder} holds no built design ({path.name} is missing); "
                f"first: fpgaflow run {run.options.model}"
            )
    load_signature(project.signature)
    found = Findings(
        load_graph(project.model),
        load_plan(project.plan),
        load_timeline(project.timeline),
        load_conversion(project.conversion) if project.conversion.exists() else None,
        request=run.request,
        measured=measurements_of(run),
        notes=() if project.ran_on("build", run.plan_digest()) else (OTHERS,),
    )
    found = replace(found, sensitivity=of_built(run, found.graph, found.plan))
    report = collect(_with_proofs(run, found))
    write_whole(project.report, report_to_json(report))
    write_whole(project.folder / "report.html", to_html(report))
    return report


def _with_proofs(run: Context, found: Findings) -> Findings:
    """Add the results of the steps that ran on the hardware as it lies there now."""
    from flow.simulate.result import load_result
    from flow.synth.result import load_routing, load_synthesis

    project = run.project
    if project.inputs.exists() and _has(run, "simulate", run.simulation_digest()):
        found = replace(found, simulation=load_result(project.simulation), bulk=load_bulk(project.bulk))
    if not _has(run, "synth", run.hardware_digest()):
        return found
    found = replace(found, synthesis=load_synthesis(project.folder))
    if project.inputs.exists() and _has(run, "netlist", run.netlist_digest()):
        found = replace(found, netlist=load_result(project.netlist_simulation))
    if _has(run, "route", run.routing_digest()):
        found = replace(found, routing=load_routing(project.folder))
    return found


def _has(run: Context, step: str, inputs: str) -> bool:
    """Tell whether a step's results are those of these inputs; raise UserError when they were changed since."""
    project = run.project
    if project.is_current(step, inputs):
        return True
    changed = project.changed(step)
    if changed and project.ran_on(step, inputs):
        raise UserError(
            f"{project.folder / changed[0]} is not as it was written; delete it, and run that step again "
            f"(fpgaflow {'simulate' if step == 'simulate' else 'synth'} {run.options.model})"
        )
    return False
