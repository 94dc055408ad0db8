"""Simulation, synthesis, and place and route of the hardware as it lies in a run's folder."""

from __future__ import annotations

import numpy as np

from flow.device.parts import Part, find_part
from flow.engines.dataflow import dataflow
from flow.engines.settled import settled_early
from flow.errors import VerificationError
from flow.files import write_whole
from flow.graph.graph import evaluate
from flow.graph.store import load_graph
from flow.latency.timeline import load_timeline
from flow.plan.plan import load_plan
from flow.project import Project
from flow.report.report import BulkReport, bulk_to_json
from flow.rtl.packing import unpack
from flow.rtl.signature import load_signature
from flow.samples import accuracy, load_samples
from flow.simulate.bulk import bulk_model
from flow.simulate.runner import simulate as simulate_hardware
from flow.simulate.vectors import Vectors, expected
from flow.steps.context import Context
from flow.synth.netlist import netlist_for_simulation
from flow.synth.nextpnr import route as route_netlist
from flow.synth.result import load_synthesis
from flow.synth.yosys import synthesize as synthesize_hardware


def simulate(run: Context) -> None:
    """Bring `sim/` up to date: the cocotb bench, and a bulk run of all vectors."""
    project = run.project
    inputs = run.simulation_digest()
    _check_timeline(project)
    if project.is_current("simulate", inputs) and (not run.options.waves or project.is_current("waves", inputs)):
        run.progress.skip("simulate", "nothing changed")
        return
    vectors = _vectors(run)
    with run.progress.step("simulate: cocotb and Verilator") as tell:
        result = simulate_hardware(
            project.folder, vectors=vectors, waves=run.options.waves, progress=run.progress.inner
        )
        tell(f"{result.beats_wrong} of {result.beats_checked:,} beats and {result.mismatches} bits wrong")
    with run.progress.step("simulate in bulk") as tell:
        bulk = _bulk(run, vectors)
        tell(f"{bulk.mismatches} of {bulk.vectors:,} vectors wrong")
    project.record("simulate", inputs, (project.simulation, project.bulk))
    if run.options.waves:
        project.record("waves", inputs, (project.waves,))


def _check_timeline(project: Project) -> None:
    """Raise VerificationError when `timeline.json` is not what the bench will check: the signature's cycles."""
    timeline, signature = load_timeline(project.timeline), load_signature(project.signature)
    checked = {edge.name: edge.cycles for edge in signature.edges}
    for edge in timeline.edges:
        if checked.get(edge.name) != edge.schedule.cycles:
            raise VerificationError(
                f"{project.timeline} has '{edge.name}' at cycles {edge.schedule.cycles}, {project.signature} at "
                f"{checked.get(edge.name)}; one of them was changed since the build (fpgaflow build renews both)"
            )
    told = (timeline.latency, timeline.interval)
    if told != (signature.latency_cycles, signature.interval_cycles):
        raise VerificationError(
            f"{project.timeline} tells latency and interval {told}, {project.signature} "
            f"{(signature.latency_cycles, signature.interval_cycles)}; fpgaflow build renews both"
        )


def _vectors(run: Context) -> Vectors:
    graph = load_graph(run.project.model)
    samples = load_samples(run.project.inputs, graph)
    values = evaluate(graph, samples.inputs)
    for name in graph.outputs:
        wrong = np.any((values[name].raw != samples.outputs[name]).reshape(len(values[name].raw), -1), axis=1)
        if np.any(wrong):
            raise VerificationError(
                f"{run.project.model} does not compute the outputs in {run.project.inputs}: '{graph.node(name).label}' "
                f"differs in {int(np.sum(wrong)):,} of {len(wrong):,} vectors; one of them was changed since the "
                "conversion (fpgaflow build renews both)"
            )
    flow = dataflow(graph, (plan := load_plan(run.project.plan)).choices, plan.traffic)
    return expected(load_signature(run.project.signature), values, settled_early(graph, flow, values))


def _bulk(run: Context, vectors: Vectors) -> BulkReport:
    project = run.project
    graph, signature = load_graph(project.model), load_signature(project.signature)
    model = bulk_model(project.folder, inferences=vectors.count)
    words = model.run(vectors.words_in, progress=run.progress.count).words_out
    wrong = int(np.any(words != vectors.words_out, axis=(1, 2)).sum())
    labels = load_samples(project.inputs, graph).labels
    scores = unpack(signature.outputs, words)[graph.outputs[0]]
    bulk = BulkReport(len(words), wrong, accuracy(scores, labels))
    write_whole(project.bulk, bulk_to_json(bulk))
    return bulk


def synthesize(run: Context) -> None:
    """Bring `synth/` up to date; on request the netlist goes through the bench, and through place and route."""
    project, part = run.project, find_part(load_plan(run.project.plan).part)
    inputs = run.hardware_digest()
    if project.is_current("synth", inputs):
        run.progress.skip("synth", "nothing changed")
    else:
        with run.progress.step(f"synthesize with Yosys for {part.name} ({part.family})") as tell:
            result = synthesize_hardware(project.folder, part, progress=run.progress.line)
            project.record("synth", inputs, (project.synthesis, project.folder / result.netlist))
            tell(f"{result.total.lut:,} LUTs, {result.total.ff:,} FFs")
    if run.options.netlist:
        _simulate_netlist(run)
    if run.options.route:
        _route(run, part)


def _simulate_netlist(run: Context) -> None:
    project, inputs = run.project, run.netlist_digest()
    if project.is_current("netlist", inputs):
        run.progress.skip("simulate the synthesized netlist", "nothing changed")
        return
    with run.progress.step("simulate the synthesized netlist") as tell:
        netlist = netlist_for_simulation(project.folder, load_synthesis(project.folder))
        result = simulate_hardware(
            project.folder,
            vectors=_vectors(run),
            netlist=netlist.netlist,
            cell_models=netlist.cell_models,
            progress=run.progress.inner,
        )
        project.record("netlist", inputs, (project.netlist_simulation,))
        tell("every check passed" if result.passed else f"{len(result.failures)} checks failed")


def _route(run: Context, part: Part) -> None:
    project, inputs = run.project, run.routing_digest()
    if project.is_current("route", inputs):
        run.progress.skip("place and route", "nothing changed")
        return
    with run.progress.step("place and route with nextpnr") as tell:
        period_ns = load_plan(project.plan).clock.period_ns
        result = route_netlist(project.folder, part, clock_ns=period_ns)
        project.record("route", inputs, (project.routing,))
        tell(f"{result.period_ns:.4g} ns (routed, out of context)")
