"""Casts, rectifiers and constant scales."""

from __future__ import annotations

from flow.engines.cone import ConeBuilder
from flow.engines.lower.open_sum import Sum, assigned, rounded_off, total
from flow.engines.rounding import one_signed
from flow.engines.sums import Products, Term
from flow.fixed import FixedType, Overflow
from flow.graph.node import Node
from flow.graph.nodes import Affine, Quantize, Relu, Reshape


def lower_elementwise(
    builder: ConeBuilder, node: Node, elements: tuple[Sum, ...], source: FixedType
) -> tuple[Sum, ...]:
    """Return what a node makes of each of the elements, whose type is `source`."""
    match node:
        case Quantize():
            return tuple(assigned(builder, element, source.fraction, node.type) for element in elements)
        case Relu():
            rectify = _rectified if node.slope_type is None else lower_leaky
            return tuple(rectify(builder, node, element, source) for element in elements)
        case Affine():
            return _scaled(builder, node, elements, source)
        case Reshape():
            return elements
        case _:
            raise TypeError(f"node '{node.name}' ({type(node).__name__}) has no unrolled form")


def _rectified(builder: ConeBuilder, node: Relu, element: Sum, source: FixedType) -> Sum:
    """Return the assignment of positive elements, else 0.

    Rounding keeps the order and 0, so that rounding first and then looking at the sign gives the same: the modes may
    treat negative elements as they like, and a saturating assignment to an unsigned integer does both at once.
    """
    target = node.type
    mode = one_signed(target.rounding, lo=0, hi=0)
    value = total(builder, rounded_off(builder, element, source.fraction - target.fraction, mode))
    zero = builder.constant(0)
    if target.overflow in {Overflow.SAT, Overflow.SAT_SYM} and builder.range(value)[1] > target.hi > 0:
        bits = target.hi.bit_length()
        return Sum((Term(builder.limit(value, FixedType(bits, bits, signed=False, overflow=Overflow.SAT))),))
    return Sum((Term(builder.limit(builder.select(value, value, zero), target)),))


def lower_leaky(builder: ConeBuilder, node: Relu, element: Sum, source: FixedType) -> Sum:
    """Return the assignment of positive elements, else that of their product with the slope."""
    assert node.slope_type is not None
    value = total(builder, element)
    positive = builder.cast(value, source.fraction, node.type)
    product = Sum((Products(builder).times(value, node.slope),)) if node.slope else Sum(())
    other = assigned(builder, product, source.fraction + node.slope_type.fraction, node.type)
    return Sum((Term(builder.select(value, positive, total(builder, other))),))


def _scaled(builder: ConeBuilder, node: Affine, elements: tuple[Sum, ...], source: FixedType) -> tuple[Sum, ...]:
    """Return each element times its channel's scale plus its bias, assigned to the node's type."""
    products = Products(builder)
    product_fraction = source.fraction + node.scale_type.fraction
    fraction = max(product_fraction, node.bias_type.fraction)
    results = []
    for k, element in enumerate(elements):
        scale, bias = int(node.scale[k % node.shape[-1]]), int(node.bias[k % node.shape[-1]])
        closed = element if len(element.terms) <= 1 else Sum((Term(total(builder, element)),))
        terms = tuple(
            products.times(term.value, scale).times(term.shift, negative=term.negative)
            for term in closed.terms
            if scale
        )
        scaled = Sum(terms, closed.constant * scale).up(fraction - product_fraction)
        biased = scaled.plus(bias << (fraction - node.bias_type.fraction))
        results.append(assigned(builder, biased, fraction, node.type))
    return tuple(results)
