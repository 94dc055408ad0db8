"""Which beats show their data early by nature: a bench that looks for early data must not count them.

An accumulator holds the final sum one cycle early where the products of the last step change nothing that can be seen:
weights that are zero, inputs that are, sums that saturate. What only passes data on shows the same, and a converter
that spaces its beats has the next one ready while it waits, as has one that waits for elements which never change. A
pool over a whole image, and any window over one, has its result where the last beat changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flow.engines.align import Delay, Fifo
from flow.engines.beat import beat_of
from flow.engines.converter import Converter
from flow.engines.crossing import Crossing
from flow.engines.dataflow import Block, Dataflow
from flow.engines.engine import Streamed, Unrolled
from flow.engines.folded import Folded
from flow.engines.lane import dense_of
from flow.engines.line_buffer import LineBuffer
from flow.engines.reducer import Reducer
from flow.fixed import FixedArray, FixedType, IntArray
from flow.graph.graph import Graph
from flow.graph.nodes import Dense

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Settled:
    """Hold flags of shape (vectors, beats): whether a beat's data stand there one cycle early by nature.

    edges: by edge name; those that nothing of the kind concerns are left out. output: of the design's output.
    """

    edges: dict[str, Flags] = field(default_factory=dict)
    output: Flags | None = None


def settled_early(graph: Graph, flow: Dataflow, values: Mapping[str, FixedArray]) -> Settled:
    """Return what is early by nature; values: the evaluator's tensors by node name."""
    search = _Search(graph, flow, values)
    for block in flow.blocks:
        search.visit(block)
    found = {name: flags for name, flags in search.flags.items() if np.any(flags)}
    return Settled(found, search.output())


class _Search:
    """Keep, for each edge where that differs from anything, what each element is one cycle before its beat is due."""

    def __init__(self, graph: Graph, flow: Dataflow, values: Mapping[str, FixedArray]) -> None:
        self.graph = graph
        self.values = values
        self.edges = {edge.name: edge for edge in flow.timeline.edges}
        self.outputs = flow.timeline.outputs
        self.early: dict[str, FixedArray] = {}
        self.flags: dict[str, Flags] = {}

    def visit(self, block: Block) -> None:
        match block.what:
            case Folded(accumulates=True) as choice:
                self._set(block.output, self._without_last_step(choice))
            case Streamed(buffer=LineBuffer() as buffer, inner=Folded(accumulates=True)) as choice:
                self._set(block.output, self._beats_without_last_step(choice, buffer))
            case Streamed(buffer=LineBuffer(out=(1, 1)) as buffer, inner=Unrolled()) as choice:
                windows = _step_before(self._source(choice).raw, choice.lanes_in[0], buffer)
                self._set(block.output, self._beats(choice, windows, self._source(choice).type))
            case Streamed(buffer=Reducer() as reducer) as choice:
                self._set(block.output, self._without_last_beat(choice, reducer))
            case Unrolled(nodes=nodes) | Streamed(nodes=nodes, buffer=None, inner=Unrolled()):
                self._passed_on(block, nodes)
            case Delay() | Crossing():
                self._passed_on(block, ())
            case Converter(engine="gather") as converter:
                self._gathered(block, converter)
            case Converter(engine="split" | "regroup") as converter:
                self._spaced(block, converter)
            case Fifo():
                # the oldest beat stands at the exit as soon as the one before it has left
                self.flags[block.output] = np.ones(self._shape(block.output), dtype=bool)
            case _:
                pass

    def _shape(self, name: str) -> tuple[int, int]:
        """Return the shape of an edge's flags."""
        edge = self.edges[name]
        return len(self.values[edge.node].raw), len(edge.schedule.cycles)

    def output(self) -> Flags | None:
        """Flag where all outputs together are early; those that are the same for all values cannot tell."""
        telling = [name for name in self.outputs if np.any(_varying(_flat(self._final(name).raw)))]
        flags = [self.flags[name] for name in telling if name in self.flags]
        if not flags or len(flags) < len(telling):
            return None
        whole = np.logical_and.reduce(flags)
        return whole if np.any(whole) else None

    def _final(self, edge: str) -> FixedArray:
        return self.values[self.edges[edge].node]

    def _set(self, name: str, early: FixedArray) -> None:
        self.early[name] = early
        edge = self.edges[name]
        same = _flat(early.raw) == _flat(self._final(name).raw)
        beats = len(edge.schedule.cycles)
        padded = np.ones((len(same), beats * edge.lanes), dtype=bool)
        padded[:, : same.shape[1]] = same
        self.flags[name] = padded.reshape(len(same), beats, edge.lanes).all(axis=2)

    def _passed_on(self, block: Block, nodes: tuple[str, ...]) -> None:
        """Show what comes early, computed by nodes that treat each beat alike, or else what all inputs have early."""
        if all(name in self.early for name in block.inputs):
            known = {self.edges[name].node: self.early[name] for name in block.inputs}
            for name in nodes:
                node = self.graph.node(name)
                known[name] = node.evaluate(tuple(known[source] for source in node.inputs))
            self._set(block.output, known[self.edges[block.output].node])
            return
        known_flags = [flags for name in block.inputs if (flags := self._flags(name)) is not None]
        if len(known_flags) == len(block.inputs):
            early: Flags = np.logical_and.reduce(known_flags)
            self.flags[block.output] = early

    def _flags(self, name: str) -> Flags | None:
        """Return which beats are early, all of a tensor whose elements are always the same; None for none.

        One of which is known what it shows a cycle early may show something else then.
        """
        final = self._final(name).raw
        same = name not in self.early and bool(np.all(final == final.reshape(-1)[0]))
        return np.ones(self._shape(name), dtype=bool) if same else self.flags.get(name)

    def _without_last_step(self, choice: Folded) -> FixedArray:
        """Return what the accumulators give a cycle early: sums without the last step.

        Input-serial ones show the group before, which is complete unless it is the last, of the inputs before.
        """
        node = dense_of(self.graph, choice)
        early = self._partial(node, choice, self.values[node.inputs[0]], self.graph)
        if choice.order == "output_serial" or choice.groups_out == 1:
            return early
        shown, final = _flat(early.raw), _flat(self._final(choice.output).raw)
        last = np.zeros_like(final[:, : choice.q])
        rest = shown[:, (choice.groups_out - 1) * choice.q :]
        last[:, : rest.shape[1]] = rest  # lanes beyond give zeros
        turned = np.concatenate([last, final], axis=1)[:, : choice.n_out]
        return FixedArray(turned.reshape(early.raw.shape), early.type)

    def _partial(self, node: Dense, choice: Folded, value: FixedArray, graph: Graph) -> FixedArray:
        """Return what a folded choice makes of a product without its last step; graph: holds the choice's nodes."""
        weights = node.weights.copy()
        weights[(choice.groups_in - 1) * choice.p :] = 0
        early = replace(node, weights=weights).evaluate((value,))
        for name in choice.nodes[1:]:
            early = graph.node(name).evaluate((early,))
        return early

    def _beats_without_last_step(self, choice: Streamed, buffer: LineBuffer) -> FixedArray:
        """Return what the accumulators of a beat's product give a cycle early."""
        assert isinstance(choice.inner, Folded)
        beat = beat_of(self.graph, choice)
        source = self._source(choice)
        windows = _windows(source.raw, choice.lanes_in[0], buffer)
        early = self._partial(dense_of(beat, choice.inner), choice.inner, FixedArray(windows, source.type), beat)
        final = self._final(choice.output)
        return FixedArray(early.raw.reshape(final.raw.shape), early.type)

    def _without_last_beat(self, choice: Streamed, reducer: Reducer) -> FixedArray:
        """Return what is made of the running results before the last beat."""
        source = self._source(choice)
        beats = source.raw.reshape(-1, reducer.beats, choice.lanes_in[0])[:, :-1]
        held = beats.max(axis=1) if reducer.op == "max" else beats.sum(axis=1)
        return self._beats(choice, held, reducer.held(source.type))

    def _source(self, choice: Streamed) -> FixedArray:
        return self.values[self.graph.node(choice.nodes[0]).inputs[0]]

    def _beats(self, choice: Streamed, raw: IntArray, kind: FixedType) -> FixedArray:
        """Return what the graph of a beat makes of raw integers of a type, as a whole tensor."""
        beat = beat_of(self.graph, choice)
        known = {beat.inputs[0]: FixedArray(raw, kind)}
        for node in beat.nodes[1:]:
            known[node.name] = node.evaluate(tuple(known[name] for name in node.inputs))
        final = self._final(choice.output)
        return FixedArray(known[choice.output].raw.reshape(final.raw.shape), final.type)

    def _gathered(self, block: Block, converter: Converter) -> None:
        """Show a gathered tensor, complete but for the beat that passes right through.

        Where nothing is known of that one it may be anything, like that of another vector: what does not read it is
        early. Beats that come every cycle have not all found their places then.
        """
        source = block.inputs[0]
        edge, final = self.edges[source], self._final(source)
        early = self.early.get(source)
        if early is None and source in self.flags:
            self.flags[block.output] = self.flags[source][:, converter.beats_in - 1 :: converter.beats_in]
        elif early is not None or (edge.schedule.spacing or 0) > 1:
            mixed = _flat(final.raw).copy()
            last = np.arange(mixed.shape[1]) % converter.unit >= (converter.beats_in - 1) * edge.lanes
            shown = np.roll(final.raw, 1, axis=0) if early is None else early.raw
            mixed[:, last] = _flat(shown)[:, last]
            self._set(block.output, FixedArray(mixed.reshape(final.raw.shape), final.type))

    def _spaced(self, block: Block, converter: Converter) -> None:
        """Flag the beats that wait for nothing but their turn, and those that equal what an idle split shows: zeros."""
        final = _flat(self._final(block.output).raw)
        if converter.engine == "split":
            blocks = final.reshape(len(final), -1, converter.unit)
            flags = np.zeros((*blocks.shape[:2], converter.beats_out), dtype=bool)
            flags[..., 1:] = converter.spacing > 1
            flags[..., 0] = ~np.any(blocks[..., : converter.lanes_out], axis=2)
            flags = flags.reshape(len(final), -1)
        else:
            flags = np.tile(self._complete_before_turn(block, converter, _varying(final)), (len(final), 1))
        self.flags[block.output] = flags

    def _complete_before_turn(self, block: Block, converter: Converter, varying: Flags) -> Flags:
        """Tell which beats a regroup has ready early; what is the same each time, its buffer holds from the last."""
        came = np.repeat(self.edges[block.inputs[0]].schedule.cycles, converter.lanes_in)[: converter.size] + 1
        flags, turn = [], 0
        for k, leaves in enumerate(self.edges[block.output].schedule.cycles):
            inside = slice(k * converter.lanes_out, (k + 1) * converter.lanes_out)
            complete = int(np.where(varying, came, 0)[inside].max())
            flags.append(leaves > max(complete, turn))
            turn = leaves + 1
        return np.array(flags)


def _windows(raw: IntArray, lanes: int, buffer: LineBuffer) -> IntArray:
    """Return the windows of beats of `lanes` elements, zero outside the image, shape (vectors × windows, elements)."""
    beats = raw.reshape(len(raw), buffer.rows, buffer.columns, lanes)
    down = max(0, (buffer.out[0] - 1) * buffer.stride[0] + buffer.kernel[0] - buffer.top - buffer.rows)
    across = max(0, (buffer.out[1] - 1) * buffer.stride[1] + buffer.kernel[1] - buffer.left - buffer.columns)
    padded = np.pad(beats, ((0, 0), (buffer.top, down), (buffer.left, across), (0, 0)))
    row = np.arange(buffer.out[0])[:, None] * buffer.stride[0] + np.arange(buffer.kernel[0])
    column = np.arange(buffer.out[1])[:, None] * buffer.stride[1] + np.arange(buffer.kernel[1])
    found = padded[:, row[:, None, :, None], column[None, :, None, :]]
    return found.reshape(len(raw) * buffer.windows, -1)


def _step_before(raw: IntArray, lanes: int, buffer: LineBuffer) -> IntArray:
    """Return the only window as it stands a step before it is complete: each beat in the place of the one before it.

    What is still there of the image before is taken from the vector before.
    """
    beats = raw.reshape(len(raw), buffer.beats, lanes)
    both = np.concatenate([np.roll(beats, 1, axis=0), beats], axis=1)
    row, column = np.arange(buffer.kernel[0]) - buffer.top, np.arange(buffer.kernel[1]) - buffer.left
    place = row[:, None] * buffer.columns + column
    inside = (row >= 0)[:, None] & (row < buffer.rows)[:, None] & (column >= 0) & (column < buffer.columns)
    found = np.where(inside[..., None], both[:, np.maximum(place - 1 + buffer.beats, 0) % (2 * buffer.beats)], 0)
    return found.reshape(len(raw), -1)


def _varying(final: IntArray) -> Flags:
    """Tell which elements are not the same for all vectors."""
    return np.asarray(np.any(final != final[0], axis=0))


def _flat(raw: IntArray) -> IntArray:
    return raw.reshape(len(raw), -1)
