"""Put a report together from the results of a run's steps."""

from __future__ import annotations

from dataclasses import dataclass

from flow.baseline.gpu import check_must_beat
from flow.baseline.measured import Measurement
from flow.baseline.roofline import roofline
from flow.baseline.work import work_of
from flow.device.links import find_link
from flow.device.parts import Part, find_part
from flow.engines.engine import Resources
from flow.engines.folded import Folded
from flow.graph.graph import Graph
from flow.latency.budget import Latency, Origin, Verdict, judge, latency_of, required_interval
from flow.latency.bunches import bunch_crossings
from flow.latency.timeline import Hop, Timeline
from flow.plan.plan import Plan
from flow.plan.planner import payloads
from flow.plan.request import Request
from flow.plan.sensitivity.figures import Sensitivity
from flow.quantity import time_text
from flow.report.baselines import baselines
from flow.report.contract import contract_of
from flow.report.dies import die_notes
from flow.report.engines import plan_report
from flow.report.load import frame_notes, load_report, payload_notes
from flow.report.proved import proof_notes
from flow.report.report import (
    FORMAT,
    AccuracyReport,
    AvailableCounts,
    BitReport,
    BulkReport,
    CheckReport,
    ClockReport,
    ConversionReport,
    HopReport,
    IntervalReport,
    LatencyReport,
    Report,
    ResourceCounts,
    ResourcesReport,
    RooflineReport,
    TimelineReport,
)
from flow.report.vendor import vendor_report
from flow.report.wire import fixed_origin, wire_notes
from flow.simulate.result import SimulationResult
from flow.synth.result import RoutingResult, SynthesisResult

REVISED = "The plan was revised on build: "


@dataclass(frozen=True, slots=True)
class Findings:
    """Hold what the steps of a run have left; None is a step that has not run."""

    graph: Graph
    plan: Plan
    timeline: Timeline
    conversion: ConversionReport | None = None
    simulation: SimulationResult | None = None
    bulk: BulkReport | None = None
    synthesis: SynthesisResult | None = None
    netlist: SimulationResult | None = None
    routing: RoutingResult | None = None
    notes: tuple[str, ...] = ()
    request: Request | None = None
    measured: tuple[Measurement, ...] = ()
    sensitivity: Sensitivity | None = None


def collect(found: Findings) -> Report:
    """Return the report; simulated cycles, where there are any, are what its nanoseconds are counted from."""
    plan, simulation = found.plan, found.simulation
    check_must_beat(plan.must_beat, plan.boundary)
    simulated = None if simulation is None else simulation.latency_simulated
    cycles = found.timeline.latency if simulated is None else simulated
    latency = latency_of(cycles, plan.clock.period_ns, plan.fixed_ns)
    link = find_link(plan.link)
    interval = None if simulation is None or simulation.interval_simulated is None else simulation.interval_simulated
    required = required_interval(plan.rate_hz, plan.clock.period_ns)
    verdict = _verdict(found, latency, required)
    beside = baselines(found.graph, plan, latency.total_ns, found.measured)
    return Report(
        format=FORMAT,
        model=plan.model,
        part=plan.part,
        link=plan.link,
        boundary=plan.boundary,
        budget_ns=plan.budget_ns,
        rate_hz=plan.rate_hz,
        verdict=verdict,
        limiter=plan.limiter,
        advice=_advice(found, verdict, latency),
        clock=ClockReport(
            plan.clock.period_ns,
            plan.clock.range_ns,
            plan.clock.origin,
            plan.clock.range_origin,
            None if found.routing is None else found.routing.period_ns,
            () if found.routing is None else found.routing.untimed,
        ),
        latency=LatencyReport(
            cycles_predicted=found.timeline.latency,
            cycles_simulated=simulated,
            core_ns=latency.core_ns,
            fixed_ns=plan.fixed_ns[1],
            fixed_range_ns=(plan.fixed_ns[0], plan.fixed_ns[2]),
            total_ns=latency.total_ns,
            best_ns=plan.best_ns,
            origin=Origin.PREDICTED if simulated is None else Origin.SIMULATED,
            fixed_origin=fixed_origin(link),
            fixed_source=link.source,
            bunch_crossings=bunch_crossings(latency.core_ns, latency.total_ns, plan.clock.period_ns)
            if found.request is not None and found.request.bunch_crossings
            else None,
        ),
        ii=IntervalReport(required, found.timeline.interval, None if interval is None else round(interval)),
        bit_exact=_bits(found),
        timeline=None
        if simulation is None
        else TimelineReport(simulation.edges, simulation.beats_checked, simulation.beats_wrong),
        checks=_checks(found),
        critical_path=tuple(
            HopReport(hop.node, hop.engine, hop.cycles, hop.cycles * plan.clock.period_ns, _reason(found, hop))
            for hop in found.timeline.critical_path
        ),
        plan=plan_report(found.graph, plan, found.timeline, find_part(plan.part)),
        resources=ResourcesReport(_predicted(plan), _synthesized(found), _available(find_part(plan.part))),
        baseline=beside.baseline,
        headline=beside.headline,
        roofline=_roofline(found.graph),
        fidelity=() if found.conversion is None else found.conversion.fidelity,
        accuracy=_accuracy(found),
        notes=_notes(found),
        contract=contract_of(plan, found.timeline),
        sensitivity=found.sensitivity,
        vendor=vendor_report(found.graph, plan),
        load=load_report(
            found.request,
            found.graph,
            plan,
            cycles=cycles,
            interval=found.timeline.interval if interval is None else round(interval),
            origin=Origin.PREDICTED if simulated is None else Origin.SIMULATED,
        ),
    )


def _verdict(found: Findings, latency: Latency, required: int | None) -> Verdict:
    """Judge what was simulated, where it was; a design beyond the part or the constrained period is a miss."""
    plan = found.plan
    if found.synthesis is not None and found.synthesis.shortage:
        return Verdict.MISSED
    if found.routing is not None and found.routing.period_ns > plan.clock.period_ns * (1 + 1e-9):
        return Verdict.MISSED
    interval = found.timeline.interval
    if found.simulation is not None and found.simulation.interval_simulated is not None:
        interval = round(found.simulation.interval_simulated)
    verdict = judge(latency, plan.clock, budget_ns=plan.budget_ns, interval=interval, required=required)
    closes = found.routing is not None and not found.routing.untimed
    return Verdict.MET if verdict is Verdict.MET_IF_CLOCK_CLOSES and closes else verdict


def _advice(found: Findings, verdict: Verdict, latency: Latency) -> str:
    """Say what would have to change: the plan's word, or what the hardware has shown beyond it."""
    plan = found.plan
    if verdict is Verdict.MET:
        return ""
    if verdict is not Verdict.MISSED or plan.verdict is Verdict.MISSED:
        return plan.advice
    said = []
    if found.synthesis is not None and found.synthesis.shortage:
        said.append(f"As synthesized, {found.synthesis.shortage}: fewer bits, sparser layers or a larger part.")
    if found.routing is not None and found.routing.period_ns > plan.clock.period_ns:
        said.append(
            f"As routed, the longest path takes {found.routing.period_ns:.4g} ns of the {plan.clock.period_ns:.4g} ns "
            "period: ask for a slower clock or a larger budget."
        )
    if latency.cycles != found.timeline.latency:
        said.append(
            f"The hardware was simulated at {latency.cycles} cycles and {time_text(latency.total_ns)}, where "
            f"{found.timeline.latency} cycles were predicted: fpgaflow build renews it."
        )
    return " ".join(said)


def _bits(found: Findings) -> BitReport | None:
    if found.simulation is None:
        return None
    reference = "the integer evaluator" if found.conversion is None else found.conversion.reference
    wrong_bits = found.simulation.mismatches
    if found.bulk is None:
        return BitReport(found.simulation.vectors, 0, wrong_bits, reference)
    return BitReport(found.bulk.vectors, found.bulk.mismatches, wrong_bits, reference)


def _checks(found: Findings) -> tuple[CheckReport, ...]:
    checks = []
    if found.simulation is not None:
        checks += [CheckReport(check.name, check.passed, check.detail) for check in found.simulation.checks]
        for edge in found.simulation.wrong_edges:
            checks.append(CheckReport(f"edge {edge.name}", passed=False, detail=edge.fault))
    if found.netlist is not None:
        checks += [CheckReport(f"netlist: {c.name}", c.passed, c.detail) for c in found.netlist.checks]
    return tuple(checks)


def _reason(found: Findings, hop: Hop) -> str:
    """Return why an engine takes its time; one that works while its input still comes is said to."""
    if hop.engine == "delay" and hop == found.timeline.critical_path[-1] and found.plan.latency_exact is not None:
        return f"held back for exactly {found.plan.latency_exact:,} cycles"
    serial = {c.output for c in found.plan.choices if isinstance(c, Folded) and c.order == "input_serial"}
    waited_for = found.timeline.edge(hop.node).waited_for
    if hop.engine != "folded" or hop.node not in serial or waited_for is None:
        return hop.reason
    before = found.timeline.edge(waited_for)
    beats = len(before.schedule.cycles)
    return f"works on the {beats} beats of {before.name} as they come" if beats > 1 else hop.reason


def _per_node(resources: Resources) -> dict[str, int]:
    """Return what is counted per node."""
    return {kind: getattr(resources, kind) for kind in ("lut", "ff", "dsp", "bram")}


def _predicted(plan: Plan) -> ResourceCounts:
    total = plan.resources
    per_node = {p.choice.output: _per_node(p.resources) for p in plan.runs}
    per_node |= {c.edge: _per_node(c.resources) for c in plan.converters}
    return ResourceCounts(total.lut, total.ff, total.dsp, total.bram, total.uram, Origin.PREDICTED, per_node)


def _synthesized(found: Findings) -> ResourceCounts | None:
    if found.synthesis is None:
        return None
    total = found.synthesis.total
    per_node = {instance.instance or "top": _per_node(instance.resources) for instance in found.synthesis.instances}
    return ResourceCounts(total.lut, total.ff, total.dsp, total.bram, total.uram, Origin.SYNTHESIZED, per_node)


def _available(part: Part) -> AvailableCounts:
    fractions = part.usable
    usable = {kind: getattr(fractions, kind) for kind in ("lut", "ff", "dsp", "bram", "uram")}
    return AvailableCounts(*part.available, usable, part.source)


def _roofline(graph: Graph) -> RooflineReport:
    work = work_of(graph)
    roof = roofline(work.multiplications, work.weight_bytes)
    return RooflineReport(roof.device, roof.bound_ns, roof.source, roof.why)


def _accuracy(found: Findings) -> AccuracyReport | None:
    conversion, bulk = found.conversion, found.bulk
    if conversion is None:
        return None
    rtl = None if bulk is None else bulk.accuracy
    if conversion.framework_accuracy is None and conversion.hls4ml_accuracy is None and rtl is None:
        return None
    return AccuracyReport(conversion.vectors, conversion.framework_accuracy, conversion.hls4ml_accuracy, rtl)


def _notes(found: Findings) -> tuple[str, ...]:
    notes = [*found.notes, *found.graph.notes]
    if found.conversion is not None:
        notes += found.conversion.notes
    notes += [REVISED + text for text in found.plan.revisions]
    for name, result in (("simulated", found.simulation), ("synthesized", found.synthesis)):
        if result is not None and result.changed_files:
            notes.append(f"{', '.join(result.changed_files)} differ from what was generated; {name} as they are.")
    if found.simulation is not None and found.simulation.first_mismatch:
        notes.append(f"First wrong bits: {found.simulation.first_mismatch}")
    notes += proof_notes(found.plan.proof, free_clock=found.plan.clock.origin is Origin.PREDICTED)
    notes += die_notes(found.plan)
    notes += payload_notes(found.request, found.graph)
    link = find_link(found.plan.link)
    notes += frame_notes(found.request, found.graph, link)
    if found.request is not None:
        notes += wire_notes(link, found.plan.rate_hz, payloads(found.graph, found.request))
    if link.not_included:
        notes.append(f"Link {link.name} leaves out: {', '.join(link.not_included)}.")
    return tuple(dict.fromkeys(notes))
