"""Softmax along the last axis in hls4ml's implementations, and the largest element as 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, IntArray, Rounding, cast, integers, limit, round_off
from flow.graph.node import Codes, Node

INT = FixedType(32, 32)
"""C's int, which hls4ml's legacy implementation takes indices in."""
LEGACY_RANGE, LEGACY_INVERSE_RANGE = 16, 64
"""What the tables of hls4ml's legacy implementation span: exponents from -8 to 8, sums from 0 to 64."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Softmax(Node):
    """Divide the exponential of each element by the sum of those of its position, an entry of all axes but the last.

    exponentials, inverses: tables of 2**k raw integers of exponential_type and inverse_type, indexed by the first k
    bits of their arguments. difference: type of (largest element - element), which then indexes `exponentials`;
    None where the element itself does. As hls4ml's `softmax_stable` and `softmax_latency` (nnet_activation.h and
    nnet_activation_stream.h, which agree): exponentials are assigned to the accumulator, added in a tree of adders
    that each assign to it (`balanced` gives their order), the sum is assigned to inverse_argument and replaced by its
    inverse, and the exact products with that are assigned to the output type.
    """

    difference: FixedType | None
    exponentials: Codes
    exponential_type: FixedType
    accumulator: FixedType
    inverse_argument: FixedType
    inverses: Codes
    inverse_type: FixedType
    kind: Literal["softmax"] = "softmax"

    @property
    def multiplications(self) -> int:
        """Return one per element."""
        return self.size

    def argument(self, source: FixedType) -> FixedType:
        """Return the type that indexes the exponentials; source: the input's."""
        return self.difference or source

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Compute every position by itself."""
        (x,) = args
        argument = x.raw
        if self.difference is not None:
            wide = integers(x.raw, x.type.width + 1)
            exact = wide.max(axis=-1, keepdims=True) - wide
            argument = cast(exact, x.type.fraction, self.difference, x.type.width + 1)
        table = cast(self.exponentials, self.exponential_type.fraction, self.accumulator, self.exponential_type.width)
        exponentials = table[first_bits(argument, self.argument(x.type), len(table))]
        total = self._sum([exponentials[..., k] for k in range(self.shape[-1])])
        total = cast(total, self.accumulator.fraction, self.inverse_argument, self.accumulator.width)
        inverse = self.inverses[first_bits(total, self.inverse_argument, len(self.inverses))]
        bits = self.accumulator.width + self.inverse_type.width
        product = integers(exponentials, bits) * integers(inverse, bits)[..., None]
        fraction = self.accumulator.fraction + self.inverse_type.fraction
        return FixedArray(cast(product, fraction, self.type, bits), self.type)

    def _sum(self, terms: list[IntArray]) -> IntArray:
        if len(terms) == 1:
            return terms[0]
        half = balanced(len(terms))
        bits = self.accumulator.width + 1
        total = integers(self._sum(terms[:half]), bits) + integers(self._sum(terms[half:]), bits)
        return limit(total, self.accumulator)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shape, and that the tables can be indexed and lie in their types."""
        found = [*_shape_problems(self, args)]
        tables = (
            ("exponential", self.exponentials, self.exponential_type, self.argument(args[0].type)),
            ("inverse", self.inverses, self.inverse_type, self.inverse_argument),
        )
        for name, table, kind, argument in tables:
            if table.ndim != 1 or table.size < 2 or table.size & (table.size - 1) or table.size >> argument.width > 1:
                found.append(f"{table.size} {name}s cannot be indexed by the first bits of {argument}")
            found += _code_problems(name, table, kind)
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LegacySoftmax(Node):
    """Invert the sum of exp(x[j] - x[i]) over all j for each element i of a position.

    exponentials, inverses: tables of raw integers of table_type over -8 … 8 and 0 … 64. As hls4ml's `softmax_legacy`
    (nnet_activation.h): the index of a difference d is d * size / 16 + size / 2, that of a sum s is s * size / 64, each
    cut towards zero and brought into the table; terms, 1 for j = i, are added in order and assigned to table_type.
    """

    exponentials: Codes
    inverses: Codes
    table_type: FixedType
    kind: Literal["legacy_softmax"] = "legacy_softmax"

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Compute every position by itself."""
        (x,) = args
        one, bits = int(cast(np.array([1]), 0, self.table_type, 2)[0]), self.table_type.width + 1
        wide = integers(x.raw, x.type.width + len(self.exponentials).bit_length() + 1)
        columns = []
        for i in range(self.shape[-1]):
            total = np.zeros(x.raw.shape[:-1], dtype=np.int64)
            for j in range(self.shape[-1]):
                term: int | IntArray = one
                if i != j:
                    term = self.exponentials[self._difference_index(wide[..., j] - wide[..., i], x.type)]
                total = limit(integers(total, bits) + term, self.table_type)
            scaled = integers(total, self.table_type.width + len(self.inverses).bit_length()) * len(self.inverses)
            at = whole(scaled, self.table_type.fraction, LEGACY_INVERSE_RANGE)
            columns.append(self.inverses[np.clip(at, 0, len(self.inverses) - 1).astype(np.int64)])
        result = np.stack(columns, axis=-1)
        return FixedArray(cast(result, self.table_type.fraction, self.type, self.table_type.width), self.type)

    def _difference_index(self, difference: IntArray, source: FixedType) -> IntArray:
        size = len(self.exponentials)
        at = limit(whole(difference * size, source.fraction, LEGACY_RANGE) + size // 2, INT)
        return np.clip(at, 0, size - 1).astype(np.int64)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shape, and that the tables lie in their type."""
        found = [*_shape_problems(self, args)]
        for name, table in (("exponential", self.exponentials), ("inverse", self.inverses)):
            if table.ndim != 1 or not table.size:
                found.append(f"the table of {name}s has shape {table.shape}")
            found += _code_problems(name, table, self.table_type)
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Argmax(Node):
    """Give 1 for the first of the largest elements of each position, 0 for the others.

    As hls4ml's `softmax_argmax` (nnet_activation.h).
    """

    kind: Literal["argmax"] = "argmax"

    @property
    def one(self) -> int:
        """Return what the output type holds after an assignment of 1."""
        return int(cast(np.array([1]), 0, self.type, 2)[0])

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Compute every position by itself."""
        (x,) = args
        first = np.expand_dims(np.argmax(x.raw, axis=-1), -1)
        result = np.where(np.arange(self.shape[-1]) == first, self.one, 0)
        return FixedArray(integers(result, self.type.width), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check that the shape is kept."""
        return tuple(_shape_problems(self, args))


def balanced(count: int) -> int:
    """Return how many of `count` > 1 terms hls4ml's `reduce` (nnet_common.h) adds on the left: a power of two."""
    return 1 << ((count - 1).bit_length() - 1)


def first_bits(raw: IntArray, kind: FixedType, size: int) -> IntArray:
    """Return the first log2(size) bits of raw integers of a type as indices; a sign is the first one."""
    bits = size.bit_length() - 1
    return ((raw >> (kind.width - bits)) & (size - 1)).astype(np.int64)


def whole(raw: IntArray, fraction: int, divisor: int) -> IntArray:
    """Return raw / divisor, a power of two, as C's int, both steps cut towards zero.

    fraction: of the values. As ap_fixed, whose quotients keep the fraction bits of the dividend.
    """
    quotient = round_off(raw, divisor.bit_length() - 1, Rounding.TRN_ZERO)
    if fraction >= 0:
        return limit(round_off(quotient, fraction, Rounding.TRN_ZERO), INT)
    return limit(quotient.astype(object) << -fraction, INT)


def _shape_problems(node: Node, args: tuple[Node, ...]) -> tuple[str, ...]:
    return () if args[0].shape == node.shape else (f"shape {node.shape} differs from its input's {args[0].shape}",)


def _code_problems(name: str, codes: IntArray, kind: FixedType) -> tuple[str, ...]:
    if codes.size and not (kind.lo <= int(codes.min()) and int(codes.max()) <= kind.hi):
        return (f"a table's {name} is outside {kind}",)
    return ()
