"""From runs of nodes to cones: the integer operations that compute them."""

from __future__ import annotations

from collections.abc import Mapping

from flow.engines.adder_graph import solve_matrix
from flow.engines.blocks import FABRIC, Blocks
from flow.engines.cone import Cone, ConeBuilder, Port
from flow.engines.lower.dense import Solve
from flow.engines.lower.nodes import lower_node
from flow.engines.lower.open_sum import Sum, total
from flow.engines.sums import Term
from flow.graph.graph import Graph
from flow.graph.nodes import Rearrange, Reshape


def lower_graph(
    graph: Graph,
    groups: tuple[tuple[str, ...], ...],
    *,
    solve: Solve = solve_matrix,
    blocks: tuple[Blocks, ...] | None = None,
) -> tuple[Cone, ...]:
    """Lower runs in topological order; each cone knows the range that the cones before it really produce.

    blocks: of each run, what stands in DSP blocks and block RAM; None: nothing.
    """
    ranges: dict[str, tuple[int, int]] = {}
    cones = []
    for run, used in zip(groups, blocks or (FABRIC,) * len(groups), strict=True):
        cone = lower(graph, run, solve=solve, ranges=ranges, blocks=used)
        ranges[run[-1]] = cone.output_range
        cones.append(cone)
    return tuple(cones)


def lower(
    graph: Graph,
    run: tuple[str, ...],
    *,
    solve: Solve = solve_matrix,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    blocks: Blocks = FABRIC,
) -> Cone:
    """Build the cone of a run, bit-exact with its nodes' `evaluate`.

    solve: builds the adder graphs of constant matrix products. ranges: (lo, hi) of edges, where more is known than
    their types. blocks: what stands in DSP blocks and block RAM. Raises VerificationError when a solved graph is wrong.
    """
    nodes = tuple(graph.node(name) for name in run)
    edges = tuple(dict.fromkeys(name for node in nodes for name in node.inputs if name not in run))
    ports = tuple(Port(edge, graph.node(edge).size, *_edge_range(graph, edge, ranges or {})) for edge in edges)
    builder = ConeBuilder(run[-1], ports, blocks)
    values = {
        edge: tuple(Sum((Term(builder.read(port, k)),)) for k in range(ports[port].size))
        for port, edge in enumerate(edges)
    }
    for node in nodes:
        feeding = graph.feeding(node)
        args, kinds = tuple(values[source.name] for source in feeding), tuple(source.type for source in feeding)
        values[node.name] = lower_node(builder, node, args, kinds, solve)
    return builder.finish(tuple(total(builder, element) for element in values[run[-1]]))


def _edge_range(graph: Graph, edge: str, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the bounds of an edge's elements; what only moves elements tells nothing new of them."""
    if edge in ranges:
        return ranges[edge]
    node = graph.node(edge)
    if isinstance(node, Reshape):  # its own modes say nothing about its values
        return _edge_range(graph, node.inputs[0], ranges)
    if isinstance(node, Rearrange) and len(node.inputs) == 1:
        (source,) = graph.feeding(node)
        lo, hi = _edge_range(graph, source.name, ranges)
        if source.type.fraction == node.type.fraction and node.type.lo <= lo and hi <= node.type.hi:
            return (min(lo, 0), max(hi, 0)) if node.pads else (lo, hi)
    return node.type.lo, node.type.hi
