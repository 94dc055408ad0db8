"""The words for arrivals, and what they draw."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flow.errors import UserError
from flow.latency.arrivals import draw, is_file


def test_poisson_is_seeded_and_has_its_rate():
    arrivals = draw("poisson:1MHz,count=200000,seed=7")
    again = draw("Poisson: 1 MHz, seed=7, count=200000")
    assert np.array_equal(arrivals.times_ps, again.times_ps)
    assert not np.array_equal(arrivals.times_ps, draw("poisson:1MHz,count=200000,seed=8").times_ps)
    gaps = np.diff(arrivals.times_ps) / 1e6
    assert gaps.mean() == pytest.approx(1, rel=0.01)
    assert gaps.std() == pytest.approx(1, rel=0.01)
    assert (gaps > 1).mean() == pytest.approx(np.exp(-1), abs=0.005)
    assert arrivals.rate_hz == 10**6
    assert not arrivals.regular
    assert "200,000 drawn from seed 7" in arrivals.described


def test_without_more_words_the_count_is_stated():
    assert draw("poisson:1MHz").count == 100_000
    assert draw("periodic:1MHz").count == 10_000
    assert draw("burst:64@67.2ns/1ms").count == 64_000


def test_periodic_times_never_drift():
    arrivals = draw("periodic:300MHz,count=300001")
    assert arrivals.times_ps[3] == 10_000
    assert arrivals.times_ps[300_000] == 10**9
    assert arrivals.times_ps[1] == 3333
    assert arrivals.times_ps[2] == 6666


def test_bursts():
    once = draw("burst:3@67.2ns")
    assert once.times_ps.tolist() == [0, 67_200, 134_400]
    assert once.rate_hz is None
    often = draw("burst:2@10ns/1us,count=3,phase=0.5ns")
    assert often.times_ps.tolist() == [500, 10_500, 1_000_500, 1_010_500, 2_000_500, 2_010_500]
    assert often.rate_hz == Fraction(2 * 10**6)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("poisson:1", "has no unit"),
        ("poisson:", "is not a number with a unit"),
        ("poisson:0Hz", "greater than zero"),
        ("poisson:1MHz,number=3", "'number=3' is not understood; poisson takes count, seed, phase"),
        ("poisson:1MHz,count", "'count' is not understood"),
        ("poisson:1MHz,count=0", "from 1 to 2,000,000"),
        ("poisson:1MHz,count=2000001", "from 1 to 2,000,000"),
        ("poisson:1MHz,count=-5", "from 1 to 2,000,000"),
        ("poisson:1MHz,count=3,count=4", "given twice"),
        ("poisson:1mHz,count=1e6", "must be a whole number"),
        ("poisson:0.001Hz,count=2000000", "longer than"),
        ("periodic:1MHz,seed=1", "periodic takes count, phase"),
        ("periodic:0.001Hz,count=2000000", "longer than"),
        ("burst:64", "are not N@GAP"),
        ("burst:0@1ns", "from 1 to 2,000,000"),
        ("burst:64@1", "has no unit"),
        ("burst:64@1ns,count=3", "bursts that repeat"),
        ("burst:64@1us/10us", "more than the period"),
        ("burst:1000@1ns/1ms,count=2001", "more than 2,000,000 arrivals"),
        ("burst:2000000@1000s", "longer than"),
        ("burst:2@1ns/3600s,count=2000000", "more than 2,000,000 arrivals"),
        ("burst:1@1ns/3600s,count=2000000", "longer than"),
    ],
)
def test_what_is_malformed_is_explained(text, complaint):
    assert not is_file(text)
    with pytest.raises(UserError, match=complaint):
        draw(text)


def test_everything_else_is_a_file():
    assert is_file("times.csv,unit=ns")
    assert is_file("poisson.csv")
