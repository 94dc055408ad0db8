"""From a graph and a request to a plan: estimates first, solved cones when the hardware is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor

from flow.device.delays import Delays, delays_of, has_delays
from flow.device.links import Link, check_reach, find_link
from flow.device.parts import Part, find_part, parts
from flow.engines.engine import Resources, Unrolled
from flow.engines.estimate import Estimate, estimate
from flow.engines.lower import runs
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.latency.budget import Origin, Verdict
from flow.plan.plan import FORMAT, Plan, Planned
from flow.plan.request import Request
from flow.plan.solve import Depths, Goal, Solution, solve

# every element of every tensor has its own wires in an unrolled network: far beyond this no part has room
MOST_ELEMENTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Target:
    """Hold what a request's names stand for."""

    part: Part
    delays: Delays
    link: Link
    boundary: str
    goal: Goal


def boundary_of(request: Request) -> str:
    """Return the boundary that a request means; raise UserError for a part and a link that do not go together."""
    part, link = find_part(request.part), find_link(request.link)
    if request.boundary is not None and request.boundary not in link.boundaries:
        raise UserError(
            f"boundary '{request.boundary}' is not what link '{link.name}' spans; with it: {', '.join(link.boundaries)}"
        )
    check_reach(link, part)
    return request.boundary or link.boundaries[0]


def target_of(graph: Graph, request: Request) -> Target:
    """Look up part and link and put the request into numbers; raise UserError for unknown names."""
    boundary = boundary_of(request)
    part, link = find_part(request.part), find_link(request.link)
    fixed = link.fixed_ns(payload_bytes(graph, graph.inputs), payload_bytes(graph, graph.outputs))
    goal = Goal(request.budget_ns, request.rate_hz, request.period_ns, (fixed.min, fixed.typical, fixed.max))
    return Target(part, delays_of(part), link, boundary, goal)


def payload_bytes(graph: Graph, names: tuple[str, ...]) -> int:
    """Return the bytes that tensors take when packed."""
    return -(-sum(graph.node(name).size * graph.node(name).type.width for name in names) // 8)


def make_plan(graph: Graph, request: Request) -> Plan:
    """Plan from estimates alone: fast, and no matrix is solved.

    Raises UserError when the network is too large to unroll on the part.
    """
    target = target_of(graph, request)
    groups = runs(graph)
    estimates = check_size(graph, target.part)
    balance = estimated_balance(graph, groups, estimates, target.delays)
    solution, best_ns = solve(target.goal, balance, target.delays)
    if solution.verdict is Verdict.MISSED:
        best_ns = min(best_ns, _best_with_free_clock(target, balance))
    planned = tuple(
        Planned(
            Unrolled(run, depth),
            Resources(lut=guess.lut, ff=_flip_flops(guess, depth)),
            guess.delay_ns,
        )
        for run, depth, guess in zip(groups, solution.depths.depths, estimates, strict=True)
    )
    return assemble(graph, request, target, planned=planned, solution=solution, best_ns=best_ns)


def _best_with_free_clock(target: Target, balance: Callable[[int], Depths]) -> float:
    """Return the least total in ns, at the asked rate if any clock sustains it."""
    at_rate = replace(target.goal, budget_ns=None, period_ns=None)
    best_ns = solve(at_rate, balance, target.delays)[1]
    return best_ns if best_ns < float("inf") else solve(replace(at_rate, rate_hz=None), balance, target.delays)[1]


def _flip_flops(guess: Estimate, depth: int) -> int:
    """Return those of cuts through the middle of a run and of one where it ends."""
    return guess.cut_bits * (depth - 1) + guess.output_bits if depth else 0


def assemble(
    graph: Graph,
    request: Request,
    target: Target,
    *,
    planned: tuple[Planned, ...],
    solution: Solution,
    best_ns: float,
    revisions: tuple[str, ...] = (),
) -> Plan:
    """Put a plan together, with its limiter and, unless all is met, what would have to change."""
    slowest = max(planned, key=lambda p: p.delay_ns, default=None)
    limiter = "" if slowest is None else slowest.choice.output
    plan = Plan(
        format=FORMAT,
        model=graph.name,
        part=target.part.device,
        link=target.link.name,
        boundary=target.boundary,
        budget_ns=request.budget_ns,
        rate_hz=request.rate_hz,
        clock=solution.clock,
        fixed_ns=target.goal.fixed_ns,
        runs=planned,
        verdict=solution.verdict,
        best_ns=best_ns,
        limiter=limiter,
        advice="",
        must_beat=request.must_beat,
        revisions=revisions,
    )
    return replace(plan, advice=advice(plan, solution))


def advice(plan: Plan, solution: Solution) -> str:
    """Say what limits a plan that does not surely meet its goal, and what would have to change."""
    if plan.verdict is Verdict.MET:
        return ""
    whole = sum(p.delay_ns for p in plan.runs)
    share = max((p.delay_ns for p in plan.runs), default=0.0) / max(whole, 1e-9)
    limiter = f"'{plan.limiter}' has {share:.0%} of the logic delay"
    if plan.verdict is Verdict.MET_IF_CLOCK_CLOSES:
        return _on_doubt(plan, limiter)
    reasons = (_on_clock(plan, solution), _on_rate(plan), _on_budget(plan, solution, limiter))
    return " ".join(filter(None, reasons))


def _on_doubt(plan: Plan, limiter: str) -> str:
    (low, high), period = plan.clock.range_ns, plan.clock.period_ns
    room = "no pipeline surely reaches it" if plan.budget_ns is None else "the budget has no room for more registers"
    return (
        f"The clock of {period:.4g} ns may not close: {low:.3g} to {high:.3g} ns are predicted, and {room}; {limiter}. "
        f"A period of {high:.3g} ns would be safe; place and route decides."
    )


def _on_clock(plan: Plan, solution: Solution) -> str:
    if solution.clock.may_close:
        return ""
    (low, high), period = plan.clock.range_ns, plan.clock.period_ns
    free = (
        "" if plan.best_ns == float("inf") else f", or for --clock auto, with which {plan.best_ns:.4g} ns are reachable"
    )
    return (
        f"No pipeline closes a clock of {period:.4g} ns ({1e3 / period:.4g} MHz) on {plan.part}: between two registers "
        f"{low:.3g} to {high:.3g} ns are predicted at the least. Ask for a slower clock{free}."
    )


def _on_rate(plan: Plan) -> str:
    if plan.rate_hz is None or plan.clock.period_ns * 1e-9 * plan.rate_hz <= 1 + 1e-9:
        return ""
    needed, period = 1e9 / plan.rate_hz, plan.clock.period_ns
    if plan.clock.origin is Origin.ASKED:
        cure = f"ask for a clock of at most {needed:.4g} ns ({1e3 / needed:.4g} MHz), or for a lower rate"
    else:
        cure = f"the shortest period that was found on {plan.part} is {period:.4g} ns; fewer bits or a faster part help"
    return f"One inference per {needed:.4g} ns cannot be sustained with one per clock cycle of {period:.4g} ns: {cure}."


def _on_budget(plan: Plan, solution: Solution, limiter: str) -> str:
    total, fixed = solution.latency.total_ns, plan.fixed_ns[1]
    if plan.budget_ns is None or total <= plan.budget_ns * (1 + 1e-9):
        return ""
    core = plan.budget_ns - fixed
    if core <= 0:
        return (
            f"Link '{plan.link}' alone takes {fixed:.4g} ns of the {plan.budget_ns:.4g} ns budget: another link or "
            f"a budget above {plan.best_ns:.4g} ns is needed."
        )
    if plan.best_ns <= plan.budget_ns and not solution.clock.may_close:
        return ""  # a clock that closes is what it takes
    if plan.best_ns <= plan.budget_ns:
        return (
            f"With this clock the total is {total:.4g} ns, {total - plan.budget_ns:.3g} ns above the budget; with "
            f"--clock auto {plan.best_ns:.4g} ns are reachable."
        )
    return (
        f"The best reachable total is {plan.best_ns:.4g} ns, {plan.best_ns - plan.budget_ns:.3g} ns above the budget; "
        f"{limiter}. The core would have to shrink from {plan.best_ns - fixed:.4g} to {core:.4g} ns: fewer bits, a "
        "smaller or sparser layer, or a faster part."
    )


def estimated_balance(
    graph: Graph, groups: Sequence[tuple[str, ...]], estimates: Sequence[Estimate], delays: Delays
) -> Callable[[int], Depths]:
    """Return the function that spreads registers over the runs by their estimated delays."""
    sources = [
        tuple(dict.fromkeys(e for name in run for e in graph.node(name).inputs if e not in run)) for run in groups
    ]
    outputs = set(graph.outputs)
    granularity = max((guess.step_ns for guess in estimates), default=0.0) / 2

    def forward(usable_ns: float) -> tuple[tuple[int, ...], int]:
        arrival = dict.fromkeys(graph.inputs, (0, 0.0))
        depths = []
        for run, before, guess in zip(groups, sources, estimates, strict=True):
            stage, offset = max(arrival[name] for name in before)
            crossed = floor((offset + guess.delay_ns) / usable_ns)
            offset += guess.delay_ns - crossed * usable_ns
            if run[-1] in outputs:
                crossed, offset = crossed + 1, 0.0
            arrival[run[-1]] = (stage + crossed, offset)
            depths.append(crossed)
        return tuple(depths), max((arrival[name][0] for name in graph.outputs), default=0)

    def balance(registers: int) -> Depths:
        low, high = 1e-3, sum(guess.delay_ns for guess in estimates) + 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if forward(middle)[1] <= registers else (middle, high)
        depths, cycles = forward(high)
        return Depths(depths, cycles, delays.register_ns + max(high + granularity * (cycles > 1), 2 * granularity))

    return balance


def check_size(graph: Graph, part: Part) -> tuple[Estimate, ...]:
    """Return the estimates of all runs; raise UserError when the network is too large to unroll on the part."""
    elements = sum(node.size for node in graph.nodes)
    if elements > MOST_ELEMENTS:
        raise UserError(
            f"{graph.name} is too large to unroll on {part.name} or any part: its tensors have {elements:,} elements, "
            f"each with wires and logic of its own; at most {MOST_ELEMENTS:,} are planned"
        )
    groups, delays = runs(graph), delays_of(part)
    estimates = tuple(estimate(graph, run, delays, part.family) for run in groups)
    total = sum(guess.lut for guess in estimates)
    if total <= part.usable_lut:
        return estimates
    largest = max(zip(groups, estimates, strict=True), key=lambda pair: pair[1].lut)
    roomy = [p.name for p in parts() if has_delays(p) and p.usable_lut >= total]
    offer = f"it would fit {', '.join(roomy)}" if roomy else "no part of the catalogue holds it unrolled"
    raise UserError(
        f"{graph.name} is too large to unroll on {part.name}: about {total:,} LUTs are needed (predicted), "
        f"{part.usable_lut:,} of {part.available[0]:,} may be used; the largest run ends in '{largest[0][-1]}' with "
        f"{largest[1].lut:,} LUTs; {offer}"
    )
