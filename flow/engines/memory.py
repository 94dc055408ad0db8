"""What a read-only memory takes on each family: block RAM as Yosys maps it (rom_style "block"), or LUTs ("logic").

Yosys lays a memory out in blocks of one shape: `lanes` bits wide, as deep as that leaves. A memory that is deeper than
a block becomes several banks, whose words stand side by side in the lanes; a multiplexer picks the bank that was
addressed. Of all shapes it takes the one of the least cost, where a block costs what the family's library says and each
multiplexer input beyond the first half a point (Yosys 0.70, pass memory_libmap and the families' brams*.txt). This file
computes the same choice, so that the number of blocks is exact; the tests compare it with Yosys.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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


def bram_halves(words: int, width: int, family: Family) -> int:
    """Return the block RAM that a memory takes, in halves of the family's block; exactly what Yosys maps it to.

    words: at least 2. width: the bits that differ between words (`varying_bits`), at least 1: Yosys takes the others
    out of the memory, and all of it where the words are equal. A design's blocks are the sum of its halves, divided by
    two and rounded up.
    """
    return block_layout(words, width, family).halves


def varying_bits(contents: Iterable[int]) -> int:
    """Return how many bits of a word are not the same in all words; contents: the words, not negative."""
    words = iter(contents)
    first = next(words)
    differing = 0
    for word in words:
        differing |= word ^ first
    return differing.bit_count()


MEASURED_WORDS = (
    *(4, 6, 8, 12, 16, 20, 24, 32, 33, 40, 48, 64, 65, 72, 80),
    *(90, 100, 128, 130, 136, 150, 200, 256, 258, 272, 300, 384, 512, 700, 1000),
)

LUTS_PER_BIT: dict[Family, tuple[float, ...]] = {
    "xcup": (
        *(0.2, 0.8, 0.9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2),
        *(2, 2, 2, 3, 4, 4, 4.3, 4, 4.2, 6.2, 8.5, 7.5, 10.5, 14.4, 21.8),
    ),
    "ecp5": (
        *(0.2, 0.8, 0.9, 1, 1, 1.9, 2, 2, 2, 4, 4, 4, 4, 8, 8),
        *(8, 8, 8, 8.9, 14.4, 14, 18.4, 18.4, 19.1, 26.9, 28.9, 30.7, 36.4, 55.1, 87.4),
    ),
    "gowin": (
        *(0.2, 0.9, 0.9, 1, 1, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8),
        *(8, 8, 8, 16, 16, 16, 16, 16, 24.3, 25.1, 32.9, 36.5, 43.8, 62.8, 90.2),
    ),
    "ice40": (
        *(0.2, 0.8, 0.9, 1, 1, 2.2, 3.1, 3.8, 3.7, 6.1, 6.3, 9.2, 9.1, 10.8, 12.3),
        *(13.6, 15.6, 19.5, 19.4, 20.5, 22.6, 29.9, 36.4, 36.6, 39.2, 42.8, 54.8, 67.8, 98.8, 132.5),
    ),
}
"""LUTs per bit of a word at the sizes MEASURED_WORDS: random contents of 8 to 16 bits, synthesized with Yosys 0.70."""


def rom_luts(words: int, width: int, family: Family) -> int:
    """Estimate the LUTs of a memory in logic; between measured sizes a straight line, beyond them in proportion.

    The contents decide: what is regular takes less. 7-series and UltraScale have the same LUT and share a table.
    """
    table = LUTS_PER_BIT["xcup" if family in ("xcu", "xc7") else family]
    last = MEASURED_WORDS[-1]
    per_bit = table[-1] * words / last if words > last else _between(words, table)
    return round(width * per_bit)


def _between(words: int, table: tuple[float, ...]) -> float:
    right = bisect_left(MEASURED_WORDS, words)
    if right == 0:
        return table[0]
    x0, x1 = MEASURED_WORDS[right - 1], MEASURED_WORDS[right]
    return table[right - 1] + (table[right] - table[right - 1]) * (words - x0) / (x1 - x0)
