"""What happens to the graph between the front end and the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flow.graph.graph import Graph
from flow.graph.verify import verify


def drop_unread(graph: Graph) -> Graph:
    """Remove nodes that no output depends on; inputs stay, since they are ports."""
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    kept = tuple(n for n in graph.nodes if n.name in needed or n.kind == "input")
    return replace(graph, nodes=kept)


def drop_identities(graph: Graph) -> Graph:
    """Bypass quantizers whose output type has the format of their input."""
    source: dict[str, str] = {}
    kept = []
    for old in graph.nodes:
        inputs = tuple(source.get(name, name) for name in old.inputs)
        node = replace(old, inputs=inputs)
        if node.kind == "quantize" and node.name not in graph.outputs:
            before = graph.node(inputs[0])
            if before.type.exact() == node.type.exact() and before.type.lo >= node.type.lo:
                source[node.name] = inputs[0]
                continue
        kept.append(node)
    return replace(graph, nodes=tuple(kept))


PASSES: tuple[Callable[[Graph], Graph], ...] = (drop_unread, drop_identities)


def run_passes(graph: Graph) -> Graph:
    """Apply every pass in order and verify after each."""
    verify(graph)
    for step in PASSES:
        graph = step(graph)
        verify(graph)
    return graph
