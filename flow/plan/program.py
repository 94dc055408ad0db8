"""The choice of one move for each run as a mixed-integer program, which HiGHS solves to a proof.

Variables: for each move whether it is taken; for each reader and each delivery whether tensors come that way; for each
edge the cycle of its last beat; for tensors that meet how long the early ones wait. Constraints: one move a run, places
that agree, time that goes on along every edge, the part's resources, and as many cycles as are allowed. All of this is
linear, and exact but for what waits: a FIFO's cost is bounded from below (`Waiting`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from time import perf_counter
from typing import Any, Literal

import numpy as np

from flow.engines.converter import Converter
from flow.plan.footprint import HALVES, KINDS
from flow.plan.moves import Move, Moves
from flow.plan.options import halves
from flow.plan.places import Delivery, Place
from flow.plan.spread import Dies, Spread
from flow.plan.waiting import Waiting

Aim = Literal["area", "cycles"]
"""What is to be least."""
LATEST = 1e7
"""More cycles than any inference may take."""
INFINITE = float("inf")
ABSOLUTE_GAP = 1e-7
"""Of the objective, that counts as none: far below what one LUT of the largest part weighs."""
NODES = 5000
"""Nodes of the solver's tree for one program; what is left open then is the gap. A limit of time would not repeat."""
FEASIBLE = 2
"""HiGHS's name for a solution that keeps all constraints (SolutionStatus)."""
SCALE = 1e4
"""Objective of a plan that uses all of one resource: large beside the solver's tolerances."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Say what a plan may take: cycles, area, and each resource's usable count; weights: the area of one of each."""

    cycles: int
    area: float
    usable: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what the solver found.

    moves: one for each run, by number in `Moves.moves`; empty where nothing is possible. arrival: which of the ways in
    which the inputs may come. objective: of the program (area or cycles); bound: the least that any plan can have.
    seconds: that the solver took. dies: on which each run lies, by run; empty where all lie on one.
    """

    moves: tuple[int, ...]
    arrival: int
    bound: float
    objective: float
    seconds: float
    dies: tuple[int, ...] = ()


@dataclass(slots=True)
class _Rows:
    """Collect constraints."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def copy(self) -> _Rows:
        """Return rows to which others may be added."""
        return _Rows(*(list(getattr(self, name)) for name in ("lower", "upper", "starts", "columns", "values")))

    def add(self, low: float, terms: Sequence[tuple[int, float]], high: float) -> None:
        self.starts.append(len(self.columns))
        self.lower.append(low)
        self.upper.append(high)
        for column, value in terms:
            self.columns.append(column)
            self.values.append(value)


class Program:
    """Hold the program of a network's moves; the aim and the limits are given anew for every solution."""

    def __init__(
        self,
        moves: Moves,
        nodes: tuple[str, ...],
        outputs: tuple[str, ...],
        waiting: Waiting,
        dies: Dies | None = None,
    ) -> None:
        """nodes: the last of each run. outputs: of the graph. waiting: what a cycle of waiting costs at the least.

        dies: over which runs may be spread; None where one holds them all.
        """
        self.moves, self.rows = moves, _Rows()
        self.columns = 0
        self.upper: list[float] = []
        self.integral: list[int] = []
        self.taken = [self.column(1.0, whole=True) for _ in moves.moves]
        self.arrived = [self.column(1.0, whole=True) for _ in moves.arrivals]
        self.totals = [self.column(INFINITE, whole=unit > 1) for unit in HALVES]
        self.latency = self.column(INFINITE)
        self.waits: list[tuple[int, float]] = []
        self.counted: list[list[tuple[int, float]]] = [[] for _ in KINDS]
        self.ends = {name: self.column(INFINITE) for name in (*(p.node for p in moves.arrivals[0]), *nodes)}
        self.gives: dict[Place, list[tuple[int, float]]] = {}
        self.of_run: list[list[int]] = [[] for _ in nodes]
        for k, move in enumerate(moves.moves):
            self.gives.setdefault(move.gives, []).append((self.taken[k], 1.0))
            self.of_run[move.run].append(k)
            self._count(self.taken[k], halves(move.resources))
        self._arrivals()
        self.readers = _readers(moves)
        # a tensor can wait in front of these at once
        self.meeting = Counter(source for sources in moves.sources if len(sources) > 1 for source in sources)
        self.shared: dict[Converter, int] = {}
        self.converters: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
        self.spread = None if dies is None else Spread(self, dies, nodes)
        for run, node in enumerate(nodes):
            self._run(run, node, waiting)
        for node, deliveries in zip(outputs, moves.deliveries[-1], strict=True):
            comes = self._handed(node, deliveries)
            self.rows.add(0.0, [(self.latency, 1.0), (self.ends[node], -1.0), *_minus(comes)], INFINITE)
        if self.spread is not None:
            self.spread.finish()
        for total, unit, terms in zip(self.totals, HALVES, self.counted, strict=True):
            self.rows.add(0.0, [(total, float(unit)), *((column, -value) for column, value in terms)], INFINITE)

    # ---- columns and rows ----

    def column(self, upper: float, *, whole: bool = False) -> int:
        """Return the number of a new variable, from 0 to `upper`."""
        self.upper.append(upper)
        self.integral.append(int(whole))
        self.columns += 1
        return self.columns - 1

    def _count(self, column: int, counts: tuple[int, ...]) -> None:
        for terms, count in zip(self.counted, counts, strict=True):
            if count:
                terms.append((column, float(count)))

    def _arrivals(self) -> None:
        self.rows.add(1.0, [(column, 1.0) for column in self.arrived], 1.0)
        ends: dict[str, list[tuple[int, float]]] = {}
        for column, places in zip(self.arrived, self.moves.arrivals, strict=True):
            for place in places:
                self.gives.setdefault(place, []).append((column, 1.0))
                ends.setdefault(place.node, []).append((column, -float(place.schedule.last)))
        for node, terms in ends.items():
            self.rows.add(0.0, [(self.ends[node], 1.0), *(term for term in terms if term[1])], 0.0)

    def _run(self, run: int, node: str, waiting: Waiting) -> None:
        """Build a run once, from tensors that come, and in time."""
        mine = [(k, self.moves.moves[k]) for k in self.of_run[run]]
        self.rows.add(1.0, [(self.taken[k], 1.0) for k, _ in mine], 1.0)
        sources = self.moves.sources[run]
        came: list[list[tuple[int, float]]] = []
        for slot, (source, deliveries) in enumerate(zip(sources, self.moves.deliveries[run], strict=True)):
            taking: dict[Place, list[tuple[int, float]]] = {}
            for k, move in mine:
                taking.setdefault(move.takes[slot], []).append((self.taken[k], -1.0))
            across = [] if self.spread is None else self.spread.crossing(source, run)
            came.append([*self._handed(source, deliveries, taking), *across])
        if len(sources) == 1:
            spent = [(self.taken[k], -float(move.cycles[0])) for k, move in mine if move.cycles[0]]
            self.rows.add(0.0, [(self.ends[node], 1.0), (self.ends[sources[0]], -1.0), *_minus(came[0]), *spent], 0.0)
            return
        together = self.column(INFINITE)  # the cycle of the last beats once all come together
        spent = [(self.taken[k], -float(min(move.cycles))) for k, move in mine]
        self.rows.add(0.0, [(self.ends[node], 1.0), (together, -1.0), *spent], 0.0)
        for slot, source in enumerate(sources):
            # cycles that the last beat waits at the least, so that none of the others comes too late
            fewest = [move.cycles[slot] - min(move.cycles) for _, move in mine]
            late = [(self.taken[k], -float(wait)) for (k, _), wait in zip(mine, fewest, strict=True) if wait]
            more = self.column(INFINITE)
            before = [(together, 1.0), (self.ends[source], -1.0), *_minus(came[slot])]
            self.rows.add(0.0, [*before, *late, (more, -1.0)], 0.0)
            rates = []
            for (k, move), wait in zip(mine, fewest, strict=True):
                popped = move.takes[move.leader or 0].schedule
                least, rate = waiting.least(move.takes[slot], popped, wait, self.meeting[source])
                self.waits.append((self.taken[k], least))
                rates.append(rate)
            self.waits.append((more, min(rates, default=0.0)))
        self._led(mine, sources, came)

    def _led(self, mine: list[tuple[int, Move]], sources: tuple[str, ...], came: list[list[tuple[int, float]]]) -> None:
        """Let the others wait for one tensor only where it comes last; of equals the first leads."""
        for leader in range(len(sources)):
            led = [(self.taken[k], -LATEST) for k, move in mine if move.leader == leader]
            for other in range(len(sources)) if led else ():
                if other != leader:
                    terms = [(self.ends[sources[leader]], 1.0), *came[leader]]
                    terms += [(self.ends[sources[other]], -1.0), *_minus(came[other]), *led]
                    self.rows.add(float(other < leader) - LATEST, _summed(terms), INFINITE)

    def _handed(
        self,
        source: str,
        deliveries: tuple[Delivery, ...],
        taking: dict[Place, list[tuple[int, float]]] | None = None,
    ) -> list[tuple[int, float]]:
        """Hand a tensor over once, and return the cycles that this takes; taking: moves by the place they read."""
        leaving: dict[Place, list[tuple[int, float]]] = {}
        ending: dict[Place, list[tuple[int, float]]] = {}
        spent: list[tuple[int, float]] = []
        for delivery in deliveries:
            column = self.column(1.0)
            leaving.setdefault(delivery.comes, []).append((column, 1.0))
            ending.setdefault(delivery.gives, []).append((column, 1.0))
            if delivery.cycles:
                spent.append((column, float(delivery.cycles)))
            if delivery.what is not None:
                self._converted(source, delivery, column)
        for place, columns in self.gives.items():
            if place.node == source:
                self.rows.add(0.0, [*leaving.get(place, []), *((c, -v) for c, v in columns)], 0.0)
        if taking is not None:
            for place in dict.fromkeys((*ending, *taking)):
                self.rows.add(0.0, [*ending.get(place, []), *taking.get(place, [])], 0.0)
        return spent

    def _converted(self, source: str, delivery: Delivery, column: int) -> None:
        """Count a converter: once, however many read what it gives."""
        assert delivery.what is not None
        known = self.shared.get(delivery.what)
        if known is None:
            known = column if self.readers[source] == 1 else self.column(1.0)
            self._count(known, halves(delivery.resources))
            self.converters.setdefault(source, []).append((known, halves(delivery.resources)))
        if self.readers[source] == 1:
            return
        self.shared[delivery.what] = known
        self.rows.add(0.0, [(known, 1.0), (column, -1.0)], INFINITE)

    # ---- solving ----

    def solve(
        self,
        aim: Aim,
        limits: Limits,
        *,
        without: Sequence[Answer] = (),
        dropped: Sequence[int] = (),
        reserve: Sequence[Sequence[int]] = (),
    ) -> Answer:
        """Return the best choice of moves, or none.

        without: answers that are not wanted again. dropped: moves. reserve: of each die, what is kept free of each
        resource.
        """
        import highspy

        rows = self.rows.copy()
        if self.spread is not None and reserve:
            self.spread.reserved(rows.upper, reserve)
        for known in without:
            columns = [*(self.taken[k] for k in known.moves), self.arrived[known.arrival]]
            if self.spread is not None:
                columns += [self.spread.on[run][die] for run, die in enumerate(known.dies)]
            rows.add(-INFINITE, [(column, 1.0) for column in columns], len(columns) - 1.0)
        area = [*zip(self.totals, limits.weights, strict=True), *self.waits]
        if limits.area < INFINITE:
            rows.add(-INFINITE, [(column, SCALE * weight) for column, weight in area], SCALE * limits.area)
        cost, upper = np.zeros(self.columns), np.array(self.upper)
        for column, weight in area if aim == "area" else [(self.latency, 1 / SCALE)]:
            cost[column] += SCALE * weight
        upper[self.totals] = limits.usable
        upper[[self.taken[k] for k in dropped]] = 0.0
        upper[self.latency] = min(limits.cycles, LATEST)
        problem = highspy.HighsLp()
        problem.num_col_, problem.num_row_ = self.columns, len(rows.lower)
        problem.col_cost_, problem.col_lower_, problem.col_upper_ = cost, np.zeros(self.columns), upper
        problem.row_lower_, problem.row_upper_ = np.array(rows.lower), np.array(rows.upper)
        problem.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        problem.a_matrix_.start_ = np.array([*rows.starts, len(rows.columns)], dtype=np.int32)
        problem.a_matrix_.index_ = np.array(rows.columns, dtype=np.int32)
        problem.a_matrix_.value_ = np.array(rows.values)
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        problem.integrality_ = [kinds[whole] for whole in self.integral]
        return self._answer(problem, aim)

    def _answer(self, problem: Any, aim: Aim) -> Answer:
        import highspy

        scale = SCALE if aim == "area" else 1.0
        solver: Any = highspy._core._Highs()  # Highs() itself greets the user on standard output
        for option, value in {
            "output_flag": False,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": ABSOLUTE_GAP,
            "mip_max_nodes": NODES,
            "threads": 1,
            "presolve": "off",
            "mip_allow_restart": False,
            "mip_detect_symmetry": False,
        }.items():
            solver.setOptionValue(option, value)
        begun = perf_counter()
        solver.passModel(problem)
        solver.run()
        took = perf_counter() - begun
        info = solver.getInfo()
        status, done = solver.getModelStatus(), highspy.HighsModelStatus
        if info.primal_solution_status != FEASIBLE:
            nothing = status in {done.kInfeasible, done.kUnboundedOrInfeasible}
            bound = INFINITE if nothing else info.mip_dual_bound / scale
            return Answer((), 0, bound, INFINITE, took)
        found = np.array(solver.getSolution().col_value)
        moves = tuple(k for k, column in enumerate(self.taken) if found[column] > 0.5)
        arrival = int(np.argmax(found[self.arrived]))
        bound, value = info.mip_dual_bound / scale, info.objective_function_value / scale
        if aim == "cycles":
            bound, value = float(ceil(bound - 1e-6)), float(round(value))  # both are whole
        dies = () if self.spread is None else self.spread.chosen(found.tolist())
        return Answer(moves, arrival, bound, value, took, dies)


def _readers(moves: Moves) -> dict[str, int]:
    """Return how many readers each node's tensor has."""
    found: dict[str, int] = {place.node: 0 for place in moves.arrivals[0]}
    for sources in moves.sources:
        for source in sources:
            found[source] = found.get(source, 0) + 1
    for slot in moves.deliveries[-1]:
        for node in dict.fromkeys(delivery.comes.node for delivery in slot):
            found[node] = found.get(node, 0) + 1
    return found


def _minus(terms: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(column, -value) for column, value in terms]


def _summed(terms: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return each column once."""
    found: dict[int, float] = {}
    for column, value in terms:
        found[column] = found.get(column, 0.0) + value
    return list(found.items())
