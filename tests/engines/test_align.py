"""Branches that meet: who waits for whom, and how many beats wait at most."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from flow.engines.align import Fifo, alignment, most_waiting
from flow.latency.schedule import Schedule, evenly


def test_the_latest_edge_leads() -> None:
    found = alignment((evenly(3, 4, 1), evenly(9, 4, 1)))
    assert (found.leader, found.shift, found.target) == (1, 0, evenly(9, 4, 1))


def test_an_edge_that_is_overtaken_in_between_waits_itself() -> None:
    found = alignment((Schedule((0, 1, 10)), Schedule((5, 6, 7))))
    assert (found.leader, found.shift, found.target) == (0, 5, Schedule((5, 6, 15)))


def _waiting_by_hand(pushed: Schedule, popped: Schedule, starts: tuple[int, ...]) -> int:
    most = 0
    for cycle in range(starts[-1] + popped.last + 1):
        waiting = sum(
            a + start <= cycle < b + start
            for start in starts
            for a, b in zip(pushed.cycles, popped.cycles, strict=True)
        )
        most = max(most, waiting)
    return most


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_inferences_keeps_more_waiting_and_one_keeps_as_many(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, interval = int(rng.integers(1, 5)), int(rng.integers(3, 9))
    pushed = Schedule(tuple(np.cumsum(rng.integers(1, 3, count)).tolist()))
    popped = Schedule(tuple((np.array(pushed.cycles) + np.sort(rng.integers(1, 10, count))).tolist()))
    gaps = itertools.product(range(interval, interval + popped.last + 1), repeat=2)
    by_hand = max(_waiting_by_hand(pushed, popped, (0, a, a + b)) for a, b in gaps)
    found = most_waiting(pushed, popped, interval)
    assert found >= by_hand
    if popped.last - pushed.first < 2 * interval:  # three inferences are all that can meet
        assert found == by_hand


def test_beats_in_every_cycle_wait_as_many_as_cycles() -> None:
    assert most_waiting(evenly(0, 30, 1), evenly(7, 30, 1), 30) == 7
    assert most_waiting(evenly(0, 30, 1), evenly(40, 30, 1), 30) == 40


def test_a_short_fifo_lies_in_registers_and_a_long_one_in_memory() -> None:
    stores = [Fifo("x", 4, 32, depth, bypass=False).store for depth in (2, 4, 5, 63, 64)]
    assert stores == ["registers", "registers", "lutram", "lutram", "bram"]
