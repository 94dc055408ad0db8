"""What a simulation found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from flow.stored import load_stored

RANDOM_STATE = "random state"
RUN = "run"
ASSERTIONS = "assertions"


@dataclass(frozen=True, slots=True)
class Check:
    """Give a check's name, whether it passed, and why."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class WrongEdge:
    """Name an edge that disagrees with its schedule or data, with the first fault on it."""

    name: str
    fault: str


@dataclass(frozen=True, slots=True)
class SeedResult:
    """Hold what the bench found with one seed for the random initial contents of registers.

    stream: inferences that it ran back to back. lawless: times, from and to in steps of the simulator, of traffic that
    breaks the design's rules on purpose.
    """

    seed: int
    stream: int
    first_output: int | None
    latency: int | None
    interval: float | None
    mismatches: int
    first_mismatch: str | None
    beats_checked: int
    beats_wrong: int
    lawless: tuple[tuple[int, int], ...]
    wrong_edges: dict[str, str]
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Hold what a simulation of the RTL, or of a netlist, found.

    vectors: distinct inferences that went through. mismatches: output bits that differ from the expected ones, over
    all traffic and seeds; first_mismatch names tensor, element, expected and found value. latency_simulated: cycles to
    the last beat of a result, None if not all came; first_output_simulated: to the first, None if none came;
    interval_simulated: cycles, None if it could not be measured. edges: how many were watched.
    beats_checked, beats_wrong: of the output and all edges. changed_files: files of the design that are no longer as
    they were generated, and were used as they are.
    """

    vectors: int
    mismatches: int
    first_mismatch: str | None
    latency_simulated: int | None
    interval_simulated: float | None
    edges: int
    beats_checked: int
    beats_wrong: int
    wrong_edges: tuple[WrongEdge, ...]
    checks: tuple[Check, ...]
    changed_files: tuple[str, ...]
    first_output_simulated: int | None = None

    @property
    def passed(self) -> bool:
        """Return whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """Return the checks that failed."""
        return tuple(check for check in self.checks if not check.passed)


@cache
def _seed_adapter() -> TypeAdapter[SeedResult]:
    return TypeAdapter(SeedResult)


@cache
def _result_adapter() -> TypeAdapter[SimulationResult]:
    return TypeAdapter(SimulationResult)


def load_seed_result(path: Path) -> SeedResult:
    """Read what the bench wrote; raise ValueError when it is incomplete."""
    return _seed_adapter().validate_json(path.read_bytes())


def result_to_json(result: SimulationResult) -> bytes:
    """Return the contents of `sim/result.json`."""
    return _result_adapter().dump_json(result, indent=1) + b"\n"


def load_result(path: Path) -> SimulationResult:
    """Read `sim/result.json`; raise UserError when it is not one."""
    return load_stored(_result_adapter(), path, "a simulation result", "delete it and simulate again")


def combine(
    seeds: tuple[SeedResult, ...],
    *,
    vectors: int,
    edges: int,
    changed_files: tuple[str, ...],
    unfinished: tuple[Check, ...],
) -> SimulationResult:
    """Sum up the runs of all seeds. A check passes when it passed with every seed."""
    names = list(dict.fromkeys(check.name for seed in seeds for check in seed.checks))
    checks = [_over_seeds(name, seeds) for name in names]
    failed = [str(seed.seed) for seed in seeds if not all(check.passed for check in seed.checks)]
    which = ", ".join(str(seed.seed) for seed in seeds)
    counts = ", ".join(f"{seed.stream:,}" for seed in seeds)
    detail = f"registers start with random contents, seeds {which}; {counts} inferences back to back"
    if failed:
        detail = f"fails with registers starting as seeds {', '.join(failed)} of {which} say"
    if seeds:
        checks.append(Check(RANDOM_STATE, not failed, detail))
    first = seeds[0] if seeds else None
    wrong: dict[str, str] = {}
    for seed in seeds:
        for name, fault in seed.wrong_edges.items():
            wrong.setdefault(name, fault)
    return SimulationResult(
        vectors=vectors,
        mismatches=sum(seed.mismatches for seed in seeds),
        first_mismatch=next((seed.first_mismatch for seed in seeds if seed.first_mismatch), None),
        latency_simulated=first.latency if first else None,
        interval_simulated=first.interval if first else None,
        edges=edges,
        beats_checked=sum(seed.beats_checked for seed in seeds),
        beats_wrong=sum(seed.beats_wrong for seed in seeds),
        wrong_edges=tuple(WrongEdge(name, fault) for name, fault in wrong.items()),
        checks=(*checks, *unfinished),
        changed_files=changed_files,
        first_output_simulated=first.first_output if first else None,
    )


def _over_seeds(name: str, seeds: tuple[SeedResult, ...]) -> Check:
    found = [(seed.seed, check) for seed in seeds for check in seed.checks if check.name == name]
    bad = [(seed, check) for seed, check in found if not check.passed]
    if bad:
        seed, check = bad[0]
        return Check(name, False, f"{check.detail} (seed {seed})")
    return found[0][1]
