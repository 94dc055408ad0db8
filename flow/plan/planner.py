"""From a graph and a request to a plan: estimates first, solved cones when the hardware is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor

from flow.device.delays import Delays, delays_of
from flow.device.links import Link, check_reach, find_link
from flow.device.parts import Part, find_part
from flow.engines.dataflow import Traffic, dataflow, whole_tensors
from flow.engines.engine import Unrolled
from flow.engines.estimate import Estimate
from flow.engines.lower import runs
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.latency.budget import Verdict
from flow.plan.advice import advice, limiter_of
from flow.plan.candidate import Candidate, planned_converters
from flow.plan.clocks import FEW
from flow.plan.dies import area_with, on_one_die
from flow.plan.exact import exactly
from flow.plan.footprint import area_of
from flow.plan.levels import answers
from flow.plan.options import Space, space_of, unrolled_resources
from flow.plan.pinned import check_kept, check_pins, with_depths
from flow.plan.pins import Pins
from flow.plan.plan import FORMAT, Plan, Planned
from flow.plan.request import Request
from flow.plan.reuse import wishes
from flow.plan.size import streams_too_large, too_large
from flow.plan.solve import Depths, Goal, Solution, solve
from flow.plan.traffic import branches

# every element of a tensor that crosses at once has its own wires: far beyond this no part has room
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
    part, link = find_part(request.part).limited(request.most), find_link(request.link)
    fixed = link.fixed_ns(*payloads(graph, request))
    fixed_ns = (fixed.min, fixed.typical, fixed.max)
    goal = Goal(request.budget_ns, request.rate_hz, request.period_ns, fixed_ns, objective=request.objective)
    return Target(part, delays_of(part), link, boundary, goal)


def payload_bytes(graph: Graph, names: tuple[str, ...]) -> int:
    """Return the bytes that tensors take when packed."""
    return -(-sum(graph.node(name).size * graph.node(name).type.width for name in names) // 8)


def payloads(graph: Graph, request: Request) -> tuple[int, int]:
    """Return the bytes that the link carries inward and outward: those asked for, or the packed tensors."""
    inward, outward = request.payload_bytes
    return (
        payload_bytes(graph, graph.inputs) if inward is None else inward,
        payload_bytes(graph, graph.outputs) if outward is None else outward,
    )


def make_plan(graph: Graph, request: Request) -> Plan:
    """Plan from estimates alone: fast, and no matrix is solved.

    Wholly unrolled plans are compared with those that fold runs by one rank (`Candidate.rank`). Raises UserError
    when the network does not fit the part, folded or not.
    """
    target = target_of(graph, request)
    if request.latency_exact is not None:
        return exactly(graph, request, request.latency_exact, target, make_plan)
    space = space_of(graph, target.part, target.delays, request.spare, Pins.of(graph, request.pins))
    check_pins(space)
    check_elements(space)
    frugal = target.goal.frugal
    whole = unrolled(space, target, frugal=frugal)
    pool = [] if whole is None else [whole[0]]
    verdict = Verdict.MISSED if whole is None else whole[0].solution.verdict
    known_ns = float("inf")
    if whole is not None and verdict is Verdict.MET:
        known_ns = whole[0].solution.latency.core_ns
    found = answers(space, target.goal, known_ns=known_ns)
    # a clock that only may close is surer where registers are spread over all of the logic
    spread = verdict is Verdict.MET_IF_CLOCK_CLOSES
    pool += [c for c in found.candidates if not spread or c.folds or c.solution.verdict is Verdict.MET]
    pool = [with_depths(space, target.goal, candidate) for candidate in pool]
    if all(candidate.area == float("inf") for candidate in pool):
        raise _too_large(space, pool)
    best = min(pool, key=lambda candidate: candidate.rank(frugal=frugal))
    check_kept(space, tuple(planned.choice for planned in best.planned))
    # a search for the least area says nothing of the least latency
    best_ns = float("inf") if whole is None else whole[1]
    if best.solution.verdict is Verdict.MISSED:
        best_ns = min([best_ns, _best_with_free_clock(space, target), *(c.reachable_ns for c in pool)])
    plan = assemble(
        graph, request, target, planned=best.planned, solution=best.solution, best_ns=best_ns, traffic=best.traffic
    )
    return plan if space.pins.places_registers() else replace(plan, proof=found.proof(best))


def _too_large(space: Space, pool: Sequence[Candidate]) -> UserError:
    if space.pins.by_node and not pool:
        return UserError(f"no plan of {space.graph.name} is as pinned: {', '.join(space.pins.by_node)}; pin less")
    if branches(space.graph):
        return streams_too_large(space, tuple(candidate.planned for candidate in pool))
    return too_large(space)


def unrolled(space: Space, target: Target, *, frugal: bool) -> tuple[Candidate, float] | None:
    """Return the best wholly unrolled plan and the least total in ns that any reaches, None where there is none.

    One has everything in LUTs, one has of each run what takes the least area; frugal: as `Candidate.rank` has it.
    """
    graph = space.graph
    in_beats = graph.io_type == "io_stream" and any(len(graph.node(name).shape) > 1 for name in graph.inputs)
    if in_beats or _elements(graph) > MOST_ELEMENTS or not all(space.may_unroll(run) for run in space.runs):
        return None
    cones = [tuple(space.cones(run)) for run in space.runs]

    def least(ways: tuple[tuple[Unrolled, Estimate], ...]) -> tuple[Unrolled, Estimate]:
        return min(ways, key=lambda way: area_of(unrolled_resources(way[1], 1), target.part, space.spare))

    mixtures = dict.fromkeys((tuple(ways[0] for ways in cones), tuple(least(ways) for ways in cones)))
    found = [plan for mixture in mixtures if (plan := _with_cones(space, target, mixture)) is not None]
    if not found:
        return None
    best, _ = min(found, key=lambda plan: plan[0].rank(frugal=frugal))
    return best, min(best_ns for _, best_ns in found)


def _with_cones(
    space: Space, target: Target, cones: tuple[tuple[Unrolled, Estimate], ...]
) -> tuple[Candidate, float] | None:
    """Return the best plan with these cones and the least total in ns, None where the part has no room."""
    estimates = tuple(guess for _, guess in cones)
    if sum(guess.lut for guess in estimates) > target.part.usable_lut:
        return None
    balance = estimated_balance(space.graph, space.runs, estimates, target.delays)
    solution, best_ns = solve(target.goal, balance, target.delays)
    planned = tuple(
        Planned(replace(choice, depth=depth), unrolled_resources(guess, depth), guess.delay_ns)
        for (choice, guess), depth in zip(cones, solution.depths.depths, strict=True)
    )
    graph, part, whole = space.graph, target.part, whole_tensors(space.graph)
    flow = dataflow(graph, tuple(one.choice for one in planned), whole)
    traffic = on_one_die(graph, planned, flow, whole, part)
    area = area_with(graph, planned, flow, traffic, part, spare=space.spare)
    return None if area == float("inf") else (Candidate(planned, solution, area, traffic), best_ns)


def _best_with_free_clock(space: Space, target: Target) -> float:
    """Return the least total in ns, at the asked rate if any clock sustains it."""
    at_rate = replace(target.goal, budget_ns=None, period_ns=None)
    for goal in (at_rate, replace(at_rate, rate_hz=None)):
        whole = unrolled(space, replace(target, goal=goal), frugal=False)
        best_ns = float("inf") if whole is None else whole[1]
        if whole is None:
            best_ns = min((c.reachable_ns for c in answers(space, goal, free=FEW).candidates), default=best_ns)
        if best_ns < float("inf"):
            return best_ns
    return float("inf")


def assemble(
    graph: Graph,
    request: Request,
    target: Target,
    *,
    planned: tuple[Planned, ...],
    solution: Solution,
    best_ns: float,
    traffic: Traffic | None = None,
    revisions: tuple[str, ...] = (),
) -> Plan:
    """Put a plan together, with its limiter and, unless all is met, what would have to change.

    planned: in topological order. traffic: None for whole tensors. solution: judged with their timeline.s interval.
    """
    flow = dataflow(graph, tuple(p.choice for p in planned), traffic)
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
        traffic=traffic or whole_tensors(graph),
        runs=planned,
        verdict=solution.verdict,
        best_ns=None if best_ns == float("inf") else best_ns,
        limiter=limiter_of(planned, flow.timeline),
        advice="",
        must_beat=request.must_beat,
        converters=planned_converters(graph, flow.blocks, target.part),
        reuse=wishes(graph, runs(graph)),
        revisions=revisions,
    )
    return replace(plan, advice=advice(plan, solution, flow.timeline))


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
            crossed += guess.lags
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


def _elements(graph: Graph) -> int:
    return sum(node.size for node in graph.nodes)


def check_elements(space: Space) -> None:
    """Raise UserError where whole tensors are too large, and nothing can cross beat by beat."""
    graph, elements = space.graph, _elements(space.graph)
    if elements > MOST_ELEMENTS and not branches(graph):
        raise UserError(
            f"{graph.name} is too large for {space.part.name} or any part: its tensors have {elements:,} elements, "
            f"which cross between engines all at once; at most {MOST_ELEMENTS:,} are planned"
        )


def check_size(graph: Graph, part: Part) -> None:
    """Raise UserError when no plan of the network fits the part, whatever its latency."""
    space = space_of(graph, part, delays_of(part))
    check_elements(space)
    small = _elements(graph) <= MOST_ELEMENTS
    if small and sum(min(guess.lut for _, guess in space.cones(run)) for run in space.runs) <= part.usable_lut:
        return
    pool = answers(space, Goal(None, None, None, (0.0, 0.0, 0.0))).candidates
    if all(candidate.area == float("inf") for candidate in pool):
        raise _too_large(space, pool)
