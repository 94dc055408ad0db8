"""Traffic: which inference starts when, and when the design is reset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.design import Design, Watch

SETTLE = 8  # cycles that are watched after the last beat was due
RESET_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Start:
    """Present `vector` at cycle `cycle`."""

    cycle: int
    vector: int


@dataclass(frozen=True, slots=True)
class Due:
    """Expect beat `beat` of inference `inference` at `cycle`."""

    cycle: int
    inference: int
    vector: int
    beat: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """Describe `cycles` clock cycles. resets: cycles in which rst_i is high; each run starts with one."""

    starts: tuple[Start, ...]
    resets: frozenset[int]
    cycles: int

    def due(self, watch: Watch) -> list[Due]:
        """Return the beats that must show on a watch, in order: those that no reset overtakes."""
        resets = sorted(self.resets)
        beats = []
        for k, start in enumerate(self.starts):
            reset = next((r for r in resets if r >= start.cycle), self.cycles)
            for beat, offset in enumerate(watch.cycles):
                if start.cycle + offset < min(reset, self.cycles):
                    beats.append(Due(start.cycle + offset, k, start.vector, beat))
        return sorted(beats, key=lambda due: due.cycle)


def _traffic(design: Design, cycles: list[int], vectors: list[int], resets: frozenset[int] = frozenset()) -> Traffic:
    starts = tuple(Start(cycle, vector) for cycle, vector in zip(cycles, vectors, strict=True))
    return Traffic(starts, resets | {0}, cycles[-1] + design.depth + SETTLE)


def alone(design: Design) -> Traffic:
    """Return one inference, watched long enough to see it come much too late."""
    return Traffic((Start(1, 0),), frozenset({0}), 2 * design.latency + 64)


def back_to_back(design: Design, count: int) -> Traffic:
    """Return inferences that start one interval apart; vectors are repeated where there are fewer."""
    cycles = [1 + k * design.interval for k in range(count)]
    return _traffic(design, cycles, [k % len(design.inputs) for k in range(count)])


def with_gaps(design: Design, count: int, rng: np.random.Generator) -> Traffic:
    """Return inferences with random gaps: none, short ones, and some that let the design run empty."""
    cycles, cycle = [], 1
    for _ in range(count):
        cycles.append(cycle)
        longest = (0, 3, design.depth + SETTLE)[int(rng.integers(3))]
        cycle += design.interval + int(rng.integers(longest + 1))
    return _traffic(design, cycles, rng.integers(len(design.inputs), size=count).tolist())


def with_resets(design: Design, rng: np.random.Generator) -> Traffic:
    """Return traffic that is reset again and again while inferences are in flight, for one cycle each time.

    An inference is presented in the very cycle of the reset too: it must vanish as well.
    """
    cycles: list[int] = []
    resets: set[int] = set()
    cycle = 1
    for _ in range(RESET_ROUNDS):
        reset = cycle + 1 + int(rng.integers(design.depth + design.interval + 4))
        cycles += range(cycle, reset, design.interval)
        cycles.append(reset)
        resets.add(reset)
        cycle = reset + 1
    cycles += [cycle + k * design.interval for k in range(2 * design.depth + 2)]
    return _traffic(design, cycles, rng.integers(len(design.inputs), size=len(cycles)).tolist(), frozenset(resets))


def too_soon(design: Design, distance: int) -> Traffic:
    """Return two inferences that start closer than the interval allows."""
    return _traffic(design, [1, 1 + distance], [0, 0])
