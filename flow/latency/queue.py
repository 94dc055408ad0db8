"""The queue in front of a design: what an inference waits for before the core, and behind it.

A design of interval II and latency L serves one inference after another in the order of arrival:
    wire inward      an inference follows when the one before it has gone over the wire (wire_in)
    capture          the first edge of the clock at or after its arrival takes it: 0 up to 1 period
    admission        when II cycles have passed since the last one, and a place for its result is free
    result           L cycles later; it leaves when the result before it has gone over the wire (wire_out)
All times are integers in ticks, a whole fraction of a picosecond of which the period has a whole number: nothing is
rounded but the arrivals and wire times themselves, to a picosecond.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flow.latency.arrivals import Arrivals
from flow.quantity import simplest

Overrun = Literal["wait", "drop_new", "drop_old"]
Ticks = NDArray[Any]  # int64 where everything fits, else Python integers


@dataclass(frozen=True, slots=True)
class Service:
    """Describe what serves.

    interval, latency: of the core, in cycles of period_ns. wire_in_ps, wire_out_ps: least spacing of two inferences on
    the link; 0 where none is known. buffer: inferences that can wait before the core, None for any number. overrun:
    what becomes of an arrival that finds them all taken: the sender keeps it (`wait`), it is lost (`drop_new`), or the
    one that has waited longest is lost (`drop_old`). output_buffer: inferences that may be between admission and the
    end of their way out, None for any number.
    """

    interval: int
    latency: int
    period_ns: float
    wire_in_ps: int = 0
    wire_out_ps: int = 0
    buffer: int | None = None
    overrun: Overrun = "wait"
    output_buffer: int | None = None

    @property
    def period_ps(self) -> Fraction:
        """Return the clock's period."""
        return simplest(self.period_ns) * 1000

    @property
    def core_ps(self) -> Fraction:
        """Return the least average spacing of admissions, by II and by the places for results."""
        spacing = Fraction(self.interval)
        if self.output_buffer is not None:
            taken = -(-(self.latency * self.period_ps + self.wire_out_ps) // self.period_ps)
            spacing = max(spacing, Fraction(taken, self.output_buffer))
        return spacing * self.period_ps

    @property
    def drops(self) -> bool:
        """Tell whether inferences may be lost."""
        return self.buffer is not None and self.overrun != "wait"


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """Hold what became of every arrival.

    served: which of them were admitted. The rest is of these alone, in their order: admissions in cycles, and the waits
    in ticks, `tick_ps` each: before the wire inward, for the clock's edge, for admission, before the wire outward.
    depth_max, depth_mean: inferences waiting for admission, after each edge, and on average over time.
    held: arrivals that the sender had to keep.
    """

    served: NDArray[np.bool_]
    admissions: Ticks
    sending: Ticks
    capture: Ticks
    queueing: Ticks
    leaving: Ticks
    tick_ps: Fraction
    depth_max: int
    depth_mean: float
    held: int

    @property
    def dropped(self) -> int:
        """Return how many arrivals were lost."""
        return int(self.served.size - self.served.sum())

    @property
    def waiting(self) -> Ticks:
        """Return all that each inference waits for, in ticks."""
        return self.sending + self.capture + self.queueing + self.leaving

    def ns(self, ticks: Ticks) -> NDArray[np.float64]:
        """Return ticks in ns."""
        return ticks.astype(np.float64) * float(self.tick_ps / 1000)


def serve(arrivals: Arrivals, service: Service) -> Served:
    """Follow every arrival through the queue."""
    per_ps = service.period_ps.denominator
    period = service.period_ps.numerator  # ticks
    wire_in, wire_out = service.wire_in_ps * per_ps, service.wire_out_ps * per_ps
    kind = _integers(arrivals, service, per_ps)
    arrived: Ticks = arrivals.times_ps.astype(kind) * per_ps
    sent = _spaced(arrived, wire_in)
    edges: Ticks = -(-sent // period)
    if service.output_buffer is None and not service.drops:
        left = _spaced(edges, service.interval)
        served = entered = np.ones(arrivals.count, dtype=bool)
    else:
        left, served, entered = _one_by_one(edges.tolist(), service, period, wire_out, kind)
    admissions = left[served]
    done = (admissions + service.latency) * period
    gone = _spaced(done, wire_out)
    depth_max, depth_mean = _depth(edges[entered], left[entered])
    return Served(
        served=served,
        admissions=admissions,
        sending=(sent - arrived)[served],
        capture=(edges * period - sent)[served],
        queueing=(admissions - edges[served]) * period,
        leaving=gone - done,
        tick_ps=Fraction(1, per_ps),
        depth_max=depth_max,
        depth_mean=depth_mean,
        held=0 if service.buffer is None or service.drops else _held(edges, left, service.buffer),
    )


def _integers(arrivals: Arrivals, service: Service, per_ps: int) -> type:
    """Return the type in which nothing can overflow."""
    each = service.wire_in_ps + service.wire_out_ps + 2 * service.core_ps
    last = int(arrivals.times_ps[-1]) + (arrivals.count + 1) * each + (service.latency + 2) * service.period_ps
    return np.int64 if last * per_ps < 2**62 else object


def _spaced(times: Ticks, gap: int) -> Ticks:
    """Return the earliest times, none before its own, of which each is at least `gap` after the one before it."""
    if not gap or not times.size:
        return times
    steps = np.arange(times.size).astype(times.dtype) * gap
    spaced: Ticks = np.maximum.accumulate(times - steps) + steps
    return spaced


def _one_by_one(
    edges: list[int], service: Service, period: int, wire_out: int, kind: type
) -> tuple[Ticks, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the cycle at which each arrival left the buffer, whether it was admitted, and whether it entered at all.

    For buffers that lose something and places for results that are limited, where one decision hangs on all before.
    """
    left = list(edges)
    served, entered = [False] * len(edges), [True] * len(edges)
    waiting: deque[int] = deque()
    results: deque[int] = deque()  # when the places of earlier results become free, in ticks
    free, wire_free = edges[0], 0

    def admit(k: int) -> None:
        nonlocal free, wire_free
        left[k], served[k] = max(edges[k], free), True
        free = left[k] + service.interval
        if service.output_buffer is not None:
            wire_free = max((left[k] + service.latency) * period, wire_free) + wire_out
            results.append(wire_free)
            if len(results) == service.output_buffer:
                free = max(free, -(-results.popleft() // period))

    for k, edge in enumerate(edges):
        while waiting and free <= edge:
            admit(waiting.popleft())
        if not waiting and free <= edge:
            admit(k)
        elif not service.drops or service.buffer is None or len(waiting) < service.buffer:
            waiting.append(k)
        elif service.overrun == "drop_old" and waiting:
            left[waiting.popleft()] = edge
            waiting.append(k)
        else:
            entered[k] = False
    while waiting:
        admit(waiting.popleft())
    return np.array(left, dtype=kind), np.array(served), np.array(entered)


def _depth(edges: Ticks, left: Ticks) -> tuple[int, float]:
    """Return how many wait after the fullest edge, and on average from the first arrival until none waits any more."""
    if not edges.size:
        return 0, 0.0
    ended = np.sort(left)
    at = np.unique(edges)
    waiting = np.searchsorted(edges, at, side="right") - np.searchsorted(ended, at, side="right")
    span = int(ended[-1]) - int(edges[0])
    return int(waiting.max()), int((left - edges).sum()) / span if span else 0.0


def _held(edges: Ticks, left: Ticks, buffer: int) -> int:
    """Return how many arrivals find the buffer full."""
    place = np.arange(1, edges.size + 1) - np.searchsorted(left, edges, side="right")
    return int((place > buffer).sum())
