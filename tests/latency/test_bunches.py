"""Latencies in LHC bunch crossings, and clocks that are multiples of the bunch clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from flow.cli import cli
from flow.errors import UserError
from flow.graph.store import to_json
from flow.latency.bunches import BUNCH_CLOCK_HZ, bunch_crossings
from flow.plan.request import parse_clock
from tests.conformance.small_design import small_graph


@pytest.mark.parametrize(
    ("text", "mhz"),
    [("6xBC", 240.474), ("6 × 40.079MHz", 240.474), ("9*bc", 360.711), ("1xBC", 40.079), ("8x40MHz", 320)],
)
def test_a_clock_can_be_a_multiple(text: str, mhz: float) -> None:
    period_ns = parse_clock(text)
    assert period_ns is not None
    assert 1e3 / period_ns == pytest.approx(mhz)


@pytest.mark.parametrize("text", ["0xBC", "xBC", "6xCB", "6x5", "-6xBC", "6x6x40MHz", "1000xBC", "6x"])
def test_what_is_no_multiple_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="clock"):
        parse_clock(text)


def test_twelve_cycles_of_six_a_crossing_are_two() -> None:
    period_ns = 1e9 / BUNCH_CLOCK_HZ / 6
    found = bunch_crossings(12 * period_ns, 18 * period_ns, period_ns)
    assert (found.core, found.total) == (pytest.approx(2), pytest.approx(3))
    assert (found.whole, found.cycles_per_crossing) == (3, 6)
    assert found.nominal_total == pytest.approx(18 * period_ns / 25)
    assert bunch_crossings(12 * period_ns, 13 * period_ns, period_ns).whole == 3


def test_another_clock_has_no_whole_cycles_in_a_crossing() -> None:
    found = bunch_crossings(50.0, 50.0, 5.0)
    assert found.cycles_per_crossing is None
    assert found.total == pytest.approx(50 / 24.9507, rel=1e-5)
    assert found.nominal_total == 2.0
    assert found.whole == 3


def test_the_report_tells_crossings_where_they_are_asked_for(tmp_path: Path) -> None:
    model = tmp_path / "small.json"
    model.write_bytes(to_json(small_graph()))
    asked = ["budget", str(model), "--part", "xcvu9p", "--clock", "6xBC", "--latency-exact", "12"]
    told = json.loads(CliRunner().invoke(cli, [*asked, "--bunch-crossings", "--json"]).output)
    crossings = told["latency"]["bunch_crossings"]
    assert crossings["total"] == pytest.approx(2)
    assert (crossings["cycles_per_crossing"], crossings["clock_hz"]) == (6, 40.079e6)
    assert "40.07897" in crossings["source"]
    assert told["contract"]["exact_cycles"] == told["contract"]["own_cycles"] + told["contract"]["held_cycles"] == 12
    shown = CliRunner().invoke(cli, [*asked, "--bunch-crossings"]).output
    assert "2.00 BX" in shown
    assert "exactly 12" in shown
    assert json.loads(CliRunner().invoke(cli, [*asked, "--json"]).output)["latency"]["bunch_crossings"] is None
