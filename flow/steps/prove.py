"""Simulation, synthesis, and place and route of the hardware as it lies in a run's folder."""

from __future__ import annotations

import numpy as np

from flow.device.parts import find_part
from flow.files import write_whole
from flow.graph.graph import evaluate
from flow.graph.store import load_graph
from flow.plan.plan import load_plan
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
    outputs = (project.simulation, project.bulk, *([project.waves] if run.options.waves else []))
    if project.is_current("simulate", inputs, outputs):
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
    project.record("simulate", inputs)


def _vectors(run: Context) -> Vectors:
    graph = load_graph(run.project.model)
    samples = load_samples(run.project.inputs, graph)
    return expected(load_signature(run.project.signature), evaluate(graph, samples.inputs))


def _bulk(run: Context, vectors: Vectors) -> BulkReport:
    project = run.project
    graph, signature = load_graph(project.model), load_signature(project.signature)
    words = bulk_model(project.folder).run(vectors.words_in, progress=run.progress.count).words_out
    wrong = int(np.any(words != vectors.words_out, axis=1).sum())
    labels = load_samples(project.inputs, graph).labels
    scores = unpack(signature.outputs, words)[graph.outputs[0]]
    bulk = BulkReport(len(words), wrong, accuracy(scores, labels))
    write_whole(project.bulk, bulk_to_json(bulk))
    return bulk


def synthesize(run: Context) -> None:
    """Bring `synth/` up to date; on request the netlist goes through the bench, and through place and route."""
    project, part = run.project, find_part(run.request.part)
    inputs = run.hardware_digest() + part.device
    if project.is_current("synth", inputs, (project.synthesis,)):
        run.progress.skip("synth", "nothing changed")
    else:
        with run.progress.step(f"synthesize with Yosys for {part.name} ({part.family})") as tell:
            result = synthesize_hardware(project.folder, part, progress=run.progress.line)
            project.record("synth", inputs)
            tell(f"{result.total.lut:,} LUTs, {result.total.ff:,} FFs")
    if run.options.netlist:
        _simulate_netlist(run, inputs)
    if run.options.route:
        _route(run, inputs)


def _simulate_netlist(run: Context, inputs: str) -> None:
    project = run.project
    with run.progress.step("simulate the synthesized netlist") as tell:
        netlist = netlist_for_simulation(project.folder, load_synthesis(project.folder))
        result = simulate_hardware(
            project.folder,
            vectors=_vectors(run),
            netlist=netlist.netlist,
            cell_models=netlist.cell_models,
            progress=run.progress.inner,
        )
        project.record("netlist", inputs)
        tell("every check passed" if result.passed else f"{len(result.failures)} checks failed")


def _route(run: Context, inputs: str) -> None:
    with run.progress.step("place and route with nextpnr") as tell:
        period_ns = load_plan(run.project.plan).clock.period_ns
        result = route_netlist(run.project.folder, find_part(run.request.part), clock_ns=period_ns)
        run.project.record("route", inputs)
        tell(f"{result.period_ns:.4g} ns (routed, out of context)")
