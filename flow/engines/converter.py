"""Width converters: the same tensor in beats of another shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flow.latency.schedule import Schedule, evenly


@dataclass(frozen=True, slots=True)
class Converter:
    """Give a tensor of `size` elements in beats of `lanes_out` elements, at least `spacing` cycles apart.

    lanes_in, lanes_out: at most `size`, which means the whole tensor in one beat. A `gather` collects beats and hands
    the whole on with the last of them; a `split` hands on the first group of a whole as it comes: neither adds a
    cycle. A `regroup` writes beats into a buffer and reads other beats from it one cycle later.
    """

    node: str
    size: int
    lanes_in: int
    lanes_out: int
    spacing: int

    @property
    def engine(self) -> Literal["gather", "split", "regroup"]:
        """Return the kind of converter."""
        if self.lanes_out == self.size:
            return "gather"
        return "split" if self.lanes_in == self.size else "regroup"

    @property
    def beats_in(self) -> int:
        """Return the beats that come."""
        return -(-self.size // self.lanes_in)

    @property
    def beats_out(self) -> int:
        """Return the beats that leave."""
        return -(-self.size // self.lanes_out)

    def needed(self, beat: int) -> int:
        """Return the last input beat that an output beat takes elements from."""
        return (min((beat + 1) * self.lanes_out, self.size) - 1) // self.lanes_in

    def schedule(self, arrivals: tuple[Schedule, ...]) -> Schedule:
        """Return when the output beats leave."""
        (arrival,) = arrivals
        if self.engine == "gather":
            return Schedule((arrival.last,))
        if self.engine == "split":
            return evenly(arrival.last, self.beats_out, self.spacing)
        cycles: list[int] = []
        for beat in range(self.beats_out):
            ready = arrival.cycles[self.needed(beat)] + 1
            cycles.append(max(ready, cycles[-1] + self.spacing) if cycles else ready)
        return Schedule(tuple(cycles))

    def interval(self, arrivals: tuple[Schedule, ...]) -> int:
        """Return the cycles before the next inference's first beat may come."""
        (arrival,) = arrivals
        if self.engine == "gather":
            return arrival.last - arrival.first + 1
        if self.engine == "split":
            return self.beats_out * self.spacing
        # the buffer is read by the last output beat, and may be written in the same cycle
        return max(self.schedule(arrivals).last - arrival.first, arrival.last - arrival.first + 1)
