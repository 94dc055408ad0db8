"""Traffic: which inference starts when, which beat comes early, and when the design is reset."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sim.design import Design, Input, Watch

SETTLE = 8  # cycles that are watched after the last beat was due
RESET_ROUNDS = 16
RESET_CYCLES = 40_000  # that resets may take in a design where an inference takes long
FEWEST_ROUNDS = 6
RESTLESS = 6  # cycles after a start or a reset in each of which data_i changes while valid_i is low
SELDOM = 0.05  # how often it changes later on


@dataclass(frozen=True, slots=True)
class Start:
    """Present the first beat of `vector` at cycle `cycle`, and the others when they are due after it."""

    cycle: int
    vector: int


class Beat(NamedTuple):
    """Name a beat of a vector."""

    vector: int
    beat: int


@dataclass(frozen=True, slots=True)
class Hurry:
    """Present a beat of the only inference `cycles` earlier than it is due."""

    beat: int
    cycles: int


class Due(NamedTuple):
    """Expect beat `beat` of inference `inference` at `cycle`."""

    cycle: int
    inference: int
    vector: int
    beat: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """Describe `cycles` clock cycles.

    resets: cycles in which rst_i is high; each run starts with one. hurry: a beat that comes too early.
    """

    starts: tuple[Start, ...]
    resets: frozenset[int]
    cycles: int
    hurry: Hurry | None = None

    def _ends(self) -> list[int]:
        """Return, for each start, the cycle of the reset that ends the inference, or the end."""
        ends = [*sorted(reset for reset in self.resets if reset < self.cycles), self.cycles]
        return [ends[bisect_left(ends, start.cycle)] for start in self.starts]

    def due(self, watch: Watch) -> list[Due]:
        """Return the beats that must show on a watch, in order: those that no reset overtakes."""
        beats = []
        for k, (start, end) in enumerate(zip(self.starts, self._ends(), strict=True)):
            for beat, offset in enumerate(watch.cycles):
                if start.cycle + offset < end:
                    beats.append(Due(start.cycle + offset, k, start.vector, beat))
        return sorted(beats)

    def presented(self, port: Input) -> dict[int, Beat]:
        """Return the beats that come in on `data_i`, by cycle.

        A reset ends an inference: a beat that is due in its very cycle still comes, and vanishes; later ones do not
        come. Where inferences collide the later one goes on.
        """
        beats: dict[int, Beat] = {}
        for start, end in zip(self.starts, self._ends(), strict=True):
            for beat, offset in enumerate(port.cycles):
                cycle = start.cycle + offset
                if self.hurry is not None and beat == self.hurry.beat:
                    cycle -= self.hurry.cycles
                if cycle <= end and cycle < self.cycles:
                    beats[cycle] = Beat(start.vector, beat)
        return beats

    def changes(self, rng: np.random.Generator, beats: Iterable[int]) -> list[int]:
        """Return the cycles in which inputs change, ascending; beats: those in which beats come.

        A beat stands for one cycle; before and after it data_i is random, and goes on changing for some cycles, and
        seldom after that: what reads it at a wrong time reads something else.
        """
        found = rng.random(self.cycles) < SELDOM
        found[0] = True
        for cycle in {*beats, *self.resets}:
            found[max(0, cycle - 1) : cycle + RESTLESS + 1] = True
        return [int(cycle) for cycle in np.flatnonzero(found)]


def _traffic(design: Design, cycles: list[int], vectors: list[int], resets: frozenset[int] = frozenset()) -> Traffic:
    starts = tuple(Start(cycle, vector) for cycle, vector in zip(cycles, vectors, strict=True))
    return Traffic(starts, resets | {0}, cycles[-1] + design.depth + SETTLE)


def alone(design: Design) -> Traffic:
    """Return one inference, watched long enough to see it come much too late."""
    return Traffic((Start(1, 0),), frozenset({0}), 2 * design.latency + 64)


def back_to_back(design: Design, count: int) -> Traffic:
    """Return inferences that start one interval apart; vectors are repeated where there are fewer."""
    cycles = [1 + k * design.interval for k in range(count)]
    return _traffic(design, cycles, [k % design.vectors for k in range(count)])


def with_gaps(design: Design, count: int, rng: np.random.Generator) -> Traffic:
    """Return inferences with random gaps: none, short ones, and some that let the design run empty."""
    cycles, cycle = [], 1
    for _ in range(count):
        cycles.append(cycle)
        longest = (0, 3, design.depth + SETTLE)[int(rng.integers(3))]
        cycle += design.interval + int(rng.integers(longest + 1))
    return _traffic(design, cycles, rng.integers(design.vectors, size=count).tolist())


def with_resets(design: Design, rng: np.random.Generator) -> Traffic:
    """Return traffic that is reset again and again while inferences are in flight, for one cycle each time.

    Where an inference comes in several beats every other reset falls amid them, before the last has come. An inference
    is presented in the very cycle of the reset too: it must vanish as well. The next one comes at once, or after a
    while in which nothing may come of those before.
    """
    cycles: list[int] = []
    resets: set[int] = set()
    cycle = 1
    last_beat = design.input.cycles[-1]
    for k in range(reset_rounds(design)):
        amid = last_beat if last_beat and k % 2 else design.depth + design.interval + 4
        reset = cycle + 1 + int(rng.integers(amid))
        cycles += range(cycle, reset, design.interval)
        cycles.append(reset)
        resets.add(reset)
        cycle = reset + 1 + int(rng.integers(2)) * int(rng.integers(design.depth + SETTLE))
    last = 2 * (design.depth // design.interval) + 2
    cycles += [cycle + k * design.interval for k in range(last)]
    return _traffic(design, cycles, rng.integers(design.vectors, size=len(cycles)).tolist(), frozenset(resets))


def reset_rounds(design: Design) -> int:
    """Return how often a design is reset in mid-flight: less often where an inference takes long."""
    return max(FEWEST_ROUNDS, min(RESET_ROUNDS, RESET_CYCLES // (design.depth + design.interval)))


def short_distances(design: Design) -> list[int]:
    """Return distances at which a second inference starts too soon: after the last beat of the first, in cycles.

    At shorter ones its first beat would be taken for one of the first inference.
    """
    after, interval = design.input.cycles[-1] + 1, design.interval
    distances = {interval - 1, (after - 1 + interval) // 2, after}
    return sorted((distance for distance in distances if after <= distance < interval), reverse=True)


def too_soon(design: Design, distance: int) -> Traffic:
    """Return two inferences that start closer than the interval allows."""
    return _traffic(design, [1, 1 + distance], [0, 0])


def hurries(design: Design) -> list[Hurry]:
    """Return beats that may come too early, each alone: as little and as much as the beat before leaves room for.

    They are the first, one amid, and the last of those that do not follow the beat before at once.
    """
    gaps = [(k + 1, after - before) for k, (before, after) in enumerate(pairwise(design.input.cycles))]
    late = [Hurry(beat, gap - 1) for beat, gap in gaps if gap > 1]
    chosen = {late[k] for k in (0, len(late) // 2, len(late) - 1)} if late else set()
    early = chosen | {replace(hurry, cycles=1) for hurry in chosen}
    return sorted(early, key=lambda hurry: (hurry.beat, hurry.cycles))


def hurried(design: Design, hurry: Hurry) -> Traffic:
    """Return one inference of which one beat comes too early."""
    return replace(_traffic(design, [1], [0]), hurry=hurry)
