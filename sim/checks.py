"""Judge what was seen on the signals against what was due. Pure functions: no simulator is needed to test them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sim.design import Design, Watch
from sim.traffic import Due, Traffic

TELLING = 24  # beats that must all be early before data counts as early: a few may be so by chance


@dataclass(frozen=True, slots=True)
class Trace:
    """Hold what was seen in each cycle.

    valid: by signal name, the level in each cycle. data: by signal name and cycle, the words that were read.
    """

    valid: dict[str, bytearray]
    data: dict[str, dict[int, int]]
    overrun: bytearray


@dataclass(frozen=True, slots=True)
class Finding:
    """Say what was found on one watch: beats compared, wrong ones, wrong bits, and the first fault in words."""

    checked: int = 0
    wrong: int = 0
    wrong_bits: int = 0
    fault: str | None = None
    mismatch: str | None = None


@dataclass(slots=True)
class _Faults:
    cycles: set[int] = field(default_factory=set)
    wrong_bits: int = 0
    by_cycle: list[tuple[int, str]] = field(default_factory=list)
    mismatch: str | None = None


def wanted(watches: tuple[Watch, ...], traffic: Traffic) -> dict[str, set[int]]:
    """Return the cycles in which each data signal must be read: where a beat is due, and one cycle before."""
    cycles: dict[str, set[int]] = {}
    for watch in watches:
        due = {beat.cycle for beat in traffic.due(watch)}
        cycles.setdefault(watch.data, set()).update(due, (cycle - 1 for cycle in due if cycle > 0))
    return cycles


def judge(watch: Watch, traffic: Traffic, trace: Trace) -> Finding:
    """Compare one watch with what was due: valid in every cycle, data at its cycle and not before."""
    if watch.valid not in trace.valid or watch.data not in trace.data:
        missing = watch.valid if watch.valid not in trace.valid else watch.data
        return Finding(fault=f"the design has no signal {missing}", wrong=1)
    beats = traffic.due(watch)
    faults = _Faults()
    _judge_valid(watch, traffic, beats, trace.valid[watch.valid], faults)
    seen = trace.data[watch.data]
    for due in beats:
        expected, got = watch.expected.word(due.vector, due.beat), seen[due.cycle] & watch.masks[due.beat]
        if expected != got:
            faults.cycles.add(due.cycle)
            faults.wrong_bits += (expected ^ got).bit_count()
            text = f"{watch.difference(due.beat, expected, got)}, inference {due.inference} (vector {due.vector})"
            faults.by_cycle.append((due.cycle, text))
            faults.mismatch = faults.mismatch or text
    early = _early(watch, beats, seen) if not faults.wrong_bits else []
    if early:
        faults.cycles.update(early)
        text = f"data was right one cycle before it was due, in all {len(early)} beats that can tell"
        faults.by_cycle.append((beats[0].cycle, text))
    fault = None
    if faults.by_cycle:
        cycle, text = min(faults.by_cycle, key=lambda entry: entry[0])
        fault = f"cycle {cycle}: {text}"
    return Finding(len(beats), len(faults.cycles), faults.wrong_bits, fault, faults.mismatch)


def _judge_valid(watch: Watch, traffic: Traffic, beats: list[Due], levels: bytearray, faults: _Faults) -> None:
    due = {beat.cycle: beat for beat in beats}
    high = np.zeros(len(levels), np.uint8)
    high[list(due)] = 1
    for cycle in np.flatnonzero(np.frombuffer(levels, np.uint8) != high).tolist():
        # while rst_i is high, what is in flight may show or not
        if cycle in traffic.resets:
            continue
        faults.cycles.add(cycle)
        if levels[cycle]:
            faults.by_cycle.append((cycle, f"{watch.valid} was high while nothing was due"))
        else:
            beat = due[cycle]
            text = f"{watch.valid} was low when beat {beat.beat} of inference {beat.inference} was due"
            faults.by_cycle.append((cycle, text))


def _telling(watch: Watch, beats: list[Due]) -> Iterator[Due]:
    """Give the beats that can show that data is early.

    They differ from the beat before, and from the same beat of the inference before, which an idle engine or a buffer
    still holds; and they are not early by nature.
    """
    same: dict[int, int] = {}
    for last, due in pairwise(beats):
        before = watch.expected.word(last.vector, last.beat)
        same[last.beat] = before
        natural = watch.early is not None and watch.early[due.vector, due.beat]
        expected = watch.expected.word(due.vector, due.beat)
        if expected not in {before & watch.masks[due.beat], same.get(due.beat)} and not natural:
            yield due


def _early(watch: Watch, beats: list[Due], seen: dict[int, int]) -> list[int]:
    """Return the cycles of the beats that showed their data one cycle early, if all did that can tell."""
    early: list[int] = []
    for due in _telling(watch, beats):
        if seen[due.cycle - 1] & watch.masks[due.beat] != watch.expected.word(due.vector, due.beat):
            return []
        early.append(due.cycle)
    return early if len(early) >= TELLING else []


def telling_beats(watch: Watch, traffic: Traffic) -> int:
    """Return the number of beats that can show that data is early."""
    return sum(1 for _ in _telling(watch, traffic.due(watch)))


def output_cycles(design: Design, traffic: Traffic, trace: Trace) -> list[int]:
    """Return the cycles, counted from the first input beat, in which valid_o was high."""
    levels = trace.valid[design.output.valid]
    start = traffic.starts[0].cycle
    return [cycle - start for cycle in range(start, len(levels)) if levels[cycle]]


def sustained_interval(design: Design, traffic: Traffic, trace: Trace) -> float | None:
    """Return the mean distance of the first beats of results in cycles; None when not all beats of all came."""
    came, beats = output_cycles(design, traffic, trace), len(design.output.cycles)
    if len(came) != beats * len(traffic.starts) or len(traffic.starts) < 2:
        return None
    return (came[-beats] - came[0]) / (len(traffic.starts) - 1)


def first_overrun(traffic: Traffic, trace: Trace) -> int | None:
    """Return the first cycle in which overrun_o was high outside reset."""
    return next((c for c, level in enumerate(trace.overrun) if level and c not in traffic.resets), None)
