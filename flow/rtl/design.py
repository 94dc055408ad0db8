"""From a plan to hardware: solve the matrices, place the registers, and revise the plan where it does not hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import floor

from flow.engines.area import area
from flow.engines.dataflow import dataflow
from flow.engines.engine import Choice, Unrolled
from flow.engines.lower import lower_graph
from flow.engines.module import Module
from flow.engines.network import Network, connect
from flow.engines.pipeline import Placement, depths_of_total, place, shortest_depths
from flow.errors import VerificationError
from flow.graph.graph import Graph
from flow.latency.budget import Verdict
from flow.latency.timeline import Timeline
from flow.plan.plan import Plan, Planned, timeline_of
from flow.plan.planner import Target, assemble, target_of
from flow.plan.request import Request
from flow.plan.solve import Depths, Goal, Solution, judged, round_up, solve
from flow.rtl.signature import Signature
from flow.rtl.top import build_top

DEEPER = 12  # registers more than planned that a revision tries with a free clock


@dataclass(frozen=True, slots=True)
class Design:
    """Hold hardware that has not been written yet, with the plan and the timeline that it follows."""

    plan: Plan
    timeline: Timeline
    placement: Placement
    modules: tuple[Module, ...]
    signature: Signature


def realize(graph: Graph, request: Request, plan: Plan) -> Design:
    """Solve every matrix of the plan, place its registers and generate the hardware.

    The planned depths stand, so that cycles are as planned whatever the solver returned, unless the solved cones
    miss what the plan promised; then the plan is revised and says why in `revisions`.
    """
    target = target_of(graph, request)
    network = connect(lower_graph(graph), graph.outputs)
    solution, best_ns, revisions = _settle(network, target, plan)
    placement, solution = _economical(network, target, solution)
    runs = tuple(choice.nodes for choice in plan.choices)
    planned = tuple(
        Planned(Unrolled(run, depth), area(cone, target.part.family), old.delay_ns)
        for run, depth, cone, old in zip(runs, solution.depths.depths, placement.cones, plan.runs, strict=True)
    )
    final = assemble(graph, request, target, planned=planned, solution=solution, best_ns=best_ns, revisions=revisions)
    engines = {cone.name: cone for cone in placement.cones}
    modules, signature = build_top(graph, dataflow(graph, final.choices), engines)
    return Design(final, _agreed(graph, final.choices, signature), placement, modules, signature)


def _economical(network: Network, target: Target, solution: Solution) -> tuple[Placement, Solution]:
    """Place the registers for good: where the clock surely closes, its slack is spent on fewer flip-flops."""
    spare = solution.clock.period_ns / target.delays.high if solution.verdict is Verdict.MET else 0.0
    placement = place(network, solution.depths.depths, target.delays, within_ns=spare)
    depths = Depths(solution.depths.depths, solution.depths.cycles, placement.worst_ns)
    return placement, judged(target.goal, depths, solution.clock.period_ns, target.delays)


def _agreed(graph: Graph, choices: tuple[Choice, ...], signature: Signature) -> Timeline:
    """Return the timeline, computed by the engines' schedules, after checking it against what was generated."""
    timeline = timeline_of(graph, choices)
    generated = {edge.name: edge.cycles for edge in signature.edges}
    predicted = {edge.name: edge.schedule.cycles for edge in timeline.edges}
    if generated != predicted or (signature.latency_cycles, signature.interval_cycles) != (
        timeline.latency,
        timeline.interval,
    ):
        raise VerificationError(f"the generated schedule {generated} is not the predicted one {predicted}")
    return timeline


def _settle(network: Network, target: Target, plan: Plan) -> tuple[Solution, float, tuple[str, ...]]:
    """Return depths that hold on the solved cones: the planned ones, or else revised ones with the reason."""
    goal, delays = target.goal, target.delays

    def measured(depths: tuple[int, ...]) -> Depths:
        placed = place(network, depths, delays)
        return Depths(depths, max((cone.departure for cone in placed.cones), default=0), placed.worst_ns)

    def balance(registers: int) -> Depths:
        return measured(depths_of_total(network, delays, registers)[0])

    planned = measured(tuple(choice.depth for choice in plan.choices if isinstance(choice, Unrolled)))
    as_planned = _with_clock(goal, planned, plan, target)
    if as_planned.verdict is plan.verdict:
        return as_planned, plan.best_ns, ()
    spread = _with_clock(goal, balance(planned.cycles), plan, target)
    needed = f"with the planned depths {planned.depths} the solved cones need {planned.worst_ns:.4g} ns"
    if spread.verdict is plan.verdict:
        moved = f"{needed} between registers: moved registers between runs, depths are {spread.depths.depths}"
        return spread, plan.best_ns, (moved,)
    revised, best_ns = solve(goal, cache(balance), delays, candidates=_candidates(network, target, planned))
    best = min((as_planned, spread, revised), key=lambda s: s.rank)
    changed = (
        f"{needed} between registers: planned {plan.verdict} in {planned.cycles} cycles, "
        f"built {best.verdict} in {best.depths.cycles} cycles of {best.clock.period_ns:.4g} ns"
    )
    if best.clock.may_close:
        best_ns = min(best_ns, best.latency.total_ns)
    return best, plan.best_ns if best_ns == float("inf") else best_ns, (changed,)


def _with_clock(goal: Goal, depths: Depths, plan: Plan, target: Target) -> Solution:
    """Judge depths with the plan's clock; a free clock is moved to what the solved cones need."""
    period = plan.clock.period_ns
    if goal.period_ns is None:
        factor = target.delays.high if plan.verdict is Verdict.MET else 1.0
        period = round_up(depths.worst_ns * factor)
    return judged(goal, depths, period, target.delays)


def _candidates(network: Network, target: Target, planned: Depths) -> tuple[int, ...]:
    """Return totals of registers worth trying, ascending."""
    goal, delays = target.goal, target.delays
    fewest = max(1, planned.cycles - DEEPER)
    if goal.period_ns is None:
        return tuple(range(fewest, planned.cycles + DEEPER))
    found = {planned.cycles}
    for period in (goal.period_ns / delays.high, goal.period_ns):
        depths = shortest_depths(network, delays, period)
        if depths is not None:
            found.add(max((cone.departure for cone in place(network, depths, delays).cones), default=1))
    if goal.budget_ns is not None:
        room = floor((goal.budget_ns - goal.fixed_ns[1]) / goal.period_ns + 1e-9)
        found = {min(cycles, max(room, 1)) for cycles in found} | found
    return tuple(sorted(found))
