"""Convolutions over all places at once: one constant matrix product, built at every place."""

from __future__ import annotations

from flow.engines.cone import ConeBuilder
from flow.engines.lower.dense import Solve, lower_places
from flow.engines.lower.open_sum import Sum, total
from flow.fixed import FixedType
from flow.graph.nodes import Conv, DepthwiseConv


def lower_convolution(
    builder: ConeBuilder, node: Conv | DepthwiseConv, elements: tuple[Sum, ...], source: FixedType, solve: Solve
) -> tuple[Sum, ...]:
    """Return the outputs at all places, row-major, channels last; elements: the input's, whose type is `source`."""
    zero = builder.constant(0)
    inputs = tuple(total(builder, element) for element in elements)
    channels = node.window.channels

    def under(pixel: int, channel: int) -> int:
        return zero if pixel < 0 else inputs[pixel * channels + channel]

    taps = [[int(pixel) for pixel in place] for place in node.window.taps()]
    if isinstance(node, Conv):
        places = tuple(tuple(under(pixel, c) for pixel in place for c in range(channels)) for place in taps)
        sums = lower_places(builder, node.matrix, places, source, solve)
        return tuple(s for place in sums for s in place)
    by_channel = [
        lower_places(
            builder, node.channel(c), tuple(tuple(under(pixel, c) for pixel in place) for place in taps), source, solve
        )
        for c in range(channels)
    ]
    return tuple(by_channel[c][place][0] for place in range(node.places) for c in range(channels))
