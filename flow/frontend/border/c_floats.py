"""The tables that hls4ml's C++ program computes in floating point when it starts.

Sums, products, quotients and square roots are IEEE 754 operations, whose results are the same everywhere. An
exponential is not: it comes from the C library, as in the C simulation, and the graph stores what became of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.fixed import FixedType, IntArray, from_float
from flow.frontend.border.functions import c_function


def exp_float32(x: Iterable[np.float32]) -> NDArray[np.float32]:
    """Return C's `expf`, which is what std::exp of a float is."""
    function = c_function("expf")
    return np.array([function(float(value)) for value in x], dtype=np.float32)


def assigned_floats(values: NDArray[Any] | Sequence[float], target: FixedType) -> IntArray:
    """Assign floats to a type as ap_fixed's constructor does, which takes an infinity for 2**1024."""
    array = np.asarray(values, dtype=np.float64)
    infinite = np.isinf(array)
    # 2**1023 wraps and saturates as 2**1024 does, being even in units of every type and beyond its range
    finite = np.where(infinite, np.copysign(2.0**1023, array), array)
    return from_float(finite, target)


def leading_values(kind: FixedType, size: int) -> NDArray[np.float32]:
    """Return, for each index of log2(size) bits, the value whose first bits it is and whose other bits are 0.

    As `softmax_real_val_from_idx` (nnet_activation.h). Exact for tables of up to 2**24 entries.
    """
    bits = size.bit_length() - 1
    index = np.arange(size)
    if kind.signed:
        index = np.where(index >= size // 2, index - size, index)
    return (index * 2.0 ** (kind.integer - bits)).astype(np.float32)
