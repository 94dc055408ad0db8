"""Which beats show their data early by nature: a bench that looks for early data must not count them.

An accumulator holds the final sum one cycle early where the products of the last step add nothing to it: weights that
are zero, inputs that are. Combinational logic behind it, and a gather that waits for its last beat, show the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flow.engines.converter import Converter
from flow.engines.dataflow import Dataflow
from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.engines.lane import dense_of
from flow.fixed import FixedArray
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
    found: dict[str, Flags] = {}
    for block in flow.blocks:
        match block.what:
            case Folded(accumulates=True) as choice:
                found[block.output] = _without_last_step(graph, choice, values)
            case Unrolled() | Converter(engine="gather"):
                early = [found[name][:, -1:] for name in block.inputs if name in found]
                if early:
                    found[block.output] = np.logical_and.reduce(early)
            case _:
                pass
    found = {name: flags for name, flags in found.items() if np.any(flags)}
    outputs = flow.timeline.outputs
    whole = np.logical_and.reduce([found[name] for name in outputs]) if found.keys() >= set(outputs) else None
    return Settled(found, whole)


def _without_last_step(graph: Graph, choice: Folded, values: Mapping[str, FixedArray]) -> Flags:
    node = dense_of(graph, choice)
    weights = node.weights.copy()
    weights[(choice.groups_in - 1) * choice.p :] = 0
    value = replace(node, weights=weights).evaluate((values[node.inputs[0]],))
    for rest in choice.nodes[1:]:
        value = graph.node(rest).evaluate((value,))
    same = value.raw.reshape(len(value.raw), -1) == values[choice.output].raw.reshape(len(value.raw), -1)
    padded = np.ones((len(same), choice.groups_out * choice.q), dtype=bool)
    padded[:, : choice.n_out] = same
    return np.asarray(padded.reshape(len(same), choice.groups_out, choice.q).all(axis=2))
