"""The words of beats, kept packed: a word becomes an integer only when it is asked for."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Words(Protocol):
    """Give the word of each vector and beat."""

    def __len__(self) -> int:
        """Return the number of vectors."""

    def word(self, vector: int, beat: int) -> int:
        """Return a word without the bits that have no meaning."""


class PackedWords:
    """Hold the words of n vectors as bits that follow each other.

    packed: shape (n, words) uint64, least significant first. spacing: bits from one beat to the next. masks: for each
    beat the bits that have a meaning.
    """

    __slots__ = ("_bytes", "_count", "_masks", "_row", "_spans")

    def __init__(self, packed: NDArray[np.uint64], spacing: int, masks: tuple[int, ...]) -> None:
        rows = np.ascontiguousarray(packed, dtype="<u8").reshape(len(packed), -1)
        self._count, self._row = len(rows), 8 * rows.shape[1]
        self._bytes = memoryview(rows.tobytes())
        self._masks = masks
        # the bytes that hold a beat, and the bits before it
        begins = [beat * spacing for beat in range(len(masks))]
        ends = [begin + mask.bit_length() for begin, mask in zip(begins, masks, strict=True)]
        self._spans = [(begin // 8, -(-end // 8), begin % 8) for begin, end in zip(begins, ends, strict=True)]

    def __len__(self) -> int:
        return self._count

    def word(self, vector: int, beat: int) -> int:
        """Return a word without the bits that have no meaning."""
        first, end, shift = self._spans[beat]
        row = vector * self._row
        return (int.from_bytes(self._bytes[row + first : row + end], "little") >> shift) & self._masks[beat]
