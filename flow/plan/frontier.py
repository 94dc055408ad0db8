"""Sets of partial plans, of which only those that may be part of the best one are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flow.device.parts import Part
from flow.engines.engine import Resources

KINDS = ("lut", "ff", "dsp", "bram")
"""Resources that plans compete for; nothing is put into UltraRAM, which has no initial contents."""
SCARCE = 16.0
"""How much more a resource weighs where the planner looks for plans that spare it."""
MOST = 32
"""Partial plans of one weighting that are kept."""
NO_LIMIT = 1 << 40
"""More of anything than a plan can take."""

Counts = NDArray[np.int64]


def counted(resources: Resources) -> tuple[int, ...]:
    """Return the counts of the resources that plans compete for, a half block counted whole."""
    return tuple(getattr(resources, kind) for kind in KINDS)


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """Give what a plan may take: cycles, cycles between inferences, and of each resource the usable count.

    weights: (weightings, resources); the first gives the area (`area_weights`). The others make one resource dear, so
    that plans which spare it are kept, too.
    """

    cycles: int
    interval: int
    usable: Counts
    weights: NDArray[np.float64]

    @classmethod
    def on(
        cls,
        part: Part,
        cycles: int,
        interval: int,
        *,
        spare: tuple[str, ...] = (),
        scarce: tuple[str, ...] = KINDS,
    ) -> Room:
        """Return the room that a part offers; spare: as asked for; scarce: what plans are to be kept that spare it."""
        usable = np.array([getattr(part, f"usable_{kind}") for kind in KINDS], dtype=np.int64)
        plain = area_weights(part, spare)
        dear = [np.where(np.array(KINDS) == kind, SCARCE * plain, plain) for kind in scarce]
        return cls(cycles, interval, usable, np.array([plain, *dear]))

    def unbounded(self) -> Room:
        """Return the room of a part that has as much as one wants of every resource, counted as on this part."""
        return replace(self, usable=np.full(len(KINDS), NO_LIMIT), weights=self.weights[:1])

    def lacking(self, counts: tuple[int, ...]) -> tuple[str, ...]:
        """Return the resources of which there is not enough."""
        over = np.array(counts) > self.usable
        return tuple(kind for kind, short in zip(KINDS, over.tolist(), strict=True) if short)

    def holds(self, resources: Resources) -> bool:
        """Tell whether there is enough of every resource."""
        return not self.lacking(counted(resources))


def area_weights(part: Part, spare: tuple[str, ...]) -> NDArray[np.float64]:
    """Return what one of each resource adds to the area: its share of the usable ones, more for those to spare."""
    usable = np.array([getattr(part, f"usable_{kind}") for kind in KINDS], dtype=np.int64)
    return np.asarray(np.where(np.isin(KINDS, spare), SCARCE, 1.0) / np.maximum(usable, 1))


def area_of(resources: Resources, part: Part, spare: tuple[str, ...] = ()) -> float:
    """Return the area: the sum over resources of used over usable on the part; infinite where it has not enough.

    spare: resources that count SCARCE times.
    """
    counts = counted(resources)
    if any(used > getattr(part, f"usable_{kind}") for kind, used in zip(KINDS, counts, strict=True)):
        return float("inf")
    return float(np.array(counts) @ area_weights(part, spare))


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Hold partial plans.

    cycles: (n,), from the arrival of the edge that they read to the last output. counts: (n, resources). origin:
    (n, 2), of what each was put together.
    """

    cycles: Counts
    counts: Counts
    origin: Counts

    @property
    def size(self) -> int:
        """Return how many there are."""
        return len(self.cycles)


def no_points() -> Points:
    """Return the empty set: nothing is possible."""
    return Points(np.zeros(0, np.int64), np.zeros((0, len(KINDS)), np.int64), np.zeros((0, 2), np.int64))


def best(candidates: list[Points], room: Room) -> Points:
    """Return, of all candidates that have room, those that no other beats in both cycles and weighted resources.

    Where many are left, a selection with cycles spread evenly: fewest cycles and least area are always among them.
    """
    if not candidates:
        return no_points()
    cycles = np.concatenate([c.cycles for c in candidates])
    counts = np.concatenate([c.counts for c in candidates])
    origin = np.concatenate([c.origin for c in candidates])
    fits = (cycles <= room.cycles) & np.all(counts <= room.usable, axis=1)
    cycles, counts, origin = cycles[fits], counts[fits], origin[fits]
    kept = np.zeros(len(cycles), dtype=bool)
    for weight in room.weights:
        cost = counts @ weight
        order = np.lexsort((cost, cycles))
        ordered = cost[order]
        least = np.minimum.accumulate(ordered)
        falls = np.append(True, ordered[1:] < least[:-1] - 1e-12)[: len(order)]
        front = order[falls]
        if len(front) > MOST:
            front = front[np.linspace(0, len(front) - 1, MOST).round().astype(int)]
        kept[front] = True
    return Points(cycles[kept], counts[kept], origin[kept])
