"""Constant matrix products: shared adder graphs where they are exact, else products in hls4ml's order."""

from __future__ import annotations

from collections.abc import Callable

from flow.engines.adders import AdderGraph, check_graph
from flow.engines.cone import ConeBuilder
from flow.engines.lower.open_sum import Sum, assigned, limited, rounded_off, sum_range, total
from flow.engines.sums import Products, Term, add_balanced, signed_digits
from flow.fixed import FixedType, IntArray, Overflow
from flow.graph.nodes import Dense

Solve = Callable[[IntArray, int, int], AdderGraph]
"""Build `x @ matrix` from (matrix, lowest x, highest x)."""


def lower_dense(
    builder: ConeBuilder, node: Dense, elements: tuple[Sum, ...], source: FixedType, solve: Solve
) -> tuple[Sum, ...]:
    """Return a dense layer's outputs; elements: its inputs, whose type is `source`."""
    inputs = tuple(total(builder, element) for element in elements)
    if node.is_linear(source):
        sums = _matrix_product(builder, node, inputs, source, solve)
    else:
        sums = _products_in_order(builder, node, inputs, source)
    return tuple(assigned(builder, s, node.accumulator.fraction, node.type) for s in sums)


def _matrix_product(
    builder: ConeBuilder, node: Dense, inputs: tuple[int, ...], source: FixedType, solve: Solve
) -> tuple[Sum, ...]:
    """Return bias + inputs @ weights in the accumulator's format."""
    ranges = [builder.range(value) for value in inputs]
    graph = solve(node.weights, min(lo for lo, _ in ranges), max(hi for _, hi in ranges))
    check_graph(graph, node.weights)
    fan_out = graph.fan_out()
    values: dict[int, Term] = {k: Term(value) for k, value in enumerate(inputs)}

    def leaves(value: int) -> tuple[Term, ...]:
        return tuple(
            values[leaf.value].times(leaf.shift, negative=leaf.negative) for leaf in graph.leaves(value, fan_out)
        )

    for value in range(len(inputs), len(inputs) + len(graph.adders)):
        if fan_out[value] > 1:
            shared = add_balanced(builder, leaves(value))
            assert shared is not None
            values[value] = shared
    up = node.accumulator.fraction - source.fraction - node.weight_type.fraction
    sums = []
    for term, start in zip(graph.outputs, node.start, strict=True):
        if term is None:
            terms: tuple[Term, ...] = ()
        elif term.value in values:
            terms = (values[term.value],)
        else:
            terms = leaves(term.value)
        scale = (0, False) if term is None else (term.shift + up, term.negative)
        terms = tuple(t.times(scale[0], negative=scale[1]) for t in terms)
        sums.append(limited(builder, Sum(terms, int(start)), node.accumulator))
    return tuple(sums)


def _products_in_order(
    builder: ConeBuilder, node: Dense, inputs: tuple[int, ...], source: FixedType
) -> tuple[Sum, ...]:
    """Return the accumulators after assigning each product to their type and adding in the order of the inputs."""
    accumulator = node.accumulator
    fraction = source.fraction + node.weight_type.fraction
    products = Products(builder)
    terms: list[list[Sum]] = [[] for _ in range(node.n_out)]
    for i, value in enumerate(inputs):
        row = [int(w) for w in node.weights[i]]
        assigned_products = {0: Sum(())}
        for w in sorted(set(row) - {0}, key=lambda w: (len(signed_digits(w)), abs(w), w)):
            product = Sum((products.times(value, w),))
            if accumulator.overflow is Overflow.WRAP:  # sums modulo a power of two: the last wrap does it all
                drop = fraction - accumulator.fraction
                assigned_products[w] = rounded_off(builder, product, drop, accumulator.rounding)
            else:
                assigned_products[w] = assigned(builder, product, fraction, accumulator)
        for j, w in enumerate(row):
            terms[j].append(assigned_products[w])
    return tuple(
        _accumulated(builder, accumulator, int(start), column) for start, column in zip(node.start, terms, strict=True)
    )


def _accumulated(builder: ConeBuilder, accumulator: FixedType, start: int, terms: list[Sum]) -> Sum:
    ranges = [sum_range(builder, term) for term in terms]
    lo = start + sum(min(low, 0) for low, _ in ranges)
    hi = start + sum(max(high, 0) for _, high in ranges)
    if accumulator.overflow is Overflow.WRAP or (accumulator.lo <= lo and hi <= accumulator.hi):
        open_terms = tuple(t for term in terms for t in term.terms)
        return limited(builder, Sum(open_terms, start + sum(term.constant for term in terms)), accumulator)
    result = Sum((), start)
    for term in terms:
        result = limited(builder, Sum(result.terms + term.terms, result.constant + term.constant), accumulator)
    return result
