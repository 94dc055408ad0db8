import pytest

from flow.baseline.gpu import catalogue, check_must_beat, factor, row_names, rows
from flow.errors import UserError
from flow.latency.budget import Origin


def row(name, boundary="host_to_host"):
    return next(row for row in rows(1_000, 750, boundary) if row.name == name)


def test_every_figure_has_source_date_grade_and_conditions():
    for published in catalogue().rows:
        for cost in published.costs:
            assert all((cost.source, cost.date, cost.conditions, cost.statistic))
            assert cost.grade in {"V", "A", "R", "S"}
    assert all(r.origin is Origin.PUBLISHED for r in rows(1, 1, "core"))


def test_names_are_unique():
    assert len(set(row_names())) == len(row_names())


def test_launch_per_inference_is_launch_plus_bus():
    launch = row("launch per inference")
    assert launch.range_ns == (3000 + 1000, 5000 + 2000)
    assert launch.ns == 4000 + 1500


def test_the_strong_forms_are_the_published_figures():
    assert row("resident kernel").ns == 1088
    assert row("resident kernel, from the wire").ns == 780 + 1088
    assert row("GH200, STAC-ML audit").ns == 4610


def test_percentiles_are_never_added():
    for published in catalogue().rows:
        if any("percentile" in cost.statistic for cost in published.costs):
            assert len(published.costs) == 1


def test_a_factor_at_the_same_boundary():
    assert factor(row("resident kernel"), 544.0) == 2.0
    assert factor(row("resident kernel, from the wire", "wire_to_wire"), 1868.0) == 1.0


@pytest.mark.parametrize("boundary", ["core", "pins", "wire_to_wire", "host_to_host"])
def test_no_factor_across_boundaries(boundary):
    for found in rows(1_000, 750, boundary):
        assert found.comparable <= (found.boundary == boundary)
        assert (factor(found, 100.0) is None) == (not found.comparable)
    assert any(r.comparable for r in rows(1, 1, boundary)) == (boundary in {"wire_to_wire", "host_to_host"})


@pytest.mark.parametrize("name", ["GH200, STAC-ML audit", "V80 FPGA card, VOLLO"])
def test_no_factor_against_another_network(name):
    found = row(name)
    assert not found.comparable
    assert factor(found, 100.0) is None
    assert "not this one" in found.note


def test_the_arithmetic_adds_nothing_and_the_note_says_so():
    small, large = (next(r for r in rows(n, n, "host_to_host") if r.comparable) for n in (10, 10_000_000))
    assert small.ns == large.ns
    assert "0 ns counted for the network's own 10,000,000 multiplications" in large.note


def test_comparable_rows_come_first():
    flags = [r.comparable for r in rows(1, 1, "wire_to_wire")]
    assert flags == sorted(flags, reverse=True)


def test_must_beat_takes_comparable_rows_only():
    check_must_beat(("launch per inference", "resident kernel"), "host_to_host")
    check_must_beat((), "core")
    with pytest.raises(UserError, match="no baseline row 'resident'; did you mean resident kernel"):
        check_must_beat(("resident",), "host_to_host")
    with pytest.raises(UserError, match="it spans host_to_host, the design core"):
        check_must_beat(("resident kernel",), "core")
    with pytest.raises(UserError, match="another network"):
        check_must_beat(("GH200, STAC-ML audit",), "host_to_host")
