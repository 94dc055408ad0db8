from dataclasses import replace

import pytest

from flow.baseline.catalogue import Catalogue, catalogue, row_names
from flow.baseline.gpu import check_must_beat, factor, headline, rows
from flow.baseline.work import Work, least_ns
from flow.errors import UserError
from flow.latency.budget import Origin

SMALL = Work(1_000, 750, 3)


def row(name, boundary="host_to_host", work=SMALL):
    return next(row for row in rows(work, boundary) if row.name == name)


def test_every_figure_has_source_date_grade_and_conditions():
    for cost in catalogue().costs:
        assert all((cost.source, cost.date, cost.conditions, cost.statistic)), cost.id
        assert cost.grade in {"V", "A", "R", "S"}
    assert all(r.origin is Origin.PUBLISHED for r in rows(Work(1, 1), "core"))


def test_every_cost_is_used_and_every_row_says_what_it_adds():
    used = {name for published in catalogue().rows for name in published.costs}
    assert used == {cost.id for cost in catalogue().costs}
    for found in rows(SMALL, "host_to_host"):
        assert found.ns is None or found.ns == pytest.approx(sum(part.ns for part in found.parts))


def test_names_are_unique():
    assert len(set(row_names())) == len(row_names())


def test_a_launch_pays_launch_bus_and_the_least_work():
    launch = row("launch per inference")
    work_ns = least_ns(SMALL, catalogue().gpu, "l2")
    assert 0 < work_ns < 1
    assert launch.range_ns == (3000 + 1000 + work_ns, 5000 + 2000 + work_ns)
    assert launch.ns == pytest.approx(4000 + 1500 + work_ns)


@pytest.mark.parametrize("kernels", [1, 2, 7])
def test_kernels_are_paid_for_as_the_row_says(kernels):
    work = Work(0, 0, kernels)
    assert row("launch per inference", work=work).ns == 5500  # one kernel, whatever the layers
    assert row("launch per layer", work=work).ns == 5500 + (kernels - 1) * 1680
    assert row("CUDA graph", work=work).ns == 2500 + kernels + 1500
    assert row("resident kernel", work=work).ns == 1088


def test_the_strong_forms_are_the_published_figures():
    idle = Work(0, 0)
    assert row("resident kernel", work=idle).ns == 1088
    assert row("resident kernel, from the wire", work=idle).ns == 780 + 1088
    assert row("GPUDirect, resident kernel", work=idle).range_ns == (1720, 1830)
    assert row("GH200, STAC-ML audit").ns == 4610


@pytest.mark.parametrize(
    ("name", "ns", "date"),
    [
        ("A100, STAC-ML audit, LSTM_A", 35_200, "February 2023"),
        ("A100, STAC-ML audit, LSTM_B", 68_500, "February 2023"),
        ("A100, STAC-ML audit, LSTM_C", 640_000, "February 2023"),
        ("GH200, STAC-ML audit", 4_610, "April 2026"),
        ("VOLLO, STAC-ML audit, LSTM_A", 5_070, "May 2023"),
        ("VOLLO, STAC-ML audit, LSTM_C", 31_000, "May 2023"),
        ("VOLLO, STAC-ML audit, Sumaco, LSTM_C", 1_350_000, "December 2022"),
    ],
)
def test_audited_rows_have_their_date_and_say_what_they_leave_out(name, ns, date):
    found = row(name)
    assert found.ns == ns
    assert date in found.source
    assert "[A]" in found.source
    assert "parsing" in found.note
    assert "99th percentile" in found.note
    assert found.load == "one model instance"


def test_a_mean_has_its_percentile_beside_it():
    assert (row("V80 FPGA card, VOLLO").ns, row("V80 FPGA card, VOLLO").p99_ns) == (1500, 1800)
    assert (row("V80, VOLLO, lstm_large 3x960").ns, row("V80, VOLLO, lstm_large 3x960").p99_ns) == (7300, 7400)


def test_percentiles_are_never_added():
    for published in catalogue().rows:
        costs = catalogue().costs_of(published)
        if any("percentile" in cost.statistic for cost in costs):
            assert len(costs) == 1
            assert published.weights is None, "a bound of the work is added to nothing measured whole"
    one = replace(catalogue().rows[0], costs=("gh200_a", "nic"))
    with pytest.raises(UserError, match="adds a percentile"):
        Catalogue(catalogue().costs, (one,), catalogue().roofline, catalogue().gpu)


def test_what_nobody_has_published_is_unknown():
    unknown = row("resident kernel, PCIe 5")
    assert (unknown.ns, unknown.range_ns, unknown.parts) == (None, None, ())
    assert factor(unknown, 100.0) is None
    assert unknown.comparable


def test_a_factor_at_the_same_boundary():
    idle = Work(0, 0)
    assert factor(row("resident kernel", work=idle), 544.0) == 2.0
    assert factor(row("resident kernel, from the wire", "wire_to_wire", idle), 1868.0) == 1.0


@pytest.mark.parametrize("boundary", ["core", "pins", "wire_to_wire", "host_to_host"])
def test_no_factor_across_boundaries(boundary):
    for found in rows(SMALL, boundary):
        assert found.comparable <= (found.boundary == boundary)
        assert (factor(found, 100.0) is None) == (not found.comparable or found.ns is None)
    compared = headline(rows(SMALL, boundary), 100.0)
    assert (compared is not None) == (boundary in {"wire_to_wire", "host_to_host"})
    assert compared is None or compared.strongest.boundary == compared.typical.boundary == boundary


@pytest.mark.parametrize("name", [r.name for r in catalogue().rows if r.no_factor])
def test_no_factor_against_context(name):
    for boundary in ("host_to_host", "wire_to_wire"):
        found = row(name, boundary)
        assert not found.comparable
        assert factor(found, 100.0) is None
        assert "no factor: " in found.note


@pytest.mark.parametrize("boundary", ["host_to_host", "wire_to_wire"])
def test_the_headline_is_against_the_strongest_row(boundary):
    found = rows(SMALL, boundary)
    compared = headline(found, 500.0)
    known = [r.ns for r in found if r.comparable and r.ns is not None]
    assert compared is not None
    assert compared.strongest.ns == min(known)
    assert compared.strongest_factor == min(known) / 500.0
    assert compared.typical.name.startswith("launch per inference")
    assert compared.typical_factor > compared.strongest_factor
    assert known == sorted(known)
    assert not any(r.comparable for r in found[len(known) + 1 :])


def test_must_beat_takes_comparable_known_rows_only():
    check_must_beat(("launch per inference", "resident kernel"), "host_to_host")
    check_must_beat((), "core")
    with pytest.raises(UserError, match=r"no baseline row 'resident'; did you mean .*resident kernel"):
        check_must_beat(("resident",), "host_to_host")
    with pytest.raises(UserError, match="it spans host_to_host, the design core"):
        check_must_beat(("resident kernel",), "core")
    with pytest.raises(UserError, match="another network"):
        check_must_beat(("GH200, STAC-ML audit",), "host_to_host")
    with pytest.raises(UserError, match=r"is unknown .no round trip over PCIe 5"):
        check_must_beat(("resident kernel, PCIe 5",), "host_to_host")
