"""The base of all nodes: one operation of the network on fixed-point tensors."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import PlainSerializer, PlainValidator

from flow.fixed import FixedArray, FixedType, IntArray


def _to_array(value: Any) -> IntArray:
    """Return nested lists of integers, or an integer array, as a read-only array: int64 where all values fit."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "i":
        array = value.astype(np.int64)
    else:
        array = np.array(value, dtype=object)
        if not all(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in array.flat):
            raise ValueError("expected integers in a regular array")
        if all(-(2**63) <= v < 2**63 for v in array.flat):
            array = array.astype(np.int64)
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

    arity: number of inputs, None for one or more. elementwise: whether each output element depends on the same element
    of the only input alone, with parameters that repeat along the last axis.
    """

    arity: ClassVar[int | None] = 1
    elementwise: ClassVar[bool] = False

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

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:  # noqa: ARG002 — the contract
        """Compute the output, bit-exact with hls4ml's C simulation (Vitis flavour)."""
        raise TypeError(f"{type(self).__name__} has no evaluate")

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:  # noqa: ARG002 — the contract
        """Return what is inconsistent between this node and those that feed it."""
        return ()
