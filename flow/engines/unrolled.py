"""The unrolled engine: a run of nodes becomes one combinational cone with registers in it. Facets 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flow.engines.wants import WHOLE, Wants
from flow.latency.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Unrolled:
    """Choose one cone for a run of nodes: weights are wiring, II = 1.

    nodes: names of the run in order; its last node's output is the edge that leaves the cone.
    depth: registers between the arrival of the input tensor and the output tensor, in cycles (0: combinational).
    products, tables: where products of two values and large tables stand, as far as blocks have the size (`blocks`).
    """

    nodes: tuple[str, ...]
    depth: int
    products: Literal["lut", "dsp"] = "lut"
    tables: Literal["lut", "bram"] = "lut"
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
