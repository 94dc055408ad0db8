"""The streamed engine: a tensor crosses beat by beat, and an ordinary engine computes one beat after the other.

Facets 1 and 2. Convolution and pooling have a line buffer in front, which makes windows of the beats that come, a pool
over the whole image has running results; what treats all places alike (casts, activations, merges of equal tensors)
needs none. What becomes of one beat is a small graph of its own (`beat`), which one cone or one folded matrix product
computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

from flow.engines.folded import Folded
from flow.engines.line_buffer import LineBuffer
from flow.engines.reducer import Reducer
from flow.engines.unrolled import Unrolled
from flow.engines.wants import Wants
from flow.latency.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Streamed:
    """Choose beats for a run of nodes that treat all places of a tensor alike.

    nodes: the first may have several inputs, which come together. lanes_in: elements of a beat, of each input.
    lanes: of what the inner engine makes of one beat. buffer: what is kept of the beats before, None where a beat is
    all that is needed.
    inner: computes one beat; its nodes are those of the beat's graph.
    """

    nodes: tuple[str, ...]
    lanes_in: tuple[int, ...]
    lanes: int
    buffer: LineBuffer | Reducer | None
    inner: Annotated[Unrolled | Folded, Field(discriminator="engine")]
    engine: Literal["streamed"] = "streamed"

    def __post_init__(self) -> None:
        if min(*self.lanes_in, self.lanes) < 1:
            raise ValueError(f"beats of {self.lanes_in} and {self.lanes} elements")
        if self.inner.output != self.output:
            raise ValueError(f"the inner engine computes {self.inner.output}, not {self.output}")
        if isinstance(self.inner, Unrolled) and self.inner.depth < 1:
            raise ValueError("a streamed engine ends in a register")
        if isinstance(self.inner, Folded) and (self.inner.order != "output_serial" or self.lanes % self.inner.q):
            raise ValueError("a beat is folded output-serially, in groups of equal size")

    @property
    def output(self) -> str:
        """Return the node whose output leaves the engine."""
        return self.nodes[-1]

    @property
    def step(self) -> int:
        """Return the cycles that one beat keeps the inner engine busy."""
        return self.inner.reuse_factor if isinstance(self.inner, Folded) else 1

    @property
    def wants(self) -> Wants:
        """Ask for beats of the first input; a line buffer gives no more windows than it gets beats."""
        return Wants(self.lanes_in[0], self.pace)

    @property
    def pace(self) -> int:
        """Return the least distance of beats in cycles."""
        return self.step if self.buffer is None else self.buffer.pace

    @property
    def lanes_out(self) -> int | None:
        """Give what one beat makes, or the groups of a folded one."""
        return self.lanes if isinstance(self.inner, Unrolled) else self.inner.q

    def interval(self, arrivals: tuple[Schedule, ...]) -> int:
        """Return the cycles before the next inference's first beat may come."""
        (arrival, *_) = arrivals
        windows = self._windows(arrival)
        own = windows.last - windows.first + self.step
        return max(own, arrival.last - arrival.first + 1 if self.buffer is None else self.buffer.interval(arrival))

    def schedule(self, arrivals: tuple[Schedule, ...]) -> Schedule:
        """Return when the beats leave; raise ValueError where they come faster than they can be computed."""
        windows = self._windows(arrivals[0])
        if (windows.spacing or self.step) < self.step:
            raise ValueError(f"beats for {self.nodes} come every {windows.spacing} cycles, each takes {self.step}")
        after = self.inner.schedule((Schedule((0,)),)).cycles
        return Schedule(tuple([cycle + offset for cycle in windows.cycles for offset in after]))

    def _windows(self, arrival: Schedule) -> Schedule:
        return arrival if self.buffer is None else _windows(self.buffer, arrival)


@lru_cache(maxsize=128)
def _windows(buffer: LineBuffer | Reducer, arrival: Schedule) -> Schedule:
    """Return when the windows of a buffer are there: many engines may stand behind the same one."""
    return buffer.schedule(arrival)
