"""The base of all nodes: one operation of the network on fixed-point tensors."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

import numpy as np
from pydantic import PlainSerializer, PlainValidator

from flow.fixed import FixedArray, FixedType, IntArray


def _to_array(value: Any) -> IntArray:
    array = np.asarray(value)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" and array.dtype != object:
        raise ValueError("expected integers")
    if array.dtype == object and not all(isinstance(v, int) for v in array.flat):
        raise ValueError("expected integers")
    if array.dtype != object:
        array = array.astype(np.int64)
    array = array.copy()
    array.setflags(write=False)
    return array


Codes = Annotated[IntArray, PlainValidator(_to_array), PlainSerializer(lambda a: a.tolist())]
"""A read-only array of raw integers that is stored as nested lists."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """Describe what is computed, never how.

    name: unique identifier, legal in C++ and SystemVerilog. label: the layer's name in the user's model.
    inputs: names of the nodes that feed this one. shape: of the output tensor, without the batch axis.
    type: of the output's elements.
    """

    name: str
    label: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    type: FixedType

    @property
    def size(self) -> int:
        """Return the number of elements of the output tensor."""
        return prod(self.shape)

    @property
    def multiplications(self) -> int:
        """Return the multiplications of one inference, zero weights included."""
        return 0

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Compute the output, bit-exact with hls4ml's C simulation (Vitis flavour)."""
        raise TypeError(f"{type(self).__name__} has no evaluate")

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Return what is inconsistent between this node and those that feed it."""
        return ()
