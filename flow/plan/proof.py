"""What a search can say of the plan that it found: how good any other could be, and in which space."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import Field

Objective = Literal["area", "cycles", "ns"]
EXACT = 1e-9
"""Share by which a bound may lie below for no more than the rounding of its arithmetic."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Give the size of a design space for one length of the segments between registers.

    within_ns: that length, nominal. arrivals: ways in which the inputs may come. places: ways in which tensors between
    engines may; dropped: those that were not followed, because too many led elsewhere sooner or for less area. moves:
    ways to build a run from tensors at certain places; offered: before those that another one beats in cycles and in
    every resource were left out.
    """

    within_ns: float
    arrivals: int
    places: int
    dropped: int
    moves: int
    offered: int


@dataclass(frozen=True, slots=True)
class Proof:
    """Say what is least and how far from it any plan may be.

    value, bound: of the plan, and the least that any plan of the spaces can have: area (the sum of used over usable),
    cycles, or with a free clock the core's ns. solve_s: that the solver took; it is not kept with a plan, whose file
    must repeat.
    """

    objective: Objective
    value: float
    bound: float
    spaces: tuple[Searched, ...]
    solve_s: Annotated[float | None, Field(exclude=True)] = field(default=None, compare=False)

    def in_ns(self, period_ns: float) -> Proof:
        """Return a proof on cycles as one on ns with a clock period."""
        return replace(self, objective="ns", value=self.value * period_ns, bound=self.bound * period_ns)

    @property
    def gap(self) -> float | None:
        """Return (value - bound) / value: 0 for an optimum proved within EXACT; None where nothing was found."""
        if self.value == float("inf"):
            return None
        gap = 1 - self.bound / self.value if self.value > 0 else 0.0
        return gap if gap > EXACT else 0.0
