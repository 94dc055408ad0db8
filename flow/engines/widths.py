"""Widths of integers in bits."""

from __future__ import annotations


def signed_width(lo: int, hi: int) -> int:
    """Return the bits of the smallest two's complement number that holds lo..hi."""
    return (
        max(lo.bit_length() if lo >= 0 else (~lo).bit_length(), hi.bit_length() if hi >= 0 else (~hi).bit_length()) + 1
    )
