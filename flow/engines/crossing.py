"""Beats that go from one die of a package to the next: a register before the wires between them, and one behind.

Where a tensor is read farther away, as many crossings stand in a row as there are borders on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flow.latency.schedule import Schedule

CROSSING_CYCLES = 2
"""Registers of a crossing: the last one on the die that is left, the first one on the die that is reached."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """Hand every beat of a node's tensor on to the next die; lanes: elements of a beat."""

    node: str
    lanes: int
    engine: Literal["crossing"] = "crossing"

    def schedule(self, arrivals: tuple[Schedule, ...]) -> Schedule:
        """Return when the beats leave."""
        return arrivals[0].delayed(CROSSING_CYCLES)

    def interval(self, arrivals: tuple[Schedule, ...]) -> int:  # noqa: ARG002 — the contract
        """Return the II in cycles: whatever comes can come again."""
        return 1
