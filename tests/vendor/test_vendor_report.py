"""The vendor section of the report: its own, labelled, and apart from our hardware's figures."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from flow.latency.budget import Origin
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.report.collect import Findings, collect
from flow.report.html import to_html
from flow.report.report import Report, load_report, report_to_json
from flow.report.terminal import print_report
from flow.report.vendor import PERIOD_NS, TITLE, vendor_report
from tests.vendor.vendor_networks import branches, chain


@pytest.fixture(scope="module")
def report() -> Report:
    graph = chain()
    plan = make_plan(graph, Request())
    return collect(Findings(graph, plan, timeline_of(graph, plan.choices, plan.traffic)))


def shown(report: Report, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_every_figure_is_predicted_and_has_a_range_or_is_null(report: Report) -> None:
    vendor = report.vendor
    assert vendor is not None
    assert [layer.layer for layer in vendor.layers] == ["first", "relu", "last"]
    counts = [vendor.cycles, vendor.ii, vendor.dsp, vendor.bram_18k]
    for layer in vendor.layers:
        counts += [layer.cycles, layer.ii, layer.dsp, layer.bram_18k]
    for count in counts:
        assert count.origin is Origin.PREDICTED
        assert (count.value is None) == (count.range is None)
        if count.value is not None and count.range is not None:
            assert count.range[0] <= count.value <= count.range[1]
    assert vendor.cycles.value is not None
    assert vendor.latency_ns == vendor.cycles.value * PERIOD_NS


def test_it_is_kept(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(report_to_json(report))
    assert load_report(path) == report


@pytest.mark.parametrize("width", [80, 100, 140])
def test_it_is_a_table_of_its_own_and_changes_nothing_else(report: Report, width: int) -> None:
    text, without = shown(report, width), shown(replace(report, vendor=None), width)
    assert text.count(TITLE) == 1
    assert "Resource" in text or "Latency, reuse 1" in text
    assert max(cell_len(line) for line in text.splitlines()) <= width
    start = text.index(TITLE)
    assert text[:start] == without[:start]
    assert text.endswith(without[start:])
    assert TITLE in to_html(report).decode()


def test_what_is_unknown_is_said_with_its_reason(report: Report) -> None:
    graph = branches()
    plan = make_plan(graph, Request())
    vendor = vendor_report(graph, plan)
    assert (vendor.cycles.value, vendor.latency_ns, vendor.latency_range_ns) == (None, None, None)
    text = shown(replace(report, vendor=vendor), 140)
    assert "unknown, sum: no report covers merge" in text
    assert "unknown, total: cycles unknown of sum" in text
