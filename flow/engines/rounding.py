"""Rounding as an offset before truncation."""

from __future__ import annotations

import numpy as np

from flow.fixed import Rounding, round_off


def rounded(value: int, bits: int, mode: Rounding) -> int:
    """Return `value / 2**bits` rounded to an integer by `mode`."""
    return int(round_off(np.array([value], dtype=object), bits, mode)[0])


def one_signed(mode: Rounding, *, lo: int, hi: int) -> Rounding:
    """Return a mode that does not look at the sign and is the same on lo..hi, where there is one."""
    if lo >= 0:
        same = {
            Rounding.TRN_ZERO: Rounding.TRN,
            Rounding.RND_ZERO: Rounding.RND_MIN_INF,
            Rounding.RND_INF: Rounding.RND,
        }
    elif hi <= 0:
        same = {Rounding.RND_ZERO: Rounding.RND, Rounding.RND_INF: Rounding.RND_MIN_INF}
    else:
        same = {}
    return same.get(mode, mode)


def rounding_offset(mode: Rounding, bits: int) -> int:
    """Return what to add before dropping `bits` bits so that truncation rounds by `mode`.

    RND_CONV needs its ties made even afterwards. Raises KeyError for modes that look at the sign.
    """
    if bits == 0:
        return 0
    half = 1 << (bits - 1)
    return {Rounding.TRN: 0, Rounding.RND: half, Rounding.RND_CONV: half, Rounding.RND_MIN_INF: half - 1}[mode]
