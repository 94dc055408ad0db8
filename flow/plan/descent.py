"""The least area of a design space at one limit of cycles after another: its Pareto front, for one segment length.

From the cheap end down: the plan of least area, of these the one of fewest cycles; then the same with a cycle less than
that one has, until there is none. Where that would take too many solutions, steps come first, so that what is known is
spread over the whole range, and then the widest gaps between plans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

from flow.engines.dataflow import Traffic, whole_tensors
from flow.plan.footprint import NO_LIMIT
from flow.plan.optimum import Best, Optimum
from flow.plan.options import Segment, Space
from flow.plan.program import Aim
from flow.plan.traffic import SPACINGS, traffics

STEP = 1.4
"""Ratio of the limits that are asked for first."""
BAND = 1.4
"""How far below its limit an exploration is asked, where it cannot follow all places at once."""

Search = Callable[[Aim, int], Best]
"""Returns the best plan of at most so many cycles."""


class Explored:
    """Answer for any limit of cycles.

    One exploration is enough where it follows all places of all tensors. Where it does not, or where inputs may come
    in beats, whose cadences depend on the limit, limits have explorations of their own, as the planner makes them.
    """

    def __init__(self, space: Space, segment: Segment, interval: int) -> None:
        self.space, self.segment, self.interval = space, segment, interval
        self.once = len(traffics(space.graph, None)) == 1
        self.optima: dict[int, Optimum] = {}

    def best(self, aim: Aim, cycles: int) -> Best:
        """Return the best plan of at most so many cycles."""
        return self._optimum(cycles).best(aim, cycles)

    def _optimum(self, cycles: int) -> Optimum:
        for bound in sorted(bound for bound in self.optima if bound >= cycles):
            optimum = self.optima[bound]
            if cycles * BAND > bound or (self.once and not optimum.moves.dropped):
                return optimum
        optimum = Optimum(self.space, self.segment, cycles, self.interval, self._coming(cycles))
        self.optima[cycles] = optimum
        return optimum

    def _coming(self, cycles: int) -> tuple[Traffic, ...]:
        graph, room = self.space.graph, min(cycles, self.interval)
        if self.once:
            return (whole_tensors(graph),)
        return traffics(graph, None, SPACINGS[-1:]) if room == NO_LIMIT else traffics(graph, room)


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what is known for limits of `low` to `high` cycles: one best plan, or none where it is not worth asking.

    bound: the least area of any plan within them.
    """

    low: int
    high: int
    best: Best | None
    bound: float


class Descent:
    """Hold what is known of the least area by cycles; `asked` has the loosest limits first."""

    def __init__(self, search: Search, most: int, solutions: int, worth: Callable[[float], int]) -> None:
        """Ask from `most` cycles down.

        solutions: limits to ask for at most, once the steps are done. worth: an area to the most cycles that a plan of
        more area may have to be better than what is known elsewhere.
        """
        self.search, self.worth = search, worth
        self.asked: list[Asked] = []
        self.solutions = 0
        if self._steps(most):
            self._fast_end()
        steps = self.solutions
        while self.solutions < steps + solutions and (wide := self._widest()) is not None:
            above, below = wide
            self._ask(above.low - 1, above, floor=below.high + 1)

    @property
    def plans(self) -> tuple[Best, ...]:
        """Return what was found, the least area first."""
        return tuple(one.best for one in self.asked if one.best is not None)

    @property
    def unasked(self) -> int:
        """Return how many limits were not asked for."""
        return sum(above.low - below.high - 1 for above, below in zip(self.asked, self.asked[1:], strict=False))

    def bound(self, cycles: int) -> float:
        """Return the least area of any plan of at most so many cycles: where that was not asked, of a looser limit."""
        looser = [one for one in self.asked if one.high >= cycles]
        return looser[-1].bound if looser else 0.0

    def _ask(self, limit: int, above: Asked | None, *, floor: int = 0) -> Asked | None:
        """Ask for the least area, after what is not worth it; floor: below it limits are known. None: all skipped."""
        if above is not None and (most := self.worth(above.bound)) < limit:
            skipped = Asked(max(most + 1, floor), limit, None, above.bound)
            self._note(skipped)
            if most < floor:
                return None
            above, limit = skipped, most
        self.solutions += 1
        best = self.search("area", limit)
        low = floor if best.built is None else max(best.built.cycles, floor)
        return self._note(Asked(low, limit, best, best.proof.bound))

    def _note(self, one: Asked) -> Asked:
        self.asked = sorted([*self.asked, one], key=lambda known: -known.high)
        return one

    def _steps(self, limit: int) -> bool:
        """Ask in steps until there is no plan; tell whether some limits between are left to ask for."""
        above: Asked | None = None
        while limit > 0:
            found = self._ask(limit, above)
            if found is None or found.best is None or found.best.built is None:
                return above is not None and found is not None
            above, limit = found, min(found.low - 1, int(found.low / STEP))
        self._note(Asked(0, 0, None, float("inf")))
        return False

    def _fast_end(self) -> None:
        """Find the fewest cycles between the last step with a plan and the first without."""
        without = self.asked.pop()
        above = self.asked[-1]
        while above.low > 1:
            if above.low - 1 == without.high:
                self._note(without)
                return
            self.solutions += 1
            fewest = self.search("cycles", above.low - 1)
            if fewest.built is None:
                break
            found = self._ask(fewest.built.cycles, above)
            if found is None or found.best is None or found.best.built is None:
                return
            above = found
        self._note(Asked(0, above.low - 1, None, without.bound))

    def _widest(self) -> tuple[Asked, Asked] | None:
        """Return the gap whose ends differ most in area and in cycles."""
        gaps = [
            (above, below)
            for above, below in zip(self.asked, self.asked[1:], strict=False)
            if above.low - 1 > below.high
        ]
        return max(gaps, key=lambda gap: _size(*gap), default=None)


def _size(above: Asked, below: Asked) -> float:
    rise = below.bound - above.bound if below.bound < float("inf") else 1.0
    return max(rise, 1e-12) * log(above.low / max(below.high, 1))
