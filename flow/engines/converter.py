"""Width converters: the same tensor in beats of another shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flow.latency.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Converter:
    """Give a tensor of `size` elements in beats of `lanes_out` elements, at least `spacing` cycles apart.

    lanes_in, lanes_out: at most `size`, which means the whole tensor in one beat. block: elements that are converted at
    a time, None for the whole tensor. A `gather` collects the beats of a block and hands it on with the last of them; a
    `split` hands on the first part of a block as it comes: neither adds a cycle. A `regroup` writes beats into a buffer
    and reads other beats from it one cycle later.
    """

    node: str
    size: int
    lanes_in: int
    lanes_out: int
    spacing: int
    block: int | None = None

    @property
    def unit(self) -> int:
        """Return the elements that are converted at a time."""
        return self.size if self.block is None else self.block

    @property
    def engine(self) -> Literal["gather", "split", "regroup"]:
        """Return the kind of converter."""
        if self.lanes_out == self.unit:
            return "gather"
        return "split" if self.lanes_in == self.unit else "regroup"

    @property
    def beats_in(self) -> int:
        """Return the beats that come for what is converted at a time."""
        return -(-self.unit // self.lanes_in)

    @property
    def beats_out(self) -> int:
        """Return the beats that leave of what is converted at a time."""
        return -(-self.unit // self.lanes_out)

    def needed(self, beat: int) -> int:
        """Return the last input beat that an output beat takes elements from."""
        return (min((beat + 1) * self.lanes_out, self.size) - 1) // self.lanes_in

    def schedule(self, arrivals: tuple[Schedule, ...]) -> Schedule:
        """Return when the output beats leave; raise ValueError where a block comes before the last one has left."""
        (arrival,) = arrivals
        if self.engine == "gather":
            return Schedule(arrival.cycles[self.beats_in - 1 :: self.beats_in])
        cycles: list[int] = []
        if self.engine == "split":
            after = [k * self.spacing for k in range(self.beats_out)]
            return Schedule(tuple(came + offset for came in arrival.cycles for offset in after))
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
            return arrival.last - arrival.first + self.beats_out * self.spacing
        # the buffer is read by the last output beat, and may be written in the same cycle
        return max(self.schedule(arrivals).last - arrival.first, arrival.last - arrival.first + 1)


def converter(node: str, size: int, lanes: tuple[int, int], spacing: int, arrival: Schedule) -> Converter:
    """Return what converts a tensor that arrives in beats of lanes[0] elements to beats of lanes[1], block by block.

    Where neither beat is made of whole others, or blocks come too fast to be split, the whole tensor is buffered.
    """
    coming, leaving = lanes
    if size in {coming, leaving}:
        return Converter(node, size, coming, leaving, spacing)
    if leaving % coming == 0 and size % leaving == 0:
        block = Converter(node, size, coming, leaving, spacing, leaving)
        if (block.schedule((arrival,)).spacing or spacing) >= spacing:
            return block
    if coming % leaving == 0 and size % coming == 0 and (arrival.spacing or 1) >= coming // leaving * spacing:
        return Converter(node, size, coming, leaving, spacing, coming)
    return Converter(node, size, coming, leaving, spacing)
