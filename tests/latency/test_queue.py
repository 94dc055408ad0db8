"""The queue against a slow model that looks at every edge of the clock, one after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.latency.arrivals import Arrivals
from flow.latency.queue import Service, serve


def of(times_ps: list[int]) -> Arrivals:
    return Arrivals("file", np.array(times_ps, dtype=np.int64), None, "given")


@dataclass
class Slow:
    """Walk from edge to edge with a list as the buffer; all times are fractions of ps."""

    times: list[int]
    service: Service
    cycle: int = 0
    last: int | None = None
    out_start: Fraction | None = None
    sent: list[Fraction] = field(default_factory=list)
    buffer: list[int] = field(default_factory=list)
    ends: list[Fraction] = field(default_factory=list)
    admitted: dict[int, int] = field(default_factory=dict)
    waits: dict[int, Fraction] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    deepest: int = 0
    inside: int = 0
    held: int = 0
    first: int | None = None

    def __post_init__(self) -> None:
        for t in self.times:
            earliest = self.sent[-1] + self.service.wire_in_ps if self.sent else Fraction(t)
            self.sent.append(max(Fraction(t), earliest))
        coming = list(range(len(self.times)))
        while coming or self.buffer:
            if self.buffer and self.may_admit():
                self.admit(self.buffer.pop(0))
            while coming and self.sent[coming[0]] <= self.now:
                self.first = self.cycle if self.first is None else self.first
                self.arrive(coming.pop(0))
            self.deepest = max(self.deepest, len(self.buffer))
            self.inside += len(self.buffer)
            self.cycle += 1

    @property
    def period(self) -> Fraction:
        ns = self.service.period_ns
        return Fraction(10_000, 3) if ns == 1e9 / 3e8 else Fraction(str(ns)) * 1000

    @property
    def now(self) -> Fraction:
        return self.cycle * self.period

    @property
    def span(self) -> int:
        return max(self.admitted.values(), default=0) - (self.first or 0)

    def may_admit(self) -> bool:
        rested = self.last is None or self.cycle - self.last >= self.service.interval
        places = self.service.output_buffer
        return rested and (places is None or sum(end > self.now for end in self.ends) < places)

    def admit(self, k: int) -> None:
        self.last = self.admitted[k] = self.cycle
        done = (self.cycle + self.service.latency) * self.period
        self.out_start = done if self.out_start is None else max(done, self.out_start + self.service.wire_out_ps)
        self.ends.append(self.out_start + self.service.wire_out_ps)
        self.waits[k] = self.now - self.times[k] + self.out_start - done

    def arrive(self, k: int) -> None:
        depth, overrun = self.service.buffer, self.service.overrun
        if not self.buffer and self.may_admit():
            self.admit(k)
        elif depth is None or overrun == "wait":
            self.held += depth is not None and len(self.buffer) >= depth
            self.buffer.append(k)
        elif len(self.buffer) < depth:
            self.buffer.append(k)
        elif overrun == "drop_old":
            self.dropped.add(self.buffer.pop(0))
            self.buffer.append(k)
        else:
            self.dropped.add(k)


SERVICES = st.builds(
    Service,
    interval=st.integers(1, 7),
    latency=st.integers(0, 20),
    period_ns=st.sampled_from([1.0, 2.5, 4.0, 1e9 / 3e8, 0.7]),
    wire_in_ps=st.sampled_from([0, 0, 900, 4000, 12_345]),
    wire_out_ps=st.sampled_from([0, 0, 700, 9000, 20_001]),
    buffer=st.one_of(st.none(), st.integers(1, 4)),
    overrun=st.sampled_from(["wait", "drop_new", "drop_old"]),
    output_buffer=st.one_of(st.none(), st.integers(1, 5)),
)
GAPS = st.lists(st.one_of(st.just(0), st.integers(0, 9000), st.sampled_from([2500, 10_000, 30_000])), max_size=40)


@settings(max_examples=400, deadline=None, database=None, derandomize=True)
@given(SERVICES, GAPS, st.integers(0, 5000))
def test_every_arrival_fares_as_in_the_slow_model(service, gaps, start):
    times = [start + sum(gaps[:k]) for k in range(len(gaps) + 1)]
    slow, fast = Slow(times, service), serve(of(times), service)
    served = [k for k in range(len(times)) if k in slow.admitted]
    assert np.flatnonzero(fast.served).tolist() == served
    assert fast.dropped == len(slow.dropped) == len(times) - len(served)
    assert fast.admissions.tolist() == [slow.admitted[k] for k in served]
    assert [fast.tick_ps * int(w) for w in fast.waiting] == [slow.waits[k] for k in served]
    assert fast.depth_max == slow.deepest
    assert fast.held == slow.held
    if slow.span and not slow.dropped:
        assert fast.depth_mean == pytest.approx(slow.inside / slow.span)
    # the core raises overrun_o when an inference begins sooner
    assert (np.diff(fast.admissions) >= service.interval).all()


@pytest.mark.parametrize("overrun", ["drop_new", "drop_old"])
def test_the_buffer_is_never_deeper_than_it_is(overrun):
    times = list(range(0, 100_000, 137))
    served = serve(of(times), Service(5, 9, 1.0, buffer=3, overrun=overrun))
    assert served.depth_max == 3
    assert served.dropped > 400


def test_without_a_buffer_what_comes_while_the_core_rests_is_lost():
    # II 4 at 1 ns: the third and fourth come while the core rests
    served = serve(of([0, 4000, 5000, 7999, 8001]), Service(4, 2, 1.0, buffer=0, overrun="drop_new"))
    assert served.served.tolist() == [True, True, False, True, False]
    assert served.depth_max == 0


def test_dropping_the_old_serves_the_newest_sooner():
    times = [0, 100, 200, 300]
    new = serve(of(times), Service(10, 1, 1.0, buffer=1, overrun="drop_new"))
    old = serve(of(times), Service(10, 1, 1.0, buffer=1, overrun="drop_old"))
    assert np.flatnonzero(new.served).tolist() == [0, 1]
    assert np.flatnonzero(old.served).tolist() == [0, 3]


def test_integers_do_not_overflow_however_long_it_lasts():
    times = [0, 10**17, 10**18 - 1]
    served = serve(of(times), Service(3, 5, 1e9 / 299_792_458))
    assert served.capture.dtype == object
    assert served.waiting[0] == 0
    waits = served.ns(served.waiting)
    assert (waits >= 0).all()
    assert (waits < 1e9 / 299_792_458).all()


def test_admissions_beyond_64_bits_are_still_counted():
    served = serve(of([0, 1, 2]), Service(1, 1, 1.0, wire_in_ps=10**25))
    assert list(served.admissions) == [0, 10**22, 2 * 10**22]
