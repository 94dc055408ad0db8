"""What a run of nodes can become where tensors come beat by beat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from flow.engines.beat import beat_graph, computed, reducer_of, streamable, window_of
from flow.engines.dataflow import sources_of
from flow.engines.engine import Choice, Resources, Streamed, Unrolled
from flow.engines.folded import Folded
from flow.engines.folded_choices import foldable
from flow.engines.line_buffer import LineBuffer, RowStore, in_beats, line_buffer
from flow.engines.reducer import Reducer
from flow.engines.streamed_cost import streamed_resources
from flow.graph.nodes import Dense
from flow.latency.timeline import Edge
from flow.plan.options import Segment, Space, cone_ways, options_of, unrolled_resources
from flow.plan.plan import Planned

SHORT_ROW = 4
"""Beats of a row up to which the rows above lie in registers."""
BLOCK_BITS = 4096
"""Bits from which the rows above lie in block RAM."""


@dataclass(frozen=True, slots=True)
class Way:
    """Hold one way to build a run: engines one after the other with their cost, and the longest segment in ns."""

    planned: tuple[Planned, ...]
    worst_ns: float

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Return the choices."""
        return tuple(p.choice for p in self.planned)

    @property
    def resources(self) -> Resources:
        """Return what all of it takes."""
        return sum((p.resources for p in self.planned), Resources())


class StreamedWays:
    """Find streamed ways for one segment length."""

    def __init__(self, space: Space, segment: Segment) -> None:
        self.space, self.segment = space, segment
        self.found: dict[tuple[tuple[str, ...], int, int], tuple[Way, ...]] = {}

    def of(self, run: tuple[str, ...], edge: Edge, pixels: int) -> tuple[Way, ...]:
        """Return the ways to stream the whole of a run whose first input comes on an edge.

        pixels: of a beat, where the tensor comes whole; a tensor in beats keeps them or goes on pixel by pixel.
        """
        graph = self.space.graph
        source = graph.node(edge.node)
        spatial = len(source.shape) > 1 or window_of(graph.node(run[0])) is not None
        if not spatial or streamable(graph, run) < len(run):
            return ()
        channels, spacing = source.shape[-1], edge.schedule.spacing
        counts = [pixels] if spacing is None else [max(1, edge.lanes // channels), 1]
        ways: list[Way] = []
        for count in dict.fromkeys(counts):
            pace = 1 if spacing is None else max(1, spacing * count * channels // edge.lanes)
            if (run, count, pace) not in self.found:
                self.found[run, count, pace] = tuple(self._ways(run, count, pace))
            ways += self.found[run, count, pace]
        return tuple(way for way in ways if self.space.pins.allows(*way.choices))

    def _ways(self, run: tuple[str, ...], pixels: int, pace: int) -> Iterator[Way]:
        graph = self.space.graph
        (source, *_) = graph.feeding(graph.node(run[0]))
        if source.size // source.shape[-1] % pixels:
            return
        window = window_of(graph.node(run[0]))
        buffer: LineBuffer | Reducer | None = reducer_of(graph, graph.node(run[0]), pixels)
        if window is not None and buffer is None:
            beats = in_beats(window, pixels)
            kept = (window.kernel[0] - 1) * pixels * window.channels * source.type.width
            if beats is None:
                return
            buffer = line_buffer(window, pixels, pace, self._store(beats.columns, kept))
            if buffer is None:
                return
        if self.space.may_unroll(run):
            yield from self._cones(run, pixels, buffer)
        if pace > 1 and isinstance(buffer, LineBuffer):
            yield from self._folded(run, pixels, buffer, pace)

    def _store(self, columns: int, kept: int) -> RowStore:
        """Return where rows above are kept best."""
        if columns <= SHORT_ROW:
            return "registers"
        part, delays = self.space.part, self.space.delays
        if part.bram and delays.bram_ns is not None and (columns * kept >= BLOCK_BITS or part.family == "ice40"):
            return "bram"
        return "registers" if part.family == "ice40" else "lutram"

    def _cones(self, run: tuple[str, ...], pixels: int, buffer: LineBuffer | Reducer | None) -> Iterator[Way]:
        """Give a run as one cone for each beat."""
        space = _beat_space(self.space, run, pixels)
        (nodes,) = space.runs
        for inner, guess, longest in cone_ways(space, nodes, self.segment):
            choice = self._choice(run, pixels, buffer, inner)
            cost = streamed_resources(self.space.graph, choice, space.part, unrolled_resources(guess, inner.depth))
            yield Way((Planned(choice, cost, guess.delay_ns),), longest)

    def _folded(self, run: tuple[str, ...], pixels: int, buffer: LineBuffer, pace: int) -> Iterator[Way]:
        """Give folded products that have done with a beat when the next one may come, and what stands behind them."""
        beat = beat_graph(self.space.graph, run, pixels)
        inner = computed(beat)
        matrix = beat.node(inner[0])
        count = foldable(beat, inner)
        if not isinstance(matrix, Dense) or not count:
            return
        kept = [name for name in run if name in inner[:count]]
        head, rest = run[: len(kept)], run[len(kept) :]
        space = _beat_space(self.space, head, pixels)
        behind = tuple(self._cones(rest, self._pixels(head, matrix.n_out), None)) if rest else (Way((), 0.0),)
        for option in options_of(space, self.segment.within_ns).of(space.runs[0], pace):
            fold = option.choice
            if fold.order != "output_serial" or fold.n_out % fold.q:
                continue
            choice = self._choice(head, pixels, buffer, fold)
            cost = streamed_resources(self.space.graph, choice, space.part, option.resources)
            made = Planned(choice, cost, option.worst_ns)
            for way in behind:
                yield Way((made, *way.planned), max(option.worst_ns, way.worst_ns))

    def _pixels(self, head: tuple[str, ...], lanes: int) -> int:
        return lanes // self.space.graph.node(head[-1]).shape[-1]

    def _choice(
        self, run: tuple[str, ...], pixels: int, buffer: LineBuffer | Reducer | None, inner: Unrolled | Folded
    ) -> Streamed:
        graph = self.space.graph
        lanes_in = tuple(pixels * graph.node(name).shape[-1] for name in sources_of(graph, Unrolled(run, 1)))
        lanes = beat_graph(graph, run, pixels).node(inner.output).size
        return Streamed(run, lanes_in, lanes, buffer, inner)


@lru_cache(maxsize=8)
def ways_of(space: Space, segment: Segment) -> StreamedWays:
    """Return the streamed ways for segments of one length, as they were found so far."""
    return StreamedWays(space, segment)


@lru_cache(maxsize=1024)
def _beat_space(space: Space, run: tuple[str, ...], pixels: int) -> Space:
    """Return what can be planned for one beat of a run."""
    beat = beat_graph(space.graph, run, pixels)
    return replace(space, graph=beat, runs=(computed(beat),), pins=space.pins.inside())
