"""Which nodes share a cone."""

from __future__ import annotations

from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.graph.nodes import Rearrange


def runs(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Group the nodes, without inputs, into the runs that become one cone each, in topological order.

    A run is a node and those behind it that are elementwise or only move elements, up to an output that leaves: one
    that is read twice or belongs to the graph's outputs.
    """
    found: list[list[str]] = []
    run_ending_at: dict[str, list[str]] = {}
    for node in graph.nodes:
        if node.kind == "input":
            continue
        source = node.inputs[0]
        run = run_ending_at.get(source)
        leaves = source in graph.outputs or len(graph.consumers(source)) > 1
        if run is not None and _joins(node) and not leaves:
            run.append(node.name)
            del run_ending_at[source]
        else:
            run = [node.name]
            found.append(run)
        run_ending_at[node.name] = run
    return tuple(tuple(run) for run in found)


def _joins(node: Node) -> bool:
    return node.elementwise or (isinstance(node, Rearrange) and len(node.inputs) == 1)
