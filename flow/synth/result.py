"""What synthesis and routing answer, and the files they leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from flow.engines.engine import Resources
from flow.stored import load_stored

FORMAT = 1


@dataclass(frozen=True, slots=True)
class InstanceResources:
    """Count what one instance of the top module takes, everything below it included.

    instance: its name in the top module; "" stands for the top module's own logic. module: what it instantiates.
    carry: carry cells (CARRY4, CARRY8, CCU2C, SB_CARRY, ALU); `resources.lut` already holds the LUTs they occupy.
    """

    instance: str
    module: str
    resources: Resources
    carry: int


@dataclass(frozen=True, slots=True)
class SynthesisResult:
    """Hold what Yosys made of a design.

    part, family: what it was mapped to. tool: the version that did. total: all of it; cells that are half a block
    are added up before they are rounded, so that it may be less than the sum of the instances. instances: one per
    instance of the top module. cells: every primitive with its number. not_counted: primitives that are neither LUT,
    FF, DSP, BRAM nor URAM and take none (constants, buffers, wide multiplexers in the slice).
    available: what the part has. changed_files: files of the design that differ from their hash in signature.json.
    netlist, netlist_json: relative to the run's folder.
    """

    format: int
    part: str
    family: str
    top: str
    tool: str
    total: Resources
    carry: int
    instances: tuple[InstanceResources, ...]
    cells: tuple[tuple[str, int], ...]
    not_counted: tuple[str, ...]
    available: Resources
    changed_files: tuple[str, ...]
    netlist: str
    netlist_json: str

    @property
    def ratios(self) -> tuple[tuple[str, float], ...]:
        """Return the share of the part that each kind of resource takes; inf where the part has none."""
        pairs = ((kind, getattr(self.total, kind), getattr(self.available, kind)) for kind in KINDS)
        return tuple((kind, used / has if has else float("inf")) for kind, used, has in pairs if used)

    @property
    def shortage(self) -> str | None:
        """Return a sentence that says what does not fit the part, or None."""
        over = [(kind, ratio) for kind, ratio in self.ratios if ratio > 1]
        if not over:
            return None
        parts = (
            f"{getattr(self.total, kind):,} {kind.upper()} of {getattr(self.available, kind):,} ({ratio:.2f}×)"
            for kind, ratio in over
        )
        return f"the design does not fit {self.part}: it takes {', '.join(parts)}"


@dataclass(frozen=True, slots=True)
class RoutingResult:
    """Hold what nextpnr made of a design.

    period_ns, fmax_mhz: of the slowest register-to-register path; `clock_ns` was asked for. out_of_context: the
    design stood alone in the part, its ports between registers instead of pins. lut, ff: as nextpnr counts them, the
    registers around the design included (harness_ff of them). seed: of the placement.
    critical_path: (kind, ns, cell and port it ends at) hop by hop. untimed: kinds of cells in the design through which
    nextpnr knows no real delays: the period says nothing of the paths through them.
    """

    format: int
    part: str
    tool: str
    clock_ns: float
    period_ns: float
    fmax_mhz: float
    out_of_context: bool
    seed: int
    lut: int
    ff: int
    dsp: int
    bram: int
    harness_ff: int
    critical_path: tuple[tuple[str, float, str], ...]
    untimed: tuple[str, ...] = ()


KINDS = ("lut", "ff", "dsp", "bram", "uram")

_Result = TypeVar("_Result")


@cache
def _synthesis_adapter() -> TypeAdapter[SynthesisResult]:
    return TypeAdapter(SynthesisResult)


@cache
def _routing_adapter() -> TypeAdapter[RoutingResult]:
    return TypeAdapter(RoutingResult)


def synthesis_to_json(result: SynthesisResult) -> bytes:
    """Return the contents of synth/result.json."""
    return _synthesis_adapter().dump_json(result, indent=1) + b"\n"


def load_synthesis(folder: Path) -> SynthesisResult:
    """Read synth/result.json of a run's folder; raise UserError when it is not there or not one."""
    return load_stored(
        _synthesis_adapter(), folder / "synth" / "result.json", "a synthesis result", "run synthesis first"
    )


def routing_to_json(result: RoutingResult) -> bytes:
    """Return the contents of synth/route/result.json."""
    return _routing_adapter().dump_json(result, indent=1) + b"\n"


def load_routing(folder: Path) -> RoutingResult:
    """Read synth/route/result.json of a run's folder; raise UserError when it is not there or not one."""
    path = folder / "synth" / "route" / "result.json"
    return load_stored(_routing_adapter(), path, "a routing result", "run place and route first")
