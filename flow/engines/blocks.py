"""Which products and tables of a cone stand in DSP blocks and block RAM, in place of LUTs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flow.device.delays import Delays
from flow.device.parts import Part
from flow.engines.multiplier import DspShape, dsp_shapes
from flow.engines.unrolled import Unrolled

LEAST_WORDS = 256
"""Words from which a table is worth a block RAM: below, it takes but a few LUTs for each bit of its words."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Say what the blocks of a part take over from a cone.

    dsp: shapes of the DSP blocks for its products; without any, products are built from adders. tables: whether
    tables of LEAST_WORDS and more lie in block RAM.
    """

    dsp: tuple[DspShape, ...] = ()
    tables: bool = False

    def multiplies(self, a_width: int, b_width: int) -> bool:
        """Tell whether a signed product of two operands of so many bits becomes one DSP block."""
        return any(shape.holds(a_width, b_width, a_width + b_width) for shape in self.dsp)

    def stores(self, words: int) -> bool:
        """Tell whether a table of so many words lies in block RAM."""
        return self.tables and words >= LEAST_WORDS


FABRIC = Blocks()
"""Everything in LUTs."""


def blocks_of(choice: Unrolled, part: Part | None) -> Blocks:
    """Return what a choice places in the blocks of a part.

    Raises ValueError where it wants blocks that the part has not, or that no part is given for.
    """
    dsp, tables = choice.products == "dsp", choice.tables == "bram"
    shapes = dsp_shapes(part) if part is not None and dsp else ()
    if (dsp and not shapes) or (tables and (part is None or not part.bram)):
        raise ValueError(f"'{choice.output}' wants {choice.products} and {choice.tables}, which is not there")
    return Blocks(shapes, tables)


def stores(choice: Unrolled, part: Part, delays: Delays) -> tuple[Unrolled, ...]:
    """Return a choice with everything in LUTs, then in the blocks of a part whose delays are known."""
    found = [replace(choice, products="lut", tables="lut")]
    if dsp_shapes(part) and delays.dsp_ns is not None:
        found.append(replace(found[0], products="dsp"))
    if part.bram and delays.bram_ns is not None:
        found += [replace(other, tables="bram") for other in found]
    return tuple(found)
