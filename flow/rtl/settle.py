"""The registers of solved cones: as planned where that holds, else revised, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import floor

from flow.engines.beat import beat_of
from flow.engines.blocks import blocks_of
from flow.engines.cone import Cone
from flow.engines.dataflow import only_cones
from flow.engines.engine import Choice, Streamed, Unrolled
from flow.engines.folded import Folded
from flow.engines.folded_pipeline import longest_ns as folded_ns
from flow.engines.lower import lower
from flow.engines.network import Network, connect
from flow.engines.pipeline import PlacedCone, Placement, depths_of_total, fewest_registers_along, place, shortest_depths
from flow.engines.segments import lower_unrolled, network_of, segments
from flow.graph.graph import Graph
from flow.latency.budget import Origin, Verdict
from flow.plan.plan import Plan, timeline_of
from flow.plan.planner import Target
from flow.plan.solve import Depths, Goal, Solution, judged, round_up, solve

DEEPER = 12  # registers more than planned that a revision tries with a free clock


@dataclass(frozen=True, slots=True)
class Settled:
    """Hold choices that hold, their solution, and placed cones by output edge: of unrolled choices and of beats.

    best_ns: least total latency known to be reachable. slowest: the node at which the longest segment ends. revisions:
    what differs from the plan, and why.
    """

    choices: tuple[Choice, ...]
    cones: dict[str, PlacedCone]
    solution: Solution
    best_ns: float
    slowest: str
    revisions: tuple[str, ...]


def settle(graph: Graph, plan: Plan, target: Target, *, revise: bool = True) -> Settled:
    """Solve every matrix of the unrolled runs and place their registers; folded engines are as planned.

    revise: whether cones may get other registers than planned where they miss what the plan promised.
    """
    cones = lower_unrolled(graph, plan.choices, target.part)
    if only_cones(plan.choices, plan.traffic):
        return _settle_unrolled(graph, plan, target, cones, revise=revise)
    return _settle_mixed(graph, plan, target, cones, revise=revise)


def _settle_unrolled(graph: Graph, plan: Plan, target: Target, cones: dict[int, Cone], *, revise: bool) -> Settled:
    (segment,) = segments(graph, plan.choices, plan.traffic)
    network = network_of(segment, cones)
    solution, best_ns, revisions = _settle(network, target, plan, revise=revise)
    # where the clock surely closes, its slack is spent on fewer flip-flops
    spare = solution.clock.period_ns / target.delays.high if solution.verdict is Verdict.MET else 0.0
    placement = place(network, solution.depths.depths, target.delays, within_ns=spare)
    depths = Depths(solution.depths.depths, solution.depths.cycles, placement.worst_ns)
    solution = judged(target.goal, depths, solution.clock.period_ns, target.delays)
    unrolled = (choice for choice in plan.choices if isinstance(choice, Unrolled))
    choices = tuple(replace(c, depth=depth) for c, depth in zip(unrolled, depths.depths, strict=True))
    slowest = _ends(placement, plan.limiter)
    return Settled(choices, {cone.name: cone for cone in placement.cones}, solution, best_ns, slowest, revisions)


def _ends(placement: Placement, otherwise: str) -> str:
    """Return the node at which the longest segment ends."""
    return otherwise if placement.limiter is None else placement.limiter[0]


def _settle_mixed(graph: Graph, plan: Plan, target: Target, cones: dict[int, Cone], *, revise: bool) -> Settled:
    """Settle each segment between folded engines on its own, for the clock of the plan."""
    delays, period = target.delays, plan.clock.period_ns
    sure = plan.verdict is Verdict.MET
    within_ns = period / delays.high if sure else period
    choices, placed = list(plan.choices), dict[str, PlacedCone]()
    revisions: list[str] = []
    worst: list[tuple[float, str]] = []
    for number, choice in enumerate(plan.choices):
        if isinstance(choice, Unrolled):
            continue
        settled = _settle_engine(graph, choice, target, within_ns, revise=revise)
        choices[number] = settled.choice
        worst.append((settled.worst_ns, choice.output))
        revisions += settled.revisions
        if settled.cone is not None:
            placed[choice.output] = settled.cone
    for segment in segments(graph, plan.choices, plan.traffic):
        network = network_of(segment, cones)
        planned = tuple(c.depth for k in segment.numbers if isinstance(c := plan.choices[k], Unrolled))
        spare, last = within_ns if sure else 0.0, plan.choices[segment.numbers[-1]].output
        placement = place(network, planned, delays, within_ns=spare)
        if revise and placement.worst_ns > within_ns * (1 + 1e-9):
            depths = shortest_depths(network, delays, within_ns)
            if depths is not None and depths != planned:
                revisions.append(
                    f"with the planned depths {planned} the solved cones up to '{last}' need "
                    f"{placement.worst_ns:.4g} ns between registers: built with {depths}"
                )
                placement = place(network, depths, delays, within_ns=spare)
        worst.append((placement.worst_ns, _ends(placement, last)))
        for number, cone in zip(segment.numbers, placement.cones, strict=True):
            unrolled = choices[number]
            assert isinstance(unrolled, Unrolled)
            choices[number] = replace(unrolled, depth=cone.departure - cone.arrival)
            placed[cone.name] = cone
    timeline = timeline_of(graph, tuple(choices), plan.traffic)
    longest_ns, slowest = max(worst)
    if revise and plan.clock.origin is Origin.PREDICTED and longest_ns > within_ns * (1 + 1e-9):
        # the planner's own clock follows what the solved cones need
        period = round_up(longest_ns * (delays.high if sure else 1.0))
    depths_built = tuple(c.depth for c in choices if isinstance(c, Unrolled))
    depths_found = Depths(depths_built, timeline.latency, longest_ns)
    solution = judged(replace(target.goal, interval=timeline.interval), depths_found, period, delays)
    best_ns = plan.reachable_ns
    if plan.best_ns is not None and solution.clock.may_close and solution.sustains:
        best_ns = min(best_ns, solution.latency.total_ns)
    return Settled(tuple(choices), placed, solution, best_ns, slowest, tuple(revisions))


@dataclass(frozen=True, slots=True)
class _SettledEngine:
    choice: Choice
    cone: PlacedCone | None
    worst_ns: float
    revisions: tuple[str, ...]


def _settle_engine(
    graph: Graph, choice: Folded | Streamed, target: Target, within_ns: float, *, revise: bool
) -> _SettledEngine:
    """Settle a folded or streamed engine; the cone of a beat gets more registers where it misses the segment."""
    if isinstance(choice, Folded):
        return _SettledEngine(choice, None, folded_ns(graph, choice, target.part, target.delays), ())
    beat, inner = beat_of(graph, choice), choice.inner
    if isinstance(inner, Folded):
        return _SettledEngine(choice, None, folded_ns(beat, inner, target.part, target.delays), ())
    network = connect((lower(beat, inner.nodes, blocks=blocks_of(inner, target.part)),), (choice.output,))
    placement = place(network, (inner.depth,), target.delays, within_ns=within_ns)
    if not revise or placement.worst_ns <= within_ns * (1 + 1e-9):
        return _SettledEngine(choice, placement.cones[0], placement.worst_ns, ())
    depths = shortest_depths(network, target.delays, within_ns)
    if depths is None or depths[0] <= inner.depth:
        return _SettledEngine(choice, placement.cones[0], placement.worst_ns, ())
    revision = (
        f"with the planned depth {inner.depth} the solved cone of '{choice.output}' needs {placement.worst_ns:.4g} ns "
        f"between registers: built with {depths[0]}"
    )
    placement = place(network, depths, target.delays, within_ns=within_ns)
    deeper = replace(choice, inner=replace(inner, depth=depths[0]))
    return _SettledEngine(deeper, placement.cones[0], placement.worst_ns, (revision,))


def _settle(network: Network, target: Target, plan: Plan, *, revise: bool) -> tuple[Solution, float, tuple[str, ...]]:
    """Return depths that hold on the solved cones: the planned ones, or else revised ones with the reason."""
    goal, delays = target.goal, target.delays

    def measured(depths: tuple[int, ...]) -> Depths:
        placed = place(network, depths, delays)
        return Depths(depths, max((cone.departure for cone in placed.cones), default=0), placed.worst_ns)

    least = fewest_registers_along(network, delays)

    def balance(registers: int) -> Depths:
        return measured(depths_of_total(network, delays, max(registers, least))[0])

    planned = measured(tuple(choice.depth for choice in plan.choices if isinstance(choice, Unrolled)))
    as_planned = _with_clock(goal, planned, plan, target)
    if not revise or as_planned.verdict is plan.verdict:
        return as_planned, plan.reachable_ns, ()
    spread = _with_clock(goal, balance(planned.cycles), plan, target)
    needed = f"with the planned depths {planned.depths} the solved cones need {planned.worst_ns:.4g} ns"
    if spread.verdict is plan.verdict:
        moved = f"{needed} between registers: moved registers between runs, depths are {spread.depths.depths}"
        return spread, plan.reachable_ns, (moved,)
    revised, best_ns = solve(goal, cache(balance), delays, candidates=_candidates(network, target, planned))
    best = min((as_planned, spread, revised), key=lambda s: s.rank)
    changed = (
        f"{needed} between registers: planned {plan.verdict} in {planned.cycles} cycles, "
        f"built {best.verdict} in {best.depths.cycles} cycles of {best.clock.period_ns:.4g} ns"
    )
    if best.clock.may_close:
        best_ns = min(best_ns, best.latency.total_ns)
    return best, plan.reachable_ns if best_ns == float("inf") else best_ns, (changed,)


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
