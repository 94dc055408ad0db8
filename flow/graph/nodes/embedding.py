"""Rows of a table, picked by integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, cast
from flow.graph.node import Codes, Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Embedding(Node):
    """Replace each integer by a row of the table, assigned to the output type.

    rows: raw integers (vocabulary, width) of `row_type`. As hls4ml's `embedding` (nnet_embed.h), which reads foreign
    memory for an integer that has no row: here its elements are 0.
    """

    rows: Codes
    row_type: FixedType
    kind: Literal["embedding"] = "embedding"

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Look the rows up."""
        (x,) = args
        vocabulary, width = self.rows.shape
        table = cast(self.rows, self.row_type.fraction, self.type, self.row_type.width)
        table = np.concatenate([table, np.zeros((1, width), dtype=np.int64)])
        row = np.where((x.raw >= 0) & (x.raw < vocabulary), x.raw, vocabulary).astype(np.int64)
        return FixedArray(table[row].reshape(len(x.raw), *self.shape), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check that the input holds integers, the shapes, and that all codes lie in their type."""
        if self.rows.ndim != 2 or not self.rows.size:
            return (f"rows of shape {self.rows.shape}",)
        found = []
        if args[0].type.fraction != 0:
            found.append(f"its input's type {args[0].type} does not hold integers")
        if self.shape != (*args[0].shape, self.rows.shape[1]):
            found.append(f"shape {self.shape} is not {args[0].shape} rows of {self.rows.shape[1]}")
        if not (self.row_type.lo <= int(self.rows.min()) and int(self.rows.max()) <= self.row_type.hi):
            found.append(f"an element is outside {self.row_type}")
        return tuple(found)
