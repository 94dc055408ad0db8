"""LUTs of a constant table that is read without a clock."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=256)
def shared_blocks(columns: tuple[int, ...], words: int) -> tuple[int, ...]:
    """Return, for each k, how many different functions of the low k address bits occur in a table's columns.

    columns: bit k of each is its bit of word k. A function counts once with its inverse, and not where it is constant
    or an address bit. What stands behind the last word may be anything: it repeats the last one.
    """
    bits = (words - 1).bit_length()
    beyond = (1 << (1 << bits)) - (1 << words)
    level = {_one_of_two(c | (beyond if c >> (words - 1) & 1 else 0), bits) for c in columns}
    counts = []
    for k in range(bits, -1, -1):
        level -= _free(k)
        counts.append(len(level))
        half = (1 << k) >> 1
        mask = (1 << half) - 1
        level = {_one_of_two(part, k - 1) for c in level for part in (c & mask, c >> half)}
    return tuple(reversed(counts))


def _one_of_two(pattern: int, bits: int) -> int:
    """Return the one of a function and its inverse that gives 0 at address 0."""
    return pattern ^ ((1 << (1 << bits)) - 1) if pattern & 1 else pattern


@lru_cache(maxsize=32)
def _free(bits: int) -> frozenset[int]:
    """Return the functions of so many address bits that need no logic: 0 and each address bit."""
    found, size = {0}, 1 << bits
    for k in range(bits):
        ones = ((1 << (1 << k)) - 1) << (1 << k)
        found.add(sum(ones << start for start in range(0, size, 2 << k)))
    return frozenset(found)


JOINING: dict[str, tuple[float, float]] = {"ecp5": (1.73, 1.4), "gowin": (2.36, 2.08), "ice40": (0.45, -0.7)}
"""By family: LUTs for each block above the lowest ones, and how many fewer where no block is shared.

A block that is read once can join the multiplexer behind it (PFUMX, MUX2_LUT5, MUXF7), a shared one cannot; iCE40 has
no such multiplexers. Fitted to 20 tables that Yosys 0.70 mapped for each family (sigmoid, tanh, softplus, exp, 1/x and
random contents, 16 to 4,096 words of 6 to 18 bits).
"""
OTHERS = (0.78, 0.31)
"""The same for families with six-input LUTs."""


def table_luts(columns: tuple[int, ...], words: int, family: str, inputs: int) -> int:
    """Return the LUTs of a table's columns; inputs: of a LUT of the family."""
    blocks = shared_blocks(columns, words)
    if len(blocks) - 1 <= inputs:
        return blocks[-1]
    small, large = blocks[4], blocks[5]
    each, fewer = JOINING.get(family, OTHERS)
    unshared = min(1.0, small / (2 * large)) if large else 1.0
    return blocks[inputs] + round(max(0.0, each - fewer * unshared) * sum(blocks[inputs + 1 :]))
