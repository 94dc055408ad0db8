"""Nodes of all kinds, drawn at random behind others: what random networks are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from flow.fixed import FixedType
from flow.graph.nodes import (
    Affine,
    AnyNode,
    Argmax,
    BoundedRelu,
    Conv,
    Dense,
    DepthwiseConv,
    Dot,
    Embedding,
    HardSigmoid,
    Input,
    LayerNorm,
    LegacySoftmax,
    Merge,
    Pool,
    PRelu,
    Quantize,
    Rearrange,
    Relu,
    Reshape,
    Sign,
    Softmax,
    Table,
)
from flow.graph.window import Window
from tests.conformance.draws import Draws
from tests.conformance.random_site import MOST_ELEMENTS, NARROW, Layer, Site, draw_type, draw_window, placed

MOST_PRODUCTS = 4000
MERGES = ("add", "subtract", "multiply", "average", "maximum", "minimum")
ARITHMETICS = ("parallel", "streamed", "running")


def draw_layer(d: Draws, name: str, source: AnyNode, nodes: tuple[AnyNode, ...]) -> Layer:
    """Draw what stands behind a node: nearly always one node, sometimes with others in front of it."""
    kinds = VECTORS if len(source.shape) == 1 else IMAGES
    return d.choice(kinds)(Site(d, name, source, nodes))


def _quantize(site: Site) -> Layer:
    return (Quantize(**site.common(site.source.shape, site.near())),)


def _relu(site: Site) -> Layer:
    common, d = site.common(site.source.shape, site.near()), site.d
    if not d.chance(40):
        return (Relu(**common),)
    slope = draw_type(d, NARROW, integer=0)
    return (Relu(**common, slope=int(site.codes(slope, (1,))[0]), slope_type=slope),)


def _activation(site: Site) -> Layer:
    """Draw one of the rarer activations."""
    d, x = site.d, site.source.type
    shape, channels = site.source.shape, site.source.shape[-1:]
    which = d.upto(5)
    common = site.common(shape, draw_type(d, integer=1) if which > 1 else site.near())
    kind = draw_type(d, NARROW, integer=min(x.integer, 4))
    if which == 0:
        bound = d.integer(1, 6) if d.chance(50) else None
        return (BoundedRelu(**common, threshold=int(site.codes(kind, (1,))[0]), threshold_type=kind, bound=bound),)
    if which == 1:
        return (PRelu(**common, slopes=site.codes(kind, shape if d.chance(30) else channels), slope_type=kind),)
    if which == 2:
        scale, shift = draw_type(d, NARROW, integer=0), draw_type(d, NARROW, integer=1)
        numbers = {"slope": int(site.codes(scale, (1,))[0]), "shift": int(site.codes(shift, (1,))[0])}
        return (HardSigmoid(**common, **numbers, slope_type=scale, shift_type=shift, centred=d.chance(50)),)
    if which == 3:
        low, gap = site.codes(x, channels), d.upto(3)
        return (Sign(**common, low=low, high=low + gap),)
    values = site.codes(kind, (d.choice((4, 1, 2, 3, 8, 13, 32)),))
    span = d.choice((2, 4, 8, 16, -4, -8))
    if which == 4:
        return (Table(**common, values=values, table_type=kind, span=span),)
    scale = draw_type(d, NARROW, integer=1)
    one = int(site.codes(scale, (1,))[0])
    return (Table(**common, values=values, table_type=kind, span=span, scale=one, scale_type=scale),)


def _affine(site: Site) -> Layer:
    scale, bias = draw_type(site.d, NARROW), site.near(widths=NARROW)
    shape = site.source.shape[-1:]
    common = site.common(site.source.shape, site.near(1))
    return (
        Affine(
            **common, scale=site.codes(scale, shape), bias=site.codes(bias, shape), scale_type=scale, bias_type=bias
        ),
    )


def _products(site: Site, terms: int) -> tuple[FixedType, FixedType, FixedType]:
    """Draw the types of weights, biases and sums: half of the time the sums are exact."""
    d, x = site.d, site.source.type
    weight, bias = draw_type(d, NARROW), site.near(widths=NARROW)
    integer = max(x.integer + weight.integer + terms.bit_length() + 1, bias.integer + 1)
    fraction = max(x.fraction + weight.fraction, bias.fraction)
    if d.chance(50):
        drawn = draw_type(d, integer=x.integer + weight.integer)
        return weight, bias, FixedType(drawn.width + 4, drawn.integer + 2, drawn.signed, drawn.rounding, drawn.overflow)
    return weight, bias, FixedType(max(integer + fraction, 1), integer)


def _dense(site: Site) -> Layer:
    n_in, n_out = site.source.size, site.d.integer(1, 8)
    weight, bias, accumulator = _products(site, n_in)
    return (
        Dense(
            **site.common((n_out,), site.near(2)),
            weights=site.codes(weight, (n_in, n_out)),
            bias=site.codes(bias, (n_out,)),
            weight_type=weight,
            bias_type=bias,
            accumulator=accumulator,
        ),
    )


def _conv(site: Site) -> Layer:
    window, channels = draw_window(site), site.d.integer(1, 4)
    if site.d.chance(15):
        rows, columns, c = site.image
        window = Window(rows, columns, c, (1, 1), (1, 1), (0, 0, 0, 0))
    return _convolution(site, window, channels) or _pool(site)


def _convolution(site: Site, window: Window, channels: int) -> Layer | None:
    """Draw a convolution with this window, None where it would be too large."""
    shape = (*window.kernel, window.channels, channels)
    if prod(shape) * prod(window.positions) > MOST_PRODUCTS:
        return None
    weight, bias, accumulator = _products(site, prod(shape[:3]))
    return (
        Conv(
            **site.common(placed(site, window, channels), site.near(2)),
            window=window,
            weights=site.codes(weight, shape),
            bias=site.codes(bias, (channels,)),
            weight_type=weight,
            bias_type=bias,
            accumulator=accumulator,
        ),
    )


def _depthwise(site: Site) -> Layer:
    return _depthwise_over(site, draw_window(site))


def _depthwise_over(site: Site, window: Window) -> Layer:
    shape = (*window.kernel, window.channels)
    weight, bias, accumulator = _products(site, window.cells)
    return (
        DepthwiseConv(
            **site.common(placed(site, window, window.channels), site.near(1)),
            window=window,
            weights=site.codes(weight, shape),
            bias=site.codes(bias, (window.channels,)),
            weight_type=weight,
            bias_type=bias,
            accumulator=accumulator,
        ),
    )


def _around(site: Site) -> Layer:
    """Draw a connection around a layer that keeps the shape: both tensors are merged, or their channels joined."""
    d, source = site.d, site.source
    rows, columns, channels = site.image
    kernel = tuple(min(d.choice((3, 1, 2)), n) for n in (rows, columns))
    if len(source.shape) == 2:
        kernel = (1, kernel[1])
    before = tuple((k - 1) // 2 for k in kernel)
    pads = (before[0], kernel[0] - 1 - before[0], before[1], kernel[1] - 1 - before[1])
    window = Window(rows, columns, channels, kernel, (1, 1), pads)  # two and four
    inside = replace(site, name=f"{site.name}_conv")
    branch = _convolution(inside, window, channels) if d.chance(60) else _depthwise_over(inside, window)
    if branch is None or 2 * source.size > MOST_ELEMENTS:
        return _pool(site)
    if d.chance(30):
        branch = (*branch, *_relu(replace(site, name=f"{site.name}_relu", source=branch[-1])))
    if d.chance(75):
        return (*branch, Merge(**site.common(source.shape, site.near(1), branch[-1]), op=d.choice(MERGES)))
    first = np.arange(source.size).reshape(source.shape)
    places = np.concatenate([first, first + source.size], axis=-1)
    return (*branch, Rearrange(**site.common(places.shape, site.near(), branch[-1]), indices=places.reshape(-1)))


def _pool(site: Site) -> Layer:
    d, x = site.d, site.source.type
    window = draw_window(site)
    if not (window.taps() >= 0).any(axis=1).all():
        window = draw_window(site, pads=False)
    shape = placed(site, window, window.channels)
    if d.chance(15):  # global
        rows, columns, c = site.image
        window = Window(rows, columns, c, (rows, columns), (1, 1), (0, 0, 0, 0))
        shape = (c,) if d.chance(50) else placed(site, window, c)
    accumulator = FixedType(x.width + window.cells.bit_length(), x.integer + window.cells.bit_length(), x.signed)
    if d.chance(40):
        accumulator = draw_type(d, integer=x.integer + 1)
    return (
        Pool(
            **site.common(shape, site.near()),
            window=window,
            op=d.choice(("max", "average")),
            accumulator=accumulator,
            arithmetic=d.choice(ARITHMETICS),
            count_padding=d.chance(50),
        ),
    )


def _flatten(site: Site) -> Layer:
    return (Reshape(**site.common((site.source.size,), site.source.type)),)


def _fold_up(site: Site) -> Layer:
    """Make a vector an image."""
    n = site.source.size
    rows = site.d.choice([k for k in range(1, n + 1) if n % k == 0])
    channels = site.d.choice([k for k in range(1, n // rows + 1) if n // rows % k == 0])
    return (Reshape(**site.common((rows, n // rows // channels, channels), site.source.type)),)


def _moved(site: Site) -> Layer:
    """Draw a transposition, padding, cropping, up-sampling, repetition or any gathering."""
    d, source = site.d, site.source
    places = np.arange(source.size).reshape(source.shape)
    which = d.upto(4)
    axis = d.upto(len(source.shape) - 1)
    if which == 0:
        places = places.transpose(d.generator().permutation(len(source.shape)))
    elif which == 1:
        sides = [(0, 0)] * len(source.shape)
        sides[axis] = (d.upto(2), d.upto(2))
        places = np.pad(places, sides, constant_values=-1)
    elif which == 2:
        length = source.shape[axis]
        begin = d.upto(length - 1)
        places = np.take(places, np.arange(begin, d.integer(begin + 1, length)), axis=axis)
    elif which == 3:
        places = np.repeat(places, d.integer(1, 2), axis=axis)
    else:
        picked = d.generator().integers(-1, source.size, size=places.shape)
        places = picked.astype(np.int64)
    if places.size > MOST_ELEMENTS:
        return _flatten(site)
    kind = site.near() if d.chance(50) else source.type
    return (Rearrange(**site.common(places.shape, kind), indices=places.reshape(-1)),)


def _concatenation(site: Site) -> Layer:
    """Lay two tensors side by side along an axis: with another of the same shape, or with itself."""
    before, other = _partner(site)
    shape, axis = site.source.shape, site.d.upto(len(site.source.shape) - 1)
    if 2 * site.source.size > MOST_ELEMENTS:
        return _flatten(site)
    first = np.arange(site.source.size).reshape(shape)
    places = np.concatenate([first, first + site.source.size], axis=axis)
    common = site.common(places.shape, site.near(), other)
    return (*before, Rearrange(**common, indices=places.reshape(-1)))


def _partner(site: Site) -> tuple[Layer, AnyNode]:
    """Return another tensor of the same shape, with the input that must be new for it."""
    d, source = site.d, site.source
    equal = [node for node in site.nodes if node.shape == source.shape and node is not source]
    if equal and not d.chance(25):
        return (), d.choice(equal[::-1])
    if d.chance(10):
        return (), source
    name = f"{site.name}_in"
    new = Input(name=name, label=name, inputs=(), shape=source.shape, type=draw_type(d))
    return (new,), new


def _merge(site: Site) -> Layer:
    before, other = _partner(site)
    return (*before, Merge(**site.common(site.source.shape, site.near(1), other), op=site.d.choice(MERGES)))


def _dot(site: Site) -> Layer:
    before, other = _partner(site)
    length = site.source.size
    accumulator = draw_type(site.d, (12, 8, 16, 20), integer=site.source.type.integer + other.type.integer)
    return (*before, Dot(**site.common((1,), site.near(2), other), accumulator=accumulator, length=length))


def _softmax(site: Site) -> Layer:
    d, source = site.d, site.source
    common = site.common(source.shape, draw_type(d, integer=1))
    which = d.upto(3)
    if source.shape[-1] > 8 or which == 0:
        return (Argmax(**common),)
    kind = draw_type(d, (8, 6, 10), integer=3)
    if which == 1:
        sizes = d.choice((8, 16, 12, 32)), d.choice((8, 16, 12, 32))
        tables = {"exponentials": site.codes(kind, sizes[:1]), "inverses": site.codes(kind, sizes[1:])}
        return (LegacySoftmax(**common, **tables, table_type=kind),)
    difference = draw_type(d, (5, 6, 8), integer=source.type.integer) if d.chance(60) else None
    argument, inverse = difference or source.type, draw_type(d, (5, 6, 8), integer=4)
    bits = min(d.integer(1, 5), argument.width), min(d.integer(1, 5), inverse.width)
    accumulator = draw_type(d, (10, 12, 14), integer=5)
    return (
        Softmax(
            **common,
            difference=difference,
            exponentials=site.codes(kind, (1 << bits[0],)),
            exponential_type=kind,
            accumulator=accumulator,
            inverse_argument=inverse,
            inverses=site.codes(kind, (1 << bits[1],)),
            inverse_type=kind,
        ),
    )


def _layer_norm(site: Site) -> Layer:
    d, source = site.d, site.source
    channels = source.shape[-1:]
    scale, bias, root = draw_type(d, NARROW), site.near(widths=NARROW), draw_type(d, (6, 4, 8), integer=3)
    accumulator = draw_type(d, (10, 12, 8), integer=source.type.integer + 2)
    return (
        LayerNorm(
            **site.common(source.shape, site.near(1)),
            scale=site.codes(scale, channels),
            bias=site.codes(bias, channels),
            scale_type=scale,
            bias_type=bias,
            accumulator=accumulator,
            inverse_count=int(site.codes(accumulator, (1,))[0]),
            inverse_roots=site.codes(root, (d.choice((8, 4, 16)),)),
            root_type=root,
            range_power=d.upto(4),
        ),
    )


def _embedding(site: Site) -> Layer:
    """Look rows up, by integers that stand in front of it."""
    d, source = site.d, site.source
    width = d.integer(1, 3)
    if source.size * width > MOST_ELEMENTS or len(source.shape) > 2:
        return _relu(site)
    bits = d.integer(1, 4)
    numbers = Quantize(
        name=f"{site.name}_numbers",
        label=site.name,
        inputs=(source.name,),
        shape=source.shape,
        type=FixedType(bits, bits, d.chance(30)),
    )
    kind = draw_type(d, NARROW)
    rows = site.codes(kind, (d.integer(1, 9), width))
    common = site.common((*source.shape, width), draw_type(d)) | {"inputs": (numbers.name,)}
    return numbers, Embedding(**common, rows=rows, row_type=kind)


Draw = Callable[[Site], Layer]
ANYWHERE: tuple[Draw, ...] = (_quantize, _relu, _relu, _affine, _activation, _merge, _merge, _concatenation, _moved)
VECTORS: tuple[Draw, ...] = (*ANYWHERE, _dense, _dense, _dense, _dense, _fold_up, _softmax, _dot, _embedding)
SPATIAL: tuple[Draw, ...] = (*(_conv,) * 5, *(_around,) * 4, *(_pool,) * 4, _depthwise, _depthwise, _flatten)
IMAGES: tuple[Draw, ...] = (*ANYWHERE, *SPATIAL, _softmax, _layer_norm, _embedding)
