"""The picture: what it draws adds up, and no name can break it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from flow.report.html import to_html
from flow.report.report import Report
from flow.report.waterfall import BAR, LEFT, MOST_BARS, chains, waterfall
from tests.report.test_report_json import full_report

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def report() -> Report:
    return full_report()


def bars(svg):
    return [
        (float(r.get("x")), float(r.get("width")))
        for r in ET.fromstring(svg).iter(f"{SVG}rect")
        if r.get("height") == str(BAR)
    ]


def test_the_chains_are_the_design_the_strongest_and_the_typical_row(report):
    design, strongest, typical = chains(report)
    assert design.ns == pytest.approx(report.latency.total_ns)
    assert strongest.title.startswith("resident kernel, 1.088 µs: this design is ")
    assert typical.title.startswith("launch per inference, 5.5 µs: this design is ")
    assert strongest.ns == pytest.approx(report.headline.strongest_ns)
    assert typical.ns == pytest.approx(report.headline.typical_ns)
    assert [bar.label for bar in design.bars][-1] == "link pcie_mmio"


def test_each_bar_begins_where_the_one_before_ends(report):
    drawn = iter(bars(waterfall(report)))
    longest = max(chain.ns for chain in chains(report))
    scale = 500 / longest  # 960 pixels without what stands left and right
    for chain in chains(report):
        at = 0.0
        for bar in chain.bars:
            x, width = next(drawn)
            assert x == pytest.approx(LEFT + at * scale, abs=0.02)
            assert width == pytest.approx(max(bar.ns * scale, 1), abs=0.02)
            at += bar.ns
    assert next(drawn, None) is None


def test_without_a_comparable_row_the_design_stands_alone(report):
    alone = replace(report, headline=None)
    assert len(chains(alone)) == 1
    assert bars(waterfall(alone))


def test_many_engines_are_drawn_as_few(report):
    hop = replace(report.critical_path[0], ns=report.latency.core_ns / 40)
    long = replace(report, critical_path=(hop,) * 40)
    design = chains(long)[0]
    assert len(design.bars) == MOST_BARS + 1
    assert design.bars[-2].label == "29 shorter ones between them"
    assert design.ns == pytest.approx(report.latency.total_ns)


def test_simulated_cycles_outrank_the_predicted_path(report):
    wrong = replace(report, latency=replace(report.latency, core_ns=77.0, total_ns=77.0 + report.latency.fixed_ns))
    assert chains(wrong)[0].ns == pytest.approx(wrong.latency.total_ns)
    assert chains(wrong)[0].bars[0].label == "all engines, as simulated"


def test_no_name_breaks_the_picture(report):
    hop = replace(report.critical_path[0], node="<script>&\x1b[31m\"'")
    hostile = replace(report, model="</svg><script>", part="&", critical_path=(hop, *report.critical_path[1:]))
    svg = waterfall(hostile)
    ET.fromstring(svg)
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert "<script" not in to_html(hostile).decode()


def test_the_page_holds_it_and_it_is_the_same_every_time(report):
    assert waterfall(report) == waterfall(report)
    assert waterfall(report) in to_html(report).decode()
    for fetch in ("href", "url(", "src="):
        assert fetch not in waterfall(report)
