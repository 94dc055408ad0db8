"""A pool over the whole of an image that comes beat by beat: one running result for each lane.

`flow_reduce.sv` is its hardware. What remains after the last beat, the lanes of neighbouring pixels and the division of
an average, is computed like any other beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flow.engines.widths import signed_width
from flow.fixed import FixedType
from flow.latency.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Reducer:
    """Describe running results over the `beats` beats of an image: the largest element, or the exact sum."""

    beats: int
    op: Literal["max", "sum"]

    @property
    def pace(self) -> int:
        """Return the least distance of beats in cycles."""
        return 1

    def held(self, source: FixedType) -> FixedType:
        """Return the type of a running result; source: of the elements."""
        if self.op == "max":
            return source.exact()
        width = signed_width(self.beats * source.lo, self.beats * source.hi) - (not source.signed)
        return FixedType(width, width - source.fraction, source.signed)

    def schedule(self, arrival: Schedule) -> Schedule:
        """Return when the result is there: the cycle after the last beat."""
        return Schedule((arrival.last + 1,))

    def interval(self, arrival: Schedule) -> int:
        """Return the cycles before the next image may begin."""
        return arrival.last - arrival.first + 1
