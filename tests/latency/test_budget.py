import pytest

from flow.latency.budget import Clock, Origin, Verdict, judge, latency_of, required_interval

FREE = (0.0, 0.0, 0.0)


def clock(period: float, low: float, high: float) -> Clock:
    return Clock(period, (low, high), Origin.ASKED, Origin.PREDICTED)


def test_core_latency_is_cycles_times_the_constrained_period():
    latency = latency_of(10, 5.0, (100.0, 200.0, 300.0))
    assert (latency.core_ns, latency.total_ns) == (50.0, 250.0)


@pytest.mark.parametrize(
    ("span", "budget", "verdict"),
    [
        ((3.0, 4.9), 50.0, Verdict.MET),
        ((3.0, 5.0), 50.0, Verdict.MET),
        ((3.0, 5.1), 50.0, Verdict.MET_IF_CLOCK_CLOSES),
        ((5.1, 6.0), 50.0, Verdict.MISSED),
        ((3.0, 4.9), 49.9, Verdict.MISSED),
        ((3.0, 4.9), None, Verdict.MET),
    ],
)
def test_the_verdict_follows_budget_and_clock_range(span, budget, verdict):
    assert judge(latency_of(10, 5.0, FREE), clock(5.0, *span), budget_ns=budget, interval=1, required=None) is verdict


def test_a_short_latency_does_not_excuse_a_long_interval():
    latency = latency_of(1, 5.0, FREE)
    assert judge(latency, clock(5, 1, 2), budget_ns=1e6, interval=4, required=3) is Verdict.MISSED
    assert judge(latency, clock(5, 1, 2), budget_ns=1e6, interval=3, required=3) is Verdict.MET


@pytest.mark.parametrize(
    ("rate", "period", "cycles"), [(40e6, 5.0, 5), (200e6, 5.0, 1), (201e6, 5.0, 0), (None, 5.0, None)]
)
def test_the_required_interval_is_what_the_rate_leaves(rate, period, cycles):
    assert required_interval(rate, period) == cycles
