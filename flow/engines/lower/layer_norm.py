"""Layer normalization."""

from __future__ import annotations

from flow.engines.cone import ConeBuilder
from flow.engines.lower.merge import joined
from flow.engines.lower.open_sum import Sum, accumulated, assigned, limited, total
from flow.engines.lower.softmax import read_clipped, whole
from flow.engines.sums import Products, Term
from flow.fixed import FixedType
from flow.graph.nodes import LayerNorm


def lower_layer_norm(
    builder: ConeBuilder, node: LayerNorm, elements: tuple[Sum, ...], source: FixedType
) -> tuple[Sum, ...]:
    """Return the normalization of each position; elements: of the input, whose type is `source`."""
    channels = node.shape[-1]
    products = Products(builder)
    results: list[Sum] = []
    for start in range(0, len(elements), channels):
        position = elements[start : start + channels]
        results += _normalized(builder, node, products, position, source)
    return tuple(results)


def _normalized(
    builder: ConeBuilder, node: LayerNorm, products: Products, elements: tuple[Sum, ...], source: FixedType
) -> list[Sum]:
    acc = node.accumulator
    # closed, since the sum and each difference read them
    values = [_closed(builder, assigned(builder, element, source.fraction, acc)) for element in elements]
    mean = _average(builder, node, values)
    differences = [total(builder, limited(builder, joined(value, mean, negative=True), acc)) for value in values]
    squares = [assigned(builder, Sum((Term(builder.multiply(d, d)),)), 2 * acc.fraction, acc) for d in differences]
    variance = total(builder, _average(builder, node, squares))
    index = whole(builder, builder.multiply(variance, builder.constant(node.index_scale)), acc.fraction)
    root = read_clipped(builder, index, tuple(int(entry) for entry in node.inverse_roots))
    fraction = max(node.result_fraction, node.bias_type.fraction)
    up, bias_up = fraction - node.result_fraction, fraction - node.bias_type.fraction
    results = []
    for difference, scale, bias in zip(differences, node.scale, node.bias, strict=True):
        terms = (products.times(builder.multiply(difference, root), int(scale)).times(up),) if scale else ()
        results.append(assigned(builder, Sum(terms, int(bias) << bias_up), fraction, node.type))
    return results


def _closed(builder: ConeBuilder, element: Sum) -> Sum:
    return Sum((Term(total(builder, element)),))


def _average(builder: ConeBuilder, node: LayerNorm, terms: list[Sum]) -> Sum:
    """Return the sum of the terms times 1/channels, closed and in the accumulator."""
    acc = node.accumulator
    summed = total(builder, accumulated(builder, acc, 0, terms))
    scaled = builder.multiply(summed, builder.constant(node.inverse_count))
    return _closed(builder, assigned(builder, Sum((Term(scaled),)), 2 * acc.fraction, acc))
