"""The queue against what theory says of it in closed form."""

from __future__ import annotations

from fractions import Fraction
from math import exp, factorial

import numpy as np
import pytest

from flow.latency.arrivals import draw
from flow.latency.queue import Service, serve


@pytest.mark.parametrize(("load", "within"), [(0.3, 0.02), (0.5, 0.02), (0.8, 0.04), (0.9, 0.08)])
def test_poisson_arrivals_wait_as_long_as_m_d_1_says(load, within):
    # D = 100 cycles of 1 ns; the clock's edge adds half a period on average, small beside D
    arrivals = draw(f"poisson:{load * 10}MHz,count=400000,seed=3")
    served = serve(arrivals, Service(100, 7, 1.0))
    mean_ns = served.ns(served.waiting).mean() - 0.5
    assert mean_ns == pytest.approx(load * 100 / (2 * (1 - load)), rel=within)


def erlang(load: float, t: float) -> float:
    """Return the share of M/D/1 customers that wait no longer than t service times (Erlang 1909)."""
    lam = Fraction(load).limit_denominator(1000)
    time = Fraction(t).limit_denominator(1000)
    # alternating sum: exact powers, then one exponential for each term
    total = sum(
        float((lam * (k - time)) ** k / factorial(k)) * exp(float(-lam * (k - time))) for k in range(int(time) + 1)
    )
    return float(1 - lam) * total


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_the_distribution_is_that_of_m_d_1(load):
    arrivals = draw(f"poisson:{load}MHz,count=300000,seed=5")
    served = serve(arrivals, Service(1000, 3, 1.0))
    waits = served.ns(served.waiting) / 1000
    for t in (0.5, 1.0, 1.5, 2.5, 4.0):
        assert (waits <= t).mean() == pytest.approx(erlang(load, t), abs=0.005)


def test_the_formula_itself_is_right_where_it_is_simple():
    # nobody is found: 1 - load; t < 1: (1 - load) exp(load t)
    assert erlang(0.4, 0.0) == pytest.approx(0.6)
    assert erlang(0.4, 0.5) == pytest.approx(0.6 * exp(0.2))


@pytest.mark.parametrize(("clock_hz", "interval"), [(200e6, 1), (300e6, 1), (300e6, 7), (156.25e6, 3)])
def test_at_exactly_the_interval_nobody_waits_however_long_it_lasts(clock_hz, interval):
    arrivals = draw(f"periodic:{clock_hz / interval / 1e6:.17g}MHz,count=300000")
    served = serve(arrivals, Service(interval, 5, 1e9 / clock_hz))
    assert int(served.queueing.max()) == 0
    # what remains is the picosecond to which arrivals are rounded down
    assert served.ns(served.waiting).max() < 1e-3


def test_periodic_arrivals_beside_the_clock_wait_for_its_edge_alone():
    served = serve(draw("periodic:40.079MHz,count=50000"), Service(1, 5, 2.5))
    waits = served.ns(served.waiting)
    assert waits.max() < 2.5
    assert waits.mean() == pytest.approx(1.25, rel=0.01)
    assert int(served.queueing.max()) == 0


@pytest.mark.parametrize(("interval", "gap_ns"), [(8, 10), (4, 20), (16, 30)])
def test_in_a_burst_each_waits_longer_by_what_the_interval_exceeds_the_gap(interval, gap_ns):
    served = serve(draw(f"burst:64@{gap_ns}ns"), Service(interval, 5, 5.0))
    excess = max(interval * 5 - gap_ns, 0)
    assert served.ns(served.waiting).tolist() == [k * excess for k in range(64)]


def test_repeated_bursts_wait_like_one_where_the_queue_empties_between():
    one = serve(draw("burst:16@10ns"), Service(8, 5, 5.0))
    many = serve(draw("burst:16@10ns/2us,count=20"), Service(8, 5, 5.0))
    assert np.array_equal(many.waiting.reshape(20, 16), np.tile(one.waiting, (20, 1)))
    assert many.depth_max == one.depth_max == 12


def test_frames_at_line_rate_pass_a_design_of_short_interval_and_queue_at_a_long_one():
    # 64-byte frames at 10 Gbit/s: 84 byte times, 67.2 ns; 16 cycles of 4 ns are less, 17 are more
    at_rate = serve(draw("burst:1000@67.2ns"), Service(16, 9, 4.0, wire_in_ps=67_200, wire_out_ps=67_200))
    assert int(at_rate.queueing.max()) == 0
    assert int(at_rate.sending.max()) == 0
    slower = serve(draw("burst:1000@67.2ns"), Service(17, 9, 4.0))
    assert slower.ns(slower.waiting)[-1] == pytest.approx(999 * (68 - 67.2), abs=4.0)
    # and frames that come faster than the wire wait before it, not before the core
    faster = serve(draw("burst:1000@60ns"), Service(16, 9, 4.0, wire_in_ps=67_200))
    assert faster.ns(faster.sending)[-1] == pytest.approx(999 * 7.2)
    assert int(faster.queueing.max()) == 0


def test_places_for_results_bound_the_rate():
    # 2 places, 10 cycles each and no wire: two inferences in ten cycles, though the II is 1
    service = Service(1, 10, 1.0, output_buffer=2)
    served = serve(draw("burst:1001@1ns"), service)
    assert (served.admissions[-1] - served.admissions[0]) / 1000 == 5
    assert service.core_ps == 5000
