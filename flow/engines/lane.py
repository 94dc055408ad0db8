"""What one output lane of a folded engine computes: its sums and what follows them, as cones.

All lanes of an engine are alike, since weights and biases come as data. A lane reads the products of one step (or,
where LUTs multiply, inputs and weight bits), adds them in the accumulator's arithmetic and, with the last step, goes
on through bias, casts and ReLU.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from flow.engines.cone import Cone, ConeBuilder, Port
from flow.engines.folded import Folded
from flow.engines.lower import Sum, assigned, limited, lower_elementwise, rounded_off, sum_range, total
from flow.engines.sums import Term
from flow.engines.widths import signed_width
from flow.fixed import FixedType, IntArray, Overflow
from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.graph.nodes import Dense, Quantize, Relu, Reshape
from flow.hashed import Hashed

Tail = tuple[FixedType, int | None, FixedType | None]
"""What an elementwise node does: the type that it assigns, the slope (None for a quantizer), and the slope's type."""


@dataclass(frozen=True, slots=True)
class Lane(Hashed):
    """Describe a lane by all that its hardware depends on, so that equal lanes are built once.

    p: products of a step. x: type of the inputs. weight, bias: formats of the stored numbers, integers of the
    smallest width; bias None where all are zero. accumulator: as hls4ml has it. partial: bounds of the sum of a
    step's products, raw, where those are known to be exact. accumulated: bounds of the sum over steps, ditto; both
    as wide as their bits reach, so that layers of one kind have equal lanes. fraction: of a product. accumulates:
    whether sums go on from step to step. soft: whether LUTs multiply. tail: what follows.
    """

    p: int
    x: FixedType
    weight: FixedType
    bias: FixedType | None
    accumulator: FixedType
    partial: tuple[int, int] | None
    accumulated: tuple[int, int] | None
    fraction: int
    accumulates: bool
    soft: bool
    tail: tuple[Tail, ...]

    __hash__ = Hashed.__hash__

    @property
    def product(self) -> FixedType:
        """Return the format of a product as an integer."""
        width = self.x.width + self.weight.width
        return FixedType(width, width)

    @property
    def register(self) -> FixedType:
        """Return the format in which an accumulator is kept."""
        if self.accumulated is None or (self.accumulated[0] < 0 and not self.accumulator.signed):
            return self.accumulator  # an unsigned one wraps below zero, and a narrower register would not
        width = signed_width(*self.accumulated)
        if width >= self.accumulator.width:
            return self.accumulator
        return FixedType(width, width - self.accumulator.fraction)


@dataclass(frozen=True, slots=True, eq=False)
class LaneCones:
    """Hold the cones of a lane.

    sums: from the products of a step (port 0; or inputs and weight bits, ports 0 and 1) to their sum, or, where
    nothing accumulates, with the bias (the last port, unless all are zero) to the output. accumulate: from that sum
    and what was accumulated before to the new accumulator, without registers. finish: from there to the output.
    """

    sums: Cone
    accumulate: Cone | None
    finish: Cone | None


def dense_of(graph: Graph, choice: Folded) -> Dense:
    """Return the matrix product of a folded choice; raise TypeError where its first node is none."""
    return _dense(graph, choice.nodes[0])


def _dense(graph: Graph, name: str) -> Dense:
    node = graph.node(name)
    if not isinstance(node, Dense):
        raise TypeError(f"node '{node.name}' ({type(node).__name__}) has no folded form")
    return node


def lane_of(graph: Graph, choice: Folded) -> Lane:
    """Return the lane that a folded choice needs; choices with the same one get the same object."""
    return _lane(graph, choice.nodes, choice.p, accumulates=choice.accumulates, soft=choice.multiplier == "lut")


@lru_cache(maxsize=4096)
def _lane(graph: Graph, nodes: tuple[str, ...], p: int, *, accumulates: bool, soft: bool) -> Lane:
    node = _dense(graph, nodes[0])
    (source,) = graph.feeding(node)
    x, accumulator = source.type.exact(), node.accumulator
    tail: list[Tail] = [(node.type, None, None)]
    for rest in (graph.node(name) for name in nodes[1:]):
        match rest:
            case Quantize():
                tail.append((rest.type, None, None))
            case Relu():
                tail.append((rest.type, rest.slope, rest.slope_type))
            case Reshape():
                pass
            case _:
                raise TypeError(f"node '{rest.name}' ({type(rest).__name__}) cannot be folded into a dense layer")
    numbers = _numbers(node, source.type)
    return Lane(
        p=p,
        x=x,
        weight=numbers.weight,
        bias=numbers.bias,
        accumulator=accumulator,
        partial=numbers.partial,
        accumulated=numbers.accumulated,
        fraction=x.fraction + node.weight_type.fraction,
        accumulates=accumulates,
        soft=soft,
        tail=tuple(tail),
    )


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Hold what a lane must know of a layer's weights and biases; fields as in `Lane`."""

    weight: FixedType
    bias: FixedType | None
    partial: tuple[int, int] | None
    accumulated: tuple[int, int] | None


@lru_cache(maxsize=256)  # a planner asks for thousands of choices of the same layer
def _numbers(node: Dense, x: FixedType) -> _Numbers:
    partial = accumulated = None
    if node.is_linear(x):
        partial, accumulated = (_whole(*bounds) for bounds in _bounds(node, x.exact()))
    start = node.start
    bias = _integer(start) if np.any(start != 0) else None
    return _Numbers(_integer(node.weights), bias, partial, accumulated)


def _integer(values: IntArray) -> FixedType:
    width = signed_width(int(values.min()), int(values.max()))
    return FixedType(width, width)


def _whole(lo: int, hi: int) -> tuple[int, int]:
    """Return the least and most of as many bits as bounds take; what is never negative stays so.

    Nothing but their width and that sign makes a difference to a lane.
    """
    most = 1 << (signed_width(lo, hi) - 1)
    return (-most if lo < 0 else 0), most - 1


def _bounds(node: Dense, x: FixedType) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return bounds of any part of any column's sum, without and with the bias.

    Whatever of the products has been added, no sum lies outside; where the accumulator wraps within these bounds, the
    wrapped value is what counts and the bounds say nothing about it.
    """
    lo, hi = node.sum_range(x)
    start = node.start.astype(object)
    return (int((lo - start).min()), int((hi - start).max())), (
        int(np.minimum(lo, 0).min()),
        int(np.maximum(hi, 0).max()),
    )


@cache
def build_lane(lane: Lane) -> LaneCones:
    """Return the cones of a lane; their names are `sums`, `accumulate` and `finish`."""
    accumulator = lane.accumulator
    builder, products = _products(lane)
    terms = [_cast_product(builder, lane, product) for product in products]
    step = Sum(tuple(t for term in terms for t in term.terms), sum(term.constant for term in terms))
    if not lane.accumulates:
        if lane.bias is not None:
            bias = builder.read(len(builder.inputs) - 1, 0)
            step = Sum((*step.terms, Term(bias)), step.constant)
        value = limited(builder, _known(builder, step, lane.accumulated), accumulator)
        return LaneCones(builder.finish((_tail(builder, lane, value, accumulator),)), None, None)
    partial = total(builder, _known(builder, step, lane.partial))
    lo, hi = builder.range(partial)
    sums = builder.finish((partial,))
    register = lane.register
    builder = ConeBuilder("accumulate", (Port("partial", 1, lo, hi), Port("before", 1, register.lo, register.hi)))
    added = Sum((Term(builder.read(0, 0)), Term(builder.read(1, 0))))
    accumulate = builder.finish((total(builder, limited(builder, added, _wrapping(register, lane))),))
    builder = ConeBuilder("finish", (Port("sum", 1, register.lo, register.hi),))
    last = Sum((Term(builder.read(0, 0)),))
    return LaneCones(sums, accumulate, builder.finish((_tail(builder, lane, last, accumulator),)))


def _wrapping(register: FixedType, lane: Lane) -> FixedType:
    """Return the type to which a new sum is brought: a register that no sum leaves may as well wrap."""
    return lane.accumulator if register is lane.accumulator else register.exact()


def _products(lane: Lane) -> tuple[ConeBuilder, list[int]]:
    """Return a builder and its products of one step."""
    bias = [] if lane.bias is None or lane.accumulates else [Port("bias", 1, lane.bias.lo, lane.bias.hi)]
    if not lane.soft:
        corners = [a * b for a in (lane.x.lo, lane.x.hi) for b in (lane.weight.lo, lane.weight.hi)]
        port = Port("products", lane.p, min(corners), max(corners))
        builder = ConeBuilder("sums", (port, *bias))
        return builder, [builder.read(0, k) for k in range(lane.p)]
    bits = lane.weight.width
    ports = (Port("inputs", lane.p, lane.x.lo, lane.x.hi), Port("weights", lane.p * bits, 0, 1), *bias)
    builder = ConeBuilder("sums", ports)
    return builder, [_soft_product(builder, lane, k) for k in range(lane.p)]


def _soft_product(builder: ConeBuilder, lane: Lane, k: int) -> int:
    """Return the product of an input and the bits of a weight, the highest of which counts negative."""
    bits = lane.weight.width
    x, zero = builder.read(0, k), builder.constant(0)
    rows = [builder.select(builder.read(1, k * bits + bit), x, zero) for bit in range(bits)]
    terms = tuple(Term(row, bit, bit == bits - 1) for bit, row in enumerate(rows))
    return builder.limit(total(builder, Sum(terms)), lane.product)


def _cast_product(builder: ConeBuilder, lane: Lane, product: int) -> Sum:
    """Return a product as the accumulator takes it; sums modulo a power of two need no limit before the last."""
    accumulator, exact = lane.accumulator, Sum((Term(product),))
    if lane.partial is not None:
        return exact.up(accumulator.fraction - lane.fraction)
    if accumulator.overflow is Overflow.WRAP:
        return rounded_off(builder, exact, lane.fraction - accumulator.fraction, accumulator.rounding)
    return assigned(builder, exact, lane.fraction, accumulator)


def _known(builder: ConeBuilder, element: Sum, bounds: tuple[int, int] | None) -> Sum:
    """Return a sum whose upper bits are left out where its true bounds do not need them."""
    if bounds is None:
        return element
    width = signed_width(*bounds)
    if width >= signed_width(*sum_range(builder, element)):
        return element
    return limited(builder, element, FixedType(width, width))


def _tail(builder: ConeBuilder, lane: Lane, element: Sum, source: FixedType) -> int:
    for kind, slope, slope_type in lane.tail:
        node: Node = Quantize(name="tail", label="tail", inputs=(), shape=(1,), type=kind)
        if slope is not None:
            node = Relu(name="tail", label="tail", inputs=(), shape=(1,), type=kind, slope=slope, slope_type=slope_type)
        (element,) = lower_elementwise(builder, node, (element,), source)
        source = kind
    return total(builder, element)
