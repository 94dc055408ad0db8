"""Softmax in hls4ml's implementations, and the largest element as 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flow.engines.cone import ConeBuilder
from flow.engines.lower.merge import joined
from flow.engines.lower.open_sum import Sum, accumulated, assigned, limited, total
from flow.engines.sums import Term
from flow.fixed import FixedType, IntArray, Overflow, Rounding, cast
from flow.graph.nodes import Argmax, LegacySoftmax, Softmax
from flow.graph.nodes.softmax import INT, LEGACY_INVERSE_RANGE, LEGACY_RANGE, balanced


def lower_softmax(
    builder: ConeBuilder, node: Softmax | LegacySoftmax | Argmax, elements: tuple[Sum, ...], source: FixedType
) -> tuple[Sum, ...]:
    """Return the softmax of each position; elements: of the input, whose type is `source`."""
    values = tuple(total(builder, element) for element in elements)
    length = node.shape[-1]
    results: list[Sum] = []
    for start in range(0, len(values), length):
        position = values[start : start + length]
        match node:
            case Softmax():
                results += _from_tables(builder, node, position, source)
            case LegacySoftmax():
                results += _legacy(builder, node, position, source)
            case Argmax():
                results += _first_largest(builder, node, position)
    return tuple(results)


def _from_tables(builder: ConeBuilder, node: Softmax, values: tuple[int, ...], source: FixedType) -> list[Sum]:
    arguments = values
    if node.difference is not None:
        largest = tree(builder.maximum, values)
        arguments = tuple(_difference(builder, largest, value, source, node.difference) for value in values)
    table = cast(node.exponentials, node.exponential_type.fraction, node.accumulator, node.exponential_type.width)
    exponentials = [_read(builder, argument, node.argument(source), table) for argument in arguments]
    summed = _tree_of_sums(builder, [Sum((Term(value),)) for value in exponentials], node.accumulator)
    argument = total(builder, assigned(builder, summed, node.accumulator.fraction, node.inverse_argument))
    inverse = _read(builder, argument, node.inverse_argument, node.inverses)
    fraction = node.accumulator.fraction + node.inverse_type.fraction
    products = (builder.multiply(value, inverse) for value in exponentials)
    return [assigned(builder, Sum((Term(product),)), fraction, node.type) for product in products]


def tree(join: Callable[[int, int], int], values: tuple[int, ...]) -> int:
    """Join values in a balanced tree; the order must not matter."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return join(tree(join, values[:half]), tree(join, values[half:]))


def _difference(builder: ConeBuilder, largest: int, value: int, source: FixedType, target: FixedType) -> int:
    """Return largest - value, never negative, assigned to a type."""
    if largest == value:
        return builder.constant(0)
    exact = builder.add(largest, value, subtract=True)
    exact = builder.narrowed(exact, (0, max(builder.range(exact)[1], 0)))
    return builder.cast(exact, source.fraction, target)


def _read(builder: ConeBuilder, argument: int, kind: FixedType, table: IntArray) -> int:
    """Return the entry of a table of 2**k integers at the first k bits of an argument."""
    bits = len(table).bit_length() - 1
    index = builder.limit(builder.round(argument, kind.width - bits, Rounding.TRN), FixedType(bits, bits, signed=False))
    return builder.lookup(index, tuple(int(entry) for entry in table))


def _tree_of_sums(builder: ConeBuilder, terms: list[Sum], accumulator: FixedType) -> Sum:
    """Add terms in the order of hls4ml's `reduce`, each sum brought into the accumulator's range."""
    if len(terms) == 1:
        return terms[0]
    if accumulator.overflow is Overflow.WRAP:  # the last wrap does it all
        return accumulated(builder, accumulator, 0, terms)
    half = balanced(len(terms))
    left, right = (_tree_of_sums(builder, part, accumulator) for part in (terms[:half], terms[half:]))
    return limited(builder, joined(left, right), accumulator)


def _legacy(builder: ConeBuilder, node: LegacySoftmax, values: tuple[int, ...], source: FixedType) -> list[Sum]:
    kind = node.table_type
    exponentials, inverses = (tuple(int(entry) for entry in t) for t in (node.exponentials, node.inverses))
    one = Sum((), int(cast(np.array([1]), 0, kind, 2)[0]))
    results = []
    for i, value in enumerate(values):
        terms = []
        for j, other in enumerate(values):
            if i == j:
                terms.append(one)
                continue
            scaled = builder.multiply(builder.add(other, value, subtract=True), builder.constant(len(exponentials)))
            at = whole(builder, scaled, source.fraction, LEGACY_RANGE)
            at = builder.limit(builder.add(at, builder.constant(len(exponentials) // 2)), INT)
            terms.append(Sum((Term(read_clipped(builder, at, exponentials)),)))
        summed = total(builder, accumulated(builder, kind, 0, terms))
        scaled = builder.multiply(summed, builder.constant(len(inverses)))
        inverse = read_clipped(builder, whole(builder, scaled, kind.fraction, LEGACY_INVERSE_RANGE), inverses)
        results.append(Sum((Term(builder.cast(inverse, kind.fraction, node.type)),)))
    return results


def whole(builder: ConeBuilder, value: int, fraction: int, divisor: int = 1) -> int:
    """Return a value with `fraction` fraction bits, over a power of two, as C's int, both steps cut towards zero."""
    quotient = builder.round(value, divisor.bit_length() - 1, Rounding.TRN_ZERO)
    if fraction < 0:
        return builder.limit(builder.shift(quotient, -fraction), INT)
    return builder.limit(builder.round(quotient, fraction, Rounding.TRN_ZERO), INT)


def read_clipped(builder: ConeBuilder, index: int, table: tuple[int, ...]) -> int:
    """Return the entry of a table at an index that is brought into it."""
    last = len(table) - 1
    bits = max(last.bit_length(), 1)
    index = builder.limit(index, FixedType(bits, bits, signed=False, overflow=Overflow.SAT))
    if builder.range(index)[1] > last:
        index = builder.minimum(index, builder.constant(last))
    return builder.lookup(index, table)


def _first_largest(builder: ConeBuilder, node: Argmax, values: tuple[int, ...]) -> list[Sum]:
    """Return 1 for the first of the largest values: above all before it, not below any behind it."""
    one, zero = builder.constant(node.one), builder.constant(0)
    results = []
    for k, value in enumerate(values):
        hit = one
        if values[k + 1 :]:
            behind = builder.add(value, tree(builder.maximum, values[k + 1 :]), subtract=True)
            hit = builder.select(builder.add(behind, builder.constant(1)), hit, zero)
        if values[:k]:
            before = builder.add(value, tree(builder.maximum, values[:k]), subtract=True)
            hit = builder.select(before, hit, zero)
        results.append(Sum((Term(hit),)))
    return results
