"""Moves that cannot be part of a plan as good as one that is known: left out before the program is solved.

Where every run reads one tensor a network is a tree, and the least area of all that hangs on an edge depends only on
the place of its tensor and on the cycles that are left: a table from the leaves up, and one from the inputs down. Both
together give, for each move, the least area of any plan that has it, room on the part left out of account. It is exact
but for converters that several readers share and for half blocks, of which it counts no more than they take.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from flow.plan.footprint import HALVES
from flow.plan.moves import Moves
from flow.plan.options import halves
from flow.plan.places import Delivery, Place

LONGEST = 1 << 13
"""Cycles up to which the tables are made."""

Areas = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Give the least area of any plan with each move, by number, and the plan of least area, arrival and moves."""

    through: Areas
    arrival: int
    best: tuple[int, ...]


def bounds(
    moves: Moves, nodes: tuple[str, ...], outputs: tuple[str, ...], weights: Areas, cycles: int
) -> Bounds | None:
    """Return the bounds for plans of at most so many cycles.

    nodes: the last of each run. weights: the area of one of each resource. None where branches meet, the limit is too
    loose for tables, or nothing is possible.
    """
    # a window that leaves out the end of an image may be done before its last beat: no table tells what is left then
    ahead = any(move.cycles[0] < 0 for move in moves.moves)
    if ahead or not 0 <= cycles <= LONGEST or any(len(sources) != 1 for sources in moves.sources):
        return None
    return _Tables(moves, nodes, outputs, weights, cycles).bounds()


class _Tables:
    def __init__(
        self, moves: Moves, nodes: tuple[str, ...], outputs: tuple[str, ...], weights: Areas, cycles: int
    ) -> None:
        self.moves, self.nodes, self.outputs, self.cycles = moves, nodes, outputs, cycles
        self.each = np.asarray(weights) / HALVES
        self.areas = [self._area(halves(move.resources)) for move in moves.moves]
        self.of_run: list[list[int]] = [[] for _ in nodes]
        for k, move in enumerate(moves.moves):
            self.of_run[move.run].append(k)
        self.readers: dict[str, list[int]] = {}
        for run, (source,) in enumerate(moves.sources):
            self.readers.setdefault(source, []).append(run)
        self.behind: dict[Place, Areas] = {}  # the least area of all that hangs on a place, by the cycles left
        self.reader: dict[tuple[int, Place], Areas] = {}  # of one reader of it
        self.handed: dict[tuple[int, Place], Areas] = {}  # of a run, from where it is handed its tensor
        self.never = np.full(cycles + 1, np.inf)

    def bounds(self) -> Bounds | None:
        for run in reversed(range(len(self.nodes))):
            self._run_behind(run)
        totals = []
        for arriving in self.moves.arrivals:
            left = [self._behind(place)[self._left(place)] if self._left(place) >= 0 else np.inf for place in arriving]
            totals.append(float(sum(left)))
        arrival = int(np.argmin(totals))
        if totals[arrival] == np.inf:
            return None
        return Bounds(
            self._through(), arrival, tuple(sorted(self._chosen(arrival), key=lambda k: self.moves.moves[k].run))
        )

    # ---- from the leaves up ----

    def _run_behind(self, run: int) -> None:
        for k in self.of_run[run]:
            move = self.moves.moves[k]
            after = self.areas[k] + _later(self._behind(move.gives), move.cycles[0])
            known = self.handed.get((run, move.takes[0]), self.never)
            self.handed[run, move.takes[0]] = np.minimum(known, after)
        for delivery in self.moves.deliveries[run][0]:
            after = self._delivered(delivery) + _later(
                self.handed.get((run, delivery.gives), self.never), delivery.cycles
            )
            known = self.reader.get((run, delivery.comes), self.never)
            self.reader[run, delivery.comes] = np.minimum(known, after)

    def _behind(self, place: Place) -> Areas:
        if place not in self.behind:
            self.behind[place] = reduce(np.add, self._parts(place, None), np.zeros(self.cycles + 1))
        return self.behind[place]

    def _parts(self, place: Place, without: int | None) -> list[Areas]:
        """Return what hangs on a place, each reader and the output, but for one run."""
        parts = [
            self.reader.get((run, place), self.never) for run in self.readers.get(place.node, ()) if run != without
        ]
        for node, deliveries in zip(self.outputs, self.moves.deliveries[-1], strict=True):
            if node == place.node:
                mine = [d for d in deliveries if d.comes == place]
                ends = [self._delivered(d) + _later(np.zeros(self.cycles + 1), d.cycles) for d in mine]
                parts.append(reduce(np.minimum, ends, self.never))
        return parts

    # ---- from the inputs down ----

    def _through(self) -> Areas:
        before: dict[Place, Areas] = {}
        for arriving in self.moves.arrivals:
            if any(self._left(place) < 0 for place in arriving):
                continue  # the inputs alone take longer
            for place in arriving:
                others = [self._behind(p)[self._left(p)] for p in arriving if p != place]
                table = self.never.copy()
                table[: self._left(place) + 1] = float(sum(others))
                before[place] = np.minimum(before.get(place, self.never), table)
        found = np.full(len(self.moves.moves), np.inf)
        for run in range(len(self.nodes)):
            coming: dict[Place, Areas] = {}
            for delivery in self.moves.deliveries[run][0]:
                if delivery.comes in before:
                    beside = reduce(np.add, self._parts(delivery.comes, run), before[delivery.comes])
                    here = self._delivered(delivery) + _sooner(beside, delivery.cycles)
                    coming[delivery.gives] = np.minimum(coming.get(delivery.gives, self.never), here)
            for k in self.of_run[run]:
                move = self.moves.moves[k]
                made = self.areas[k] + _sooner(coming.get(move.takes[0], self.never), move.cycles[0])
                found[k] = (made + self._behind(move.gives)).min()
                before[move.gives] = np.minimum(before.get(move.gives, self.never), made)
        return found

    # ---- the plan of least area ----

    def _chosen(self, arrival: int) -> list[int]:
        ends = [(place, self._left(place)) for place in self.moves.arrivals[arrival]]
        chosen: list[int] = []
        while ends:
            place, left = ends.pop()
            for run in self.readers.get(place.node, ()):
                ways = [
                    (self._delivered(d) + self.areas[k] + self._behind(self.moves.moves[k].gives)[rest], k, rest)
                    for d in self.moves.deliveries[run][0]
                    if d.comes == place
                    for k in self.of_run[run]
                    if self.moves.moves[k].takes[0] == d.gives
                    and (rest := left - d.cycles - self.moves.moves[k].cycles[0]) >= 0
                ]
                _, k, rest = min(ways)
                chosen.append(k)
                ends.append((self.moves.moves[k].gives, rest))
        return chosen

    def _left(self, place: Place) -> int:
        return self.cycles - place.schedule.last

    def _delivered(self, delivery: Delivery) -> float:
        """Return the area of a converter, or of the share that one of several readers has in it at the least."""
        count = len(self.readers.get(delivery.comes.node, ())) + (delivery.comes.node in self.outputs)
        return self._area(halves(delivery.resources)) / max(count, 1)

    def _area(self, counts: tuple[int, ...]) -> float:
        return float(np.array(counts) @ self.each)


def _later(table: Areas, cycles: int) -> Areas:
    """Return a table by the cycles that are left some cycles earlier."""
    if cycles == 0:
        return table
    return np.concatenate([np.full(min(cycles, len(table)), np.inf), table[: max(len(table) - cycles, 0)]])


def _sooner(table: Areas, cycles: int) -> Areas:
    """Return a table by the cycles that are left some cycles later."""
    if cycles == 0:
        return table
    return np.concatenate([table[cycles:], np.full(min(cycles, len(table)), np.inf)])
