"""The types that hls4ml gives what nobody described, so wide that nothing is lost.

As `infer_precision.py` of hls4ml 1.3.0 has them; tests/sketch compares with conversions.
"""

from __future__ import annotations

from flow.fixed import FixedType, Overflow, Rounding

NO_BIAS = FixedType(1, 1, signed=False, rounding=Rounding.TRN_ZERO)
"""What hls4ml stores zeros in where a layer has no bias."""
TABLE = FixedType(18, 8)


def bits_for(count: int) -> int:
    """Return how many bits a sum of `count` terms may grow by."""
    return (count - 1).bit_length()


def weight_type(bits: int) -> FixedType:
    """Return the type of qkeras' quantized_bits(bits, 0)."""
    return FixedType(bits, 1)


def activation_type(bits: int, integer: int, *, signed: bool = False) -> FixedType:
    """Return the type of qkeras' quantized_relu(bits, integer): half to even, saturating."""
    return FixedType(bits, integer, signed, Rounding.RND_CONV, Overflow.SAT)


def sum_type(x: FixedType, weight: FixedType, bias: FixedType, terms: int) -> FixedType:
    """Return the type that holds a bias and `terms` products exactly, in whatever order they are added."""
    extra = bits_for(terms)
    integer, fraction = x.integer + weight.integer + extra, x.fraction + weight.fraction
    signed = x.signed or weight.signed
    integer = max(integer + (bias.signed and not signed), bias.integer + (signed and not bias.signed)) + 1
    return FixedType(integer + max(fraction, bias.fraction), integer, signed or bias.signed)


def add_type(a: FixedType, b: FixedType) -> FixedType:
    """Return the type that holds the sum of two elements."""
    integer = max(a.integer + (b.signed and not a.signed), b.integer + (a.signed and not b.signed)) + 1
    return FixedType(integer + max(a.fraction, b.fraction), integer, a.signed or b.signed)


def average_type(x: FixedType, cells: int) -> FixedType:
    """Return the type of an average's sum: it has as many bits more behind the point as in front of it."""
    extra = bits_for(cells)
    return FixedType(x.width + 2 * extra, x.integer + extra, x.signed)
