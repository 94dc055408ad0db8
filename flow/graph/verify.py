"""The check that runs after every pass."""

from __future__ import annotations

import re

from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode

# names reach C++, SystemVerilog and file names as they are
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,254}")
# more than any network that fits on a chip; keeps a corrupt file from asking for all memory
MAX_ELEMENTS = 1 << 24
# hls4ml's, which it takes in any case, with or without the underscore
STRATEGIES = frozenset({"latency", "resource", "resourceunrolled", "distributedarithmetic", "da"})
IO_TYPES = ("io_parallel", "io_stream")


def verify(graph: Graph) -> None:
    """Raise ValueError, naming the node, when the graph is not well formed."""
    seen: dict[str, AnyNode] = {}
    for node in graph.nodes:
        where = f"node '{node.name}' ({node.kind}, layer '{node.label}')"
        if not _NAME.fullmatch(node.name):
            raise ValueError(f"{where}: the name must be letters, digits and _, a letter first")
        if node.name in seen:
            raise ValueError(f"{where}: the name is used twice")
        missing = [name for name in node.inputs if name not in seen]
        if missing:
            raise ValueError(f"{where}: reads {', '.join(missing)} before it is computed")
        if len(node.inputs) != node.arity and (node.arity is not None or not node.inputs):
            raise ValueError(f"{where}: has {len(node.inputs)} inputs")
        if not node.shape or min(node.shape) < 1:
            raise ValueError(f"{where}: shape {node.shape} has no elements")
        if node.size > MAX_ELEMENTS:
            raise ValueError(f"{where}: shape {node.shape} has more than {MAX_ELEMENTS} elements")
        for problem in node.problems(tuple(seen[name] for name in node.inputs)):
            raise ValueError(f"{where}: {problem}")
        seen[node.name] = node
    inputs = tuple(node.name for node in graph.nodes if node.kind == "input")
    if set(inputs) != set(graph.inputs) or len(inputs) != len(graph.inputs):
        raise ValueError(f"the graph declares inputs {graph.inputs}, its input nodes are {inputs}")
    unknown = [name for name in graph.outputs if name not in seen]
    if unknown or not graph.outputs or not graph.inputs:
        raise ValueError(f"the graph's outputs {graph.outputs} must name nodes {sorted(seen)}")
    if graph.io_type not in IO_TYPES:
        raise ValueError(f"'{graph.io_type}' is no io_type; {' and '.join(IO_TYPES)} are")
    _check_wishes(graph)


def _check_wishes(graph: Graph) -> None:
    for asked in graph.asked:
        if asked.reuse_factor < 1:
            raise ValueError(f"layer '{asked.label}': reuse factor {asked.reuse_factor} is not 1 or more")
        if asked.strategy.lower().replace("_", "") not in STRATEGIES:
            raise ValueError(f"layer '{asked.label}': '{asked.strategy}' is not a strategy of hls4ml")
