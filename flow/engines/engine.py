"""What every engine offers, and the choices that a plan makes among them.

A choice names its nodes and parameters. Beside `schedule` and `interval` it says in which beats it takes its input
(`wants`) and gives its output (`lanes_out`); where neighbours differ, a width converter stands between (`dataflow`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from flow.engines.folded import Folded
from flow.engines.streamed import Streamed
from flow.engines.unrolled import Unrolled

__all__ = ["Choice", "Folded", "Resources", "Streamed", "Unrolled"]

Choice = Annotated[Unrolled | Folded | Streamed, Field(discriminator="engine")]


@dataclass(frozen=True, slots=True)
class Resources:
    """Count what a piece of hardware takes; carry cells count as LUTs.

    half_dsp, half_bram: of the last block one half is free (a RAMB18 is half a RAMB36, Gowin's MULT9X9 half a
    MULT18X18), so that two such pieces share a block.
    """

    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: int = 0
    uram: int = 0
    half_dsp: bool = False
    half_bram: bool = False

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.lut + other.lut,
            self.ff + other.ff,
            self.dsp + other.dsp - (self.half_dsp and other.half_dsp),
            self.bram + other.bram - (self.half_bram and other.half_bram),
            self.uram + other.uram,
            self.half_dsp != other.half_dsp,
            self.half_bram != other.half_bram,
        )

    def times(self, factor: float) -> Resources:
        """Return what so many of this take, rounded."""
        lut, ff, uram = (round(count * factor) for count in (self.lut, self.ff, self.uram))
        dsp, bram = (round((2 * self.dsp - self.half_dsp) * factor), round((2 * self.bram - self.half_bram) * factor))
        return Resources(lut, ff, -(-dsp // 2), -(-bram // 2), uram, dsp % 2 == 1, bram % 2 == 1)
