import pytest

from flow.device.delays import Delays
from flow.latency.budget import Verdict
from flow.plan.solve import Depths, Goal, round_up, solve

DELAYS = Delays(0.5, 0.5, 0.01, 1.0, 0.8, 1.5, "test", "test")
LOGIC_NS = 40.0
SHORTEST_NS = 2.0  # no operation can be cut


def balance(registers: int) -> Depths:
    return Depths((registers,), registers, DELAYS.register_ns + max(LOGIC_NS / registers, SHORTEST_NS))


def goal(budget=None, rate=None, period=None, fixed=(0.0, 0.0, 0.0)) -> Goal:
    return Goal(budget, rate, period, fixed)


def test_a_free_clock_takes_the_fewest_registers_since_each_costs_latency():
    solution, best = solve(goal(budget=100.0), balance, DELAYS)
    assert solution.verdict is Verdict.MET
    assert solution.depths.cycles == 1
    assert best == pytest.approx(round_up(LOGIC_NS + DELAYS.register_ns))


def test_a_rate_shortens_the_period():
    solution, _ = solve(goal(budget=100.0, rate=40e6), balance, DELAYS)
    assert solution.clock.period_ns <= 25.0
    assert solution.verdict is Verdict.MET
    assert solution.depths.cycles == 3  # (40/2 + 1) · 1.5 > 25 ns, (40/3 + 1) · 1.5 < 25 ns


def test_an_asked_clock_takes_the_fewest_registers_that_surely_close():
    solution, _ = solve(goal(budget=100.0, period=5.0), balance, DELAYS)
    assert solution.clock.closes
    assert solution.depths.cycles == 18  # (40/18 + 1) · 1.5 < 5 ns, (40/17 + 1) · 1.5 > 5 ns
    assert balance(17).worst_ns * DELAYS.high > 5.0


def test_a_tight_budget_takes_as_many_registers_as_it_leaves_room_for():
    solution, _ = solve(goal(budget=60.0, period=5.0), balance, DELAYS)
    assert solution.verdict is Verdict.MET_IF_CLOCK_CLOSES
    assert solution.depths.cycles == 12


def test_a_missed_budget_answers_with_the_best_reachable():
    solution, best = solve(goal(budget=10.0), balance, DELAYS)
    assert solution.verdict is Verdict.MISSED
    assert solution.latency.total_ns == pytest.approx(best)


def test_a_period_below_every_operation_is_missed():
    solution, best = solve(goal(budget=1000.0, period=2.0), balance, DELAYS)
    assert solution.verdict is Verdict.MISSED
    assert not solution.clock.may_close
    assert best == float("inf")


def test_the_links_share_counts():
    assert solve(goal(budget=100.0, fixed=(20.0, 30.0, 40.0)), balance, DELAYS)[0].verdict is not Verdict.MISSED
    assert solve(goal(budget=100.0, fixed=(50.0, 95.0, 99.0)), balance, DELAYS)[0].verdict is Verdict.MISSED


@pytest.mark.parametrize(("ns", "up"), [(41.0, 41.0), (41.01, 41.1), (5.0, 5.0), (123.4, 124.0), (0.9991, 1.0)])
def test_periods_round_up_to_three_digits(ns, up):
    assert round_up(ns) == pytest.approx(up)
