"""The constants come from the fitted reports alone, and hold on the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("scipy")
from benchmarks.vendor_route import as_toml, baseline, fit, judged, measure, predictor
from benchmarks.yardstick.vendor_rows import REPORTS, Row, rows
from flow.vendor.constants import constants

pytestmark = pytest.mark.skipif(not REPORTS.is_dir(), reason="the vendor's reports are not there (../shared)")


@pytest.fixture(scope="module")
def reports() -> tuple[Row, ...]:
    return rows()


def test_no_network_stands_on_both_sides(reports: tuple[Row, ...]) -> None:
    sides = {(row.design, row.held_out) for row in reports}
    assert len(sides) == len({design for design, _ in sides})
    assert (len(reports), sum(row.held_out for row in reports)) == (124, 58)
    assert [row.reuse_factor for row in reports if row.failed] == [1, 3]


def test_the_constants_are_those_of_the_reports(reports: tuple[Row, ...]) -> None:
    found = judged(fit(reports), reports)
    assert found == constants()
    assert as_toml(found).startswith("# Constants of the vendor route")


def test_the_fit_does_not_look_at_held_out_reports(reports: tuple[Row, ...]) -> None:
    def wrong(row: Row) -> Row:
        return replace(row, reported={name: 3 * value + 1 for name, value in row.reported.items()})

    spoilt = tuple(wrong(row) if row.held_out else row for row in reports)
    assert fit(spoilt) == fit(reports)
    assert judged(fit(spoilt), spoilt) != constants()


@pytest.mark.parametrize("group", ["sweep", "tests", "not zero"])
def test_held_out_cycles_meet_the_goal(reports: tuple[Row, ...], group: str) -> None:
    held = [row for row in reports if row.held_out]
    part = [row for row in held if (row.reported["cycles"] if group == "not zero" else row.group == group)]
    found = measure(part, "cycles", predictor(constants()))
    assert found.predicted >= 0.8 * found.rows
    assert found.median <= 0.10
    for layers in (False, True):
        other = measure(part, "cycles", baseline(reports, layers=layers))
        assert found.median < other.median
        assert found.smape < other.smape


def test_the_page_shows_these_constants_and_errors() -> None:
    page = (Path(__file__).parents[2] / "docs" / "vendor_route.md").read_text(encoding="utf-8")
    known = constants()
    for figure in (known.dense.depth, known.dense.level, known.dense.turn, known.dense.turn_block):
        assert f"{figure:g}" in page
    for row, name in (
        ("cycles |", "cycles"),
        ("cycles, sweeps alone |", "dense_cycles"),
        ("DSP |", "dsp"),
        ("interval |", "ii"),
    ):
        found = known.held_out[name]
        shown = f"| {row} {found.predicted} of {found.rows} | {found.median:.1%} | {found.ninety:.1%} |".replace(
            "%", " %"
        )
        assert shown in page, shown


def test_ranges_hold_nine_of_ten_held_out_cycles(reports: tuple[Row, ...]) -> None:
    from flow.vendor.predict import predict

    inside = total = 0
    for row in reports:
        if row.held_out:
            span = predict(row.network).total.cycles.range
            assert span is not None
            total += 1
            inside += span[0] <= row.reported["cycles"] <= span[1]
    assert inside >= 0.9 * total
