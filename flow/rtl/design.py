"""From a plan to hardware: solve the matrices, place the registers, and revise the plan where it does not hold."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flow.engines.area import area
from flow.engines.beat import beat_of
from flow.engines.dataflow import dataflow
from flow.engines.engine import Choice, Folded, Resources, Streamed, Unrolled
from flow.engines.folded_cost import folded_resources
from flow.engines.folded_hardware import folded_hardware
from flow.engines.module import Module
from flow.engines.streamed_cost import streamed_resources
from flow.engines.streamed_hardware import streamed_hardware
from flow.errors import VerificationError
from flow.graph.graph import Graph
from flow.latency.timeline import Timeline
from flow.plan.exact import held, limited, released
from flow.plan.plan import Plan, Planned
from flow.plan.planner import Target, assemble, target_of
from flow.plan.request import Request
from flow.rtl.settle import Settled, settle
from flow.rtl.signature import Signature
from flow.rtl.top import Engine, build_top


@dataclass(frozen=True, slots=True)
class Design:
    """Hold hardware that has not been written yet, with the plan and the timeline that it follows.

    worst_ns: the longest segment between two registers, nominal. slowest: the node at which it ends.
    """

    plan: Plan
    timeline: Timeline
    worst_ns: float
    slowest: str
    modules: tuple[Module, ...]
    signature: Signature


def realize(graph: Graph, request: Request, plan: Plan, *, revise: bool = True) -> Design:
    """Solve every matrix of the plan, place its registers and generate the hardware.

    The planned depths stand, so that cycles are as planned whatever the solver returned, unless the solved cones
    miss what the plan promised; then the plan is revised and says why in `revisions`. revise: whether it may be;
    it may not where the user has pinned registers.
    """
    target = limited(target_of(graph, request), plan)
    revise = revise and not any(pin.depth is not None for pin in request.pins.values())
    settled = settle(graph, released(plan), target, revise=revise)
    planned = tuple(
        Planned(choice, _resources(graph, choice, settled, target), old.delay_ns)
        for choice, old in zip(settled.choices, plan.runs, strict=True)
    )
    final = assemble(
        graph,
        request,
        target,
        planned=planned,
        solution=settled.solution,
        best_ns=settled.best_ns,
        traffic=released(plan).traffic,
        revisions=settled.revisions,
    )
    final = held(graph, replace(final, latency_exact=plan.latency_exact, proof=plan.proof), target)
    engines: dict[str, Engine] = {**settled.cones}
    for choice in settled.choices:
        match choice:
            case Folded():
                engines[choice.output] = folded_hardware(graph, choice, target.delays)
            case Streamed():
                cone = settled.cones.get(choice.output)
                engines[choice.output] = streamed_hardware(graph, choice, target.delays, cone)
    flow = dataflow(graph, settled.choices, final.traffic)
    modules, signature = build_top(graph, flow, engines)
    _check_cycles(flow.timeline, signature)
    return Design(final, flow.timeline, settled.solution.depths.worst_ns, settled.slowest, modules, signature)


def _resources(graph: Graph, choice: Choice, settled: Settled, target: Target) -> Resources:
    match choice:
        case Unrolled():
            return area(settled.cones[choice.output], target.part.family)
        case Folded():
            return folded_resources(graph, choice, target.part)
        case Streamed():
            cone = settled.cones.get(choice.output)
            if cone is not None:
                return streamed_resources(graph, choice, target.part, area(cone, target.part.family))
            beat = beat_of(graph, choice)
            inner = (
                folded_resources(beat, choice.inner, target.part) if isinstance(choice.inner, Folded) else Resources()
            )
            return streamed_resources(graph, choice, target.part, inner)


def _check_cycles(timeline: Timeline, signature: Signature) -> None:
    """Raise VerificationError unless the engines' schedules are what was generated."""
    generated = {edge.name: edge.cycles for edge in signature.edges}
    predicted = {edge.name: edge.schedule.cycles for edge in timeline.edges}
    if generated != predicted or (signature.latency_cycles, signature.interval_cycles) != (
        timeline.latency,
        timeline.interval,
    ):
        raise VerificationError(f"the generated schedule {generated} is not the predicted one {predicted}")
