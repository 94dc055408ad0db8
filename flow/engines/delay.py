"""The delay of one cell."""

from __future__ import annotations

from flow.device.delays import Delays
from flow.engines.cone import Add, Limit, Lookup, Multiply, Read, Round, Select
from flow.engines.wiring import LITERAL, Bits, Cell
from flow.fixed import Overflow, Rounding

LEVEL_INPUTS = 4  # signals that one level decides on beside the bit that it passes
NARROW_SUM = 2  # bits up to which a sum is a level of logic
TABLE_LEVELS = 0.5
"""Levels of a table for each address bit beyond those of its first LUTs.

Eight tables between registers, routed by nextpnr 0.11.1, took, in levels of the delay table: ECP5 1.1 (6 address bits),
2.3 and 2.4 (8), 3.3 to 3.6 (10), 4.7 (12); iCE40UP5K 1.2, 3.0 and 3.6, 3.6 to 5.5, 6.2.
"""


def cell_delay(cell: Cell, delays: Delays) -> float:  # noqa: PLR0911 (one per kind of operation)
    """Return the delay from a cell's operands to its result, in ns, routing included.

    Of a block RAM: from the clock edge, beyond what a register takes. Raises ValueError where a block's delay is not
    known.
    """
    match cell.op:
        case Read():
            return 0.0
        case Add():
            return _sum_ns(cell.width, delays)
        case Round(mode=mode):
            tie = 0 if mode is Rounding.RND else _levels(_signals(cell.args[2]) + 2)
            return tie * delays.level_ns + _sum_ns(cell.width, delays)
        case Limit(mode=mode):
            tested = _signals(cell.args[0]) - cell.width + (mode is Overflow.SAT_ZERO) + 1
            if mode is Overflow.SAT_SYM:
                tested = _signals(cell.args[0])
            return _test_and_choose(tested, delays)
        case Select():
            return _test_and_choose(_signals(cell.args[0]), delays)
        case Lookup(block=True):
            return max(0.0, _known(delays.bram_ns) - delays.register_ns)
        case Multiply():
            return _known(delays.dsp_ns)
        case Lookup(values=values):
            return _table_levels((len(values) - 1).bit_length()) * delays.level_ns
        case _:
            raise TypeError(f"{type(cell.op).__name__} is no cell")


def _known(block_ns: float | None) -> float:
    if block_ns is None:
        raise ValueError("no delay of this block is known")
    return block_ns


def _signals(view: Bits) -> int:
    return sum(s.count for s in view.segments if s.source != LITERAL)


def _sum_ns(bits: int, delays: Delays) -> float:
    if bits <= NARROW_SUM:
        return delays.level_ns
    return delays.carry_ns + bits * delays.carry_bit_ns


def _levels(signals: int) -> int:
    """Return the levels of logic that a function of so many signals takes."""
    levels = 0
    while signals > 1:
        signals = -(-signals // LEVEL_INPUTS)
        levels += 1
    return levels


def _table_levels(bits: int) -> float:
    """Return the levels of logic of a table with so many address bits."""
    return 1 + max(0, bits - LEVEL_INPUTS) * TABLE_LEVELS


def _test_and_choose(tested: int, delays: Delays) -> float:
    """Return the delay of a choice by a test; a test of few signals is part of the level that chooses."""
    return (1 if tested < LEVEL_INPUTS else 1 + _levels(tested)) * delays.level_ns
