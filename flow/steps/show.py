"""The report of what a run's folder holds."""

from __future__ import annotations

from dataclasses import replace

from flow.errors import UserError
from flow.files import write_whole
from flow.graph.store import load_graph
from flow.latency.timeline import load_timeline
from flow.plan.plan import load_plan, timeline_of
from flow.plan.planner import make_plan
from flow.report.collect import Findings, collect
from flow.report.report import ConversionReport, Report, load_bulk, load_conversion, report_to_json
from flow.steps.context import Context


def show_budget(run: Context) -> Report:
    """Plan and report on the plan alone; nothing but the conversion is written."""
    graph = load_graph(run.project.model)
    plan = make_plan(graph, run.request)
    return collect(Findings(graph, plan, timeline_of(graph, plan.choices), run.request.must_beat, _conversion(run)))


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
    found = Findings(
        load_graph(project.model),
        load_plan(project.plan),
        load_timeline(project.timeline),
        run.request.must_beat,
        _conversion(run),
    )
    report = collect(_with_proofs(run, found))
    write_whole(project.report, report_to_json(report))
    write_whole(project.folder / "report.html", to_html(report))
    return report


def _with_proofs(run: Context, found: Findings) -> Findings:
    """Add the results of the steps that ran on the hardware as it lies there now."""
    from flow.simulate.result import load_result
    from flow.synth.result import load_routing, load_synthesis

    project = run.project
    if project.is_current("simulate", run.simulation_digest(), (project.simulation, project.bulk)):
        found = replace(found, simulation=load_result(project.simulation), bulk=load_bulk(project.bulk))
    mapped = run.hardware_digest() + found.plan.part
    if project.is_current("synth", mapped, (project.synthesis,)):
        found = replace(found, synthesis=load_synthesis(project.folder))
    if project.is_current("netlist", mapped, (project.netlist_simulation,)):
        found = replace(found, netlist=load_result(project.netlist_simulation))
    if project.is_current("route", mapped, (project.routing,)):
        found = replace(found, routing=load_routing(project.folder))
    return found


def _conversion(run: Context) -> ConversionReport | None:
    path = run.project.conversion
    return load_conversion(path) if path.exists() else None
