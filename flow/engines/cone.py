"""The cone IR: straight-line integer arithmetic that becomes one unrolled piece of hardware.

A cone is a tuple of operations in dependency order; operation k defines value k. All values are integers with a
known range, so each has a smallest width and nothing overflows unless an operation says so. The IR knows neither
registers nor fixed points: stages are assigned by `pipeline`, fraction bits live in the graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flow.engines import arithmetic
from flow.engines.blocks import FABRIC, Blocks
from flow.engines.linear_form import LinearForm
from flow.engines.rounding import one_signed, rounded, rounding_offset
from flow.engines.widths import signed_width
from flow.fixed import FixedType, IntArray, Overflow, Rounding, integers, limit, round_off


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


@dataclass(frozen=True, slots=True)
class Lookup:
    """Give `values[a]`; the range of `a` lies within the table.

    block: it lies in block RAM, which reads at a clock edge: exactly one register stands between `a` and the result.
    """

    a: int
    values: tuple[int, ...]
    block: bool = False


@dataclass(frozen=True, slots=True)
class Multiply:
    """Give `a * b` by one DSP block."""

    a: int
    b: int


Op = Read | Constant | Add | Shift | Round | Limit | Select | Lookup | Multiply


def operands(op: Op) -> tuple[int, ...]:
    """Return the values that an operation reads."""
    match op:
        case Read() | Constant():
            return ()
        case Add() | Multiply():
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

    @property
    def output_range(self) -> tuple[int, int]:
        """Return the bounds of the output tensor's elements."""
        ranges = [self.ranges[value] for value in self.outputs]
        return min(lo for lo, _ in ranges), max(hi for _, hi in ranges)


ADDER_DELAY = 150  # against 1 for each bit of its carry chain: 1.13 ns and 7.5 ps on routed UltraScale+ parts
LEVEL_DELAY = 50
BLOCK_DELAY = 350  # 2.58 and 2.82 ns of a DSP block and of a block RAM on the same parts


def op_delay(op: Op, width: int) -> int:
    """Return the delay by which sums are balanced, in units of one carry bit."""
    match op:
        case Add():
            return ADDER_DELAY + width
        case Select():
            return LEVEL_DELAY
        case Limit(mode=mode):
            return 0 if mode is Overflow.WRAP else 2 * LEVEL_DELAY
        case Multiply() | Lookup(block=True):
            return BLOCK_DELAY
        case Lookup(values=values):
            return LEVEL_DELAY * max(1, ((len(values) - 1).bit_length() + 1) // 2 - 1)
        case _:
            return 0


class ConeBuilder:
    """Append operations, fold constants, share equal values, and keep ranges.

    Values that are linear in the inputs carry their coefficients: their ranges are exact, and two ways to compute
    the same sum become one value. Every Round that is appended truncates: the other modes become an offset before
    it (`rounding_offset`), so that a caller can merge the offset with a constant that is added anyway.
    """

    def __init__(self, name: str, inputs: tuple[Port, ...], blocks: Blocks = FABRIC) -> None:
        """blocks: which products and tables stand in DSP blocks and block RAM."""
        self.name = name
        self.blocks = blocks
        self.inputs = inputs
        self._spans = tuple((port.size, port.lo, port.hi) for port in inputs)
        self._elements = sum(port.size for port in inputs)
        self._ops: list[Op] = []
        self._ranges: list[tuple[int, int]] = []
        self._arrivals: list[int] = []
        self._forms: list[LinearForm | None] = []
        self._known: dict[Op | LinearForm, int] = {}

    def range(self, value: int) -> tuple[int, int]:
        """Return the bounds of a value."""
        return self._ranges[value]

    def arrival(self, value: int) -> int:
        """Return when a value is ready, in the unit of `ADDER_DELAY`, the cone's inputs being ready at 0."""
        return self._arrivals[value]

    def _append(self, op: Op, lo: int, hi: int, form: LinearForm | None = None) -> int:
        if form is not None:
            form_lo, form_hi = form.bounds(self._spans)
            lo, hi = max(lo, form_lo), min(hi, form_hi)
        if lo == hi and not isinstance(op, Constant):
            return self.constant(lo)
        known = self._known.get(op)
        if known is None and form is not None:
            known = self._known.get(form)
        if known is None:
            known = len(self._ops)
            self._ops.append(op)
            self._ranges.append((lo, hi))
            self._forms.append(form)
            ready = max((self._arrivals[v] for v in operands(op)), default=0)
            self._arrivals.append(ready + op_delay(op, signed_width(lo, hi)))
            if form is not None:
                self._known.setdefault(form, known)
        self._known[op] = known
        return known

    def read(self, port: int, element: int) -> int:
        """Append a Read."""
        form = LinearForm.of_element(self._elements, sum(p.size for p in self.inputs[:port]) + element)
        return self._append(Read(port, element), self.inputs[port].lo, self.inputs[port].hi, form)

    def constant(self, value: int) -> int:
        """Append a Constant."""
        return self._append(Constant(value), value, value, LinearForm.of_constant(self._elements, value))

    def add(self, a: int, b: int, *, shift_a: int = 0, shift_b: int = 0, subtract: bool = False) -> int:
        """Append `(a << shift_a) ± (b << shift_b)`; wiring in front of the adder becomes part of its shifts."""
        a, shift_a = self._unshifted(a, shift_a)
        b, shift_b = self._unshifted(b, shift_b)
        (alo, ahi), (blo, bhi) = self._ranges[a], self._ranges[b]
        if (blo, bhi) == (0, 0):
            return self.shift(a, shift_a)
        if (alo, ahi) == (0, 0) and not subtract:
            return self.shift(b, shift_b)
        if a == b and shift_a == shift_b:
            return self.constant(0) if subtract else self.shift(a, shift_a + 1)
        common = min(shift_a, shift_b)
        if common:
            return self.shift(
                self.add(a, b, shift_a=shift_a - common, shift_b=shift_b - common, subtract=subtract), common
            )
        if not subtract and a > b:
            a, b, shift_a, shift_b = b, a, shift_b, shift_a
            (alo, ahi), (blo, bhi) = (blo, bhi), (alo, ahi)
        alo, ahi, blo, bhi = alo << shift_a, ahi << shift_a, blo << shift_b, bhi << shift_b
        lo, hi = (alo - bhi, ahi - blo) if subtract else (alo + blo, ahi + bhi)
        form_a, form_b = self._forms[a], self._forms[b]
        form = None
        if form_a is not None and form_b is not None:
            form = form_a.plus(form_b, shift_a=shift_a, shift_b=shift_b, subtract=subtract)
        return self._append(Add(a, b, shift_a, shift_b, subtract), lo, hi, form)

    def unshifted(self, a: int) -> tuple[int, int]:
        """Return (value, zeros) with `a` = value << zeros as far as wiring tells."""
        return self._unshifted(a, 0)

    def narrowed(self, a: int, bounds: tuple[int, int]) -> int:
        """Return `a`, known to lie within `bounds` by more than its operands' ranges."""
        lo, hi = max(self._ranges[a][0], bounds[0]), min(self._ranges[a][1], bounds[1])
        self._ranges[a] = lo, hi
        return self.constant(lo) if lo == hi else a

    def _unshifted(self, a: int, shift: int) -> tuple[int, int]:
        """Return what stands before wiring: a Shift's operand, a constant without its trailing zeros."""
        op = self._ops[a]
        if isinstance(op, Shift):
            return op.a, shift + op.bits
        if isinstance(op, Constant) and op.value:
            zeros = (op.value & -op.value).bit_length() - 1
            return self.constant(op.value >> zeros), shift + zeros
        return a, shift

    def sum_range(self, terms: Iterable[tuple[int, int, bool]], constant: int) -> tuple[int, int]:
        """Return the bounds of a constant plus all `±(value << shift)`, terms being (value, shift, negative)."""
        lo = hi = constant
        form: LinearForm | None = LinearForm.of_constant(self._elements, constant)
        for value, shift, negative in terms:
            low, high = (bound << shift for bound in self._ranges[value])
            lo, hi = (lo - high, hi - low) if negative else (lo + low, hi + high)
            part = self._forms[value]
            form = part and form and form.plus(part, shift_a=0, shift_b=shift, subtract=negative)
        if form is None:
            return lo, hi
        form_lo, form_hi = form.bounds(self._spans)
        return max(lo, form_lo), min(hi, form_hi)

    def negate(self, a: int) -> int:
        """Append `0 - a`."""
        return self.add(self.constant(0), a, subtract=True)

    def shift(self, a: int, bits: int) -> int:
        """Append `a << bits`."""
        if bits == 0:
            return a
        lo, hi = self._ranges[a]
        op = self._ops[a]
        if isinstance(op, Shift):
            return self.shift(op.a, op.bits + bits)
        form = self._forms[a]
        return self._append(Shift(a, bits), lo << bits, hi << bits, None if form is None else form.shifted(bits))

    def round(self, a: int, bits: int, mode: Rounding) -> int:
        """Append `a / 2**bits` rounded to an integer by `mode`; exact multiples of `2**bits` only lose their zeros."""
        if bits == 0:
            return a
        lo, hi = self._ranges[a]
        op = self._ops[a]
        if isinstance(op, Shift) and op.bits >= bits:
            return self.shift(op.a, op.bits - bits)
        if isinstance(op, Shift):
            return self.round(op.a, bits - op.bits, mode)
        mode = one_signed(mode, lo=lo, hi=hi)
        bounds = rounded(lo, bits, mode), rounded(hi, bits, mode)
        half = 1 << (bits - 1)
        match mode:
            case Rounding.TRN_ZERO:
                up, down = 0, 2 * half - 1
            case Rounding.RND_ZERO:
                up, down = half - 1, half
            case Rounding.RND_INF:
                up, down = half, half - 1
            case _:
                return self.round_prepared(self.add(a, self.constant(rounding_offset(mode, bits))), bits, mode)
        return self._truncate(self.add(a, self.select(a, self.constant(up), self.constant(down))), bits, bounds)

    def round_prepared(self, a: int, bits: int, mode: Rounding) -> int:
        """Finish a rounding by a mode that has a `rounding_offset`, which was added already."""
        lo, hi = self._ranges[a]
        if mode is not Rounding.RND_CONV or bits == 0:
            return self._truncate(a, bits, (lo >> bits, hi >> bits))
        value = self._truncate(a, bits, (lo >> bits, hi >> bits))
        # half was added, so exactly the ties have zeros below; their even neighbour lacks the last bit
        below = self.limit(a, FixedType(bits, bits, signed=False))
        even = self.shift(self._truncate(value, 1, (lo >> (bits + 1), hi >> (bits + 1))), 1)
        offset = rounding_offset(mode, bits)
        return self.select(below, value, even, (rounded(lo - offset, bits, mode), rounded(hi - offset, bits, mode)))

    def _truncate(self, a: int, bits: int, bounds: tuple[int, int]) -> int:
        op = self._ops[a]
        if bits == 0:
            return a
        if isinstance(op, Shift):
            return self.shift(op.a, op.bits - bits) if op.bits >= bits else self._truncate(op.a, bits - op.bits, bounds)
        if isinstance(op, Round):
            return self._truncate(op.a, op.bits + bits, bounds)
        return self._append(Round(a, bits, Rounding.TRN), *bounds)

    def limit(self, a: int, target: FixedType) -> int:
        """Append a Limit unless the range shows that it changes nothing."""
        lo, hi = self._ranges[a]
        if target.lo <= lo and hi <= target.hi:
            return a
        if lo == hi:
            return self.constant(int(limit(np.array([lo], dtype=object), target)[0]))
        op = Limit(a, target.width, target.signed, target.overflow)
        return self._append(op, *_limited(lo, hi, target))

    def select(self, a: int, positive: int, other: int, bounds: tuple[int, int] | None = None) -> int:
        """Append a Select, decided by ranges where possible; bounds: what the result is known to keep."""
        lo, hi = self._ranges[a]
        if lo > 0 or positive == other:
            return positive
        if hi <= 0:
            return other
        (plo, phi), (olo, ohi) = self._ranges[positive], self._ranges[other]
        if positive == a:
            plo = max(plo, 1)
        if other == a:
            ohi = min(ohi, 0)
        lo, hi = min(plo, olo), max(phi, ohi)
        if bounds is not None:
            lo, hi = max(lo, bounds[0]), min(hi, bounds[1])
        return self._append(Select(a, positive, other), lo, hi)

    def maximum(self, a: int, b: int) -> int:
        """Append the larger one of two values."""
        a, b = self._constant_last(a, b)
        (alo, ahi), (blo, bhi) = self._ranges[a], self._ranges[b]
        return self.select(self.add(a, b, subtract=True), a, b, (max(alo, blo), max(ahi, bhi)))

    def minimum(self, a: int, b: int) -> int:
        """Append the smaller one of two values."""
        a, b = self._constant_last(a, b)
        (alo, ahi), (blo, bhi) = self._ranges[a], self._ranges[b]
        return self.select(self.add(a, b, subtract=True), b, a, (min(alo, blo), min(ahi, bhi)))

    def _constant_last(self, a: int, b: int) -> tuple[int, int]:
        """Return two values so that a difference from 0 is no adder."""
        lo, hi = self._ranges[a]
        return (b, a) if lo == hi else (a, b)

    def multiply(self, a: int, b: int) -> int:
        """Append `a * b`, built from adders where no DSP block takes it."""
        return arithmetic.multiply(self, a, b)

    def product(self, a: int, b: int, bounds: tuple[int, int]) -> int:
        """Append a Multiply as it stands; bounds: of the product."""
        return self._append(Multiply(min(a, b), max(a, b)), *bounds)

    def divide(self, a: int, divisor: int, *, towards_zero: bool) -> int:
        """Append the integer quotient of a value and a positive constant, rounded down or towards zero."""
        return arithmetic.divide(self, a, divisor, towards_zero=towards_zero)

    def lookup(self, a: int, values: tuple[int, ...]) -> int:
        """Append `values[a]`; raise ValueError where the range of `a` goes beyond the table."""
        return arithmetic.lookup(self, a, values)

    def table(self, a: int, values: tuple[int, ...], bounds: tuple[int, int]) -> int:
        """Append a Lookup as it stands, in block RAM where its size suits that; bounds: of what can be read."""
        return self._append(Lookup(a, values, self.blocks.stores(len(values))), *bounds)

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


def _limited(lo: int, hi: int, target: FixedType) -> tuple[int, int]:
    """Return bounds of what values in lo..hi become in a type."""
    if target.overflow in {Overflow.SAT, Overflow.SAT_SYM}:
        return min(max(lo, target.lo), target.hi), max(min(hi, target.hi), target.lo)
    if target.overflow is Overflow.SAT_ZERO:
        if lo > target.hi or hi < target.lo:
            return 0, 0
        return min(max(lo, target.lo), 0), max(min(hi, target.hi), 0)
    turns = (lo - target.lo) >> target.width
    if turns == (hi - target.lo) >> target.width:
        return lo - (turns << target.width), hi - (turns << target.width)
    return target.lo, target.hi


def _renumber(op: Op, new: dict[int, int]) -> Op:  # noqa: PLR0911 (one per kind of operation)
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
        case Lookup(a, values, block):
            return Lookup(new[a], values, block)
        case Multiply(a, b):
            return Multiply(new[a], new[b])


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
            case Lookup(a, entries):
                table = integers(np.array(entries, dtype=object), bits)
                value = table[values[a].astype(np.int64)]
            case Multiply(a, b):
                wide = cone.width(a) + cone.width(b)
                value = integers(values[a], wide) * integers(values[b], wide)
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
