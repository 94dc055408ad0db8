"""When the beats of an edge are valid, in cycles."""

from __future__ import annotations

from dataclasses import dataclass
from operator import le, sub

from flow.hashed import Hashed


@dataclass(frozen=True, slots=True)
class Schedule(Hashed):
    """List the cycle of every beat of one inference on one edge, counted from the capture of its first input beat.

    Cycles ascend strictly: an edge carries one beat at a time.
    """

    cycles: tuple[int, ...]

    __hash__ = Hashed.__hash__

    def __post_init__(self) -> None:
        if not self.cycles:
            raise ValueError("a schedule has at least one beat")
        if any(map(le, self.cycles[1:], self.cycles)):
            raise ValueError(f"beats must come one after another, not at {self.cycles}")

    @property
    def first(self) -> int:
        """Return the cycle of the first beat."""
        return self.cycles[0]

    @property
    def last(self) -> int:
        """Return the cycle of the last beat."""
        return self.cycles[-1]

    @property
    def spacing(self) -> int | None:
        """Return the least distance between two beats in cycles, None for one beat."""
        return min(map(sub, self.cycles[1:], self.cycles), default=None)

    def delayed(self, cycles: int) -> Schedule:
        """Return the same beats some cycles later."""
        return Schedule(tuple([c + cycles for c in self.cycles]))


def evenly(first: int, count: int, spacing: int) -> Schedule:
    """Return `count` beats from cycle `first` on, `spacing` cycles apart."""
    return Schedule(tuple([first + k * spacing for k in range(count)]))


def latest(schedules: tuple[Schedule, ...]) -> int:
    """Return which of several schedules ends last; of equals the first."""
    return max(range(len(schedules)), key=lambda k: (schedules[k].last, -k))
