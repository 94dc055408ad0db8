"""The sensitivity in report.json, on the terminal, in the page, and kept beside built hardware."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from flow.graph.graph import Graph
from flow.graph.store import to_json
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.plan.sensitivity.figures import Outcome, Variation
from flow.plan.sensitivity.study import study
from flow.report.collect import Findings, collect
from flow.report.html import to_html
from flow.report.report import Report, load_report, report_to_json
from flow.report.terminal import print_report
from flow.report.tornado import tornado
from tests.commands import Command
from tests.plan.graphs import dense_network

REQUEST = Request(part="xcvu9p", clock="200MHz", link="ethernet10g")


def network() -> Graph:
    return dense_network(6, 5, 4, bits=5)


@pytest.fixture(scope="module")
def report() -> Report:
    graph = network()
    plan = make_plan(graph, REQUEST)
    timeline = timeline_of(graph, plan.choices, plan.traffic)
    return collect(Findings(graph, plan, timeline, sensitivity=study(graph, REQUEST, plan)))


def shown(report: Report, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_report_json_keeps_it(report, tmp_path):
    path = tmp_path / "report.json"
    path.write_bytes(report_to_json(report))
    assert load_report(path).sensitivity == report.sensitivity
    found = json.loads(path.read_text())["sensitivity"]
    assert found["origin"] == "predicted"
    assert {v["what"] for v in found["variations"]} >= {"weight_bits", "activation_bits", "clock", "link", "reuse"}
    assert found["limiter"]["kind"] == "link"


def test_the_terminal_shows_sentence_shares_table_and_both_rooflines(report):
    text = shown(report)
    words = " ".join(text.split())
    assert "You are limited by link ethernet10g" in words
    assert "Where the" in words
    assert "d0 weights 5 → 6" in words
    assert "Roofline of the same work on xcvu9p" in words
    assert "Beside it: on NVIDIA" in words
    assert "Neither binds." in words
    assert max(map(len, text.splitlines())) <= 100
    without = shown(replace(report, sensitivity=None))
    assert "You are limited by" not in without
    assert "Roofline of the same work on NVIDIA" in without


def test_the_picture_is_one_svg_in_the_page_and_the_same_each_time(report):
    picture = tornado(report.sensitivity)
    root = ET.fromstring(picture)
    assert root.tag.endswith("svg")
    texts = [element.text or "" for element in root.iter() if element.tag.endswith("text")]
    assert "weights of d0, ±1 bit" in texts
    assert picture == tornado(report.sensitivity)
    assert picture in to_html(report).decode()
    assert tornado(None) == ""


def test_bars_are_as_long_as_what_they_stand_for(report):
    first = report.sensitivity.variations[0]
    assert first.what == "clock"
    delta = replace(first.as_built.delta, ns=100.0, lut=0)
    kept = replace(first, as_built=replace(first.as_built, delta=delta), replanned=Outcome())
    half = replace(first, what="link", change="half", as_built=replace(kept.as_built, delta=replace(delta, ns=-50.0)))
    picture = tornado(replace(report.sensitivity, variations=(kept, replace(half, replanned=Outcome()))))
    rects = [e.attrib for e in ET.fromstring(picture).iter() if e.tag.endswith("rect")]
    bars = [(float(r["x"]), float(r["width"])) for r in rects if r.get("height") == "9"]
    assert len(bars) == 2
    assert bars[0][1] == pytest.approx(2 * bars[1][1], abs=0.2)
    assert bars[1][0] + bars[1][1] == pytest.approx(bars[0][0], abs=0.2)  # one to the right, one to the left of zero


def test_a_bar_too_short_to_be_seen_has_its_number(report):
    first = report.sensitivity.variations[0]
    assert first.what == "clock"

    def moved(change: str, ns: float, lut: int) -> Variation:
        by = replace(first.as_built.delta, ns=ns, lut=lut)
        built = replace(first.as_built, delta=by)
        return replace(first, what="store", change=change, as_built=built, replanned=Outcome())

    none = 0.1 + 0.2 - 0.3
    varied = (moved("large", 90_000.0, 40_000), moved("small", -0.25, 3), moved("area", none, -7))
    root = ET.fromstring(tornado(replace(report.sensitivity, variations=varied)))
    numbers = [e.text for e in root.iter() if e.tag.endswith("text") and e.attrib.get("font-size") == "9.5"]
    assert numbers == ["+90,000", "+40,000", "−0.25", "+3", "−7"]
    bars = [e.attrib for e in root.iter() if e.tag.endswith("rect") and e.attrib.get("height") == "9"]
    assert [float(bar["width"]) for bar in bars[2:]] == [1.0, 1.0, 1.0]
    zero = float(bars[0]["x"])
    assert float(bars[2]["x"]) == pytest.approx(zero - 1.0, abs=0.11)


def test_it_is_computed_where_it_is_asked_for_and_kept_with_the_hardware(tmp_path: Path, fpgaflow: Command):
    model = tmp_path / "net" / "model.json"
    model.parent.mkdir()
    model.write_bytes(to_json(dense_network(4, 3, bits=4)))
    words = (model, "--part", "xcvu9p", "--clock", "200MHz", "--out", tmp_path / "run")
    assert json.loads(fpgaflow("budget", *words, "--json").out)["sensitivity"] is None
    asked = fpgaflow("budget", *words, "--json", "--sensitivity")
    assert asked.status == 0
    assert "variations (predicted)" in asked.err
    assert json.loads(asked.out)["sensitivity"]["variations"]
    fpgaflow("build", *words, "--json")
    kept = tmp_path / "run" / "sensitivity.json"
    assert json.loads(fpgaflow("report", *words, "--json").out)["sensitivity"] is None
    assert not kept.exists()
    first = json.loads(fpgaflow("report", *words, "--json", "--sensitivity").out)["sensitivity"]
    assert kept.exists()
    again = fpgaflow("report", *words, "--json")
    assert json.loads(again.out)["sensitivity"] == first
    assert "sensitivity" not in again.err
    assert b"change of LUTs" in (tmp_path / "run" / "report.html").read_bytes()
