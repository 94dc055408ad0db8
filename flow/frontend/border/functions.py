"""The functions behind hls4ml's activation tables, in the arithmetic of its C++ program.

The program fills its tables when it starts, in single precision where it says `float` (nnet_activation.h). The last
bit of `expf` and `tanhf` is up to the C library, so the same functions of the same library are called here, and only
while a model is converted: what they give is stored in the graph.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable

import numpy as np

SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717

Function = Callable[[float], float]


def single(value: float) -> float:
    """Return the nearest number of single precision."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def c_function(name: str) -> Function:
    """Return a function of one `float` of the C library that this process runs with."""
    function = ctypes.CDLL(None)[name]
    function.argtypes, function.restype = [ctypes.c_float], ctypes.c_float
    return lambda x: float(function(x))


def table_function(name: str) -> Function:
    """Return hls4ml's function of that name: sigmoid, tanh, softplus, softsign, elu (below 0), selu (below 0)."""
    exp = c_function("expf")
    match name:
        case "sigmoid":
            return lambda x: single(1.0 / single(1 + exp(-x)))
        case "tanh":
            return c_function("tanhf")
        case "softplus":
            return lambda x: single(math.log(exp(x) + 1.0))
        case "softsign":
            return lambda x: single(x / (abs(x) + 1.0))
        case "elu":
            return lambda x: single(exp(x) - 1.0)
        case "selu":
            return lambda x: single(SELU_SCALE * (SELU_ALPHA * (exp(x) - 1.0)))
        case _:
            raise ValueError(f"no table for '{name}'")


def bin_values(span: int, entries: int) -> list[float]:
    """Return the argument that each entry of a table is computed at; span as in the node `Table`."""
    if span > 0:
        return [single(float(span) * (k - entries / 2.0) / entries) for k in range(entries)]
    return [single(float(span) * k / entries) for k in range(entries)]
