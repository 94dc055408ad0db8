"""Find plans of unrolled and folded runs: the best of every mixture of cycles and resources.

Each node reads one tensor, so that a network is a tree of runs that its inputs feed. From its leaves backwards, the
search keeps for every edge, and for every way in which its beats may come, the partial plans of all that hangs on it
(`frontier.best`): an option of a run adds its cycles to those behind it, which depend only on the beats that it gives.
The engines' own schedules say how many cycles that are, overlap of serial neighbours included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from flow.engines.converter import converter
from flow.engines.engine import Resources
from flow.engines.estimate import Estimate
from flow.engines.folded_cost import converter_resources
from flow.engines.wants import WHOLE, Wants
from flow.latency.schedule import Schedule, evenly
from flow.plan.frontier import KINDS, Points, Room, best, counted, no_points
from flow.plan.options import Option, Options, Segment, Space

OFFSETS = 8
"""Parts of a segment by which the search tells how far unrolled logic has come since the last register."""


@dataclass(frozen=True, slots=True)
class Beats:
    """Describe how a tensor comes: `lanes` elements a beat, `count` beats, `spacing` cycles apart.

    offset: parts of a segment that have passed since the last register.
    """

    lanes: int
    count: int = 1
    spacing: int = 1
    offset: int = 0

    @property
    def whole(self) -> bool:
        """Tell whether the tensor comes at once."""
        return self.count == 1

    @property
    def schedule(self) -> Schedule:
        """Return the beats' cycles from the first on."""
        return evenly(0, self.count, self.spacing)


@dataclass(frozen=True, slots=True)
class Move:
    """Build some nodes in one way.

    option: of a folded head; None: one unrolled cone. cycles: from the last beat that comes to the last that leaves.
    counts: of resources, a converter in front included. gives: the beats that leave.
    """

    nodes: tuple[str, ...]
    option: Option | None
    cycles: int
    counts: tuple[int, ...]
    gives: Beats


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Hold the moves that nodes have from beats of one shape, and the points to which they lead."""

    moves: tuple[Move, ...]
    points: Points


@dataclass(frozen=True, slots=True)
class Found:
    """Hold one way to build all, as searched; parts: nodes that become one engine, with their option if folded."""

    cycles: int
    area: float
    counts: tuple[int, ...]
    parts: tuple[tuple[tuple[str, ...], Option | None], ...]


class Search:
    """Search a space for one segment length within some room."""

    def __init__(self, space: Space, segment: Segment, options: Options, room: Room) -> None:
        self.space, self.segment, self.room = space, segment, room
        graph = space.graph
        self.readers: dict[str, list[tuple[str, ...]]] = {}
        self.order: list[tuple[str, ...]] = []
        self.rests: set[tuple[str, ...]] = set()
        for run in space.runs:
            head = space.head(run)
            parts = (run, run[len(head) :]) if 0 < len(head) < len(run) else (run,)
            for nodes in parts:
                self.readers.setdefault(graph.node(nodes[0]).inputs[0], []).append(nodes)
                self.order.append(nodes)
            self.rests.update(parts[1:])
        self.options = {run: options.of(run, room) for run in space.runs}
        self.converted: dict[tuple[str, Beats, Wants], tuple[Schedule, Resources, int]] = {}
        self.sizes = {node.name: node.size for node in graph.nodes}
        self.steps: dict[tuple[tuple[str, ...], Beats], Step] = {}
        self.behind: dict[tuple[str, Beats], tuple[Points, ...]] = {}

    def found(self) -> tuple[Found, ...]:
        """Return all plans that are left at the inputs, by cycles; none where nothing has room."""
        graph = self.space.graph
        came: dict[str, dict[Beats, None]] = {name: {Beats(self.sizes[name]): None} for name in graph.inputs}
        moves: dict[tuple[tuple[str, ...], Beats], tuple[Move, ...]] = {}
        for nodes in self.order:
            source = graph.node(nodes[0]).inputs[0]
            for beats in came.get(source, {}):
                moves[nodes, beats] = tuple(self._moves(nodes, source, beats))
                for move in moves[nodes, beats]:
                    came.setdefault(move.nodes[-1], {})[move.gives] = None
        for nodes, beats in reversed(moves):
            self.steps[nodes, beats] = self._step(moves[nodes, beats])
        return self._read_back()

    # ---- forwards: which moves there are ----

    def _moves(self, nodes: tuple[str, ...], source: str, beats: Beats) -> Iterator[Move]:
        rest = nodes in self.rests
        if rest or self.space.may_unroll(nodes):
            yield from self._unrolled(nodes, source, beats)
        if not rest and not beats.offset:
            for option in self.options[nodes]:
                move = self._folded(option, source, beats)
                if move is not None:
                    yield move

    def _unrolled(self, nodes: tuple[str, ...], source: str, beats: Beats) -> Iterator[Move]:
        """Give the cone with a register where it ends, and the one whose logic goes on into the next."""
        guess, part_ns = self.space.estimate(nodes), self.segment.usable_ns / OFFSETS
        passed = beats.offset + ceil(guess.delay_ns / part_ns - 1e-9)
        crossed, offset = divmod(passed, OFFSETS)
        before = self._converted(source, beats, WHOLE)[1]
        output = nodes[-1]
        ends = [(crossed + (offset > 0 or crossed == 0), 0)]
        if offset and output in self.readers and output not in self.space.graph.outputs:
            ends.append((crossed, offset))
        for depth, left in ends:
            cost = counted(before + unrolled_resources(guess, depth))
            yield Move(nodes, None, depth, cost, Beats(self.sizes[output], offset=left))

    def _folded(self, option: Option, source: str, beats: Beats) -> Move | None:
        """Give a folded head; None where its interval is too long, or where serial beats do not suit it."""
        choice = option.choice
        serial = choice.order == "input_serial" and not beats.whole
        if serial and choice.p != beats.lanes:
            return None
        arrival, before, interval = self._converted(source, beats, choice.wants)
        waits = arrival.last - (beats.count - 1) * beats.spacing
        if max(interval, choice.interval((arrival,))) > self.room.interval:
            return None
        if serial and waits >= (choice.groups_in - 1) * choice.groups_out:
            return None  # as late as behind a whole tensor
        spacing = choice.groups_in if choice.order == "output_serial" else 1
        gives = Beats(choice.q, choice.groups_out, spacing if choice.groups_out > 1 else 1)
        return Move(choice.nodes, option, waits + option.leaves.last, counted(before + option.resources), gives)

    def _converted(self, source: str, beats: Beats, wants: Wants) -> tuple[Schedule, Resources, int]:
        """Return when the wanted beats come, what their converter takes, and its interval; as `dataflow` does it."""
        key = (source, beats, wants)
        if key not in self.converted:
            size, arrival = self.sizes[source], beats.schedule
            lanes = size if wants.lanes is None else min(wants.lanes, size)
            if beats.lanes == lanes and (beats.whole or beats.spacing >= wants.spacing):
                self.converted[key] = (arrival, Resources(), 1)
            else:
                what = converter(source, size, (beats.lanes, lanes), 1 if lanes == size else wants.spacing, arrival)
                cost = converter_resources(self.space.graph, what, self.space.part)
                self.converted[key] = (what.schedule((arrival,)), cost, what.interval((arrival,)))
        return self.converted[key]

    # ---- backwards: where they lead ----

    def _step(self, moves: tuple[Move, ...]) -> Step:
        groups: dict[tuple[str, Beats], list[int]] = {}
        for k, move in enumerate(moves):
            groups.setdefault((move.nodes[-1], move.gives), []).append(k)
        candidates = []
        for (edge, beats), members in groups.items():
            after = self._after(edge, beats)
            mine = Points(
                np.array([moves[k].cycles for k in members], dtype=np.int64),
                np.array([moves[k].counts for k in members], dtype=np.int64),
                np.array([(k, 0) for k in members], dtype=np.int64),
            )
            candidates.append(_in_turn(mine, after))
        return Step(moves, best(candidates, self.room))

    def _after(self, edge: str, beats: Beats) -> Points:
        """Return the points of all that hangs on an edge."""
        if (edge, beats) not in self.behind:
            self.behind[edge, beats] = tuple(self._joined(edge, beats))
        return self.behind[edge, beats][-1]

    def _joined(self, edge: str, beats: Beats) -> Iterator[Points]:
        """Give the points of the design's output on this edge, then those with one reader more each time."""
        leaves = edge in self.space.graph.outputs
        cost = self._converted(edge, beats, WHOLE)[1] if leaves else Resources()
        points = Points(np.zeros(1, np.int64), np.array([counted(cost)], dtype=np.int64), np.zeros((1, 2), np.int64))
        if leaves and beats.offset:
            points = no_points()
        yield points
        for nodes in self.readers.get(edge, []):
            step = self.steps.get((nodes, beats))
            points = no_points() if step is None else best([_side_by_side(points, step.points)], self.room)
            yield points

    # ---- what was found ----

    def _read_back(self) -> tuple[Found, ...]:
        graph, room = self.space.graph, self.room
        points = Points(np.zeros(1, np.int64), np.zeros((1, len(KINDS)), np.int64), np.zeros((1, 2), np.int64))
        joined = []
        for name in graph.inputs:
            points = best([_side_by_side(points, self._after(name, Beats(self.sizes[name])))], room)
            joined.append(points)
        found = []
        for k in np.argsort(points.cycles, kind="stable").tolist():
            parts: dict[tuple[str, ...], Option | None] = {}
            at = k
            for name, level in zip(reversed(graph.inputs), reversed(joined), strict=True):
                at, point = level.origin[at].tolist()
                self._follow(name, Beats(self.sizes[name]), point, parts)
            area = float(points.counts[k] @ room.weights[0])
            counts = tuple(points.counts[k].tolist())
            found.append(Found(int(points.cycles[k]), area, counts, tuple(parts.items())))
        return tuple(found)

    def _follow(self, edge: str, beats: Beats, point: int, parts: dict[tuple[str, ...], Option | None]) -> None:
        """Note the moves that a point behind an edge stands for."""
        open_ends = [(edge, beats, point)]
        while open_ends:
            edge, beats, at = open_ends.pop()
            readers, levels = self.readers.get(edge, []), self.behind[edge, beats][1:]
            for nodes, level in zip(reversed(readers), reversed(levels), strict=True):
                at, there = level.origin[at].tolist()
                step = self.steps[nodes, beats]
                which, after = step.points.origin[there].tolist()
                move = step.moves[which]
                parts[move.nodes] = move.option
                open_ends.append((move.nodes[-1], move.gives, after))


def _in_turn(first: Points, then: Points) -> Points:
    """Return all pairs, one behind the other; their origin is the option of the first and the point of the second."""
    a, b = np.divmod(np.arange(first.size * then.size), max(then.size, 1))
    origin = np.stack([first.origin[a, 0], b], axis=1)
    return Points(first.cycles[a] + then.cycles[b], first.counts[a] + then.counts[b], origin)


def _side_by_side(one: Points, other: Points) -> Points:
    """Return all pairs that hang on one edge; their origin is the point of either."""
    a, b = np.divmod(np.arange(one.size * other.size), max(other.size, 1))
    cycles = np.maximum(one.cycles[a], other.cycles[b])
    return Points(cycles, one.counts[a] + other.counts[b], np.stack([a, b], axis=1))


def unrolled_resources(guess: Estimate, depth: int) -> Resources:
    """Return what a cone takes: its logic, registers at cuts through its middle, and those where it ends."""
    cuts = max(0, depth - 1 - guess.lags)
    return guess.blocks + Resources(lut=guess.lut, ff=guess.cut_bits * cuts + guess.output_bits if depth else 0)
