"""Pooling: trees of maxima, sums and their division by a constant."""

from __future__ import annotations

from functools import reduce

from flow.engines.cone import ConeBuilder
from flow.engines.lower.open_sum import Sum, assigned, limited, rounded_off, total
from flow.engines.sums import Term
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.nodes import Pool

_KEEP_STEPS = frozenset({Rounding.TRN, Rounding.RND, Rounding.RND_MIN_INF})
"""Modes that round x plus a whole number of steps to that number plus what they make of x."""


def lower_pool(builder: ConeBuilder, node: Pool, elements: tuple[Sum, ...], source: FixedType) -> tuple[Sum, ...]:
    """Return the elements of a pool's output, row-major; elements: its inputs, whose type is `source`."""
    early = node.arithmetic != "parallel"
    if early:
        elements = tuple(_assigned_cell(builder, node, element, source) for element in elements)
        source = node.accumulator
    if node.op == "max":
        elements = tuple(Sum((Term(total(builder, element)),)) for element in elements)
    channels, taps = node.window.channels, node.window.taps()
    found = []
    for place, divisor in zip(taps, node.divisors, strict=True):
        for channel in range(channels):
            if node.op == "max":
                value = _largest(builder, node, elements[channel::channels], place)
                result = assigned(builder, Sum((Term(value),)), source.fraction, node.accumulator)
            else:
                cells = [elements[int(k) * channels + channel] if k >= 0 else Sum(()) for k in place]
                result = _average(builder, node, cells, source, int(divisor))
            found.append(assigned(builder, result, node.accumulator.fraction, node.type))
    return tuple(found)


def _assigned_cell(builder: ConeBuilder, node: Pool, element: Sum, source: FixedType) -> Sum:
    """Assign a cell to the accumulator; its wrap is left to the sum, which wraps too."""
    accumulator = node.accumulator
    if node.op == "average" and accumulator.overflow is Overflow.WRAP:
        return rounded_off(builder, element, source.fraction - accumulator.fraction, accumulator.rounding)
    return assigned(builder, element, source.fraction, accumulator)


def _largest(builder: ConeBuilder, node: Pool, pixels: tuple[Sum, ...], place: IntArray) -> int:
    """Return the largest of the pixels at one place, row by row where windows that overlap share their rows."""
    window = node.window
    overlap = window.stride[0] < window.kernel[0] < window.rows
    rows = place.reshape(window.kernel if overlap else (1, -1))
    values = [[pixels[int(k)].terms[0].value for k in row if k >= 0] for row in rows]
    return _tree(builder, [_tree(builder, row) for row in values if row])


def _tree(builder: ConeBuilder, values: list[int]) -> int:
    while len(values) > 1:
        pairs = [reduce(builder.maximum, values[k : k + 2]) for k in range(0, len(values), 2)]
        values = pairs
    return values[0]


def _average(builder: ConeBuilder, node: Pool, cells: list[Sum], source: FixedType, divisor: int) -> Sum:
    accumulator = node.accumulator
    drop = source.fraction - accumulator.fraction
    wraps = accumulator.overflow is Overflow.WRAP
    if node.is_exact(source) or (wraps and accumulator.rounding in _KEEP_STEPS):
        parts = [rounded_off(builder, cell, drop, accumulator.rounding) for cell in cells]
        joined = Sum(tuple(t for part in parts for t in part.terms), sum(part.constant for part in parts))
        added = limited(builder, joined, accumulator)
    elif node.arithmetic == "streamed":
        added = _halves(builder, cells, accumulator)
    else:
        added = reduce(lambda a, b: _plus(builder, a, b, source, accumulator), cells, Sum(()))
    if divisor == 1:
        return added
    return Sum((Term(builder.divide(total(builder, added), divisor, towards_zero=True)),))


def _halves(builder: ConeBuilder, cells: list[Sum], accumulator: FixedType) -> Sum:
    """Add as hls4ml's balanced tree does: the largest power of two of cells, below their number, and the rest."""
    if len(cells) == 1:
        return cells[0]
    half = 1 << (len(cells) - 1).bit_length() - 1
    first, second = _halves(builder, cells[:half], accumulator), _halves(builder, cells[half:], accumulator)
    return _plus(builder, first, second, accumulator, accumulator)


def _plus(builder: ConeBuilder, added: Sum, cell: Sum, source: FixedType, accumulator: FixedType) -> Sum:
    """Assign the exact sum of an accumulator and a cell of type `source` to the accumulator."""
    fraction = max(accumulator.fraction, source.fraction)
    left, right = added.up(fraction - accumulator.fraction), cell.up(fraction - source.fraction)
    both = Sum(left.terms + right.terms, left.constant + right.constant)
    return assigned(builder, both, fraction, accumulator)
