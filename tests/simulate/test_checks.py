"""The judgement itself, on traces written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.checks import Trace, judge, output_cycles, sustained_interval, telling_beats, wanted
from sim.design import Design, Input, Tensor, Watch
from sim.traffic import (
    SETTLE,
    Beat,
    Due,
    Hurry,
    Traffic,
    alone,
    back_to_back,
    hurried,
    hurries,
    reset_rounds,
    short_distances,
    too_soon,
    with_gaps,
    with_resets,
)

WORDS = tuple(range(1, 21))


class Given:
    """Give words as they are listed, by vector and beat."""

    def __init__(self, *vectors: tuple[int, ...]) -> None:
        self.vectors = vectors

    def __len__(self) -> int:
        return len(self.vectors)

    def word(self, vector: int, beat: int) -> int:
        return self.vectors[vector][beat]


BEATS = Watch(
    name="halves",
    valid="v",
    data="d",
    cycles=(2, 3),
    tensors=(Tensor("halves", (4,), 4, 1, True, 0, 2),),
    expected=Given(*((word, word << 3 & 0xFF) for word in WORDS)),
    masks=(0xFF, 0xFF),
)
SINGLE = Given(*((word,) for word in WORDS))
PORT = replace(BEATS, name="output", cycles=(5,), expected=SINGLE, masks=(0xFF,))
DESIGN = Design(interval=2, input=Input((0,), 8, SINGLE, (0xFF,)), watches=(PORT, BEATS), memories=())
SLOW = replace(DESIGN, interval=30, watches=(replace(PORT, cycles=(40,)), replace(BEATS, cycles=(9, 38))))
STREAMED = Design(
    interval=12,
    input=Input((0, 1, 4, 8), 8, Given(*((word, word + 1, word + 2, word + 3) for word in WORDS)), (0xFF,) * 4),
    watches=(replace(BEATS, name="output", cycles=(15, 17)), replace(BEATS, cycles=(3, 9))),
    memories=(),
)


def perfect(watch: Watch, traffic: Traffic, shift_valid: int = 0, shift_data: int = 0, hold: int = 0) -> Trace:
    valid = bytearray(traffic.cycles)
    data = dict.fromkeys(range(-2, traffic.cycles + 2), 0xA5)
    for due in traffic.due(watch):
        for back in range(hold + 1):
            data[due.cycle + shift_data - back] = watch.expected.word(due.vector, due.beat)
        if due.cycle + shift_valid < traffic.cycles:
            valid[due.cycle + shift_valid] = 1
    return Trace({watch.valid: valid}, {watch.data: data}, bytearray(traffic.cycles))


@pytest.mark.parametrize("watch", [PORT, BEATS])
def test_what_is_due_passes(watch: Watch) -> None:
    traffic = back_to_back(DESIGN, 30)
    finding = judge(watch, traffic, perfect(watch, traffic))
    assert (finding.checked, finding.wrong, finding.fault) == (30 * len(watch.cycles), 0, None)


@pytest.mark.parametrize("shift", [-2, -1, 1, 2])
@pytest.mark.parametrize("kind", ["shift_valid", "shift_data"])
@pytest.mark.parametrize("watch", [PORT, BEATS])
def test_any_shift_is_found(watch: Watch, kind: str, shift: int) -> None:
    traffic = with_gaps(DESIGN, 40, np.random.default_rng(1))
    assert judge(watch, traffic, perfect(watch, traffic, **{kind: shift})).wrong > 0


def test_data_that_was_there_before_is_early() -> None:
    traffic = with_gaps(DESIGN, 40, np.random.default_rng(1))
    finding = judge(PORT, traffic, perfect(PORT, traffic, hold=1))
    assert finding.wrong >= 30
    assert finding.fault is not None
    assert "right one cycle before" in finding.fault
    assert finding.wrong_bits == 0


def test_equal_data_can_tell_nothing() -> None:
    constant = replace(PORT, expected=Given(*((3,),) * len(WORDS)))
    traffic = back_to_back(DESIGN, 30)
    assert judge(constant, traffic, perfect(constant, traffic, hold=1)).wrong == 0
    assert telling_beats(constant, traffic) == 0
    assert telling_beats(PORT, traffic) == 29


def test_a_beat_like_that_of_the_inference_before_can_tell_nothing() -> None:
    """What is idle still shows it: only beats of inferences that differ there can tell."""
    serial = replace(BEATS, expected=Given(*((1, 2 + k % 2) for k in range(20))))
    traffic = back_to_back(DESIGN, 20)
    assert telling_beats(serial, traffic) == 20  # of 40, the second of each


def test_one_wrong_bit_names_its_element() -> None:
    traffic = back_to_back(DESIGN, 3)
    trace = perfect(BEATS, traffic)
    last = traffic.due(BEATS)[-1]
    assert (last.inference, last.beat) == (2, 1)
    trace.data["d"][last.cycle] ^= 0x80
    finding = judge(BEATS, traffic, trace)
    assert (finding.wrong, finding.wrong_bits) == (1, 1)
    # beat 1 of two carries elements 2 and 3; raw 3 << 3 is 24: nibbles 8 and 1
    assert finding.mismatch == "'halves'[3]: expected 0.5 (raw 1), got -3.5 (raw -7), inference 2 (vector 2)"


def test_empty_lanes_are_not_compared() -> None:
    # the second beat carries three elements of two: the last lane is empty
    odd = replace(BEATS, tensors=(Tensor("halves", (3,), 4, 1, True, 0, 2),), masks=(0xFF, 0x0F))
    odd = replace(odd, expected=Given(*((word, word << 3 & 0x0F) for word in WORDS)))
    traffic = back_to_back(DESIGN, 30)
    trace = perfect(odd, traffic)
    seconds = [due for due in traffic.due(odd) if due.beat == 1]
    for due in seconds:
        trace.data["d"][due.cycle] |= 0xD0
    assert judge(odd, traffic, trace).wrong == 0
    trace.data["d"][seconds[5].cycle] ^= 0x08
    finding = judge(odd, traffic, trace)
    assert (finding.wrong, finding.wrong_bits) == (1, 1)
    assert finding.mismatch is not None
    assert finding.mismatch.startswith("'halves'[2]: ")


@pytest.mark.parametrize("watch", SLOW.watches)
def test_beats_of_several_inferences_may_be_in_flight(watch: Watch) -> None:
    traffic = with_gaps(SLOW, 40, np.random.default_rng(1))
    assert judge(watch, traffic, perfect(watch, traffic)).wrong == 0
    trace = perfect(watch, traffic)
    trace.valid["v"][traffic.due(watch)[3].cycle] = 0
    assert judge(watch, traffic, trace).wrong == 1


def test_one_stray_or_missing_valid_is_found() -> None:
    traffic = back_to_back(DESIGN, 5)
    trace = perfect(PORT, traffic)
    trace.valid["v"][traffic.cycles - 1] = 1
    finding = judge(PORT, traffic, trace)
    assert finding.fault == f"cycle {traffic.cycles - 1}: v was high while nothing was due"
    trace = perfect(PORT, traffic)
    trace.valid["v"][6] = 0
    finding = judge(PORT, traffic, trace)
    assert finding.fault == "cycle 6: v was low when beat 0 of inference 0 was due"


def test_a_missing_signal_is_a_fault() -> None:
    traffic = back_to_back(DESIGN, 5)
    assert judge(BEATS, traffic, Trace({"v": bytearray(traffic.cycles)}, {}, bytearray())).wrong == 1


def test_a_reset_takes_what_is_in_flight() -> None:
    traffic = replace(back_to_back(DESIGN, 4), resets=frozenset({0, 6}))
    # starts at 1, 3, 5 and 7: the first would come out in cycle 6, in which the reset is asserted
    assert [(due.cycle, due.inference) for due in traffic.due(PORT)] == [(12, 3)]
    assert traffic.due(BEATS)[0] == Due(cycle=3, inference=0, vector=0, beat=0)


def test_traffic_keeps_the_interval_and_ends_empty() -> None:
    rng = np.random.default_rng(2)
    gaps = with_gaps(DESIGN, 200, rng)
    distances = np.diff([start.cycle for start in gaps.starts])
    assert distances.min() == DESIGN.interval
    assert distances.max() > DESIGN.depth
    assert gaps.cycles == gaps.starts[-1].cycle + DESIGN.depth + SETTLE
    resets = with_resets(DESIGN, rng)
    assert {start.cycle for start in resets.starts} >= resets.resets - {0}
    taken = len(resets.starts) - len(resets.due(PORT))
    assert taken > len(resets.resets) - 1


def test_long_designs_are_reset_before_and_after_they_settle() -> None:
    traffic = with_resets(SLOW, np.random.default_rng(2))
    resets = sorted(traffic.resets - {0})
    follow = [next(start.cycle for start in traffic.starts if start.cycle > reset) - reset for reset in resets]
    assert min(follow) == 1
    assert max(follow) > SLOW.depth // 2
    ends = [reset - max(start.cycle for start in traffic.starts if start.cycle < reset) for reset in resets]
    assert min(ends) < SLOW.interval // 2
    assert traffic.cycles < len(resets) * 3 * (SLOW.depth + SLOW.interval)


def test_the_input_moves_around_every_start_and_seldom_else() -> None:
    traffic = back_to_back(SLOW, 100)
    changes = traffic.changes(np.random.default_rng(1), traffic.presented(SLOW.input))
    assert set(changes) >= {start.cycle + k for start in traffic.starts for k in (-1, 0, 1, 2)} - {-1}
    assert len(changes) < traffic.cycles / 2
    dense = back_to_back(DESIGN, 50)
    assert dense.changes(np.random.default_rng(1), dense.presented(DESIGN.input))[:99] == list(range(99))


def test_latency_and_interval_are_measured() -> None:
    traffic = back_to_back(DESIGN, 10)
    trace = perfect(PORT, traffic)
    assert sustained_interval(DESIGN, traffic, trace) == 2
    assert output_cycles(DESIGN, traffic, trace) == list(range(5, 25, 2))
    trace.valid["v"][6] = 0
    assert sustained_interval(DESIGN, traffic, trace) is None
    lone = alone(DESIGN)
    assert output_cycles(DESIGN, lone, perfect(PORT, lone, shift_valid=3)) == [8]
    assert output_cycles(DESIGN, lone, Trace({"v": bytearray(lone.cycles)}, {}, bytearray())) == []


def test_data_is_read_where_it_is_due_and_one_cycle_before() -> None:
    traffic = alone(DESIGN)
    assert wanted((BEATS,), traffic) == {"d": {2, 3, 4}}


def test_latency_and_interval_are_those_of_beats() -> None:
    traffic = back_to_back(STREAMED, 6)
    trace = perfect(STREAMED.output, traffic)
    assert sustained_interval(STREAMED, traffic, trace) == 12
    assert output_cycles(STREAMED, traffic, trace)[:4] == [15, 17, 27, 29]
    first = traffic.due(STREAMED.output)[-2].cycle
    trace.valid["v"][first], trace.valid["v"][first - 1] = 0, 1
    assert sustained_interval(STREAMED, traffic, trace) == pytest.approx(12 - 1 / 5)
    trace.valid["v"][first - 1] = 0
    assert sustained_interval(STREAMED, traffic, trace) is None


def test_beats_of_an_inference_come_at_their_cycles() -> None:
    traffic = back_to_back(STREAMED, 2)
    cycles = {1: (0, 0), 2: (0, 1), 5: (0, 2), 9: (0, 3), 13: (1, 0), 14: (1, 1), 17: (1, 2), 21: (1, 3)}
    assert traffic.presented(STREAMED.input) == {cycle: Beat(*beat) for cycle, beat in cycles.items()}
    changes = traffic.changes(np.random.default_rng(1), cycles)
    assert set(range(16)) <= set(changes)


def test_a_reset_ends_an_inference_between_its_beats() -> None:
    traffic = replace(back_to_back(STREAMED, 2), resets=frozenset({0, 5}))
    assert [cycle for cycle in traffic.presented(STREAMED.input) if cycle < 13] == [1, 2, 5]
    assert {due.inference for due in traffic.due(STREAMED.output)} == {1}
    traffic = with_resets(STREAMED, np.random.default_rng(2))
    starts = sorted(start.cycle for start in traffic.starts)
    amid = [reset - max(cycle for cycle in starts if cycle < reset) for reset in traffic.resets - {0}]
    assert len(amid) == reset_rounds(STREAMED) == 16
    assert sum(0 < distance <= 8 for distance in amid) >= 8
    long = replace(STREAMED, interval=5000)
    assert reset_rounds(long) == 7


def test_rules_are_broken_where_the_design_can_tell() -> None:
    assert short_distances(STREAMED) == [11, 10, 9]
    assert short_distances(DESIGN) == [1]
    assert short_distances(replace(DESIGN, interval=1)) == hurries(DESIGN) == []
    assert short_distances(replace(STREAMED, interval=9)) == []
    assert hurries(STREAMED) == [Hurry(2, 1), Hurry(2, 2), Hurry(3, 1), Hurry(3, 3)]
    soon = too_soon(STREAMED, 9).presented(STREAMED.input)
    assert sorted(soon) == [1, 2, 5, 9, 10, 11, 14, 18]
    early = hurried(STREAMED, Hurry(3, 3)).presented(STREAMED.input)
    assert early == {1: Beat(0, 0), 2: Beat(0, 1), 5: Beat(0, 2), 6: Beat(0, 3)}
