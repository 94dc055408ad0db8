"""The delay model of a part: what the pipeline is cut by and periods are predicted with."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter

from flow.device.parts import LISTED_ONLY, Part
from flow.errors import UserError


@dataclass(frozen=True, slots=True)
class Delays:
    """Give the delays of a part's fabric, routing included, in ns.

    A path takes register_ns + the delays of its operations: carry_ns + bits · carry_bit_ns for an adder of so many
    bits, level_ns for a LUT level, dsp_ns for a multiplier. A path that starts at a block RAM takes bram_ns in place of
    register_ns.
    level_ns: one LUT level. carry_ns: entering and leaving a carry chain. carry_bit_ns: each bit along it.
    register_ns: what a register-to-register path costs beside its logic (clock to output, setup).
    low, high: factors on a predicted period that span what place and route may give.
    source: where the figures and the factors come from. grade: `routed` (fitted to or read from placed and routed
    designs) or `assumed`.
    bram_ns: clock to the output of a block RAM without output register, routing to the next cell and the setup there
    included. dsp_ns: through one DSP multiplier without inner registers, routing in and out included.
    dsp_register_ns: the longest part between two registers of a multiplier whose M register is used, routing to its
    operands included; register_ns comes on top. None: the part has no such block, Yosys 0.70 does not use it so, or no
    delay of it is known. block_source: where these three come from, block_grade: as grade; "" where all are None.
    clock_mhz: the fastest clock that the part's clock buffers carry, whatever the logic between; None where no source
    gives it. clock_source: where that comes from.
    Delays are equal when their figures are: what is worked out from some serves all parts with the same.
    """

    level_ns: float
    carry_ns: float
    carry_bit_ns: float
    register_ns: float
    low: float
    high: float
    source: str = field(compare=False)
    grade: str = field(compare=False)
    bram_ns: float | None = None
    dsp_ns: float | None = None
    dsp_register_ns: float | None = None
    block_source: str = field(default="", compare=False)
    block_grade: str = field(default="", compare=False)
    clock_mhz: float | None = None
    clock_source: str = field(default="", compare=False)

    @property
    def least_period_ns(self) -> float:
        """Return the period of the fastest clock that the part's clock buffers carry, 0 where that is not known."""
        return 0.0 if self.clock_mhz is None else 1e3 / self.clock_mhz


@dataclass(frozen=True, slots=True)
class DelayTable:
    """Hold the delays of the parts that share a fabric, at the speed grades that are timed alike.

    measured: those of the parts on which the figures were found; for the others they are assumed to hold.
    """

    name: str
    parts: tuple[str, ...]
    speeds: tuple[str, ...]
    measured: tuple[str, ...]
    delays: Delays

    def of(self, part: Part) -> Delays:
        """Return the delays as they hold for a part of this table."""
        if part.name in self.measured or not self.measured:
            return self.delays
        origin = (
            f"Taken over from {', '.join(self.measured)}: same fabric and speed grade, not measured on {part.name}."
        )
        return replace(
            self.delays,
            source=f"{origin} {self.delays.source}",
            grade="assumed",
            block_grade=self.delays.block_grade and "assumed",
        )


_ADAPTER = TypeAdapter(tuple[DelayTable, ...])


@cache
def delay_tables() -> tuple[DelayTable, ...]:
    """Read `delays.toml`."""
    data = tomllib.loads(files("flow.device").joinpath("delays.toml").read_text(encoding="utf-8"))
    return _ADAPTER.validate_python(data["tables"])


def delays_of(part: Part) -> Delays:
    """Return the delay model of a part at its speed grade; raise UserError when there is none."""
    if part.family in LISTED_ONLY:
        raise UserError(
            f"part {part.name} can be listed, but nothing can be planned or built for it: {LISTED_ONLY[part.family]}; "
            f"parts that can be planned for: {_examples()}"
        )
    tables = [table for table in delay_tables() if part.name.lower() in map(str.lower, table.parts)]
    for table in tables:
        if part.speed.lower() in map(str.lower, table.speeds):
            return table.of(part)
    if tables:
        speeds = ", ".join(speed for table in tables for speed in table.speeds)
        mounted = "" if part.board is None else f"board {part.board} carries it: "
        raise UserError(
            f"{mounted}part {part.name} at speed grade {part.speed} ({part.device}) has no delay table; for this part "
            f"delays are known for speed grade {speeds}"
        )
    raise UserError(f"part {part.name} has no delay table; parts that have one: {_examples()}")


def has_delays(part: Part) -> bool:
    """Tell whether a part can be planned for at its speed grade."""
    return any(
        part.name.lower() in map(str.lower, table.parts) and part.speed.lower() in map(str.lower, table.speeds)
        for table in delay_tables()
    )


def _examples() -> str:
    first = dict.fromkeys(table.parts[0] for table in delay_tables())
    return f"{', '.join(first)} and others (fpgaflow parts)"
