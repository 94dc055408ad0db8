"""Activations: tables, rectifiers with slopes and bounds, piecewise linear functions, signs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from flow.engines.cone import ConeBuilder
from flow.engines.lower.elementwise import lower_leaky
from flow.engines.lower.open_sum import Sum, assigned, rounded_off, sum_range, total
from flow.engines.sums import Products, Term
from flow.engines.widths import signed_width
from flow.fixed import FixedArray, FixedType, Overflow, Rounding
from flow.graph.node import Node
from flow.graph.nodes import BoundedRelu, HardSigmoid, PRelu, Relu, Sign, Table

Activation = Table | PRelu | BoundedRelu | HardSigmoid | Sign

MANY = 2
"""A table of all inputs, without any arithmetic in front, may have this many times the entries that they reach."""


def lower_activation(
    builder: ConeBuilder, node: Activation, elements: tuple[Sum, ...], source: FixedType
) -> tuple[Sum, ...]:
    """Return what a node makes of each of the elements, whose type is `source`."""
    match node:
        case Table():
            return tuple(_looked_up(builder, node, element, source) for element in elements)
        case PRelu():
            return tuple(
                lower_leaky(builder, leaky, element, source)
                for leaky, element in zip(_leaky_nodes(node), elements, strict=True)
            )
        case BoundedRelu():
            return tuple(_bounded(builder, node, element, source) for element in elements)
        case HardSigmoid():
            return tuple(_hard(builder, node, element, source) for element in elements)
        case Sign():
            return tuple(_sign(builder, node, element, k % node.shape[-1]) for k, element in enumerate(elements))


def _leaky_nodes(node: PRelu) -> Iterator[Relu]:
    """Return, for each element, the rectifier with its slope."""
    fields = {field.name: getattr(node, field.name) for field in dataclasses.fields(Node)}
    for slope in np.broadcast_to(node.slopes, node.shape).reshape(-1):
        yield Relu(**fields, slope=int(slope), slope_type=node.slope_type)


def _value(value: int) -> Sum:
    return Sum((Term(value),))


def _looked_up(builder: ConeBuilder, node: Table, element: Sum, source: FixedType) -> Sum:
    """Return a table's entry, or the scaled element; one table for both where there are few possible inputs."""
    value = total(builder, element)
    low, high = builder.range(value)
    ends = node.entry_numbers(FixedArray(np.array([low, high], dtype=object), source))
    if high - low < MANY * (abs(int(ends[1]) - int(ends[0])) + 1):
        return _value(_of_all_inputs(builder, node, value, source))
    found = _entry(builder, node, value, source)
    if node.scale_type is None:
        return _value(found)
    product = Sum((Products(builder).times(value, node.scale),)) if node.scale else Sum(())
    positive = assigned(builder, product, source.fraction + node.scale_type.fraction, node.type)
    scaled = total(builder, positive)
    if node.results[node.offset] == 0:  # at 0 both sides agree
        return _value(builder.select(value, scaled, found))
    return _value(builder.select(builder.add(value, builder.constant(1)), scaled, found))


def _of_all_inputs(builder: ConeBuilder, node: Table, value: int, source: FixedType) -> int:
    """Look the result up by the bits of the element itself; what cannot occur repeats the nearest result."""
    low, high = builder.range(value)
    width = signed_width(low, high) if low < 0 else max(1, high.bit_length())
    codes = np.arange(1 << width)
    if low < 0:
        codes = np.where(codes >> (width - 1), codes - (1 << width), codes)
    results = node.evaluate((FixedArray(np.clip(codes, low, high), source),)).raw
    index = builder.limit(value, FixedType(width, width, signed=False))
    return builder.lookup(index, tuple(int(v) for v in results))


def _entry(builder: ConeBuilder, node: Table, value: int, source: FixedType) -> int:
    """Look up the entry whose number a value gives; of a table below 0 it is right only for values below 0."""
    mode = Rounding.TRN_ZERO
    number = Sum((Products(builder).times(value, node.entries),))
    if node.span < 0:
        number = Sum(tuple(term.times(0, negative=True) for term in number.terms))
        mode = Rounding.TRN  # the same, once it is positive
    if source.fraction >= 0:
        number = rounded_off(builder, number, node.span_bits + source.fraction, mode)
    else:
        number = rounded_off(builder, number, node.span_bits, mode).up(-source.fraction)
    number = number.plus(node.offset)
    first, last = (min(max(bound, 0), node.entries - 1) for bound in sum_range(builder, number))
    reached = tuple(int(v) for v in node.results[first : last + 1])
    index = total(builder, number.plus(-first))
    bits = (len(reached) - 1).bit_length()
    if len(reached) == 1 << bits and bits:
        index = builder.limit(index, FixedType(bits, bits, signed=False, overflow=Overflow.SAT))
    else:
        index = builder.maximum(index, builder.constant(0))
        index = builder.minimum(index, builder.constant(len(reached) - 1))
    return builder.lookup(index, reached)


def _bounded(builder: ConeBuilder, node: BoundedRelu, element: Sum, source: FixedType) -> Sum:
    """Return the assignment of an element above the threshold, 0 below, and the bound's beyond the bound."""
    value = total(builder, element)
    passed = builder.cast(value, source.fraction, node.type)
    above = builder.add(value, builder.constant(node.floor(source)), subtract=True)
    result = builder.select(above, passed, builder.constant(0))
    if node.bound is not None:
        beyond = builder.add(value, builder.constant(node.ceiling(source)), subtract=True)
        result = builder.select(beyond, builder.constant(node.bound_code), result)
    return _value(result)


def _hard(builder: ConeBuilder, node: HardSigmoid, element: Sum, source: FixedType) -> Sum:
    """Return the line, cut to 0 … 1 and brought to the output type."""
    fraction = node.fraction(source)
    value = total(builder, element)
    product = Sum((Products(builder).times(value, node.slope),)) if node.slope else Sum(())
    line = product.up(fraction - source.fraction - node.slope_type.fraction)
    line = line.plus(node.shift << (fraction - node.shift_type.fraction))
    one = 1 << fraction
    positive = builder.maximum(total(builder, line), builder.constant(0))
    result = _value(builder.minimum(positive, builder.constant(one)))
    if node.centred:
        result = result.up(1).plus(-one)
    return assigned(builder, result, fraction, node.type)


def _sign(builder: ConeBuilder, node: Sign, element: Sum, channel: int) -> Sum:
    """Compare an element with the thresholds of its channel."""
    minus, zero, plus = (builder.constant(code) for code in node.codes)
    high, low = int(node.high[channel]), int(node.low[channel])
    other = minus
    if low < high:
        other = builder.select(total(builder, element.plus(-low)), zero, minus)
    return _value(builder.select(total(builder, element.plus(-high)), plus, other))
