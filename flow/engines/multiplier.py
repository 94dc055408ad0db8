"""What one signed product takes in DSP blocks, as Yosys maps `*`.

The widths are those of the operands as the multiplier's module declares them (Yosys keeps them, as nothing inside the
module says that an operand is narrower). Rules and limits: Yosys 0.70, each family's synth_* script and mul2dsp.v; the
tests compare them with what Yosys maps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flow.device.parts import Family, Part


@dataclass(frozen=True, slots=True)
class DspShape:
    """Describe one way to use a family's DSP block as a signed multiplier.

    wide, narrow: the most bits of the wider and of the narrower operand. least_wide, least_narrow, least_product: below
    these bits of the operands and of the declared product Yosys builds it from LUTs. halves: of the block that
    flow/synth counts (MULT9X9 of Gowin is half an 18-bit multiplier).
    """

    wide: int
    narrow: int
    least_wide: int
    least_narrow: int
    least_product: int
    halves: int

    def holds(self, a_width: int, b_width: int, product_width: int) -> bool:
        """Tell whether a product of these widths becomes one block of this shape."""
        wide, narrow = max(a_width, b_width), min(a_width, b_width)
        return (
            self.least_wide <= wide <= self.wide
            and self.least_narrow <= narrow <= self.narrow
            and product_width >= self.least_product
        )


_SHAPES: dict[Family, tuple[DspShape, ...]] = {
    "xcup": (DspShape(27, 18, 2, 2, 9, 2),),
    "xcu": (DspShape(27, 18, 2, 2, 9, 2),),
    "xc7": (DspShape(25, 18, 2, 2, 9, 2),),
    "ecp5": (DspShape(18, 18, 2, 2, 4, 2),),
    "ice40": (DspShape(16, 16, 2, 2, 11, 2),),
    "gowin": (DspShape(9, 9, 4, 4, 8, 1), DspShape(18, 18, 10, 4, 14, 2)),
}


def dsp_shapes(part: Part) -> tuple[DspShape, ...]:
    """Return the DSP blocks that Yosys uses on a part, the smallest first; none where the part or its flow has none."""
    if part.dsp == 0 or part.name.lower().startswith("gw5"):  # Yosys maps no multiplier of Gowin's fifth generation
        return ()
    return _SHAPES[part.family]


def dsp_fits(a_width: int, b_width: int, part: Part, *, product_width: int | None = None) -> bool:
    """Tell whether Yosys maps a signed product of these operand widths to exactly one DSP block of a part.

    product_width: the bits that the product is declared with, where they are not those of both operands together.
    """
    product = a_width + b_width if product_width is None else product_width
    return any(shape.holds(a_width, b_width, product) for shape in dsp_shapes(part))


def dsp_halves(a_width: int, b_width: int, part: Part, *, product_width: int | None = None) -> int:
    """Return the DSP that one product takes, in halves of the block that flow/synth counts.

    Raise ValueError where `dsp_fits` is false.
    """
    product = a_width + b_width if product_width is None else product_width
    for shape in dsp_shapes(part):
        if shape.holds(a_width, b_width, product):
            return shape.halves
    raise ValueError(f"a {a_width} x {b_width} bit product does not become one DSP block of {part.name}")


def family_halves(a_width: int, b_width: int, family: Family) -> int:
    """Return the same for a part of a family that has DSP blocks."""
    shapes = _SHAPES[family]
    return next(shape.halves for shape in shapes if shape.holds(a_width, b_width, a_width + b_width))


def pair_width(x_width: int, w_width: int) -> int:
    """Return the bits of the operand that packs two weights for one DSP block.

    It is w1·2ˢ + w2 with s = x_width + w_width, the bits of one product, so that x·w2 lies below x·w1 (which then
    borrows one where x·w2 is negative). Where w2 is negative the upper part is w1 - 1: perhaps a bit more than w1.
    """
    return (w_width + 1) + (x_width + w_width)


def packs_pair(x_width: int, w_width: int, part: Part, *, signed: bool = True) -> bool:
    """Tell whether one DSP block of a part can compute x·w1 and x·w2; signed: whether x is."""
    both = 2 * (x_width + w_width)
    return dsp_fits(pair_width(x_width, w_width), x_width + (not signed), part, product_width=both)


PACKED_REGISTERS = {"xc7": 1, "ice40": 1}
"""Registers behind a product that Yosys was seen to take into the DSP block; on iCE40 its pass crashes on two."""


def product_flip_flops(width: int, registers: int, part: Part, *, dsp: bool) -> int:
    """Return the flip-flops that stay in the fabric of the registers behind a product of `width` bits.

    registers: in the multiplier's module; those behind it stay where they are. dsp: the product is in a DSP block (see
    `dsp_fits`).
    """
    packed = PACKED_REGISTERS.get(part.family, 0) if dsp else 0
    return width * max(0, registers - packed)
