"""What every engine offers, and the choices that a plan makes among them.

A choice names its nodes and parameters. Beside `schedule` and `interval` it says in which beats it takes its input
(`wants`) and gives its output (`lanes_out`); where neighbours differ, a width converter stands between (`dataflow`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from flow.engines.folded import Folded
from flow.engines.wants import WHOLE, Wants
from flow.latency.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Unrolled:
    """Choose one cone for a run of nodes: weights are wiring, II = 1.

    nodes: names of the run in order; its last node's output is the edge that leaves the cone.
    depth: registers between the arrival of the input tensor and the output tensor, in cycles (0: combinational).
    """

    nodes: tuple[str, ...]
    depth: int
    engine: Literal["unrolled"] = "unrolled"

    def __post_init__(self) -> None:
        if self.depth < 0:
            raise ValueError(f"a cone with {self.depth} registers")

    @property
    def output(self) -> str:
        """Return the node whose output leaves the cone."""
        return self.nodes[-1]

    @property
    def wants(self) -> Wants:
        """Ask for whole tensors."""
        return WHOLE

    @property
    def lanes_out(self) -> int | None:
        """Give whole tensors."""
        return None

    def interval(self, arrivals: tuple[Schedule, ...]) -> int:  # noqa: ARG002 — the contract
        """Return the II in cycles."""
        return 1

    def schedule(self, arrivals: tuple[Schedule, ...]) -> Schedule:
        """Return the departure: whole tensors, as one beat, `depth` cycles after the latest arrival."""
        return Schedule((max(s.last for s in arrivals) + self.depth,))


Choice = Annotated[Unrolled | Folded, Field(discriminator="engine")]


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
