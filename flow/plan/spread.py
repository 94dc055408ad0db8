"""Rows of the program that put runs on the dies of a part: what each holds, and what it costs to cross.

All of a run lies on one die, an input on that of the first run that reads it. Dies stand in a row, and a tensor that is
read elsewhere goes through a crossing at each border. A width converter lies with the tensor's writer. What waits or
crosses is not counted on the single die: an answer is a bound, and where a die is too small for the plan worked out,
one is asked for that leaves it the room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flow.device.parts import Part
from flow.engines.crossing import CROSSING_CYCLES, Crossing
from flow.engines.streamed_cost import waiting_resources
from flow.graph.graph import Graph
from flow.plan.footprint import HALVES, KINDS
from flow.plan.options import halves

if TYPE_CHECKING:
    from flow.plan.program import Program

FAR = float("inf")


@dataclass(frozen=True, slots=True)
class Dies:
    """Say what a plan may use of each die, by resource as `footprint.KINDS` has them; fewest: FF of a crossing by node.

    fewest is the least that a tensor takes to cross one border, whatever its beats.
    """

    usable: tuple[tuple[int, ...], ...]
    fewest: dict[str, int]

    @classmethod
    def of(cls, graph: Graph, part: Part) -> Dies:
        """Return the dies of a part."""
        usable = tuple(zip(*(part.on_dies(kind) for kind in KINDS), strict=True))
        one_lane = {n.name: waiting_resources(Crossing(n.name, 1), n.type.width, part).ff for n in graph.nodes}
        return cls(usable, one_lane)


class Spread:
    """Hold the columns that tell on which die each run lies, and put their rows into a program."""

    def __init__(self, program: Program, dies: Dies, nodes: Sequence[str]) -> None:
        """nodes: the last of each run."""
        self.program, self.dies = program, dies
        self.rooms: dict[tuple[int, int], int] = {}
        self.on = [[program.column(1.0, whole=True) for _ in dies.usable] for _ in nodes]
        self.run_of = {name: run for run, name in enumerate(nodes)}
        for sources, run in ((s, r) for r, s in enumerate(program.moves.sources)):
            for source in sources:
                self.run_of.setdefault(source, run)  # an input lies with its first reader
        for mine in self.on:
            program.rows.add(1.0, [(column, 1.0) for column in mine], 1.0)
        if len(set(dies.usable)) == 1:  # the row of dies may be read from either end
            half = (len(dies.usable) - 1) // 2
            program.rows.add(0.0, self._place(0), float(half))

    def crossing(self, source: str, run: int) -> list[tuple[int, float]]:
        """Return the cycles that a run's tensor takes to cross, in terms of columns."""
        program, writer = self.program, self.run_of[source]
        if writer == run:
            return []
        borders = program.column(float(len(self.dies.usable) - 1))
        for sign in (1.0, -1.0):
            apart = [(column, sign * place) for column, place in self._place(writer)]
            apart += [(column, -sign * place) for column, place in self._place(run)]
            program.rows.add(0.0, [(borders, 1.0), *apart], FAR)
        if program.readers[source] == 1:
            program.counted[KINDS.index("ff")].append((borders, float(self.dies.fewest[source])))
        return [(borders, float(CROSSING_CYCLES))]

    def chosen(self, found: Sequence[float]) -> tuple[int, ...]:
        """Return the die of each run in a solution."""
        return tuple(max(range(len(mine)), key=lambda die: found[mine[die]]) for mine in self.on)

    def reserved(self, upper: list[float], reserve: Sequence[Sequence[int]]) -> None:
        """Keep some of each die free for what stands between engines; upper: of the program's rows."""
        for (die, kind), row in self.rooms.items():
            upper[row] -= HALVES[kind] * reserve[die][kind]

    def _place(self, run: int) -> list[tuple[int, float]]:
        return [(column, float(die)) for die, column in enumerate(self.on[run]) if die]

    def finish(self) -> None:
        """Keep each die from holding more than it may; to be called when all moves and converters are there."""
        program = self.program
        between: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in self.on]
        for source, converters in program.converters.items():
            between[self.run_of[source]] += converters
        for kind, unit in enumerate(HALVES):
            rooms = [unit * usable[kind] for usable in self.dies.usable]
            held: list[list[tuple[int, float]]] = [[] for _ in rooms]
            for run, mine in enumerate(self.on):
                ways = ((program.taken[k], program.moves.moves[k].resources) for k in program.of_run[run])
                takes = [(column, halves(resources)[kind]) for column, resources in ways]
                most = max((count for _, count in takes), default=0)
                takes += [(column, counts[kind]) for column, counts in between[run]]
                most += sum(counts[kind] for _, counts in between[run])
                if not most:
                    continue
                for die, column in enumerate(mine):
                    here = program.column(FAR)  # what the run takes of this die
                    terms = [(here, 1.0), *((taken, -float(count)) for taken, count in takes if count)]
                    program.rows.add(-float(most), [*terms, (column, -float(most))], FAR)
                    held[die].append((here, 1.0))
            for die, (terms, room) in enumerate(zip(held, rooms, strict=True)):
                if terms:
                    self.rooms[die, kind] = len(program.rows.upper)
                    program.rows.add(0.0, terms, float(room))
