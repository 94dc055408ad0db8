"""Traffic: which inference starts when, and when the design is reset."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim.design import Design, Watch

SETTLE = 8  # cycles that are watched after the last beat was due
RESET_ROUNDS = 16
RESTLESS = 6  # cycles after a start or a reset in each of which data_i changes while valid_i is low
SELDOM = 0.05  # how often it changes later on


@dataclass(frozen=True, slots=True)
class Start:
    """Present `vector` at cycle `cycle`."""

    cycle: int
    vector: int


class Due(NamedTuple):
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
        ends = [*sorted(reset for reset in self.resets if reset < self.cycles), self.cycles]
        beats = []
        for k, start in enumerate(self.starts):
            end = ends[bisect_left(ends, start.cycle)]
            for beat, offset in enumerate(watch.cycles):
                if start.cycle + offset < end:
                    beats.append(Due(start.cycle + offset, k, start.vector, beat))
        return sorted(beats)

    def changes(self, rng: np.random.Generator) -> list[int]:
        """Return the cycles in which inputs change, ascending.

        An input stands for one cycle; before and after it data_i is random, and goes on changing for some cycles, and
        seldom after that: what reads it at a wrong time reads something else.
        """
        starts = {start.cycle for start in self.starts}
        found = {0, *(cycle + k for cycle in starts | self.resets for k in range(-1, RESTLESS + 1))}
        found.update(np.flatnonzero(rng.random(self.cycles) < SELDOM).tolist())
        return sorted(cycle for cycle in found if 0 <= cycle < self.cycles)


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

    An inference is presented in the very cycle of the reset too: it must vanish as well. The next one comes at once, or
    after a while in which nothing may come of those before.
    """
    cycles: list[int] = []
    resets: set[int] = set()
    cycle = 1
    for _ in range(RESET_ROUNDS):
        reset = cycle + 1 + int(rng.integers(design.depth + design.interval + 4))
        cycles += range(cycle, reset, design.interval)
        cycles.append(reset)
        resets.add(reset)
        cycle = reset + 1 + int(rng.integers(2)) * int(rng.integers(design.depth + SETTLE))
    last = 2 * (design.depth // design.interval) + 2
    cycles += [cycle + k * design.interval for k in range(last)]
    return _traffic(design, cycles, rng.integers(len(design.inputs), size=len(cycles)).tolist(), frozenset(resets))


def too_soon(design: Design, distance: int) -> Traffic:
    """Return two inferences that start closer than the interval allows."""
    return _traffic(design, [1, 1 + distance], [0, 0])
