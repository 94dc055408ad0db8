"""What a read-only memory takes on each family: block RAM as Yosys maps it (rom_style "block"), or LUTs ("logic").

Yosys lays a memory out in blocks of one shape: `lanes` bits wide, as deep as that leaves. A memory that is deeper than
a block becomes several banks, whose words stand side by side in the lanes; a multiplexer picks the bank that was
addressed. Of all shapes it takes the one of the least cost, where a block costs what the family's library says and each
multiplexer input beyond the first half a point (Yosys 0.70, pass memory_libmap and the families' brams*.txt). This file
computes the same choice, so that the number of blocks is exact; the tests compare it with Yosys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flow.engines.engine import Resources
from flow.engines.families import XILINX

if TYPE_CHECKING:
    from flow.device.parts import Family

MULTIPLEXER_COST = 0.5
"""Points that Yosys counts for one bit of one two-to-one multiplexer behind the banks."""


@dataclass(frozen=True, slots=True)
class Block:
    """Describe one way to use a family's block RAM.

    lanes: the widths of its read port in bits. depth: words at the narrowest width; each next width halves it. cost: in
    Yosys' points. halves: of the block that flow/synth counts (a RAMB18 is half a RAMB36).
    """

    lanes: tuple[int, ...]
    depth: int
    cost: int
    halves: int


_NARROW = (1, 2, 4, 9, 18)
_WIDE = (*_NARROW, 36)
_XILINX = (
    Block(_NARROW, 16384, 129, 1),
    Block(_WIDE, 32768, 257, 2),
    Block(_WIDE, 16384, 129, 1),
    Block((*_WIDE, 72), 32768, 257, 2),
)
_CASCADE = Block((1,), 65536, 513, 4)  # two RAMB36E1 that share an address

BLOCKS: dict[Family, tuple[Block, ...]] = {
    "xcup": _XILINX,
    "xcu": _XILINX,
    "xc7": (*_XILINX[:2], _CASCADE, *_XILINX[2:]),
    "ecp5": (Block(_NARROW, 16384, 128, 2), Block(_WIDE, 16384, 128, 2)),
    "ice40": (Block((2, 4, 8, 16), 2048, 64, 2),),
    "gowin": (Block(_WIDE, 16384, 128, 2),),
}
"""Each family's blocks in the order in which Yosys looks at them: of equal costs the first one wins."""


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Say how a memory lies in blocks: `count` blocks of `lane` bits, its words spread over `banks`."""

    count: int
    lane: int
    banks: int
    halves: int

    @property
    def select_bits(self) -> int:
        """Return the registered address bits that pick the bank: flip-flops beside the blocks."""
        return (self.banks - 1).bit_length()


def block_layout(words: int, width: int, family: Family) -> BlockLayout:
    """Return how Yosys lays out a memory of `words` words of `width` bits with one synchronous read port."""
    best: tuple[float, BlockLayout] | None = None
    for block in BLOCKS[family]:
        cost, layout = _best_of(block, words, width)
        if best is None or cost < best[0]:
            best = cost, layout
    assert best is not None
    return best[1]


def _best_of(block: Block, words: int, width: int) -> tuple[float, BlockLayout]:
    best: tuple[float, BlockLayout] | None = None
    for k, lane in enumerate(block.lanes):
        banks = -(-words // (block.depth >> k))
        count = -(-banks * width // lane)
        cost = block.cost * count + MULTIPLEXER_COST * (banks - 1) * width
        if best is None or cost < int(best[0]):  # Yosys keeps the best cost of a block without its fraction
            best = cost, BlockLayout(count, lane, banks, count * block.halves)
    assert best is not None
    return best


def rom_resources(words: int, columns: int, family: Family) -> Resources:
    """Return what a memory takes that lies in block RAM, with its own output register.

    Banks are chosen among by LUTs beside the blocks; the bits of the address that choose wait in flip-flops.
    """
    if not columns:
        return Resources()
    layout = block_layout(words, columns, family)
    chosen = columns * -(-(layout.banks - 1) // (3 if family in XILINX else 1))
    blocks, half = -(-layout.halves // 2), layout.halves % 2 == 1
    return Resources(lut=chosen, ff=layout.select_bits, bram=blocks, half_bram=half)


SHORT_BANK = 32
"""Words up to which AMD's LUT RAM is twice as wide."""
SPARSE = 1.25
"""LUTs of four inputs up to which a column of a memory takes about as many as hold its words: 20 words."""
FAR = 256
"""Words beyond which other LUTs join those that hold a column of a memory."""
FAR_JOINED = 1.5
"""What such a column takes over the LUTs that hold its bits; from 320 and 450 words on ECP5 and 7 series."""


def rom_luts(columns: int, words: int, family: Family) -> int:
    """Return the LUTs of a memory of so many words and different columns that lies in LUTs.

    A column takes a LUT for each 64 words, or 16 where LUTs have four inputs. Multiplexers beside them join them where
    the family has such, LUTs elsewhere (iCE40); larger memories are laid out for all addresses.
    """
    inputs = 6 if family in XILINX else 4
    blocks = max(1.0, words / (1 << inputs))
    if words > FAR:
        return round(columns * blocks * FAR_JOINED)
    if blocks > (1 if family in XILINX else SPARSE):
        blocks = float(1 << (words - 1).bit_length() - inputs)
    return round(columns * (2 * blocks - 1 if family == "ice40" else blocks))


def ram_luts(bits: int, words: int, family: Family) -> int:
    """Return the LUTs of a memory that is written and read without a clock, in the family's LUT RAM.

    Cells (Yosys 0.70, lutrams*.txt): RAM32M and RAM64M on 7 series, four LUTs for 32 words of 6 or 64 of 3 bits;
    RAM32M16 and RAM64M8 on UltraScale, eight for 32 of 14 or 64 of 7; TRELLIS_DPR16X4 (six) and RAM16SDP4 (four) for 16
    words of 4. More words are banks, with a choice behind them. Raise ValueError where a family has no such cells.
    """
    match family:
        case "xc7":
            per, luts, deep = (6, 4, 32) if words <= SHORT_BANK else (3, 4, 64)
        case "xcup" | "xcu":
            per, luts, deep = (14, 8, 32) if words <= SHORT_BANK else (7, 8, 64)
        case "ecp5" | "gowin":
            per, luts, deep = (4, 6 if family == "ecp5" else 4, 16)
        case _:
            raise ValueError(f"{family} has no LUT RAM")
    banks = -(-words // deep)
    chosen = -(-(banks - 1) // 3) if family in XILINX else banks - 1
    return banks * -(-bits // per) * luts + bits * chosen
