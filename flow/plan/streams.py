"""Plans of networks with windows and branches: each run as one tensor at once, beat by beat, or folded.

A cadence says how the inputs come: pixels of a beat, and cycles between beats. For a cadence the runs are built one
after the other, each in the way that adds least to the area and to a price on the cycles of latency; the schedules are
exact, since the engines' own functions make them. The price is what trades area for latency: several are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import floor, prod

import numpy as np

from flow.engines.beat import window_of
from flow.engines.dataflow import Arrival, Assembly, Traffic, sources_of, whole_tensors
from flow.engines.engine import Unrolled
from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.latency.budget import required_interval
from flow.latency.timeline import Edge
from flow.plan.beats import StreamedWays, Way
from flow.plan.frontier import NO_LIMIT, Room, area_of, area_weights, counted
from flow.plan.mixed import ADDER_BITS, Candidate, planned_converters, resources_of, segment_lengths
from flow.plan.options import Option, Options, Segment, Space, cone_ways
from flow.plan.plan import Planned
from flow.plan.search import unrolled_resources
from flow.plan.solve import Depths, Goal, judged, periods

PRICES = (0.0, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 1e-1, 1.0)
"""Area, as a share of the part, that one cycle of latency is worth."""
DEAR = (1e-3, 1.0)
"""Prices where the least latency is wanted that the part has room for."""
SPACINGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Cycles between beats that are tried."""
NEAR = 4
"""Spacings tried for one number of pixels: the largest that may keep the budget, and those below."""
LIKELY = 8
"""Folded options of a run that are tried."""
FAR = 4
"""Without a budget or a rate every so many spacings are tried."""
MOST_UNROLLED = 1 << 14
"""Elements of a run's tensors up to which it may be built at once: beyond, wires alone fill a part."""


def needs_streams(graph: Graph) -> bool:
    """Tell whether a network has windows, tensors that meet, or inputs that come in beats."""
    spatial = any(window_of(node) is not None for node in graph.nodes)
    return spatial or graph.io_type == "io_stream" or any(len(set(node.inputs)) > 1 for node in graph.nodes)


@dataclass(frozen=True, slots=True)
class Cadence:
    """Say how tensors with pixels come: pixels of a beat, cycles between beats."""

    pixels: int
    spacing: int


def stream_candidates(space: Space, goal: Goal) -> tuple[Candidate, ...]:
    """Return the best plans found for each segment length, cadence and price.

    Those within budget and rate where the part holds any, else late or slow ones; those that the part does not hold
    where it holds none.
    """
    late = replace(goal, budget_ns=None)
    found: tuple[Candidate, ...] = ()
    for wanted in dict.fromkeys((goal, late, replace(late, rate_hz=None))):
        found = tuple(_searched(space, goal, wanted))
        fitting = tuple(c for c in found if c.area < float("inf"))
        if fitting:
            return fitting
    return found


def _searched(space: Space, goal: Goal, wanted: Goal) -> Iterator[Candidate]:
    """Give plans, judged by `goal`, whose cadence and intervals suit what is `wanted`."""
    for within_ns, period_ns in segment_lengths(space, goal):
        segment = Segment.of(within_ns, _step_ns(space), space.delays)
        required = required_interval(wanted.rate_hz, period_ns)
        interval = NO_LIMIT if required is None else max(required, 1)
        room = Room.on(space.part, NO_LIMIT, interval, spare=space.spare)
        options, ways = Options(space, within_ns, strict=True), StreamedWays(space, segment)
        folds = {run: options.of(run, room) for run in space.runs}
        for cadence in _cadences(space.graph, wanted, period_ns):
            prices = PRICES if wanted.budget_ns is not None or wanted.rate_hz is not None else DEAR
            for planned in _priced(ways, folds, cadence, interval, prices):
                yield from _candidates(space, goal, planned)


def _priced(
    ways: StreamedWays, folds: Folds, cadence: Cadence, interval: int, prices: tuple[float, ...]
) -> list[Engines]:
    """Return the different plans that the prices lead to; prices between two that agree are left out."""
    known: dict[int, Engines | None] = {}

    def at(k: int) -> Engines | None:
        if k not in known:
            known[k] = _Pass(ways, folds, cadence, prices[k], interval).plan()
        return known[k]

    def between(low: int, high: int) -> None:
        if at(low) != at(high) and high - low > 1:
            middle = (low + high) // 2
            between(low, middle)
            between(middle, high)

    between(0, len(prices) - 1)
    return list(dict.fromkeys(planned for planned in known.values() if planned is not None))


def _step_ns(space: Space) -> float:
    """Return the delay of an addition, below which no segment of logic can be cut."""
    return space.delays.carry_ns + ADDER_BITS * space.delays.carry_bit_ns


def _pixels(node: Node) -> int:
    """Return the places of a tensor: the product of all axes but the last."""
    return prod(node.shape[:-1])


def _cadences(graph: Graph, goal: Goal, period_ns: float) -> Iterator[Cadence]:
    """Give the cadences worth trying: all pixels of a row at once, or parts of it."""
    windows = [w for w in map(window_of, graph.nodes) if w is not None]
    images = [graph.node(name) for name in graph.inputs if len(graph.node(name).shape) > 1]
    if not windows and not (images and graph.io_type == "io_stream"):
        yield Cadence(1, 1)
        return
    columns = windows[0].columns if windows else images[0].shape[-2]
    most = max([_pixels(node) for node in images], default=columns)
    cycles = NO_LIMIT if goal.budget_ns is None else floor((goal.budget_ns - goal.fixed_ns[1]) / period_ns + 1e-9)
    required = required_interval(goal.rate_hz, period_ns)
    room = min(cycles, NO_LIMIT if required is None else max(required, 1))
    for pixels in (p for p in range(1, columns + 1) if columns % p == 0):
        beats = -(-most // pixels)
        possible = [s for s in SPACINGS if beats * s <= room] or [1]
        wanted = possible[-NEAR:] if room < NO_LIMIT else possible[::FAR]
        yield from (Cadence(pixels, spacing) for spacing in wanted)


Folds = Mapping[tuple[str, ...], tuple[Option, ...]]
"""Of each run the folded options for its head."""


Engines = tuple[tuple[Planned, ...], Traffic, float]
"""The engines of a plan, how tensors come, and the longest segment in ns."""


class _Pass:
    """Build all runs once."""

    def __init__(self, ways: StreamedWays, folds: Folds, cadence: Cadence, price: float, interval: int) -> None:
        """ways, folds: for one segment length. interval: the most cycles that may lie between inferences."""
        self.space, self.segment = ways.space, ways.segment
        self.ways, self.folds, self.cadence, self.price, self.interval = ways, folds, cadence, price, interval
        self.weights = area_weights(self.space.part, self.space.spare)
        self.worst_ns = 0.0

    def plan(self) -> Engines | None:
        """Return the engines, how tensors come, and the longest segment in ns; None where a run has no way."""
        traffic = self._traffic()
        assembly = Assembly(self.space.graph, traffic, separate=True)
        planned: list[Planned] = []
        for run in self.space.runs:
            best: tuple[float, Way, Assembly] | None = None
            for way in self._ways(run, assembly):
                tried = assembly.copy()
                try:
                    for choice in way.choices:
                        tried.add(choice)
                except ValueError:
                    continue
                cost = self._cost(way, assembly, tried)
                if cost is not None and (best is None or cost < best[0]):
                    best = cost, way, tried
            if best is None:
                return None
            _, way, assembly = best
            planned += way.planned
            self.worst_ns = max(self.worst_ns, way.worst_ns)
        return tuple(planned), traffic, self.worst_ns

    def _traffic(self) -> Traffic:
        graph = self.space.graph
        if graph.io_type != "io_stream":
            return whole_tensors(graph)
        arrivals = []
        nodes = tuple(graph.node(name) for name in graph.inputs)
        most = max(_pixels(node) for node in nodes)
        for node in nodes:
            lanes = self.cadence.pixels * node.shape[-1]
            beats = -(-node.size // lanes)
            # beats of all inputs come together: tensors of fewer pixels come whole
            whole = _pixels(node) < most or node.size % lanes or beats == 1
            arrivals.append(Arrival(node.size, 1, 1) if whole else Arrival(lanes, beats, self.cadence.spacing))
        ends = [graph.node(name) for name in graph.outputs]
        return Traffic(tuple(arrivals), beats_out=len(ends) == 1 and len(ends[0].shape) > 1)

    def _ways(self, run: tuple[str, ...], assembly: Assembly) -> Iterator[Way]:
        graph, space = self.space.graph, self.space
        edges = [assembly.edges[name] for name in sources_of(graph, Unrolled(run, 1))]
        yield from self.ways.of(run, edges[0], self.cadence.pixels)
        elements = sum(graph.node(name).size for name in (*run, *(edge.node for edge in edges)))
        if elements <= MOST_UNROLLED and space.may_unroll(run):
            yield from self._unrolled(run)
        head = space.head(run)
        for option in self._cheapest(run, edges[0]) if head else ():
            made = Planned(option.choice, option.resources, option.worst_ns)
            for behind in self._unrolled(run[len(head) :]) if len(head) < len(run) else (Way((), 0.0),):
                yield Way((made, *behind.planned), max(option.worst_ns, behind.worst_ns))

    def _cheapest(self, run: tuple[str, ...], edge: Edge) -> list[Option]:
        """Return the folded options that are likely to cost least, converters left out of account."""
        serial = edge.schedule.last - edge.schedule.first

        def cost(option: Option) -> float:
            choice = option.choice
            overlaps = choice.order == "input_serial" and choice.p == edge.lanes
            cycles = option.leaves.last + (0 if overlaps else max(0, choice.reuse_factor - choice.groups_out))
            late = max(0, choice.reuse_factor - serial) if overlaps else cycles
            return float(np.array(counted(option.resources)) @ self.weights) + self.price * late

        return sorted(self.folds[run], key=cost)[:LIKELY]

    def _unrolled(self, run: tuple[str, ...]) -> Iterator[Way]:
        """Give a run as one cone that ends in a register."""
        for choice, guess, longest in cone_ways(self.space, run, self.segment):
            cost = unrolled_resources(guess, choice.depth)
            yield Way((Planned(choice, cost, guess.delay_ns),), longest)

    def _cost(self, way: Way, before: Assembly, after: Assembly) -> float | None:
        """Return area plus priced cycles that a way adds; None where it is too slow for the rate."""
        new = after.elements[len(before.elements) :]
        if any(after.edges[element.output].busy > self.interval for element in new):
            return None
        waiting = planned_converters(self.space.graph, after.sized(len(before.blocks)), self.space.part)
        total = sum((converter.resources for converter in waiting), way.resources)
        area = float(np.array(counted(total)) @ self.weights)
        return area + self.price * after.edges[way.choices[-1].output].schedule.last


def _candidates(space: Space, goal: Goal, found: Engines) -> Iterator[Candidate]:
    """Give a plan with the clocks that suit it."""
    planned, traffic, worst_ns = found
    flow = Assembly(space.graph, traffic, separate=True)
    for made in planned:
        flow.add(made.choice)
    whole = flow.finished()
    area = area_of(resources_of(space, planned, whole.blocks), space.part, space.spare)
    depths = Depths((), whole.timeline.latency, worst_ns)
    for period_ns in periods(goal, worst_ns, space.delays):
        solution = judged(replace(goal, interval=whole.timeline.interval), depths, period_ns, space.delays)
        yield Candidate(planned, solution, area, traffic)
