"""Which beats show their data early by nature: a bench that looks for early data must not count them.

An accumulator holds the final sum one cycle early where the products of the last step change nothing that can be seen:
weights that are zero, inputs that are, sums that saturate. What only passes data on shows the same, and a converter
that spaces its beats has the next one ready while it waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

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
    outputs = flow.timeline.outputs
    whole = np.logical_and.reduce([found[name] for name in outputs]) if found.keys() >= set(outputs) else None
    return Settled(found, whole)


class _Search:
    """Keep, for each edge where that differs from anything, what each element is one cycle before its beat is due."""

    def __init__(self, graph: Graph, flow: Dataflow, values: Mapping[str, FixedArray]) -> None:
        self.graph = graph
        self.values = values
        self.edges = {edge.name: edge for edge in flow.timeline.edges}
        self.early: dict[str, FixedArray] = {}
        self.flags: dict[str, Flags] = {}

    def visit(self, block: Block) -> None:
        match block.what:
            case Folded(accumulates=True) as choice:
                self._set(block.output, self._without_last_step(choice))
            case Unrolled(nodes=nodes) if any(name in self.early for name in block.inputs):
                self._set(block.output, self._evaluated(nodes, self.early[block.inputs[0]]))
            case Converter(engine="gather") if block.inputs[0] in self.early:
                self._set(block.output, self._last_beat_early(block.inputs[0]))
            case Converter(engine="split" | "regroup") as converter:
                self._spaced(block, converter)
            case _:
                pass

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
        node = dense_of(self.graph, choice)
        weights = node.weights.copy()
        weights[(choice.groups_in - 1) * choice.p :] = 0
        partial = replace(node, weights=weights).evaluate((self.values[node.inputs[0]],))
        return self._evaluated(choice.nodes[1:], partial)

    def _evaluated(self, nodes: tuple[str, ...], value: FixedArray) -> FixedArray:
        for name in nodes:
            value = self.graph.node(name).evaluate((value,))
        return value

    def _last_beat_early(self, source: str) -> FixedArray:
        """Return a gathered tensor: complete but for the beat that passes right through."""
        edge, final = self.edges[source], self._final(source)
        first = (len(edge.schedule.cycles) - 1) * edge.lanes
        mixed = _flat(final.raw).copy()
        mixed[:, first:] = _flat(self.early[source].raw)[:, first:]
        return FixedArray(mixed.reshape(final.raw.shape), final.type)

    def _spaced(self, block: Block, converter: Converter) -> None:
        """Flag the beats that wait for nothing but their turn, and those that equal what an idle split shows: zeros."""
        arrival, departure = self.edges[block.inputs[0]].schedule, self.edges[block.output].schedule.cycles
        final = _flat(self._final(block.output).raw)
        if converter.engine == "split":
            waits = [k > 0 and converter.spacing > 1 for k in range(converter.beats_out)]
        else:
            ready = [arrival.cycles[converter.needed(k)] + 1 for k in range(converter.beats_out)]
            waits = [k > 0 and departure[k] > max(ready[k], departure[k - 1] + 1) for k in range(len(ready))]
        flags = np.tile(np.array(waits), (len(final), 1))
        if converter.engine == "split":
            flags[:, 0] = ~np.any(final[:, : converter.lanes_out], axis=1)
        self.flags[block.output] = flags


def _flat(raw: IntArray) -> IntArray:
    return raw.reshape(len(raw), -1)
