"""A cone as hardware cells and the wires between them.

Operations that only rename bits (shifts, truncation, wrapping, the low bits that an adder passes on) are no
hardware: their values are views of bits that cells or the cone's inputs drive. What remains are cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flow.engines.cone import Add, Cone, Constant, Limit, Lookup, Multiply, Op, Read, Round, Select, Shift, operands
from flow.engines.rounding import one_signed, rounded
from flow.engines.table_columns import bit_patterns, distinct_columns
from flow.fixed import Overflow, Rounding, limit

LITERAL = -1
"""The source of constant bits; their `low` is the value."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Take `count` bits of a cell's output from bit `low` on, or, from LITERAL, the constant `low`."""

    source: int
    low: int
    count: int


@dataclass(frozen=True, slots=True)
class Bits:
    """View a value as segments, least significant first; its top bit is the sign where it is signed.

    A view without segments is 0.
    """

    segments: tuple[Segment, ...] = ()
    signed: bool = False

    @property
    def width(self) -> int:
        """Return the number of bits."""
        return sum(s.count for s in self.segments)

    @property
    def sources(self) -> set[int]:
        """Return the cells that drive bits of this view."""
        return {s.source for s in self.segments if s.source != LITERAL}

    @property
    def is_zero(self) -> bool:
        """Tell whether every bit is the constant 0."""
        return all(s.source == LITERAL and s.low == 0 for s in self.segments)

    @property
    def has_ones(self) -> bool:
        """Tell whether some bit is the constant 1."""
        return any(s.source == LITERAL and s.low for s in self.segments)

    @property
    def zeros(self) -> int:
        """Return the number of low bits that are known to be 0."""
        count = 0
        for s in self.segments:
            if s.source != LITERAL:
                break
            if s.low:
                return count + (s.low & -s.low).bit_length() - 1
            count += s.count
        return count

    @property
    def sign(self) -> Bits:
        """Return the sign as a view of one bit; without bits where the value cannot be negative."""
        return Bits(self.drop(self.width - 1).segments) if self.signed else Bits()

    def drop(self, low: int) -> Bits:
        """Return the bits from bit `low` on; a signed view keeps its sign."""
        if self.signed:
            low = min(low, self.width - 1)
        return Bits(tuple(_cut(self.segments, low, self.width)), self.signed)

    def take(self, count: int) -> Bits:
        """Return exactly `count` low bits, unsigned; above its own bits stand zeros or copies of the sign."""
        width = self.width
        found = _cut(self.segments, 0, min(count, width))
        if count > width:
            if self.signed:
                found += self.sign.segments * (count - width)
            else:
                found.append(Segment(LITERAL, 0, count - width))
        return Bits(tuple(_joined(found)))

    def fitted(self, lo: int, hi: int) -> Bits:
        """Return the same value with as many bits as the range lo..hi needs."""
        return Bits(self.take(stored_width(lo, hi)).segments, lo < 0)


def stored_width(lo: int, hi: int) -> int:
    """Return the bits that hold lo..hi: two's complement where lo is negative, else without a sign bit."""
    if lo >= 0:
        return hi.bit_length()
    return max((~lo).bit_length(), (hi if hi >= 0 else ~hi).bit_length()) + 1


def literal(value: int) -> Bits:
    """Return a constant as bits."""
    width = stored_width(value, value)
    return Bits((Segment(LITERAL, value & ((1 << width) - 1), width),) if width else (), value < 0)


def _cut(segments: tuple[Segment, ...], low: int, high: int) -> list[Segment]:
    found = []
    position = 0
    for s in segments:
        start, stop = max(low - position, 0), min(high - position, s.count)
        if start < stop:
            found.append(_part(s, start, stop - start))
        position += s.count
    return found


def _part(s: Segment, start: int, count: int) -> Segment:
    if count == s.count:
        return s
    low = (s.low >> start) & ((1 << count) - 1) if s.source == LITERAL else s.low + start
    return Segment(s.source, low, count)


def _joined(segments: list[Segment]) -> list[Segment]:
    found: list[Segment] = []
    for s in segments:
        last = found[-1] if found else None
        if last is not None and last.source == s.source == LITERAL:
            found[-1] = Segment(LITERAL, last.low | (s.low << last.count), last.count + s.count)
        elif last is not None and last.source == s.source and last.low + last.count == s.low:
            found[-1] = Segment(s.source, last.low, last.count + s.count)
        else:
            found.append(s)
    return found


def _chained(*views: Bits, signed: bool) -> Bits:
    return Bits(tuple(_joined([s for view in views for s in view.segments])), signed)


@dataclass(frozen=True, slots=True)
class Cell:
    """Drive `width` bits.

    value: the operation of the cone that it belongs to. args: what it reads, by kind of operation:
    Read none; Add the bits that are really added; Round (kept, half, rest, sign); Limit the value; Select (test,
    positive, other) where a test of one bit of a signed value is its sign, inverted; Lookup the address, its output
    being the table's columns; Multiply both factors.
    """

    value: int
    op: Op
    args: tuple[Bits, ...]
    width: int
    signed: bool

    @property
    def clocked(self) -> bool:
        """Tell whether a register of the cell's own stands between what it reads and its output."""
        return isinstance(self.op, Lookup) and self.op.block

    @property
    def sources(self) -> set[int]:
        """Return the cells that this one reads."""
        return {s.source for view in self.args for s in view.segments if s.source != LITERAL}


@dataclass(frozen=True, slots=True, eq=False)
class Wiring:
    """Hold the cells of a cone, which bits of each are used at all, and every value as a view.

    live: a bit mask per cell; a cell without live bits is not built. outputs: views of the output elements.
    """

    cone: Cone
    cells: tuple[Cell, ...]
    live: tuple[int, ...]
    views: tuple[Bits, ...]

    @property
    def ports(self) -> tuple[int | None, ...]:
        """Return, per cell, the input tensor that it reads; None for all but Read."""
        return tuple(cell.op.port if isinstance(cell.op, Read) else None for cell in self.cells)

    def table_width(self, cell: Cell) -> int:
        """Return the bits of a cell's value, some of which may be constant or equal and have no column."""
        return stored_width(*self.cone.ranges[cell.value])

    @property
    def outputs(self) -> tuple[Bits, ...]:
        """Return the views of the output elements."""
        return tuple(self.views[v] for v in self.cone.outputs)


class _Wirer:
    def __init__(self, cone: Cone) -> None:
        self.cone = cone
        self.cells: list[Cell] = []
        self.views: list[Bits] = []

    def cell(self, value: int, args: tuple[Bits, ...], width: int, *, signed: bool) -> Bits:
        self.cells.append(Cell(value, self.cone.ops[value], args, width, signed))
        return Bits((Segment(len(self.cells) - 1, 0, width),), signed)

    def view(self, value: int) -> Bits:  # noqa: PLR0911 (one per kind of operation)
        op, (lo, hi) = self.cone.ops[value], self.cone.ranges[value]
        width, signed = stored_width(lo, hi), lo < 0
        if lo == hi:
            return literal(lo)
        match op:
            case Read():
                return self.cell(value, (), width, signed=signed)
            case Constant(constant):
                return literal(constant)
            case Shift(a, bits):
                return self._shifted(self.views[a], bits)
            case Add():
                return self._sum(value, op, width, signed=signed)
            case Round():
                return self._rounded(value, op, width, signed=signed)
            case Limit(a) if op.type.lo <= self.cone.ranges[a][0] and self.cone.ranges[a][1] <= op.type.hi:
                return Bits(self.views[a].take(width).segments, signed)
            case Limit(a, target, is_signed, Overflow.WRAP):
                low = self.views[a].take(target)
                return Bits(low.segments, is_signed).fitted(lo, hi)
            case Limit(a):
                return self.cell(value, (self.views[a],), width, signed=signed)
            case Select():
                return self._selected(value, op, width, signed=signed)
            case Lookup():
                return self._looked_up(value, op, width, signed=signed)
            case Multiply(a, b):
                return self.cell(value, (self.views[a], self.views[b]), width, signed=signed)

    def _shifted(self, a: Bits, bits: int) -> Bits:
        if not bits or not a.segments:
            return a
        return _chained(Bits((Segment(LITERAL, 0, bits),)), a, signed=a.signed)

    def _sum(self, value: int, op: Add, width: int, *, signed: bool) -> Bits:
        a, b = self._shifted(self.views[op.a], op.shift_a), self._shifted(self.views[op.b], op.shift_b)
        through_a, through_b = min(b.zeros, width), min(a.zeros, width)
        if b.is_zero:
            return Bits(a.take(width).segments, signed)
        if a.is_zero and not op.subtract:
            return Bits(b.take(width).segments, signed)
        through = max(through_a, 0 if op.subtract else through_b)
        low = (a if through == through_a else b).take(through)
        rest = width - through
        a, b = a.drop(through), b.drop(through)
        if b.is_zero:
            high = a.take(rest)
        elif a.is_zero and not op.subtract:
            high = b.take(rest)
        else:
            high = self.cell(value, (a, b), rest, signed=signed)
        return _chained(low, high, signed=signed)

    def _rounded(self, value: int, op: Round, width: int, *, signed: bool) -> Bits:
        a, bits = self.views[op.a], op.bits
        lo, hi = self.cone.ranges[op.a]
        mode = one_signed(op.mode, lo=lo, hi=hi)
        kept = a.drop(bits) if a.signed or bits < a.width else Bits()
        dropped = a.take(bits)
        half, rest, sign = dropped.drop(bits - 1), dropped.take(bits - 1), a.sign
        if mode is Rounding.TRN_ZERO:
            half, rest, never = Bits(), dropped, dropped.is_zero
        else:
            if rest.has_ones and mode is not Rounding.TRN:
                mode = Rounding.RND  # never a tie
            never = mode is Rounding.TRN or half.is_zero or (mode is Rounding.RND_MIN_INF and rest.is_zero)
        if never:
            return Bits(kept.take(width).segments, signed)
        if mode is Rounding.RND:
            rest = Bits()
        if mode not in {Rounding.TRN_ZERO, Rounding.RND_ZERO, Rounding.RND_INF}:
            sign = Bits()
        self.cells.append(Cell(value, replace(op, mode=mode), (kept, half, rest, sign), width, signed))
        return Bits((Segment(len(self.cells) - 1, 0, width),), signed)

    def _selected(self, value: int, op: Select, width: int, *, signed: bool) -> Bits:
        a, positive, other = self.views[op.a], self.views[op.positive], self.views[op.other]
        lowest, highest = self.cone.ranges[op.a]
        if lowest > 0 or highest <= 0:
            return Bits((positive if lowest > 0 else other).take(width).segments, signed)
        if self._hides_negatives(op):
            return Bits(positive.take(width).segments, signed)
        if a.signed:
            same = self._at_zero(op.positive, op.a), self._at_zero(op.other, op.a)
            test = Bits(a.sign.segments, signed=True) if None not in same and same[0] == same[1] else a
        else:
            test = a
        positive, other = positive.take(width), other.take(width)
        equal = [p == q for p, q in zip(_single_bits(positive), _single_bits(other), strict=True)]
        if all(equal):
            return Bits(positive.segments, signed)
        low, high = equal.index(False), width - equal[::-1].index(False)
        args = (test, Bits(positive.take(high).drop(low).segments), Bits(other.take(high).drop(low).segments))
        mixed = self.cell(value, args, high - low, signed=signed and high == width)
        return _chained(positive.take(low), mixed, positive.drop(high), signed=signed)

    def _looked_up(self, value: int, op: Lookup, width: int, *, signed: bool) -> Bits:
        columns = {pattern: place for place, pattern in enumerate(distinct_columns(op.values, width))}
        address = Bits(self.views[op.a].take((len(op.values) - 1).bit_length()).segments)
        source = len(self.cells)
        if columns:
            self.cell(value, (address,), len(columns), signed=False)
        bits = [
            Segment(source, columns[pattern], 1) if pattern in columns else Segment(LITERAL, pattern & 1, 1)
            for pattern in bit_patterns(op.values, width)
        ]
        return Bits(tuple(_joined(bits)), signed)

    def _hides_negatives(self, op: Select) -> bool:
        """Tell whether `positive` is 0 already where the tested value is not positive, as `other` is."""
        if self.cone.ranges[op.other] != (0, 0) or self.cone.ranges[op.positive][0] < 0:
            return False
        value = op.positive
        while value != op.a:
            below = self._rising_from(value)
            if below is None:
                return False
            value = below
        return self._at_zero(op.positive, op.a) == 0

    def _rising_from(self, value: int) -> int | None:
        """Return the one value that `value` never falls with; None where that is not plain to see."""
        match self.cone.ops[value]:
            case Shift(a) | Round(a) | Limit(a, mode=Overflow.SAT | Overflow.SAT_SYM):
                return a
            case Add(a, b, subtract=subtract):
                if isinstance(self.cone.ops[b], Constant):
                    return a
                return b if isinstance(self.cone.ops[a], Constant) and not subtract else None
            case _:
                return None

    def _at_zero(  # noqa: PLR0911 (one per kind of operation)
        self, value: int, tested: int, fuel: int = 12
    ) -> int | None:
        """Return what a value is when `tested` is 0; None where that is not plain to see."""
        if value == tested:
            return 0
        op = self.cone.ops[value]
        if isinstance(op, Constant):
            return op.value
        if isinstance(op, Read) or not fuel:
            return None
        args = []
        for v in operands(op):
            known = self._at_zero(v, tested, fuel - 1)
            if known is None:
                return None
            args.append(known)
        match op:
            case Add(_, _, shift_a, shift_b, subtract):
                a, b = args[0] << shift_a, args[1] << shift_b
                return a - b if subtract else a + b
            case Shift(_, bits):
                return args[0] << bits
            case Round(_, bits, mode):
                return rounded(args[0], bits, mode)
            case Limit():
                return int(limit(np.array([args[0]], dtype=object), op.type)[0])
            case Select():
                return args[1] if args[0] > 0 else args[2]
            case Lookup(_, entries):
                return entries[args[0]]
            case Multiply():
                return args[0] * args[1]


def _single_bits(view: Bits) -> list[tuple[int, int]]:
    found = []
    for s in view.segments:
        if s.source == LITERAL:
            found += [(LITERAL, (s.low >> k) & 1) for k in range(s.count)]
        else:
            found += [(s.source, s.low + k) for k in range(s.count)]
    return found


def wire(cone: Cone) -> Wiring:
    """Return the cells of a cone and its values as views of their bits."""
    wirer = _Wirer(cone)
    for value in range(len(cone.ops)):
        wirer.views.append(wirer.view(value))
    cells = wirer.cells
    live = [0] * len(cells)
    for value in set(cone.outputs):
        _mark(live, wirer.views[value])
    for k in range(len(cells) - 1, -1, -1):
        if live[k]:
            cells[k] = _trimmed(cells[k], live[k].bit_length())
            for view in cells[k].args:
                _mark(live, view)
    return Wiring(cone, tuple(cells), tuple(live), tuple(wirer.views))


def _mark(live: list[int], view: Bits) -> None:
    for s in view.segments:
        if s.source != LITERAL:
            live[s.source] |= ((1 << s.count) - 1) << s.low


def _trimmed(cell: Cell, width: int) -> Cell:
    """Return the cell without the top bits that nobody reads."""
    if width == cell.width or isinstance(cell.op, Read | Limit):
        return cell
    if isinstance(cell.op, Lookup | Multiply):
        return replace(cell, width=width, signed=False)

    def low(view: Bits) -> Bits:
        return Bits(view.take(width).segments) if view.width > width else view

    if isinstance(cell.op, Round):
        return Cell(cell.value, cell.op, (low(cell.args[0]), *cell.args[1:]), width, signed=False)
    if isinstance(cell.op, Select):
        return Cell(cell.value, cell.op, (cell.args[0], *(low(v) for v in cell.args[1:])), width, signed=False)
    return Cell(cell.value, cell.op, tuple(low(v) for v in cell.args), width, signed=False)
