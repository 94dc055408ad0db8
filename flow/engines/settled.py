"""Which beats show their data early by nature: a bench that looks for early data must not count them.

An accumulator holds the final sum one cycle early where the products of the last step change nothing that can be seen:
weights that are zero, inputs that are, sums that saturate. What only passes data on shows the same, and a converter
that spaces its beats has the next one ready while it waits, as has one that waits for elements which never change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flow.engines.align import Fifo
from flow.engines.converter import Converter
from flow.engines.dataflow import Block, Dataflow
from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.engines.lane import dense_of
from flow.fixed import FixedArray, IntArray
from flow.graph.graph import Graph

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
            case Unrolled(nodes=nodes) if any(name in self.early for name in block.inputs):
                self._set(block.output, self._evaluated(nodes, self.early[block.inputs[0]]))
            case Converter(engine="gather") as converter if block.inputs[0] in self.early:
                self._set(block.output, self._last_beat_early(block.inputs[0], converter))
            case Converter(engine="split" | "regroup") as converter:
                self._spaced(block, converter)
            case Fifo():
                # the oldest beat stands at the exit as soon as the one before it has left
                self.flags[block.output] = np.ones(self._beats(block.output), dtype=bool)
            case _:
                pass

    def _beats(self, name: str) -> tuple[int, int]:
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

    def _without_last_step(self, choice: Folded) -> FixedArray:
        """Return what the accumulators give a cycle early: sums without the last step.

        Input-serial ones show the group before, which is complete unless it is the last, of the inputs before.
        """
        node = dense_of(self.graph, choice)
        weights = node.weights.copy()
        weights[(choice.groups_in - 1) * choice.p :] = 0
        partial = replace(node, weights=weights).evaluate((self.values[node.inputs[0]],))
        early = self._evaluated(choice.nodes[1:], partial)
        if choice.order == "output_serial" or choice.groups_out == 1:
            return early
        shown, final = _flat(early.raw), _flat(self._final(choice.output).raw)
        last = np.zeros_like(final[:, : choice.q])
        rest = shown[:, (choice.groups_out - 1) * choice.q :]
        last[:, : rest.shape[1]] = rest  # lanes beyond give zeros
        turned = np.concatenate([last, final], axis=1)[:, : choice.n_out]
        return FixedArray(turned.reshape(early.raw.shape), early.type)

    def _evaluated(self, nodes: tuple[str, ...], value: FixedArray) -> FixedArray:
        for name in nodes:
            value = self.graph.node(name).evaluate((value,))
        return value

    def _last_beat_early(self, source: str, converter: Converter) -> FixedArray:
        """Return a gathered tensor: complete but for the beat that passes right through."""
        edge, final = self.edges[source], self._final(source)
        mixed = _flat(final.raw).copy()
        last = np.arange(mixed.shape[1]) % converter.unit >= (converter.beats_in - 1) * edge.lanes
        mixed[:, last] = _flat(self.early[source].raw)[:, last]
        return FixedArray(mixed.reshape(final.raw.shape), final.type)

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


def _varying(final: IntArray) -> Flags:
    """Tell which elements are not the same for all vectors."""
    return np.asarray(np.any(final != final[0], axis=0))


def _flat(raw: IntArray) -> IntArray:
    return raw.reshape(len(raw), -1)
