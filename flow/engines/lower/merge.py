"""Merges of two tensors, element by element or into their inner product."""

from __future__ import annotations

from flow.engines.cone import ConeBuilder
from flow.engines.lower.open_sum import Sum, accumulated, assigned, total
from flow.engines.sums import Term
from flow.fixed import FixedType
from flow.graph.nodes import Dot, Merge
from flow.graph.nodes.merge import aligned

Elements = tuple[Sum, ...]


def lower_merge(
    builder: ConeBuilder, node: Merge, args: tuple[Elements, ...], sources: tuple[FixedType, ...]
) -> Elements:
    """Return element by element what the two inputs, of types `sources`, give."""
    a, b = sources
    pairs = tuple(zip(*args, strict=True))
    if node.op == "multiply":
        products = (builder.multiply(total(builder, x), total(builder, y)) for x, y in pairs)
        return tuple(assigned(builder, Sum((Term(p),)), a.fraction + b.fraction, node.type) for p in products)
    fraction, up_a, up_b = aligned(a, b)
    if node.op in ("maximum", "minimum"):
        extreme = builder.maximum if node.op == "maximum" else builder.minimum
        return tuple(
            Sum(
                (
                    Term(
                        builder.cast(
                            extreme(total(builder, x.up(up_a)), total(builder, y.up(up_b))), fraction, node.type
                        )
                    ),
                )
            )
            for x, y in pairs
        )
    halves = 1 if node.op == "average" else 0
    return tuple(
        assigned(builder, joined(x.up(up_a), y.up(up_b), negative=node.op == "subtract"), fraction + halves, node.type)
        for x, y in pairs
    )


def lower_dot(builder: ConeBuilder, node: Dot, args: tuple[Elements, ...], sources: tuple[FixedType, ...]) -> Elements:
    """Return the sum of the products of the two inputs, of types `sources`."""
    fraction = sources[0].fraction + sources[1].fraction
    terms = []
    for x, y in zip(*args, strict=True):
        product = Sum((Term(builder.multiply(total(builder, x), total(builder, y))),))
        terms.append(assigned(builder, product, fraction, node.accumulator))
    result = accumulated(builder, node.accumulator, 0, terms)
    return (assigned(builder, result, node.accumulator.fraction, node.type),)


def joined(x: Sum, y: Sum, *, negative: bool = False) -> Sum:
    """Return x + y, or x - y when negative."""
    terms = tuple(term.times(0, negative=negative) for term in y.terms)
    return Sum(x.terms + terms, x.constant + (-y.constant if negative else y.constant))
