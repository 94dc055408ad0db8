"""Passes over nodes that only move elements: one does the work of several, and none that moves nothing stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flow.fixed import FixedType, IntArray
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Quantize, Rearrange, Reshape


def merge_moves(graph: Graph) -> Graph:
    """Let a node that moves elements take them from where the node before it takes them."""
    for node in graph.nodes:
        if not isinstance(node, Rearrange):
            continue
        before = graph.feeding(node)
        passed = [source for source in before if _is_passed(graph, source)]
        if passed:
            merged = _through(graph, node, before, passed)
            kept = tuple(merged if n is node else n for n in graph.nodes if n not in passed)
            return merge_moves(replace(graph, nodes=kept))
    return graph


def _is_passed(graph: Graph, node: AnyNode) -> bool:
    """Tell whether a node moves elements for one reader only, and changes no value."""
    if not isinstance(node, Rearrange | Reshape) or node.name in graph.outputs:
        return False
    if len(graph.consumers(node.name)) > 1:
        return False
    return all(_holds(node.type, source.type) for source in graph.feeding(node))


def _holds(target: FixedType, source: FixedType) -> bool:
    """Tell whether a cast changes no value."""
    up = target.fraction - source.fraction
    return up >= 0 and target.lo <= source.lo << up and source.hi << up <= target.hi


def _through(graph: Graph, node: Rearrange, before: tuple[AnyNode, ...], passed: list[AnyNode]) -> Rearrange:
    """Return the node with its inputs taken from in front of those that are passed."""
    names: list[str] = []
    places: list[IntArray] = []
    start = 0
    for source in before:
        inputs = source.inputs if source in passed else (source.name,)
        inside = source.indices if source in passed and isinstance(source, Rearrange) else np.arange(source.size)
        names += inputs
        places.append(np.where(inside < 0, -1, inside + start))
        start += sum(graph.node(name).size for name in inputs)
    table = np.append(np.concatenate(places), -1)  # -1 finds the last entry
    indices = table[node.indices]
    indices.setflags(write=False)
    return replace(node, inputs=tuple(names), indices=indices)


def drop_still(graph: Graph) -> Graph:
    """Turn what moves nothing into a cast or a new shape, or bypass it."""
    source_of: dict[str, str] = {}
    kept: list[AnyNode] = []
    for old in graph.nodes:
        node = replace(old, inputs=tuple(source_of.get(name, name) for name in old.inputs))
        if isinstance(node, Rearrange) and len(node.inputs) == 1:
            before = graph.node(node.inputs[0])
            if np.array_equal(node.indices, np.arange(before.size)):
                same = before.type.exact() == node.type.exact() and node.type.lo <= before.type.lo
                if same and before.shape == node.shape and node.name not in graph.outputs:
                    source_of[node.name] = before.name
                    continue
                node = _still(node, before, same=same)
        kept.append(node)
    return replace(graph, nodes=tuple(kept))


def _still(node: Rearrange, before: AnyNode, *, same: bool) -> AnyNode:
    """Return the simpler node of that name, or the node itself where both type and shape change."""
    if not same and before.shape != node.shape:
        return node
    kind = Reshape if same else Quantize
    return kind(name=node.name, label=node.label, inputs=node.inputs, shape=node.shape, type=node.type)
