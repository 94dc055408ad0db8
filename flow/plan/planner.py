"""From a graph and a request to a plan: estimates first, solved cones when the hardware is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor

from flow.device.delays import Delays, delays_of
from flow.device.links import Link, check_reach, find_link
from flow.device.parts import Part, find_part, parts
from flow.engines.engine import Resources, Unrolled
from flow.engines.estimate import Estimate, estimate
from flow.engines.lower import runs
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.latency.budget import Verdict
from flow.plan.plan import FORMAT, Plan, Planned
from flow.plan.request import Request
from flow.plan.solve import Depths, Goal, Solution, solve


@dataclass(frozen=True, slots=True)
class Target:
    """Hold what a request's names stand for."""

    part: Part
    delays: Delays
    link: Link
    boundary: str
    goal: Goal


def target_of(graph: Graph, request: Request) -> Target:
    """Look up part and link and put the request into numbers; raise UserError for unknown names."""
    part, link = find_part(request.part), find_link(request.link)
    if request.boundary is not None and request.boundary not in link.boundaries:
        raise UserError(
            f"boundary '{request.boundary}' is not what link '{link.name}' spans; with it: {', '.join(link.boundaries)}"
        )
    check_reach(link, part)
    fixed = link.fixed_ns(payload_bytes(graph, graph.inputs), payload_bytes(graph, graph.outputs))
    goal = Goal(request.budget_ns, request.rate_hz, request.period_ns, (fixed.min, fixed.typical, fixed.max))
    return Target(part, delays_of(part), link, request.boundary or link.boundaries[0], goal)


def payload_bytes(graph: Graph, names: tuple[str, ...]) -> int:
    """Return the bytes that tensors take when packed."""
    return -(-sum(graph.node(name).size * graph.node(name).type.width for name in names) // 8)


def make_plan(graph: Graph, request: Request) -> Plan:
    """Plan from estimates alone: fast, and no matrix is solved.

    Raises UserError when the network is too large to unroll on the part.
    """
    target = target_of(graph, request)
    groups = runs(graph)
    estimates = tuple(estimate(graph, run, target.delays, target.part.family) for run in groups)
    _check_size(graph, target.part, groups, estimates)
    solution, best_ns = solve(target.goal, estimated_balance(graph, groups, estimates, target.delays), target.delays)
    planned = tuple(
        Planned(
            Unrolled(run, depth),
            Resources(lut=guess.lut, ff=_flip_flops(guess, depth)),
            guess.delay_ns,
        )
        for run, depth, guess in zip(groups, solution.depths.depths, estimates, strict=True)
    )
    return assemble(graph, request, target, planned=planned, solution=solution, best_ns=best_ns)


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
        revisions=revisions,
    )
    return replace(plan, advice=advice(plan, solution))


def advice(plan: Plan, solution: Solution) -> str:
    """Say what limits a plan that does not surely meet its goal, and what would have to change."""
    low, high = solution.clock.range_ns
    period = solution.clock.period_ns
    share = max((p.delay_ns for p in plan.runs), default=0.0) / max(sum(p.delay_ns for p in plan.runs), 1e-9)
    where = f"'{plan.limiter}' takes {share:.0%} of the logic delay"
    if plan.verdict is Verdict.MET:
        return ""
    if plan.verdict is Verdict.MET_IF_CLOCK_CLOSES:
        return (
            f"The clock of {period:.4g} ns may not close: {low:.3g} to {high:.3g} ns predicted, and the budget leaves "
            f"no room for more registers; {where}. A period of {high:.3g} ns would be safe."
        )
    total = solution.latency.total_ns
    parts_of_miss = []
    if plan.budget_ns is not None and total > plan.budget_ns:
        core_budget = plan.budget_ns - plan.fixed_ns[1]
        if core_budget <= 0:
            parts_of_miss.append(
                f"link '{plan.link}' alone takes {plan.fixed_ns[1]:.4g} ns of the {plan.budget_ns:.4g} ns budget: "
                "choose another link or a larger budget"
            )
        else:
            parts_of_miss.append(
                f"the best reachable total is {plan.best_ns:.4g} ns, the budget {plan.budget_ns:.4g} ns: {where}; "
                f"the core would have to be {plan.best_ns - plan.fixed_ns[1]:.3g} → {core_budget:.3g} ns: "
                "fewer bits, a smaller or sparser layer, or a faster part"
            )
    if plan.rate_hz is not None and period * 1e-9 * plan.rate_hz > 1 + 1e-9:
        parts_of_miss.append(
            f"one inference per {1e9 / plan.rate_hz:.4g} ns needs a period of at most that, not {period:.4g} ns"
        )
    if not solution.clock.may_close:
        parts_of_miss.append(
            f"no pipeline reaches a period of {period:.4g} ns on {plan.part}: its longest single operation needs "
            f"{low:.3g} to {high:.3g} ns; ask for a slower clock"
        )
    return "; ".join(parts_of_miss)


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


def _check_size(graph: Graph, part: Part, groups: Sequence[tuple[str, ...]], estimates: Sequence[Estimate]) -> None:
    total = sum(guess.lut for guess in estimates)
    if total <= part.usable_lut:
        return
    largest = max(zip(groups, estimates, strict=True), key=lambda pair: pair[1].lut)
    roomy = [p.name for p in parts() if p.usable_lut >= total]
    offer = f"it would fit {', '.join(roomy)}" if roomy else "no part of the catalogue holds it unrolled"
    raise UserError(
        f"{graph.name} is too large to unroll on {part.name}: about {total:,} LUTs are needed (predicted), "
        f"{part.usable_lut:,} of {part.lut:,} may be used; the largest run ends in '{largest[0][-1]}' with "
        f"{largest[1].lut:,} LUTs; {offer}"
    )
