"""Constant matrix products: shared adder graphs where they are exact, else products in hls4ml's order."""

from __future__ import annotations

from collections.abc import Callable

from flow.engines.adders import AdderGraph, check_graph
from flow.engines.cone import ConeBuilder
from flow.engines.lower.open_sum import Sum, accumulated, assigned, limited, rounded_off, total
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
    (outputs,) = lower_places(builder, node, (inputs,), source, solve)
    return outputs


def lower_places(
    builder: ConeBuilder, node: Dense, places: tuple[tuple[int, ...], ...], source: FixedType, solve: Solve
) -> tuple[tuple[Sum, ...], ...]:
    """Return the outputs of one dense layer that stands at several places; places: the inputs of each.

    Its matrix is solved once, for the range of all inputs; inputs that are 0 cost nothing.
    """
    if node.is_linear(source):
        ranges = [builder.range(value) for value in {value for inputs in places for value in inputs}]
        graph = solve(node.weights, min(lo for lo, _ in ranges), max(hi for _, hi in ranges))
        check_graph(graph, node.weights)
        sums = [_matrix_product(builder, node, inputs, source, graph) for inputs in places]
    else:
        products = Products(builder)
        sums = [_products_in_order(builder, node, inputs, source, products) for inputs in places]
    return tuple(tuple(assigned(builder, s, node.accumulator.fraction, node.type) for s in place) for place in sums)


def _matrix_product(
    builder: ConeBuilder, node: Dense, inputs: tuple[int, ...], source: FixedType, graph: AdderGraph
) -> tuple[Sum, ...]:
    """Return bias + inputs @ weights in the accumulator's format."""
    fan_out = graph.fan_out()
    values: dict[int, Term] = {k: Term(value) for k, value in enumerate(inputs)}

    def leaves(value: int) -> tuple[Term, ...]:
        terms = (values[leaf.value].times(leaf.shift, negative=leaf.negative) for leaf in graph.leaves(value, fan_out))
        return tuple(term for term in terms if builder.range(term.value) != (0, 0))

    for value in range(len(inputs), len(inputs) + len(graph.adders)):
        if fan_out[value] > 1:
            values[value] = add_balanced(builder, leaves(value)) or Term(builder.constant(0))
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
    builder: ConeBuilder, node: Dense, inputs: tuple[int, ...], source: FixedType, products: Products
) -> tuple[Sum, ...]:
    """Return the accumulators after assigning each product to their type and adding in the order of the inputs."""
    accumulator = node.accumulator
    fraction = source.fraction + node.weight_type.fraction
    terms: list[list[Sum]] = [[] for _ in range(node.n_out)]
    for i, value in enumerate(inputs):
        if builder.range(value) == (0, 0):
            continue
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
        accumulated(builder, accumulator, int(start), column) for start, column in zip(node.start, terms, strict=True)
    )
