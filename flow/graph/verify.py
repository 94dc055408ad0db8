"""The check that runs after every pass."""

from __future__ import annotations

from flow.graph.graph import Graph


def verify(graph: Graph) -> None:
    """Raise ValueError, naming the node, when the graph is not well formed."""
    seen: set[str] = set()
    for node in graph.nodes:
        where = f"node '{node.name}' ({node.kind}, layer '{node.label}')"
        if node.name in seen:
            raise ValueError(f"{where}: the name is used twice")
        missing = [name for name in node.inputs if name not in seen]
        if missing:
            raise ValueError(f"{where}: reads {', '.join(missing)} before it is computed")
        if len(node.inputs) != (0 if node.kind == "input" else 1):
            raise ValueError(f"{where}: has {len(node.inputs)} inputs")
        if not node.shape or min(node.shape) < 1:
            raise ValueError(f"{where}: shape {node.shape} has no elements")
        for problem in node.problems(graph.feeding(node)):
            raise ValueError(f"{where}: {problem}")
        seen.add(node.name)
    inputs = tuple(node.name for node in graph.nodes if node.kind == "input")
    if set(inputs) != set(graph.inputs) or len(inputs) != len(graph.inputs):
        raise ValueError(f"the graph declares inputs {graph.inputs}, its input nodes are {inputs}")
    unknown = [name for name in graph.outputs if name not in seen]
    if unknown or not graph.outputs or not graph.inputs:
        raise ValueError(f"the graph's outputs {graph.outputs} must name nodes {sorted(seen)}")
