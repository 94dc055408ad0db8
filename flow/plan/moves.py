"""The design space of a network as moves between places, for one length of the segments between registers.

A move builds one run of nodes in one way from tensors that come at certain places, and gives its own tensor at one.
What the engines' schedules say of it, cycles included, is exact: a plan is a choice of one move for each run whose
places agree. Moves that another one beats in cycles and in every resource, from the same places to the same, are left
out; so are those too slow for the rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import ceil

import numpy as np

from flow.engines.beat import window_of
from flow.engines.dataflow import sources_of, timing, wanted
from flow.engines.engine import Resources, Unrolled
from flow.engines.estimate import Estimate
from flow.engines.folded import Folded
from flow.engines.wants import WHOLE, Wants
from flow.latency.schedule import Schedule, evenly
from flow.latency.timeline import Edge
from flow.plan.beats import Way, ways_of
from flow.plan.footprint import NO_LIMIT, area_weights, counted
from flow.plan.options import Segment, Space, cone_ways, front, halves, options_of, unrolled_resources
from flow.plan.places import ONCE, Delivery, Place, deliveries_of, from_zero
from flow.plan.plan import Planned
from flow.plan.traffic import branches

OFFSETS = 64
"""Parts of a segment by which is told how far unrolled logic has come since the last register."""
MOST_PLACES = 32
"""Places of a tensor that are followed for being reached with the least area, and as many for the fewest cycles."""
MOST_UNROLLED = 1 << 14
"""Elements of a run's tensors up to which it may be built at once: beyond, wires alone fill a part."""


Reach = tuple[float, int]
"""The least area with which a place can be reached, and the least cycle of its last beat: of two plans, perhaps."""


@dataclass(frozen=True, slots=True)
class Move:
    """Build a run in one way.

    run: its number. takes: where each tensor that it reads is handed over. leader: of several that come in different
    beats the one that the others wait for, None where they come alike. cycles: for each of them, the least from its
    last beat to the last that leaves. resources: of the engines, converters inside the run included. busy: cycles
    before its slowest engine can begin anew.
    """

    run: int
    takes: tuple[Place, ...]
    leader: int | None
    way: Way
    gives: Place
    cycles: tuple[int, ...]
    resources: Resources
    busy: int


@dataclass(frozen=True, slots=True)
class Moves:
    """Hold all moves of a network.

    arrivals: for each way in which the inputs may come, the place of each. deliveries: for each run and each tensor
    that it reads, and last for the outputs, what hands places over. sources: of each run, the nodes that it reads.
    offered: moves before those that others beat were left out. dropped: places that were not followed.
    """

    arrivals: tuple[tuple[Place, ...], ...]
    sources: tuple[tuple[str, ...], ...]
    moves: tuple[Move, ...]
    deliveries: tuple[tuple[tuple[Delivery, ...], ...], ...]
    offered: int
    dropped: int


class Explorer:
    """Follow tensors from the inputs on, through all that a network can be built of."""

    def __init__(
        self,
        space: Space,
        segment: Segment,
        cycles: int,
        interval: int,
        arrivals: tuple[tuple[Place, ...], ...],
    ) -> None:
        """cycles, interval: the most that latency and distance of inferences may be. arrivals: as `Moves` has them."""
        self.space, self.segment, self.arrivals = space, segment, arrivals
        self.cycles, self.interval = cycles, interval
        self.options = options_of(space, segment.within_ns)
        self.ways = ways_of(space, segment)
        self.deliver = deliveries_of(space.graph, space.part)
        self.places: dict[str, dict[Place, None]] = {}
        self.handed: dict[tuple[int, int], dict[tuple[Place, Place], Delivery]] = {}
        for arriving in arrivals:
            for place in arriving:
                self.places.setdefault(place.node, {})[place] = None
        self.reached: dict[Place, Reach] = {
            place: (0.0, place.schedule.last) for arriving in arrivals for place in arriving
        }
        self.dropped = 0
        self.weights = area_weights(space.part, space.spare)
        self.half_ns = space.step_ns / 2
        self.branching = branches(space.graph)

    def explored(self, *, beats_out: bool) -> Moves:
        """Return all moves; beats_out: whether the only output may leave in the beats in which it is made."""
        graph, runs = self.space.graph, self.space.runs
        sources = tuple(sources_of(graph, Unrolled(run, 1)) for run in runs)
        moves: list[Move] = []
        offered = 0
        for k, run in enumerate(runs):
            found = [m for m in self._moves(k, run, sources[k]) if m.way.worst_ns <= self.segment.most_ns]
            offered += len(found)
            kept = self._followed(k, undominated(found))
            moves += kept
            self.places[run[-1]] = {move.gives: None for move in kept}
        leaving = tuple(tuple(self._leaving(name, beats_out=beats_out)) for name in graph.outputs)
        handed = tuple(
            tuple(tuple(self.handed.get((k, slot), {}).values()) for slot in range(len(sources[k])))
            for k in range(len(runs))
        )
        return Moves(self.arrivals, sources, tuple(moves), (*handed, leaving), offered, self.dropped)

    def _followed(self, k: int, moves: list[Move]) -> list[Move]:
        """Note how soon and with which area places are reached at the least; return the moves to the best of them."""
        handed: dict[tuple[int, Place], Reach] = {}
        for (run, slot), deliveries in self.handed.items():
            for delivery in deliveries.values() if run == k else ():
                area, cycles = self.reached[delivery.comes]
                here = area + self._area(delivery.resources), cycles + delivery.cycles
                known = handed.get((slot, delivery.gives), here)
                handed[slot, delivery.gives] = min(here[0], known[0]), min(here[1], known[1])
        found: dict[Place, Reach] = {}
        for move in moves:
            takes = [handed[slot, take] for slot, take in enumerate(move.takes)]
            area = max(area for area, _ in takes) + self._area(move.resources)
            cycles = max(came + spent for (_, came), spent in zip(takes, move.cycles, strict=True))
            known = found.get(move.gives, (area, cycles))
            found[move.gives] = min(area, known[0]), min(cycles, known[1])
        # a window that leaves out the end of an image may be done before its last beat, and catch up
        most = NO_LIMIT if self.branching else self.cycles
        soon = {place: reach for place, reach in found.items() if reach[1] <= most}
        best = {place for which in (0, 1) for place in sorted(soon, key=lambda p: soon[p][which])[:MOST_PLACES]}
        self.dropped += len(soon) - len(best)
        self.reached.update({place: soon[place] for place in best})
        return [move for move in moves if move.gives in best]

    def _area(self, resources: Resources) -> float:
        return float(np.array(counted(resources)) @ self.weights)

    def _leaving(self, node: str, *, beats_out: bool) -> Iterator[Delivery]:
        for place in self.places.get(node, ()):
            if place.offset:
                continue
            if beats_out:
                yield Delivery(place, place, None, 0, Resources(), 1)
            elif (found := self.deliver.of(place, WHOLE)) is not None and found.busy <= self.interval:
                yield found

    # ---- moves of one run ----

    def _moves(self, k: int, run: tuple[str, ...], sources: tuple[str, ...]) -> Iterator[Move]:
        space, graph = self.space, self.space.graph
        reachable = [tuple(self.places.get(source, ())) for source in sources]
        if not all(reachable):
            return
        elements = sum(graph.node(name).size for name in (*run, *sources))
        if elements <= MOST_UNROLLED and space.may_unroll(run):
            yield from self._unrolled(k, run, sources)
        if len(sources) == 1:
            yield from self._folded(k, run)
        yield from self._streamed(k, run, sources)

    def _unrolled(self, k: int, run: tuple[str, ...], sources: tuple[str, ...]) -> Iterator[Move]:
        """Give cones of whole tensors."""
        for takes in product(*(self._delivered(k, slot, source, WHOLE) for slot, source in enumerate(sources))):
            for way, left in self._cones(run, max(place.offset for place in takes)):
                depth = sum(made.choice.depth for made in way.planned if isinstance(made.choice, Unrolled))
                gives = Place(run[-1], self.space.graph.node(run[-1]).size, ONCE, left)
                yield Move(k, takes, None, way, gives, (depth,) * len(takes), way.resources, 1)

    def _delivered(self, k: int, slot: int, source: str, wants: Wants) -> tuple[Place, ...]:
        """Note what hands a tensor to a run that wants it so, and return the places where it does, each once."""
        return self._noted(k, slot, (self.deliver.of(place, wants) for place in self.places[source]))

    def _noted(self, k: int, slot: int, deliveries: Iterable[Delivery | None]) -> tuple[Place, ...]:
        found = [d for d in deliveries if d is not None and d.busy <= self.interval]
        self.handed.setdefault((k, slot), {}).update({(d.comes, d.gives): d for d in found})
        return tuple(dict.fromkeys(d.gives for d in found))

    def _serial(self, source: str, choice: Folded) -> Iterator[Delivery]:
        """Give what hands serial beats to an input-serial engine.

        It does the same with all of them once the last has come, so that they end at one place. Beats that are as late
        as those of a whole tensor, or that a buffer must regroup, are not offered.
        """
        groups, spacing = choice.groups_in, choice.groups_out
        gives = Place(source, choice.p, evenly(0, groups, spacing), asked=spacing)
        for place in self.places[source]:
            if place.offset or (
                place.schedule.spacing is not None and place.lanes % choice.p and choice.p % place.lanes
            ):
                continue
            found = self.deliver.of(place, choice.wants)
            if found is None or (found.what is not None and found.what.engine == "regroup"):
                continue
            if place.schedule.spacing is not None and found.cycles >= (groups - 1) * spacing:
                continue
            busy = max(found.busy, choice.interval((found.gives.schedule,)))
            yield Delivery(place, gives, found.what, found.cycles, found.resources, busy)

    def _cones(self, run: tuple[str, ...], offset: int) -> Iterator[tuple[Way, int]]:
        """Give cones behind logic that has come as far as `offset`, and how far they come.

        Where the network neither branches nor has windows, logic goes on from one cone into the next without a
        register, but for cones with blocks: each of those begins behind a register and ends in one.
        """
        space, segment = self.space, self.segment
        for choice, guess, longest in cone_ways(space, run, segment):
            if self.branching or choice != Unrolled(run, choice.depth):
                if not offset:
                    yield _cone(choice, guess, longest), 0
                continue
            passed = offset + ceil(guess.delay_ns / segment.usable_ns * OFFSETS - 1e-9)
            crossed, left = divmod(passed, OFFSETS)
            used = min(passed / OFFSETS, 1.0) * segment.usable_ns
            worst_ns = space.delays.register_ns + used + self.half_ns * (crossed > 0)
            yield _cone(Unrolled(run, crossed + (left > 0 or not crossed)), guess, worst_ns), 0
            if left and run[-1] not in space.graph.outputs:
                yield _cone(Unrolled(run, crossed), guess, worst_ns), left

    def _folded(self, k: int, run: tuple[str, ...]) -> Iterator[Move]:
        """Give a folded head with the cone of what follows it."""
        head = self.space.head(run)
        options = self.options.of(run, self.interval, self.cycles) if head else ()
        rest = run[len(head) :]
        behind = tuple(self._cones(rest, 0)) if rest else ((Way((), 0.0), 0),)
        (source,) = sources_of(self.space.graph, Unrolled(run, 1))
        takes: dict[Wants, tuple[Place, ...]] = {}
        for option in options:
            made, wants = Planned(option.choice, option.resources, option.worst_ns), option.choice.wants
            if wants not in takes:
                whole = wants == WHOLE
                found = (
                    self._delivered(k, 0, source, WHOLE)
                    if whole
                    else self._noted(k, 0, self._serial(source, option.choice))
                )
                takes[wants] = tuple(place for place in found if not place.offset)
            for take, (after, left) in product(takes[wants], behind):
                way = Way((made, *after.planned), max(option.worst_ns, after.worst_ns))
                move = self._made(k, (take,), way, left)
                if move is not None:
                    yield move

    def _streamed(self, k: int, run: tuple[str, ...], sources: tuple[str, ...]) -> Iterator[Move]:
        """Give ways to build a run beat by beat."""
        graph = self.space.graph
        node = graph.node(sources[0])
        window = window_of(graph.node(run[0]))
        columns = window.columns if window is not None else node.shape[-2] if len(node.shape) > 1 else 1
        ways: dict[Way, None] = {}
        for place in self.places[sources[0]]:
            edge = Edge(place.node, place.node, "", place.lanes, place.schedule, None, 0)
            counts = [p for p in range(1, columns + 1) if columns % p == 0] if place.schedule.spacing is None else [1]
            for pixels in counts if not place.offset else ():
                ways.update(dict.fromkeys(self.ways.of(run, edge, pixels)))
        for way in ways:
            first = way.choices[0]
            delivered = [self._delivered(k, s, source, wanted(first, s)) for s, source in enumerate(sources)]
            for takes in product(*delivered):
                if any(place.offset for place in takes):
                    continue
                for leader in self._leaders(takes):
                    move = self._made(k, takes, way, 0, leader)
                    if move is not None:
                        yield move

    def _leaders(self, takes: tuple[Place, ...]) -> tuple[int | None, ...]:
        """Return which of several tensors may be the one that the others wait for."""
        if len({place.schedule for place in takes}) == 1:
            return (None,)
        if len({len(place.schedule.cycles) for place in takes}) > 1:
            return ()
        return tuple(range(len(takes)))

    def _made(self, k: int, takes: tuple[Place, ...], way: Way, left: int, leader: int | None = None) -> Move | None:
        """Return the move that a way is where its tensors are handed over at these places.

        None where beats come too fast for an engine, or it is too slow for the rate.
        """
        ahead = takes[leader or 0].schedule
        # ends of all at once, then each so much earlier that none of its beats comes too late
        waits = tuple(_shift(ahead, place.schedule) for place in takes)
        resources, busy, cycles = way.resources, 1, 0
        here = Place(takes[leader or 0].node, takes[leader or 0].lanes, ahead)
        for place_in_way, choice in enumerate(way.choices):
            if place_in_way:
                handed = self.deliver.of(here, wanted(choice, 0))
                if handed is None:
                    return None
                cycles, busy, resources = cycles + handed.cycles, max(busy, handed.busy), resources + handed.resources
                here = handed.gives
            schedule, interval = timing(choice)
            arrivals = (here.schedule,) * (len(takes) if not place_in_way else 1)
            try:
                leaves = schedule(arrivals)
                busy = max(busy, interval(arrivals))
            except ValueError:
                return None
            cycles += leaves.last - here.schedule.last
            size = self.space.graph.node(choice.output).size
            here = Place(choice.output, choice.lanes_out or size, from_zero(leaves))
        if busy > self.interval or cycles > self.cycles:
            return None
        return Move(
            k, takes, leader, way, replace(here, offset=left), tuple(w + cycles for w in waits), resources, busy
        )


def _shift(ahead: Schedule, other: Schedule) -> int:
    """Return how many cycles before the leader's last beat a tensor's must come at the latest, 0 or more."""
    if ahead == other:
        return 0
    late = zip(ahead.cycles, other.cycles, strict=True)
    span, own = ahead.last, other.last
    return max((b - own) - (a - span) for a, b in late)


def _cone(choice: Unrolled, guess: Estimate, longest: float) -> Way:
    return Way((Planned(choice, unrolled_resources(guess, choice.depth), guess.delay_ns),), longest)


def undominated(moves: Iterable[Move]) -> list[Move]:
    """Return the moves that no other of the same places beats in cycles and in every resource."""
    alike: dict[object, list[Move]] = {}
    for move in moves:
        alike.setdefault((move.takes, move.gives, move.leader), []).append(move)
    return [move for some in alike.values() for move in front(some, [(*m.cycles, *halves(m.resources)) for m in some])]
