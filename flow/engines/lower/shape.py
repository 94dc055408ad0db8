"""Elements in a new order, which is wiring, and tables of rows."""

from __future__ import annotations

from collections import Counter

from flow.engines.cone import ConeBuilder
from flow.engines.lower.open_sum import Sum, assigned, total
from flow.engines.sums import Term
from flow.fixed import FixedType, cast
from flow.graph.nodes import Embedding, Rearrange


def lower_rearrange(
    builder: ConeBuilder, node: Rearrange, args: tuple[tuple[Sum, ...], ...], sources: tuple[FixedType, ...]
) -> tuple[Sum, ...]:
    """Return the gathered elements, each assigned once; args: the elements of each input, in the types `sources`."""
    given = [(element, kind) for elements, kind in zip(args, sources, strict=True) for element in elements]
    moved = {-1: Sum(())}
    for index, count in Counter(node.indices.tolist()).items():
        if index < 0:
            continue
        element, kind = given[index]
        found = assigned(builder, element, kind.fraction, node.type)
        if count > 1 and len(found.terms) > 1:  # one adder tree for all its copies
            found = Sum((Term(total(builder, found)),))
        moved[index] = found
    return tuple(moved[index] for index in node.indices.tolist())


def lower_embedding(builder: ConeBuilder, node: Embedding, elements: tuple[Sum, ...]) -> tuple[Sum, ...]:
    """Return the rows that the elements, integers, pick; one more row of zeros is for those that have none."""
    vocabulary = len(node.rows)
    rows = cast(node.rows, node.row_type.fraction, node.type, node.row_type.width)
    columns = [(*column, 0) for column in rows.T.tolist()]
    one, beyond = builder.constant(1), builder.constant(vocabulary)
    found = []
    for element in elements:
        index = total(builder, element)
        lo, hi = builder.range(index)
        if lo < 0:
            index = builder.select(builder.add(index, one), index, beyond, (0, max(hi, vocabulary)))
        if builder.range(index)[1] > vocabulary:
            index = builder.minimum(index, beyond)
        found += [Sum((Term(builder.lookup(index, column)),)) for column in columns]
    return tuple(found)
