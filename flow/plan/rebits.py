"""The same network with one bit more or less: in a layer's weights, or in an activation.

Only fraction bits change, so that no range does. One bit less rounds weights as quantization-aware training would
(half to even, then the type's ends). One bit more gives a weight w the code 2w + e. Training with the finer step would
have rounded the same real numbers to it, and of numbers that round to w a quarter round to 2w - 1, half to 2w, a
quarter to 2w + 1; so e is drawn from (-1, 0, 0, +1), always the same for a layer's name. Weights of 0 stay 0: pruning
keeps them. With e = 0 throughout (`draw=False`) the network computes what it did, and its area would say nothing.

What kept every bit of a result goes on to do so, and nothing else changes: an accumulator keeps as many bits beyond
the product as before, a result in the accumulator's format follows it, and what moves, compares or adds values in
their finest step takes the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np

from flow.fixed import FixedType, IntArray, Rounding, round_off
from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.graph.nodes import (
    Affine,
    AnyNode,
    BoundedRelu,
    Conv,
    Dense,
    DepthwiseConv,
    Dot,
    HardSigmoid,
    Input,
    LayerNorm,
    Merge,
    Pool,
    PRelu,
    Quantize,
    Rearrange,
    Relu,
    Reshape,
    Sign,
    Softmax,
    Table,
)
from flow.graph.verify import verify

WEIGHTED = (Dense, Conv, DepthwiseConv)
"""Nodes whose weights can have other widths."""
ACTIVATIONS = (Input, Quantize, Relu, BoundedRelu, PRelu, HardSigmoid, Table, Softmax, LayerNorm)
"""Nodes that round to a type of their own."""
STEPS = np.array([-1, 0, 0, 1])
"""What a finer quantization adds to twice a weight, each as likely as the others."""


class CannotChangeError(ValueError):
    """Say why a graph has no such neighbour."""


def weights_of(graph: Graph) -> tuple[str, ...]:
    """Return the nodes whose weights can have other widths, in topological order."""
    return tuple(node.name for node in graph.nodes if isinstance(node, WEIGHTED))


def activations_of(graph: Graph) -> tuple[str, ...]:
    """Return the nodes whose results can have other widths, in topological order."""
    return tuple(node.name for node in graph.nodes if isinstance(node, ACTIVATIONS))


def with_weight_bits(graph: Graph, name: str, change: int, *, draw: bool = True) -> Graph:
    """Return the graph with `change` (+1 or -1) fraction bits more in a layer's weights.

    draw: whether a new bit is drawn as trained weights would have one, or 0. Raises CannotChangeError where there is
    no such network.
    """
    node = graph.node(name)
    if not isinstance(node, WEIGHTED):
        raise CannotChangeError(f"'{name}' ({node.kind}) has no weights whose width could change")
    kind = _resized(node.weight_type, change, f"the weights of '{name}'")
    codes = _finer(node.weights, kind, name, draw=draw) if change > 0 else _coarser(node.weights, kind)
    codes.setflags(write=False)
    return _settled(graph, replace(node, weights=codes, weight_type=kind))


def with_activation_bits(graph: Graph, name: str, change: int) -> Graph:
    """Return the graph with `change` (+1 or -1) fraction bits more in a node's result.

    Raises CannotChangeError where there is no such network, or where the bit would always be 0.
    """
    node = graph.node(name)
    if not isinstance(node, ACTIVATIONS):
        raise CannotChangeError(f"'{name}' ({node.kind}) rounds to no type of its own")
    kind = _resized(node.type, change, f"the results of '{name}'")
    finest = _finest(node, graph.feeding(node))
    if change > 0 and finest is not None and kind.fraction > finest:
        raise CannotChangeError(f"'{name}' has no further bits: what it rounds has {finest} fraction bits")
    return _settled(graph, replace(node, type=kind))


def _resized(kind: FixedType, change: int, what: str) -> FixedType:
    if kind.width + change < 1:
        raise CannotChangeError(f"{what} have one bit")
    return replace(kind, width=kind.width + change)


def _finer(codes: IntArray, kind: FixedType, name: str, *, draw: bool) -> IntArray:
    doubled = codes * 2
    if not draw:
        return np.asarray(doubled)
    steps = np.random.default_rng(crc32(name.encode())).choice(STEPS, size=codes.shape)
    return np.asarray(np.clip(doubled + np.where(codes == 0, 0, steps), kind.lo, kind.hi))


def _coarser(codes: IntArray, kind: FixedType) -> IntArray:
    return np.asarray(np.clip(round_off(codes, 1, Rounding.RND_CONV), kind.lo, kind.hi))


def _finest(node: Node, feeding: Sequence[Node]) -> int | None:
    """Return the fraction bits of what an activation rounds, None where they are as many as one wants."""
    if isinstance(node, Table):
        return None if node.scale_type is not None else node.table_type.fraction
    if isinstance(node, Quantize | BoundedRelu) or (isinstance(node, Relu) and node.slope_type is None):
        return feeding[0].type.fraction
    return None


def _settled(graph: Graph, changed: AnyNode) -> Graph:
    """Put a changed node in its place and let all behind it keep the bits that they kept; verify the whole."""
    nodes: dict[str, AnyNode] = {}
    for old in graph.nodes:
        new = changed if old.name == changed.name else old
        before, after = graph.feeding(old), tuple(nodes[name] for name in old.inputs)
        moved = any(a.type != b.type for a, b in zip(after, before, strict=True))
        nodes[old.name] = _following(old, new, before, after) if moved or new is not old else old
    found = replace(graph, nodes=tuple(nodes.values()))
    try:
        verify(found)
    except ValueError as error:
        raise CannotChangeError(str(error)) from None
    return found


def _following(old: AnyNode, new: AnyNode, before: Sequence[Node], after: Sequence[Node]) -> AnyNode:
    """Return a node as it must be for what feeds it now; old, before: as they were."""
    if not before:
        return new
    was, now = _exact(old, before), _exact(new, after)
    match new:
        case Dense() | Conv() | DepthwiseConv() | Dot() | Pool():
            return _accumulating(new, was, now)
        case Sign():
            return _compared(new, after[0].type.fraction - before[0].type.fraction)
        case Reshape() | Rearrange() | Merge() | Affine():
            return new if new.type.fraction != was else replace(new, type=_with_fraction(new.type, now))
        case _:
            return new


def _exact(node: Node, feeding: Sequence[Node]) -> int:
    """Return the fraction bits that a node's exact result has, of a pool's average those of its sum."""
    finest = max(source.type.fraction for source in feeding)
    match node:
        case Dense() | Conv() | DepthwiseConv():
            return finest + node.weight_type.fraction
        case Merge(op="multiply") | Dot():
            return sum(source.type.fraction for source in feeding)
        case Merge(op="average"):
            return finest + 1
        case Affine():
            return max(finest + node.scale_type.fraction, node.bias_type.fraction)
        case _:
            return finest


def _with_fraction(kind: FixedType, fraction: int) -> FixedType:
    width = kind.integer + fraction
    if width < 1:
        raise CannotChangeError(f"no bit of {kind} would be left")
    return replace(kind, width=width)


def _accumulating(node: Dense | Conv | DepthwiseConv | Dot | Pool, was: int, now: int) -> AnyNode:
    """Give an accumulator that kept all `was` fraction bits those that `now` takes, and a result that followed it too.

    One that dropped bits is as the user has it, and stays so.
    """
    old, kind = node.accumulator, node.type
    if old.fraction < was:
        return node
    fraction = old.fraction + now - was
    if not isinstance(node, Dot | Pool) and old.fraction >= node.bias_type.fraction:
        fraction = max(fraction, node.bias_type.fraction)
    if kind.exact() == old.exact():
        kind = _with_fraction(kind, fraction)
    elif isinstance(node, Pool) and node.op == "max" and kind.fraction == was:
        kind = _with_fraction(kind, now)
    return replace(node, accumulator=_with_fraction(old, fraction), type=kind)


def _compared(node: Sign, shift: int) -> Sign:
    """Bring thresholds to the steps of the input."""
    high, low = (t << shift if shift >= 0 else t >> -shift for t in (node.high, node.low))
    for thresholds in (high, low):
        thresholds.setflags(write=False)
    return replace(node, high=high, low=low)
