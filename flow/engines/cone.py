"""The cone IR: straight-line integer arithmetic that becomes one unrolled piece of hardware.

A cone is a tuple of operations in dependency order; operation k defines value k. All values are integers with a
known range, so each has a smallest width and nothing overflows unless an operation says so. The IR knows neither
registers nor fixed points: stages are assigned by `pipeline`, fraction bits live in the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flow.fixed import FixedType, IntArray, Overflow, Rounding, integers, limit, round_off


def signed_width(lo: int, hi: int) -> int:
    """Return the bits of the smallest two's complement number that holds lo..hi."""
    return max(lo.bit_length() if lo >= 0 else (~lo).bit_length(), hi.bit_length() if hi >= 0 else (~hi).bit_length()) + 1


@dataclass(frozen=True, slots=True)
class Read:
    """Take element `element` of input tensor `port`."""

    port: int
    element: int


@dataclass(frozen=True, slots=True)
class Constant:
    """Give a fixed integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Add:
    """Give `(a << shift_a) ± (b << shift_b)`; one of the shifts is 0."""

    a: int
    b: int
    shift_a: int = 0
    shift_b: int = 0
    subtract: bool = False


@dataclass(frozen=True, slots=True)
class Shift:
    """Give `a << bits`: wiring only."""

    a: int
    bits: int


@dataclass(frozen=True, slots=True)
class Round:
    """Give `a / 2**bits`, rounded to an integer by `mode`."""

    a: int
    bits: int
    mode: Rounding


@dataclass(frozen=True, slots=True)
class Limit:
    """Bring `a` into the range of a `width`-bit integer by `mode`."""

    a: int
    width: int
    signed: bool
    mode: Overflow

    @property
    def type(self) -> FixedType:
        """Return the integer type whose range the result has."""
        return FixedType(self.width, self.width, self.signed, Rounding.TRN, self.mode)


@dataclass(frozen=True, slots=True)
class Select:
    """Give `positive` where `a > 0`, else `other`."""

    a: int
    positive: int
    other: int


Op = Read | Constant | Add | Shift | Round | Limit | Select


def operands(op: Op) -> tuple[int, ...]:
    """Return the values that an operation reads."""
    match op:
        case Read() | Constant():
            return ()
        case Add():
            return (op.a, op.b)
        case Select():
            return (op.a, op.positive, op.other)
        case _:
            return (op.a,)


@dataclass(frozen=True, slots=True)
class Port:
    """Describe an input tensor of a cone: which edge it is, and the range of its elements."""

    edge: str
    size: int
    lo: int
    hi: int


@dataclass(frozen=True, slots=True, eq=False)
class Cone:
    """Hold one unrolled piece of hardware.

    inputs: tensors it reads. ops: operations. ranges: (lo, hi) of each value, exact bounds. outputs: the value of
    each element of the output tensor, row-major.
    """

    name: str
    inputs: tuple[Port, ...]
    ops: tuple[Op, ...]
    ranges: tuple[tuple[int, int], ...]
    outputs: tuple[int, ...]

    def width(self, value: int) -> int:
        """Return the signed width of a value in bits."""
        return signed_width(*self.ranges[value])


class ConeBuilder:
    """Append operations, fold constants, share equal operations, and keep ranges."""

    def __init__(self, name: str, inputs: tuple[Port, ...]) -> None:
        self.name = name
        self.inputs = inputs
        self._ops: list[Op] = []
        self._ranges: list[tuple[int, int]] = []
        self._known: dict[Op, int] = {}

    def range(self, value: int) -> tuple[int, int]:
        """Return the bounds of a value."""
        return self._ranges[value]

    def _append(self, op: Op, lo: int, hi: int) -> int:
        if lo == hi and not isinstance(op, Constant):
            return self.constant(lo)
        known = self._known.get(op)
        if known is None:
            known = self._known[op] = len(self._ops)
            self._ops.append(op)
            self._ranges.append((lo, hi))
        return known

    def read(self, port: int, element: int) -> int:
        """Append a Read."""
        return self._append(Read(port, element), self.inputs[port].lo, self.inputs[port].hi)

    def constant(self, value: int) -> int:
        """Append a Constant."""
        return self._append(Constant(value), value, value)

    def add(self, a: int, b: int, *, shift_a: int = 0, shift_b: int = 0, subtract: bool = False) -> int:
        """Append `(a << shift_a) ± (b << shift_b)`."""
        (alo, ahi), (blo, bhi) = self._ranges[a], self._ranges[b]
        if (blo, bhi) == (0, 0):
            return self.shift(a, shift_a)
        if (alo, ahi) == (0, 0) and not subtract:
            return self.shift(b, shift_b)
        common = min(shift_a, shift_b)
        if common:
            return self.shift(self.add(a, b, shift_a=shift_a - common, shift_b=shift_b - common, subtract=subtract), common)
        alo, ahi, blo, bhi = alo << shift_a, ahi << shift_a, blo << shift_b, bhi << shift_b
        lo, hi = (alo - bhi, ahi - blo) if subtract else (alo + blo, ahi + bhi)
        return self._append(Add(a, b, shift_a, shift_b, subtract), lo, hi)

    def negate(self, a: int) -> int:
        """Append `0 - a`."""
        return self.add(self.constant(0), a, subtract=True)

    def shift(self, a: int, bits: int) -> int:
        """Append `a << bits`."""
        lo, hi = self._ranges[a]
        op = self._ops[a]
        if bits == 0:
            return a
        if isinstance(op, Shift):
            return self.shift(op.a, op.bits + bits)
        return self._append(Shift(a, bits), lo << bits, hi << bits)

    def round(self, a: int, bits: int, mode: Rounding) -> int:
        """Append a Round; exact multiples of `2**bits` only lose their zeros."""
        if bits == 0:
            return a
        lo, hi = (int(v) for v in round_off(np.array(self._ranges[a], dtype=object), bits, mode))
        op = self._ops[a]
        if isinstance(op, Shift) and op.bits >= bits:
            return self.shift(op.a, op.bits - bits)
        return self._append(Round(a, bits, mode), lo, hi)

    def limit(self, a: int, target: FixedType) -> int:
        """Append a Limit unless the range shows that it changes nothing."""
        lo, hi = self._ranges[a]
        if target.lo <= lo and hi <= target.hi:
            return a
        op = Limit(a, target.width, target.signed, target.overflow)
        if target.overflow in {Overflow.SAT, Overflow.SAT_SYM}:
            return self._append(op, min(max(lo, target.lo), target.hi), max(min(hi, target.hi), target.lo))
        if target.overflow is Overflow.SAT_ZERO:
            return self._append(op, min(max(lo, target.lo), 0), max(min(hi, target.hi), 0))
        return self._append(op, target.lo, target.hi)

    def select(self, a: int, positive: int, other: int) -> int:
        """Append a Select; a is the same value or decided by its range where possible."""
        lo, hi = self._ranges[a]
        if lo > 0 or positive == other:
            return positive
        if hi <= 0:
            return other
        (plo, phi), (olo, ohi) = self._ranges[positive], self._ranges[other]
        if positive == a:
            plo = 1
        return self._append(Select(a, positive, other), min(plo, olo), max(phi, ohi))

    def cast(self, a: int, fraction: int, target: FixedType) -> int:
        """Append an assignment of a value with `fraction` fraction bits to a type."""
        drop = fraction - target.fraction
        return self.limit(self.round(a, drop, target.rounding) if drop >= 0 else self.shift(a, -drop), target)

    def finish(self, outputs: tuple[int, ...]) -> Cone:
        """Return the cone with the operations that the outputs need."""
        needed = set(outputs)
        for k in range(len(self._ops) - 1, -1, -1):
            if k in needed:
                needed.update(operands(self._ops[k]))
        order = sorted(needed)
        new = {old: k for k, old in enumerate(order)}
        ops = tuple(_renumber(self._ops[k], new) for k in order)
        return Cone(self.name, self.inputs, ops, tuple(self._ranges[k] for k in order), tuple(new[v] for v in outputs))


def _renumber(op: Op, new: dict[int, int]) -> Op:
    match op:
        case Read() | Constant():
            return op
        case Add(a, b, shift_a, shift_b, subtract):
            return Add(new[a], new[b], shift_a, shift_b, subtract)
        case Shift(a, bits):
            return Shift(new[a], bits)
        case Round(a, bits, mode):
            return Round(new[a], bits, mode)
        case Limit(a, width, signed, mode):
            return Limit(new[a], width, signed, mode)
        case Select(a, positive, other):
            return Select(new[a], new[positive], new[other])


def run_cone(cone: Cone, tensors: tuple[IntArray, ...]) -> IntArray:
    """Compute the outputs, shape (batch, outputs), for tensors of shape (batch, size); exact for any width."""
    values: list[IntArray] = []
    batch = tensors[0].shape[0]
    for op, (lo, hi) in zip(cone.ops, cone.ranges, strict=True):
        bits = signed_width(lo, hi)
        match op:
            case Read(port, element):
                value = tensors[port][:, element]
            case Constant(constant):
                value = np.full(batch, constant, dtype=object if bits > 63 else np.int64)
            case Add(a, b, shift_a, shift_b, subtract):
                wide = max(signed_width(*cone.ranges[v]) for v in (a, b)) + max(shift_a, shift_b) + 1
                left = integers(values[a], wide) << shift_a
                right = integers(values[b], wide) << shift_b
                value = left - right if subtract else left + right
            case Shift(a, shift):
                value = integers(values[a], bits) << shift
            case Round(a, shift, mode):
                value = round_off(integers(values[a], cone.width(a) + 1), shift, mode)
            case Limit(a):
                value = limit(integers(values[a], cone.width(a) + 1), op.type)
            case Select(a, positive, other):
                value = np.where(values[a] > 0, values[positive], values[other])
        values.append(integers(value, bits))
    return np.stack([values[v] for v in cone.outputs], axis=1)


def check_cone(cone: Cone) -> None:
    """Raise ValueError when an operation reads a value that is not defined before it."""
    for k, op in enumerate(cone.ops):
        if any(not 0 <= v < k for v in operands(op)):
            raise ValueError(f"cone {cone.name}: operation {k} reads a later value")
    if any(not 0 <= v < len(cone.ops) for v in cone.outputs):
        raise ValueError(f"cone {cone.name}: an output is not defined")


def depth(cone: Cone) -> int:
    """Return the largest number of adders in a row."""
    level = [0] * len(cone.ops)
    for k, op in enumerate(cone.ops):
        level[k] = max((level[v] for v in operands(op)), default=0) + isinstance(op, Add)
    return max((level[v] for v in cone.outputs), default=0)
