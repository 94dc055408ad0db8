"""Percentiles by nearest rank, and bounds that hold however two parts depend on each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.percentiles import NAMED, Spread, bounds, percentile

HUNDRED = np.arange(1.0, 101.0)


@pytest.mark.parametrize(
    ("share", "value"),
    [(Fraction(1, 2), 50), (Fraction(99, 100), 99), (Fraction(999, 1000), 100), (Fraction(1), 100), (Fraction(0), 1)],
)
def test_the_nearest_rank_is_a_value_that_occurred(share, value):
    assert percentile(HUNDRED, share) == value


def test_a_percentile_of_few_values_is_their_largest():
    assert percentile(np.array([3.0]), Fraction(1, 2)) == 3.0
    assert percentile(np.array([1.0, 2.0, 3.0]), Fraction(99, 100)) == 3.0


def test_a_time_that_does_not_vary_moves_every_percentile():
    for _, share in NAMED:
        value = percentile(HUNDRED, share) + 5
        assert bounds(HUNDRED, share, Spread(5.0, 5.0)) == (value, value)


def test_percentiles_are_not_added():
    # 99 % of the link's cases within 910 ns, and nothing else known of it: the sum of the two 99ths is no bound
    low, high = bounds(HUNDRED, Fraction(99, 100), Spread(None, None, ((Fraction(99, 100), 910.0),)))
    assert (low, high) == (1.0 + 910.0, 100.0 + 910.0)
    assert bounds(HUNDRED, Fraction(999, 1000), Spread(None, None, ((Fraction(99, 100), 910.0),)))[1] is None
    low, high = bounds(HUNDRED, Fraction(1, 2), Spread(None, None, ((Fraction(99, 100), 910.0),)))
    assert (low, high) == (None, 51.0 + 910.0)


def test_where_the_waits_do_not_vary_the_links_percentile_is_that_of_the_whole():
    same = np.full(1000, 40.0)
    assert bounds(same, Fraction(99, 100), Spread(None, None, ((Fraction(99, 100), 910.0),))) == (950.0, 950.0)


def test_what_is_unknown_stays_unknown():
    assert bounds(HUNDRED, Fraction(1, 2), Spread(None, None)) == (None, None)
    assert not Spread(None, None).known
    assert Spread(None, 3.0).known


COLUMNS = st.lists(st.integers(0, 20), min_size=2, max_size=30)


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(COLUMNS, st.randoms(use_true_random=False), st.sampled_from([share for _, share in NAMED]))
def test_the_bounds_hold_for_any_dependence(values, draw, share):
    x = np.array(values, dtype=float)
    y = np.array([draw.choice([0, 3, 7, 30]) for _ in values], dtype=float)
    ascending = np.sort(y)
    points = tuple((p, percentile(ascending, p)) for p in (Fraction(1, 4), Fraction(1, 2), Fraction(99, 100)))
    spread = Spread(float(y.min()), float(y.max()), points)
    for way in (x, np.sort(x), np.sort(x)[::-1], np.array(draw.sample(values, len(values)), dtype=float)):
        for order in (y, np.sort(y)):
            low, high = bounds(np.sort(x), share, spread)
            assert low is not None
            assert high is not None
            assert low <= percentile(np.sort(way + order), share) <= high
