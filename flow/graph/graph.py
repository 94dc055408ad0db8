"""The network as a frozen graph of nodes."""

from __future__ import annotations

from dataclasses import dataclass

from flow.errors import UserError
from flow.fixed import FixedArray, IntArray
from flow.graph.node import Node
from flow.graph.nodes import AnyNode


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold how the user's hls4ml configuration wants one layer to be built; the plan honours it where it can.

    label: of the layer. reuse_factor, strategy: as hls4ml uses them.
    """

    label: str
    reuse_factor: int
    strategy: str


class _Indexed:
    """Hold a graph's nodes by name once they were asked for."""

    __slots__ = ("_named",)
    _named: dict[str, AnyNode]


@dataclass(frozen=True, slots=True, eq=False)
class Graph(_Indexed):
    """Hold the nodes in topological order.

    inputs, outputs: node names in the order that the model declares. notes: what the conversion wants a
    reader to know (a stripped softmax, a weight that wrapped), one sentence each. asked: wishes for layers whose
    reuse factor or strategy the user set. io_type: how hls4ml's converted project hands tensors on, whole
    ("io_parallel") or as a stream of pixels ("io_stream").
    """

    name: str
    nodes: tuple[AnyNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    notes: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    io_type: str = "io_parallel"

    def node(self, name: str) -> AnyNode:
        """Return the node of that name; raise KeyError when there is none."""
        try:
            return self._named[name]
        except AttributeError:
            # the first of a name, were there several
            object.__setattr__(self, "_named", {node.name: node for node in reversed(self.nodes)})
            return self._named[name]

    def feeding(self, node: Node) -> tuple[AnyNode, ...]:
        """Return the nodes that feed `node`, in order."""
        return tuple(self.node(name) for name in node.inputs)

    def consumers(self, name: str) -> tuple[AnyNode, ...]:
        """Return the nodes that read the output of `name`."""
        return tuple(node for node in self.nodes if name in node.inputs)

    @property
    def multiplications(self) -> int:
        """Return the multiplications of one inference."""
        return sum(node.multiplications for node in self.nodes)


def evaluate(graph: Graph, inputs: dict[str, IntArray]) -> dict[str, FixedArray]:
    """Compute every node's output for raw integer inputs of shape (batch, *shape), keyed by input node.

    Returns all tensors by node name. Raises UserError for an input outside its type.
    """
    values: dict[str, FixedArray] = {}
    for node in graph.nodes:
        if node.kind == "input":
            raw = inputs[node.name]
            if raw.shape[1:] != node.shape:
                raise UserError(f"input '{node.label}' has shape {raw.shape[1:]}, the model expects {node.shape}")
            if raw.size and (raw.min() < node.type.lo or raw.max() > node.type.hi):
                raise UserError(f"input '{node.label}' has values outside {node.type}")
            values[node.name] = FixedArray(raw, node.type)
        else:
            values[node.name] = node.evaluate(tuple(values[name] for name in node.inputs))
    return values
