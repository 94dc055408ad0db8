"""Branches that meet: the earlier one waits, in registers or in a FIFO, until the later one comes.

What must wait, for how long and how many beats at a time follow from the schedules: nothing is sized by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flow.latency.schedule import Schedule, latest

FifoStore = Literal["registers", "lutram", "bram"]

REGISTER_BITS = 128
"""Bits up to which a FIFO lies in registers."""
BLOCK_WORDS = 64
"""Words from which a FIFO lies in block RAM."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Hand every beat of a node's tensor on some cycles later; lanes: elements of a beat."""

    node: str
    lanes: int
    cycles: int
    engine: Literal["delay"] = "delay"

    def schedule(self, arrivals: tuple[Schedule, ...]) -> Schedule:
        """Return when the beats leave."""
        return arrivals[0].delayed(self.cycles)

    def interval(self, arrivals: tuple[Schedule, ...]) -> int:  # noqa: ARG002 — the contract
        """Return the II in cycles: whatever comes can come again."""
        return 1


@dataclass(frozen=True, slots=True)
class Fifo:
    """Keep beats of a node's tensor until those of another edge, its second input, come.

    lanes: elements of a beat. bits: of a beat. depth: beats that wait at most. bypass: some beats do not wait at all.
    """

    node: str
    lanes: int
    bits: int
    depth: int
    bypass: bool
    engine: Literal["fifo"] = "fifo"

    @property
    def store(self) -> FifoStore:
        """Return where the beats lie."""
        if self.depth * self.bits <= REGISTER_BITS or self.depth <= 2:
            return "registers"
        return "lutram" if self.depth < BLOCK_WORDS else "bram"

    def schedule(self, arrivals: tuple[Schedule, ...]) -> Schedule:
        """Return when the beats leave: with those of the other edge."""
        return arrivals[1]

    def interval(self, arrivals: tuple[Schedule, ...]) -> int:  # noqa: ARG002 — the contract
        """Return the II in cycles: the depth is made for that of the design."""
        return 1


@dataclass(frozen=True, slots=True)
class Alignment:
    """Say which of several edges the others wait for, and how many cycles that one is late itself."""

    leader: int
    shift: int
    target: Schedule


def alignment(arrivals: tuple[Schedule, ...]) -> Alignment:
    """Return how edges of equally many beats come together at the earliest."""
    leader = latest(arrivals)
    ahead = arrivals[leader].cycles
    shift = max(max(b - a for a, b in zip(ahead, other.cycles, strict=True)) for other in arrivals)
    return Alignment(leader, max(shift, 0), arrivals[leader].delayed(max(shift, 0)))


def most_waiting(pushed: Schedule, popped: Schedule, interval: int) -> int:
    """Return how many beats wait at most, if inferences begin `interval` cycles apart or more.

    A beat waits from the cycle in which it comes to the one before it leaves. Of all ways in which inferences may
    follow each other the worst counts: what waits is summed over ages that differ by at least the interval.
    """
    begin, end = pushed.first, popped.last
    came, left = np.zeros(end - begin + 1, np.int64), np.zeros(end - begin + 1, np.int64)
    np.add.at(came, np.array(pushed.cycles) - begin, 1)
    np.add.at(left, np.array(popped.cycles) - begin, 1)
    waiting = np.cumsum(came - left)
    best = waiting.copy()
    above = np.zeros_like(best)  # the most from here on
    for age in range(len(best) - 1, -1, -1):
        later = age + interval
        best[age] = waiting[age] + (above[later] if later < len(best) else 0)
        above[age] = max(best[age], above[age + 1] if age + 1 < len(best) else 0)
    return int(above[0])
