"""LUTs and flip-flops of a placed cone, as Yosys maps it to each family.

Flip-flops are counted, not estimated. LUTs follow what the mappers do with each cell: a carry chain takes what the
family's carry cells take per bit, logic beside chains one LUT per bit and more where a test has many signals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flow.engines.cone import Add, Limit, Lookup, Multiply, Read, Round, Select
from flow.engines.engine import Resources
from flow.engines.families import XILINX
from flow.engines.memory import rom_resources
from flow.engines.multiplier import family_halves
from flow.engines.pipeline import PlacedCone
from flow.engines.registers import held_bits
from flow.engines.table_columns import distinct_columns
from flow.engines.table_luts import table_luts
from flow.engines.wiring import LITERAL, Bits, Cell
from flow.fixed import Rounding

if TYPE_CHECKING:
    from flow.device.parts import Family

SHARED_INVERTERS = 0.6
"""Share of the subtracted bits for which iCE40, whose carry cells cannot invert, needs a LUT; measured with Yosys."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Count logic whose `bits` bits are each a function of `data` signals of their own and `tested` common ones."""

    tested: int
    data: int
    bits: int

    def luts(self, inputs: int) -> int:
        """Return the LUTs: one per bit, and where they have too few inputs a tree that tests what is common."""
        if not self.bits:
            return -(-(self.tested - 1) // (inputs - 1))
        if self.tested + self.data <= inputs:
            return self.bits
        return self.bits + max(1, -(-(self.tested - 1) // (inputs - 1)))


@dataclass(frozen=True, slots=True)
class Table:
    """Name a table that is read without a clock: its columns, and how many words they have."""

    columns: tuple[int, ...]
    words: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Count the parts of a cone's logic that families map differently.

    chain_bits: bits in carry chains. chain_pairs: those of them rounded up to even per chain. mixed_bits: chain bits
    that combine two signals, equal pairs of a chain once. inverted: signals that a chain reads inverted where the
    other operand is constant. subtracted: signals that a chain subtracts and something else reads, too. gated:
    chain bits that add a signal which a test keeps or turns into a constant, for this chain alone. logic: what stands
    outside the chains. tables: constant tables, once for each place. block_tables: those in block RAM. products: widths
    of both factors of each DSP block.
    """

    chain_bits: int
    chain_pairs: int
    mixed_bits: int
    inverted: int
    subtracted: int
    gated: int
    logic: tuple[Choice, ...]
    tables: tuple[Table, ...]
    block_tables: tuple[Table, ...]
    products: tuple[tuple[int, int], ...]


def area(cone: PlacedCone, family: Family) -> Resources:
    """Return the LUTs (carry cells included), flip-flops, DSP blocks and block RAM of a cone on a family."""
    sizes = measure(cone)
    inputs = 6 if family in XILINX else 4
    lut = sum(choice.luts(inputs) for choice in sizes.logic)
    lut += sum(table_luts(table.columns, table.words, family, inputs) for table in sizes.tables)
    match family:
        case "ecp5":
            lut += sizes.chain_pairs
        case "ice40":
            lut += sizes.chain_bits + round(SHARED_INVERTERS * sizes.subtracted)
        case "gowin":
            lut += sizes.chain_bits
        case _:
            lut += sizes.mixed_bits + sizes.inverted - sizes.gated  # a gate joins the LUT before the carry cell
    halves = sum(family_halves(a, b, family) for a, b in sizes.products)
    dsp = Resources(dsp=-(-halves // 2), half_dsp=halves % 2 == 1)
    fabric = Resources(lut=lut, ff=sum(held.mask.bit_count() for held in held_bits(cone)))
    return sum((rom_resources(t.words, len(t.columns), family) for t in sizes.block_tables), fabric + dsp)


def measure(cone: PlacedCone) -> Sizes:
    """Count the logic of a cone."""
    readers = _reader_counts(cone)
    chain_bits = chain_pairs = mixed_bits = gated = 0
    inverted: set[tuple[int, int, int]] = set()
    subtracted: set[tuple[int, int, int]] = set()
    logic: list[Choice] = []
    tables: list[Table] = []
    block_tables: list[Table] = []
    products: list[tuple[int, int]] = []
    read_at_once = _read_at_once(cone)
    for number, (cell, live, stage) in enumerate(zip(cone.wiring.cells, cone.wiring.live, cone.stages, strict=True)):
        if not live or isinstance(cell.op, Read):
            continue
        if isinstance(cell.op, Limit | Select):
            choice = _choice(cell)
            # behind a choice of one constant, flip-flops are cleared or set instead
            logic.append(replace(choice, bits=0) if number not in read_at_once and _is_constant(cone, cell) else choice)
            continue
        if isinstance(cell.op, Lookup):
            columns = distinct_columns(cell.op.values, cone.wiring.table_width(cell))[: cell.width]
            (block_tables if cell.op.block else tables).append(Table(columns, len(cell.op.values)))
            continue
        if isinstance(cell.op, Multiply):
            products.append((cone.wiring.cone.width(cell.op.a), cone.wiring.cone.width(cell.op.b)))
            continue
        if isinstance(cell.op, Round) and cell.op.mode is not Rounding.RND:
            logic.append(Choice(_signals(cell.args[2]) + 1, 1, 1))
        if cell.width == 1:
            logic.append(Choice(0, 2, 1))
            continue
        chain_bits += cell.width
        chain_pairs += cell.width + cell.width % 2
        pairs = set()
        negates = isinstance(cell.op, Add) and cell.op.subtract
        for a, b in _chain(cell):
            if a[0] != LITERAL and b[0] != LITERAL:
                pairs.add((a, b))
                gated += any(_is_gated(cone, bit, stage, readers) for bit in (a, b))
            elif a[0] != b[0] and (a[1] if a[0] == LITERAL else b[1]) != negates:
                inverted.add((*(b if a[0] == LITERAL else a), stage))
            if negates and b[0] != LITERAL and _is_shared(cone, b, stage, readers):
                subtracted.add((*b, stage))
        mixed_bits += len(pairs)
    return Sizes(
        chain_bits,
        chain_pairs,
        mixed_bits,
        len(inverted),
        len(subtracted),
        gated,
        tuple(logic),
        tuple(tables),
        tuple(block_tables),
        tuple(products),
    )


Bit = tuple[int, int]
"""A cell and one of its bits, or LITERAL and the value of a constant bit."""


def _each_bit(view: Bits) -> Iterator[Bit]:
    for s in view.segments:
        for k in range(s.count):
            yield (LITERAL, (s.low >> k) & 1) if s.source == LITERAL else (s.source, s.low + k)


def _chain(cell: Cell) -> Iterator[tuple[Bit, Bit]]:
    """Return both operands of each bit of a carry chain."""
    a = cell.args[0].take(cell.width)
    b = cell.args[1].take(cell.width)
    return zip(_each_bit(a), _each_bit(b), strict=True)


def _is_shared(cone: PlacedCone, bit: Bit, stage: int, readers: Counter[Bit]) -> bool:
    """Tell whether a bit cannot simply be made inverted where it is made."""
    source, _ = bit
    return isinstance(cone.wiring.cells[source].op, Read) or cone.stages[source] != stage or readers[bit] > 1


def _is_gated(cone: PlacedCone, bit: Bit, stage: int, readers: Counter[Bit]) -> bool:
    """Tell whether a bit is a signal or a constant by a test of one signal, made here for one reader."""
    source, _ = bit
    cell = cone.wiring.cells[source]
    if not isinstance(cell.op, Select) or cone.stages[source] != stage or readers[bit] > 1:
        return False
    choice = _choice(cell)
    return choice.tested == choice.data == 1


def _reader_counts(cone: PlacedCone) -> Counter[Bit]:
    count: Counter[Bit] = Counter()
    for cell, live in zip(cone.wiring.cells, cone.wiring.live, strict=True):
        if live:
            for view in cell.args:
                count.update(_each_bit(view))
    for view in cone.wiring.outputs:
        count.update(_each_bit(view))
    return count


def _is_constant(cone: PlacedCone, cell: Cell) -> bool:
    """Tell whether a cell gives one value as it is, or else a constant, by the same test for all bits."""
    if isinstance(cell.op, Select):
        choice = _choice(cell)
        return choice.tested == choice.data == 1
    assert isinstance(cell.op, Limit)
    lo, hi = cone.wiring.cone.ranges[cell.op.a]
    return (lo < cell.op.type.lo) != (hi > cell.op.type.hi)


def _read_at_once(cone: PlacedCone) -> set[int]:
    """Return the cells that something reads in their own stage, not only registers."""
    found: set[int] = set()
    for cell, live, stage in zip(cone.wiring.cells, cone.wiring.live, cone.stages, strict=True):
        if live:
            sources = {s.source for view in cell.args for s in view.segments if s.source != LITERAL}
            found.update(source for source in sources if cone.stages[source] == stage - cell.clocked)
    for view in cone.wiring.outputs:
        found.update(s.source for s in view.segments if s.source != LITERAL and cone.stages[s.source] == cone.departure)
    return found


def _signals(view: Bits) -> int:
    return sum(s.count for s in view.segments if s.source != LITERAL)


def _choice(cell: Cell) -> Choice:
    if isinstance(cell.op, Limit):
        return Choice(_signals(cell.args[0]) - cell.width, 1, cell.width)
    constant = any(_signals(view) == 0 for view in cell.args[1:])
    return Choice(_signals(cell.args[0]), 1 if constant else 2, cell.width)
