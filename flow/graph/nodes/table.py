"""Activations that look their result up in a table: sigmoid, tanh, softplus, softsign, ELU, SELU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, IntArray, Rounding, cast, integers, round_off
from flow.graph.node import Codes, Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table(Node):
    """Replace each element by an entry of a table, and assign that to the output type.

    values: raw integers of `table_type`, one for each of equally wide bins. span: the width that the whole table
    covers, in units of the input, a power of two: from -span/2 to span/2, or, where it is negative, from 0 down to
    span. Elements beyond take the entry at that end. scale: where `scale_type` is given, elements that are not
    negative are multiplied by it instead, exactly, and assigned to the output type.

    As hls4ml's `sigmoid`, `tanh`, `softplus`, `softsign`, `elu` and `selu` (nnet_activation.h): the element times the
    number of entries is divided by the span, in the element's steps, and the quotient becomes an integer, both
    towards zero. So the bin at 0 is twice as wide as the others.
    """

    elementwise: ClassVar[bool] = True

    values: Codes
    table_type: FixedType
    span: int
    scale: int = 0
    scale_type: FixedType | None = None
    kind: Literal["table"] = "table"

    @property
    def entries(self) -> int:
        """Return the number of entries."""
        return int(self.values.shape[0])

    @property
    def offset(self) -> int:
        """Return the number of the entry at 0."""
        return self.span // 2 * self.entries // self.span if self.span > 0 else 0

    @property
    def span_bits(self) -> int:
        """Return the logarithm of the span's size to base 2."""
        return abs(self.span).bit_length() - 1

    @property
    def results(self) -> IntArray:
        """Return the entries as raw integers of the output type."""
        return cast(self.values, self.table_type.fraction, self.type, self.table_type.width)

    @property
    def multiplications(self) -> int:
        """Return one per element where a scale is no power of two."""
        return self.size if self.scale & (self.scale - 1) else 0

    def entry_numbers(self, x: FixedArray) -> IntArray:
        """Return which entry each element takes."""
        bits = x.type.width + self.entries.bit_length() + max(0, -x.type.fraction) + 1
        quotient = round_off(integers(x.raw, bits) * self.entries, self.span_bits, Rounding.TRN_ZERO)
        if x.type.fraction >= 0:
            number = round_off(quotient, x.type.fraction, Rounding.TRN_ZERO)
        else:
            number = quotient << -x.type.fraction
        number = number + self.offset if self.span > 0 else -number
        return np.minimum(np.maximum(number, 0), self.entries - 1).astype(np.int64)

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Look up element by element."""
        (x,) = args
        found = self.results[self.entry_numbers(x)]
        if self.scale_type is None:
            return FixedArray(found, self.type)
        bits = x.type.width + self.scale_type.width
        scaled = integers(x.raw, bits) * self.scale
        positive = cast(scaled, x.type.fraction + self.scale_type.fraction, self.type, bits)
        return FixedArray(np.where(x.raw >= 0, positive, found), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shape, the span, and that the entries and the scale fit their types."""
        found = []
        if args[0].shape != self.shape:
            found.append(f"shape {self.shape} differs from its input's {args[0].shape}")
        if self.values.ndim != 1 or not self.values.size:
            return (*found, f"values of shape {self.values.shape} are no table")
        if not self.span or abs(self.span) & (abs(self.span) - 1):
            found.append(f"span {self.span} is not a power of two")
        if not (self.table_type.lo <= int(self.values.min()) and int(self.values.max()) <= self.table_type.hi):
            found.append(f"an entry is outside {self.table_type}")
        if self.scale_type is None and self.scale:
            found.append(f"scale {self.scale} has no type")
        if self.scale_type is not None and not self.scale_type.lo <= self.scale <= self.scale_type.hi:
            found.append(f"scale {self.scale} is outside {self.scale_type}")
        return tuple(found)
