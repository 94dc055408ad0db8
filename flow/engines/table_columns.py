"""The columns of a constant table: each output bit as a function of the address."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=256)
def bit_patterns(values: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Return, per output bit, the integer whose bit k is that bit of entry k; entries in two's complement."""
    mask = (1 << width) - 1
    words = np.array([v & mask for v in values], dtype=np.uint64 if width <= np.iinfo(np.uint64).bits else object)
    return tuple(
        int.from_bytes(np.packbits((words >> k & 1).astype(np.uint8), bitorder="little").tobytes(), "little")
        for k in range(width)
    )


def distinct_columns(values: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Return the patterns that change with the address, each once, in the order of the bits that show them."""
    constant = {0, (1 << len(values)) - 1}
    return tuple(pattern for pattern in dict.fromkeys(bit_patterns(values, width)) if pattern not in constant)
