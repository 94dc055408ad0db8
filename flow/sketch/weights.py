"""Random weights that cost what trained ones cost: normal, the smallest of them pruned, quantized."""

from __future__ import annotations

import numpy as np

from flow.fixed import FixedType, IntArray

GAIN = 2.0
"""Variance of a sum over that of its inputs, so that a ReLU keeps the scale (He et al. 2015, arXiv:1502.01852)."""
BIAS = 1 / 8
"""Standard deviation of the biases, which is what those of the zoo's networks have."""


def zeros_of(size: int, sparsity: float) -> int:
    """Return how many of `size` weights are zero: the fraction, rounded to a count."""
    return int(sparsity * size + 0.5)


def random_weights(
    draw: np.random.Generator, shape: tuple[int, ...], kind: FixedType, terms: int, sparsity: float
) -> IntArray:
    """Draw raw integers of a type; exactly `zeros_of` of them are zero.

    terms: products of each sum. Those that are not zero have the root mean square √(GAIN / (terms · (1 - sparsity)))
    before they are rounded, and at least one step after it; those beyond the type become its ends.
    """
    size = int(np.prod(shape))
    values = draw.normal(size=size)
    order = np.argsort(np.abs(values), kind="stable")
    kept = order[zeros_of(size, sparsity) :]
    codes = np.zeros(size, dtype=np.int64)
    if len(kept):
        wanted = np.sqrt(GAIN / (terms * (1 - sparsity)))
        scale = wanted / (np.sqrt(np.mean(values[kept] ** 2)) * kind.step)
        codes[kept] = _quantized(values[kept] * scale, kind)
    codes = codes.reshape(shape)
    codes.setflags(write=False)
    return codes


def random_bias(draw: np.random.Generator, size: int, kind: FixedType) -> IntArray:
    """Draw raw integers of a bias; some of them are zero by chance."""
    values = np.rint(draw.normal(size=size) * BIAS / kind.step)
    codes: IntArray = np.clip(values, kind.lo, kind.hi).astype(np.int64)
    codes.setflags(write=False)
    return codes


def _quantized(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], kind: FixedType) -> IntArray:
    """Round to codes of a type none of which is zero."""
    if not kind.signed:
        values = np.abs(values)
    codes = np.clip(np.rint(values), kind.lo, kind.hi).astype(np.int64)
    least = np.where((values > 0) & (kind.hi >= 1) | (kind.lo == 0), 1, -1)
    found: IntArray = np.where(codes == 0, least, codes)
    return found
