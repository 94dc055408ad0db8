"""What it costs at the least that a tensor waits for another one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from flow.device.parts import Part
from flow.engines.align import Delay, Fifo
from flow.engines.streamed_cost import waiting_resources
from flow.fixed import IntArray
from flow.graph.graph import Graph
from flow.latency.schedule import Schedule
from flow.plan.footprint import area_weights, counted
from flow.plan.places import Place

FARTHEST = 1 << 12
"""Cycles beyond the fewest for which the cost of waiting is looked at; farther, no more is counted."""
GRID = (0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256, 1024)
"""Cycles beyond the fewest that are looked at."""
DEEPEST = 64
"""Depths of a FIFO that are all looked at, for a deeper one that takes less; beyond, those that double."""


class Waiting:
    """Bound the area that waiting takes from below: real delays and FIFOs take as much or more."""

    def __init__(self, graph: Graph, part: Part, spare: tuple[str, ...]) -> None:
        self.graph, self.part = graph, part
        self.weights = area_weights(part, spare)
        self.least = lru_cache(maxsize=None)(self._least)
        self._depths = lru_cache(maxsize=None)(self._by_depth)

    def _least(self, pushed: Place, popped: Schedule, fewest: int, readers: int) -> tuple[float, float]:
        """Return the least area where a tensor's last beat waits the fewest cycles or more, and for each cycle more.

        pushed: where the tensor comes. popped: when its beats leave. readers: a delay may serve as many at once, a FIFO
        serves one.
        """
        if len(popped.cycles) == 1:
            width = self.graph.node(pushed.node).type.width
            each = self._area(Delay(pushed.node, pushed.lanes, 1), width) / readers
            return fewest * each, each
        came = np.array(pushed.schedule.cycles) - pushed.schedule.last
        due = np.array(popped.cycles) - popped.last + fewest
        costs = [self._cost(pushed, came, due + beyond, readers) for beyond in GRID]
        # what is sure from a point on; and each cycle beyond the first point, a cost holding up to the next one
        sure = np.minimum.accumulate(costs[::-1])[::-1]
        return float(sure[0]), float(((sure - sure[0]) / (*GRID[1:], FARTHEST)).min())

    def _cost(self, pushed: Place, came: IntArray, due: IntArray, readers: int) -> float:
        waits = due - came
        if not waits.any():
            return 0.0
        if (waits == 1).all():
            width = self.graph.node(pushed.node).type.width
            return self._area(Delay(pushed.node, pushed.lanes, 1), width) / readers
        waiting = np.arange(1, len(came) + 1) - np.searchsorted(due, came, side="right")
        depths = self._depths(pushed.node, pushed.lanes, len(came), not waits.all())
        return depths[max(int(waiting.max()), 1) - 1]

    def _by_depth(self, node: str, lanes: int, beats: int, bypass: bool) -> list[float]:  # noqa: FBT001 — a cache's key
        """Return, for FIFOs of one place and more, the least area of that depth or any larger."""
        width = self.graph.node(node).type.width
        known: list[float] = []
        for depth in range(1, beats + 1):
            if depth <= DEEPEST or depth & (depth - 1) == 0 or depth == beats:
                known.append(self._area(Fifo(node, lanes, lanes * width, depth, bypass), width))
            else:
                known.append(known[-1])
        return [float(least) for least in np.minimum.accumulate(known[::-1])[::-1]]

    def _area(self, what: Delay | Fifo, width: int) -> float:
        return float(np.array(counted(waiting_resources(what, width, self.part))) @ self.weights)
