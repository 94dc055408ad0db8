"""DSPs and block RAMs of one layer.

A product with a constant that is a sum or difference of two powers of two becomes an adder, one with zero nothing;
every other product of two operands that one DSP takes is a DSP. Folded products share them: block_factor per layer.
A table of 1,024 words of 18 bits is one block RAM with two ports.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flow.fixed import IntArray
from flow.vendor.constants import Constants
from flow.vendor.layer import Layer, Network

RAM_BITS = 18  # of a word at 1,024 words: BRAM_18K as the reports count


@dataclass(frozen=True, slots=True)
class Area:
    """Hold one layer's counts; None is unknown, and `reasons` say why."""

    dsp: float | None
    bram: int | None
    reasons: tuple[str, ...] = ()


def needs_multiplier(codes: IntArray) -> int:
    """Return how many constants are neither zero nor a sum or difference of two powers of two (signed digits > 2)."""
    values, counts = np.unique(codes, return_counts=True)
    return sum(int(count) for value, count in zip(values, counts, strict=True) if _digits(abs(int(value))) > 2)


def _digits(value: int) -> int:
    """Return the non-zero digits of the canonical signed-digit form: (3v xor v) has one bit for each."""
    return ((3 * value) ^ value).bit_count()


def area(layer: Layer, network: Network, known: Constants) -> Area:
    """Return the DSPs and block RAMs of one layer."""
    dsp, why_dsp = _dsp(layer, known)
    bram, why_bram = _bram(layer, network, known)
    return Area(dsp, bram, tuple(dict.fromkeys(why for why in (why_dsp, why_bram) if why)))


def _dsp(  # noqa: PLR0911 (one per reason)
    layer: Layer, known: Constants
) -> tuple[float | None, str]:
    if layer.kind in {"table", "max", "average", "wire", "rectify"}:
        return 0, ""
    if layer.kind == "other":
        return None, f"no report covers {layer.what}"
    if layer.kind == "softmax" and layer.products:
        return None, "DSP: no report covers softmax with products"
    factor = layer.reuse_factor
    shared = layer.resource and factor > 1
    if not shared and factor > 1:
        return None, "DSP: no report covers Latency with a reuse factor above 1"
    count: float = layer.block if shared else layer.products
    if not count:
        return 0, ""
    limits = known.limits
    narrow, wide = sorted(layer.operand_bits or (0, 0))
    if narrow < limits.operand_bits_min:
        most = f"at most {round(count):,}"
        return None, f"DSP: no report covers operands below {limits.operand_bits_min} bits; {most}"
    if narrow > limits.operand_bits_narrow or wide > limits.operand_bits_wide:
        span = f"{limits.operand_bits_narrow} × {limits.operand_bits_wide}"
        return None, f"DSP: no report agrees on operands above {span} bits"
    return count, ""


def _bram(layer: Layer, network: Network, known: Constants) -> tuple[int | None, str]:
    if layer.kind == "other":
        return None, f"no report covers {layer.what}"
    if layer.kind in {"table", "softmax"}:
        if layer.entries != known.limits.table_entries:
            return None, f"BRAM: no report covers tables of other than {known.limits.table_entries} entries"
        words = -(-layer.entry_bits // RAM_BITS)
        return sum(-(-count // 2) for count in layer.lookups) * words, ""
    if layer.resource and layer.reuse_factor > 1:
        width = -(-layer.block * (layer.operand_bits or (0, 0))[1] // (2 * RAM_BITS))
        most = width * -(-layer.reuse_factor // (known.limits.table_entries // 2))
        return None, f"BRAM: reports disagree on where folded weights lie; at most about {most:,} if in block RAM"
    if network.streamed and layer.kind in {"conv", "depthwise"} and layer.columns > known.limits.line_columns:
        return None, f"BRAM: no report covers a streamed image of more than {known.limits.line_columns} columns"
    return 0, ""
