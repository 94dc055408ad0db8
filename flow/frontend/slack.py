"""How far float arithmetic, tables and an input that is off may move what a node computes.

A float32 has 24 significant bits; a sum of n terms and the few roundings of a scale or a normalization lose at most
the last 8 (more for n beyond 256).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flow.fixed import FixedArray, FixedType, IntArray
from flow.graph.nodes import (
    Affine,
    AnyNode,
    BoundedRelu,
    Conv,
    Dense,
    DepthwiseConv,
    Dot,
    Embedding,
    HardSigmoid,
    LayerNorm,
    Merge,
    Pool,
    PRelu,
    Quantize,
    Relu,
    Sign,
    Softmax,
    Table,
)

BOUND = 2.0**-16
_TERMS = 256
_ONE_STEP = 2.0**-6  # of BOUND: a single rounding
# a softmax with the tables and cuts of `generous`: 2**-10 for its exponentials, 2**-13 … 2**-7 for 2 … 100 classes
_SOFTMAX = 2.0**-7

Floats = NDArray[np.float64]


def slack(  # noqa: PLR0911, PLR0912 (one per kind of node)
    node: AnyNode, args: tuple[FixedArray, ...], before: tuple[float, ...]
) -> float:
    """Return how far float arithmetic and inputs that are off by `before` may move a node's output, tables apart."""
    given = [np.abs(x.to_float()) for x in args]
    largest = max((float(x.max(initial=0.0)) for x in given), default=0.0)
    worst = max(before, default=0.0)
    match node:
        case Dense():
            sums, gain = _dense(node, given[0])
            return _share(node.n_in) * sums + worst * gain
        case Conv() | DepthwiseConv():
            sums, gain, terms = _convolution(node, given[0])
            return _share(terms) * sums + worst * gain
        case Affine():
            scale, bias = _magnitude(node.scale, node.scale_type), _magnitude(node.bias, node.bias_type)
            return BOUND * float((given[0] * scale + bias).max(initial=0.0)) + worst * float(scale.max(initial=0.0))
        case Merge() if node.op == "multiply":
            product = float((given[0] * given[1]).max(initial=0.0))
            return BOUND * product + before[0] * _most(given[1]) + before[1] * _most(given[0])
        case Merge():
            return 2 * BOUND * _ONE_STEP * largest + sum(before)
        case Dot():
            sums = float((given[0] * given[1]).sum(axis=-1).max(initial=0.0))
            across = before[0] * _most(given[1].sum(axis=-1)) + before[1] * _most(given[0].sum(axis=-1))
            return _share(node.length) * sums + across
        case PRelu():
            slopes = float(_magnitude(node.slopes, node.slope_type).max(initial=0.0))
            return BOUND * _ONE_STEP * 2 * largest * max(1.0, slopes) + worst * max(1.0, slopes)
        case HardSigmoid():
            # the slope has few bits, and matters up to where the sum reaches 0 and 1
            slope = abs(node.slope) * node.slope_type.step
            reach = min(largest, 2 / slope) if slope else 0.0
            return BOUND + (1 + node.centred) * (node.slope_type.step * reach + worst * slope)
        case Pool():
            return BOUND * largest + worst + node.accumulator.step
        case Embedding():
            return 2.0**-24 * float(_magnitude(node.rows, node.row_type).max(initial=0.0))
        case Quantize() | Relu() | BoundedRelu():
            return BOUND * _ONE_STEP * largest + worst
        case Softmax() | LayerNorm() | Table():
            return BOUND * _ONE_STEP * max(1.0, largest) + worst
        case _:
            return worst


def tolerance(node: AnyNode, args: tuple[FixedArray, ...], before: tuple[float, ...]) -> Floats | None:
    """Return how far a node's tables may move each element of its output; None where it has none.

    Infinite where hls4ml's table ends and where a step is so near that `before` decides: the notes of the conversion
    say where tables end.
    """
    match node:
        case Table():
            return _table(node, args[0])
        case Softmax():
            x = args[0].to_float()
            # hls4ml's difference to the largest element is unsigned; the generous conversion cuts what it cannot hold
            reach = 16.0 - 2.0**-20
            cut = (np.abs(x) >= reach).any(axis=-1, keepdims=True)
            return np.broadcast_to(np.where(cut, np.inf, _SOFTMAX), x.shape)
        case LayerNorm():
            return _layer_norm(node, args[0])
        case Sign():
            codes = args[0].raw.astype(np.float64)
            room = before[0] / args[0].type.step + 1
            near = (np.abs(codes - node.high) <= room) | (np.abs(codes - node.low) <= room)
            return np.where(near, np.inf, 0.0)
        case BoundedRelu() if node.threshold:
            x = args[0].to_float()
            near = np.abs(x - node.threshold * node.threshold_type.step) <= before[0] + args[0].type.step
            return np.where(near, np.inf, 0.0)
        case _:
            return None


def _share(terms: int) -> float:
    return BOUND * (1 + terms / _TERMS)


def _magnitude(codes: IntArray, kind: FixedType) -> Floats:
    return np.abs(np.asarray(codes, dtype=np.float64)) * kind.step


def _most(values: Floats) -> float:
    return float(values.max(initial=0.0))


def _dense(node: Dense, given: Floats) -> tuple[float, float]:
    """Return the largest sum of magnitudes, and the largest sum of weights of an output."""
    weights, bias = _magnitude(node.weights, node.weight_type), _magnitude(node.bias, node.bias_type)
    sums = given.reshape(len(given), -1) @ weights + bias
    return _most(sums), _most(weights.sum(axis=0))


def _convolution(node: Conv | DepthwiseConv, given: Floats) -> tuple[float, float, int]:
    """Return the largest sum of magnitudes, the largest sum of weights of an output, and the terms of a sum."""
    window = node.window
    weights, bias = _magnitude(node.weights, node.weight_type), _magnitude(node.bias, node.bias_type)
    cells = weights.reshape(window.cells, *weights.shape[2:])
    pixels = given.reshape(len(given), -1, window.channels)
    pixels = np.concatenate([pixels, np.zeros((len(given), 1, window.channels))], axis=1)
    sums: Floats = np.zeros((len(given), node.places, node.channels)) + bias
    for cell, tap in zip(cells, window.taps().T, strict=True):
        under = pixels[:, tap]
        sums += under @ cell if isinstance(node, Conv) else under * cell
    terms = window.cells * (window.channels if isinstance(node, Conv) else 1)
    return _most(sums), _most(weights.reshape(-1, node.channels).sum(axis=0)), terms


def _table(node: Table, x: FixedArray) -> Floats:
    """Return the difference to the neighbouring entries; elements beyond the table cannot be compared."""
    entries = np.asarray(node.values, dtype=np.float64) * node.table_type.step
    steps = np.abs(np.diff(entries))
    around = np.maximum(np.append(steps, 0.0), np.insert(steps, 0, 0.0)) + node.table_type.step
    values = x.to_float()
    allowed: Floats = around[node.entry_numbers(x)]
    beyond = values < node.span if node.span < 0 else np.abs(values) >= node.span / 2
    allowed = np.where(beyond, np.inf, allowed)
    if node.scale_type is None:
        return allowed
    # a scale of 1 is exact, SELU's has a step
    exact = node.scale * node.scale_type.step == 1.0
    return np.where(values >= 0, 0.0 if exact else node.scale_type.step * values, allowed)


def _layer_norm(node: LayerNorm, x: FixedArray) -> Floats:
    """Return what one step of the table of inverse roots changes; positions beyond the table cannot be compared."""
    values = x.to_float()
    variance = values.var(axis=-1, keepdims=True)
    index = (variance * node.index_scale).astype(np.int64)
    roots = np.asarray(node.inverse_roots, dtype=np.float64) * node.root_type.step
    steps = np.append(np.abs(np.diff(roots)), 0.0) + node.root_type.step
    centred = np.abs(values - values.mean(axis=-1, keepdims=True))
    at = np.minimum(index, len(roots) - 1)
    # the framework's difference to the mean is off by a rounding of the largest element
    lost = BOUND * _ONE_STEP * np.abs(values).max(initial=0.0)
    change = (centred * (2 * steps[at] + BOUND * roots[at]) + lost * roots[at]) * _magnitude(
        node.scale, node.scale_type
    )
    return np.where(index >= len(roots) - 1, np.inf, change)
