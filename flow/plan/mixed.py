"""Plans that may fold some or all of their runs: from what a search has found to a solution with a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import floor

from flow.device.parts import Part
from flow.engines.align import Delay, Fifo
from flow.engines.converter import Converter
from flow.engines.dataflow import Block, Dataflow, Traffic, dataflow
from flow.engines.engine import Resources, Unrolled
from flow.engines.folded_cost import converter_resources
from flow.engines.streamed_cost import waiting_resources
from flow.graph.graph import Graph
from flow.latency.budget import Verdict, required_interval
from flow.plan.frontier import NO_LIMIT, Room, area_of
from flow.plan.options import Options, Segment, Space
from flow.plan.plan import Planned, PlannedConverter
from flow.plan.search import Found, Search, unrolled_resources
from flow.plan.solve import Depths, Goal, Solution, judged, periods, round_up

LENGTHS = (1.0, 2.0)
"""Lengths of a segment that are tried with a free clock, in additions of ADDER_BITS with their register."""
ADDER_BITS = 16
LONGEST_NS = 1e6
"""A segment that needs no register inside any engine."""
SHORTER = 0.8
"""Share of the cycles of what was found that the next search may take, where the fewest are wanted."""
EXAMINED = 4
"""Plans of a search that are worked out, of those with least area and of those with fewest cycles."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Hold a plan with a clock, worked out exactly.

    area: as `frontier.area_of` has it, infinite where the part has no room. traffic: None for whole tensors.
    """

    planned: tuple[Planned, ...]
    solution: Solution
    area: float
    traffic: Traffic | None = None

    @property
    def folds(self) -> bool:
        """Tell whether any run is folded or streamed."""
        return any(not isinstance(p.choice, Unrolled) for p in self.planned)

    @property
    def reachable_ns(self) -> float:
        """Return the total latency, infinite where the clock does not close, the rate is not sustained, or no room."""
        solution = self.solution
        there = solution.clock.may_close and solution.sustains and self.area < float("inf")
        return solution.latency.total_ns if there else float("inf")

    def rank(self, *, frugal: bool) -> tuple[float, ...]:
        """Order candidates, the best first.

        frugal: a budget or a rate is asked for: of all that meet it, the least area wins, then the fewest cycles; of
        those whose clock only may close, the one that likeliest does. Otherwise the least latency wins. Among misses
        the order is as in `Solution.rank`.
        """
        solution = self.solution
        if self.area == float("inf"):
            return (9, *solution.rank)
        if solution.verdict is Verdict.MET and frugal:
            return (0, self.area, solution.depths.cycles, solution.latency.total_ns)
        if solution.verdict is Verdict.MET:
            return (0, solution.latency.total_ns, self.area)
        if solution.verdict is Verdict.MET_IF_CLOCK_CLOSES and frugal:
            beyond = max(solution.depths.worst_ns / solution.clock.period_ns, 1.0)
            return (1, beyond, self.area, solution.depths.cycles)
        return (*solution.rank, self.area)


def candidates(space: Space, goal: Goal) -> tuple[Candidate, ...]:
    """Return plans worth comparing: within budget and rate where there are any, else as near as the part allows."""
    frugal = goal.budget_ns is not None or goal.rate_hz is not None
    for level, tries in enumerate(_tries(space, goal)):
        found: list[Candidate] = []
        for attempt in tries:
            # what misses its goal comes as near as it can
            found += _searched(space, goal, attempt, frugal=frugal and level == 0)
            if goal.period_ns is not None and any(c.solution.verdict is Verdict.MET for c in found):
                break  # with the asked clock, a longer segment only makes it less sure
        if any(candidate.area < float("inf") for candidate in found):
            return tuple(found)
    return ()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Name one search: the length of a segment in ns, nominal, and the cycles of latency and interval it may take."""

    within_ns: float
    cycles: int
    interval: int


def segment_lengths(space: Space, goal: Goal) -> tuple[tuple[float, float], ...]:
    """Return lengths of segments worth trying, nominal, each with the clock period that it suits, in ns."""
    high = space.delays.high
    if goal.period_ns is not None:
        return (goal.period_ns / high, goal.period_ns), (goal.period_ns, goal.period_ns)
    unit = space.delays.register_ns + space.delays.carry_ns + ADDER_BITS * space.delays.carry_bit_ns
    return tuple((k * unit, round_up(k * unit * high)) for k in LENGTHS)


def _tries(space: Space, goal: Goal) -> Iterator[tuple[_Attempt, ...]]:
    """Give the searches: those that meet the goal; then late ones, slow ones, and whatever the part holds."""
    asked = []
    for within_ns, period_ns in segment_lengths(space, goal):
        cycles = NO_LIMIT if goal.budget_ns is None else floor((goal.budget_ns - goal.fixed_ns[1]) / period_ns + 1e-9)
        required = required_interval(goal.rate_hz, period_ns)
        asked.append(_Attempt(within_ns, cycles, NO_LIMIT if required is None else max(required, 1)))
    yield tuple(asked)
    if goal.budget_ns is not None:
        yield tuple(replace(attempt, cycles=NO_LIMIT) for attempt in asked)
    if goal.rate_hz is not None:
        yield tuple(replace(attempt, cycles=NO_LIMIT, interval=NO_LIMIT) for attempt in asked)
    yield (_Attempt(LONGEST_NS, NO_LIMIT, NO_LIMIT),)


def _searched(space: Space, goal: Goal, attempt: _Attempt, *, frugal: bool) -> list[Candidate]:
    """Search among the choices that keep within a segment; where that finds nothing, among all."""
    segment = Segment.of(attempt.within_ns, space.step_ns, space.delays)
    room = Room.on(space.part, attempt.cycles, attempt.interval, spare=space.spare)
    found: tuple[Found, ...] = ()
    for strict in (True, False):
        found = found or _found(segment, Options(space, attempt.within_ns, strict=strict), room, frugal=frugal)
    worth = dict.fromkeys((*found[:EXAMINED], *sorted(found, key=lambda one: (one.cycles, one.area))[:1]))
    return [candidate for one in worth for candidate in _with_clocks(space, goal, segment, one)]


def _found(segment: Segment, options: Options, room: Room, *, frugal: bool) -> tuple[Found, ...]:
    """Search as if the part had enough of everything; where what is wanted then lacks room, within the part."""
    space = options.space

    def search(within: Room) -> tuple[Found, ...]:
        found = Search(space, segment, options, within).found()
        return tuple(sorted(found, key=lambda one: (one.area, one.cycles))) if frugal else found

    found = search(room.unbounded())
    lacking = room.lacking(found[0].counts) if found else ()
    if not lacking:
        return found
    fitting = [one for one in found if not room.lacking(one.counts)]
    if fitting and not frugal:
        room = replace(room, cycles=fitting[0].cycles)
    scarce = Room.on(space.part, room.cycles, room.interval, spare=space.spare, scarce=lacking)
    found = (*fitting[:EXAMINED], *(search(scarce) or search(room)))
    return found if frugal else _shortened(found, scarce, search)


def _shortened(found: tuple[Found, ...], room: Room, search: Callable[[Room], tuple[Found, ...]]) -> tuple[Found, ...]:
    """Return plans of fewer and fewer cycles in front of those found: a wide search keeps too few of the short ones."""
    while True:
        fewest = min((one.cycles for one in found), default=0)
        shorter = search(replace(room, cycles=int(fewest * SHORTER)))
        if not shorter:
            return found
        found = (*shorter, *found)


def _with_clocks(space: Space, goal: Goal, segment: Segment, found: Found) -> Iterator[Candidate]:
    planned, depths, flow = worked_out(space, found, segment)
    area = area_of(resources_of(space, planned, flow.blocks), space.part, space.spare)
    own = replace(goal, interval=flow.timeline.interval)
    for period_ns in periods(goal, depths.worst_ns, space.delays):
        yield Candidate(planned, judged(own, depths, period_ns, space.delays), area)


def worked_out(space: Space, found: Found, segment: Segment) -> tuple[tuple[Planned, ...], Depths, Dataflow]:
    """Return the runs of a plan with their registers, cycles and longest segment, and how they are connected.

    Unrolled logic goes on across the runs' borders within a segment; a register stands where it feeds a folded engine
    or leaves the design.
    """
    graph = space.graph
    place = {node.name: k for k, node in enumerate(graph.nodes)}
    parts = sorted(found.parts, key=lambda part: place[part[0][0]])
    ends = set(graph.outputs) | {graph.node(nodes[0]).inputs[0] for nodes, option in parts if option is not None}
    passed = dict.fromkeys(graph.inputs, 0.0)
    planned: list[Planned] = []
    longest, crosses = 0.0, False
    for nodes, option in parts:
        if option is not None:
            planned.append(Planned(option.choice, option.resources, option.worst_ns))
            passed[nodes[-1]] = 0.0
            continue
        guess = space.estimate(nodes)
        whole = passed[graph.node(nodes[0]).inputs[0]] + guess.delay_ns
        depth = floor(whole / segment.usable_ns)
        left = whole - depth * segment.usable_ns
        longest, crosses = max(longest, min(whole, segment.usable_ns)), crosses or depth > 0
        if nodes[-1] in ends and (left > 1e-9 or depth == 0):
            depth, left = depth + 1, 0.0
        passed[nodes[-1]] = left
        planned.append(Planned(Unrolled(nodes, depth), unrolled_resources(guess, depth), guess.delay_ns))
    runs = tuple(planned)
    flow = dataflow(graph, tuple(p.choice for p in runs))
    unrolled_ns = space.delays.register_ns + longest + crosses * space.step_ns / 2
    worst_ns = max([unrolled_ns, *(option.worst_ns for _, option in parts if option is not None)])
    depths = tuple(p.choice.depth for p in runs if isinstance(p.choice, Unrolled))
    return runs, Depths(depths, flow.timeline.latency, worst_ns), flow


def planned_converters(graph: Graph, blocks: Iterable[Block], part: Part) -> tuple[PlannedConverter, ...]:
    """Return what stands between engines, and what it takes: width converters, and what waits for the other branch."""
    found = []
    for block in blocks:
        match block.what:
            case Converter() as what:
                found.append(PlannedConverter(block.output, what, converter_resources(graph, what, part)))
            case Delay() | Fifo() as what:
                width = graph.node(what.node).type.width
                found.append(PlannedConverter(block.output, what, waiting_resources(what, width, part)))
            case _:
                pass
    return tuple(found)


def resources_of(space: Space, planned: tuple[Planned, ...], blocks: Iterable[Block]) -> Resources:
    """Return what runs and all that stands between them take."""
    between = planned_converters(space.graph, blocks, space.part)
    return sum((c.resources for c in between), sum((p.resources for p in planned), Resources()))
