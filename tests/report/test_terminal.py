"""The report as a person sees it: every width, hostile names, HTML."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from flow.engines.folded import Folded
from flow.graph.graph import Asked
from flow.latency.budget import Verdict
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.quantity import time_text
from flow.report.catalogue import print_boards, print_links, print_models, print_parts
from flow.report.collect import Findings, collect
from flow.report.html import to_html
from flow.report.report import Report
from flow.report.tables import cycles_text
from flow.report.terminal import PLAIN_WIDTH, new_console, print_report
from flow.synth.result import RoutingResult
from flow.zoo import zoo_requests
from tests.plan.graphs import dense_network
from tests.report.test_report_json import full_report


@pytest.fixture(scope="module")
def report() -> Report:
    return full_report()


def shown(report: Report, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_longer_than_the_terminal_and_no_number_is_broken(report, width):
    text = shown(report, width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    for number in (
        "890 ns",
        "1.088 µs",
        "1,728,000",
        "predicted 1, simulated 1",
        "0 of 500 vectors",
        "resident kernel",
    ):
        assert number in text, number


def test_the_whole_story_is_told(report):
    text = shown(report, 140)
    for part in (
        "of a 2 µs budget",
        "met",
        "boundary host_to_host",
        "critical path",
        "× clock period",
        "= core",
        "+ link pcie_mmio",
        "= total",
        "below the budget",
        "initiation interval",
        "the rate of 1 MHz asks for at most",
        "waits for x",
        "LUT of r",
        "88",
        "FAIL" if not report.verified else "pass",
        "faster, beaten",
        "Roofline",
        "dense [1]",
        "framework 97.00%, hls4ml 96.00%, RTL (simulated) 96.00%",
    ):
        assert part in text, part


def test_failures_are_told(report):
    bits, latency = report.bit_exact, report.latency
    assert bits is not None
    row = replace(report.baseline[0], beaten=False, factor=0.5)
    wrong = replace(
        report,
        bit_exact=replace(bits, mismatches=7),
        latency=replace(latency, cycles_simulated=9),
        baseline=(row, *report.baseline[1:]),
        verdict=Verdict.MISSED,
        advice="Ask for less.",
    )
    assert not wrong.verified
    text = shown(wrong, 140)
    for part in ("FAIL", "7 of 500", "predicted 1, simulated 9", "2× slower, NOT BEATEN", "missed", "Ask for less."):
        assert part in text, part


def test_names_are_shown_as_they_are(report):
    hostile = replace(report, model="[/bold][red]x :smile:", limiter="[/]", advice="[link=x]", notes=("[/] :bomb:",))
    text = shown(hostile, 140)
    for part in ("[/bold][red]x :smile:", "[link=x]", "[/] :bomb:"):
        assert part in text
    assert b"<script>" not in to_html(replace(report, model="<script>alert(1)</script>"))


def test_html_is_whole_repeatable_and_fetches_nothing(report):
    page = to_html(report)
    assert page == to_html(report)
    text = page.decode()
    assert "</html>" in text
    for fetch in ("<script", "<link", "src=", "@import", "url("):
        assert fetch not in text
    for row in report.baseline:
        assert row.source[:40].replace("&", "&amp;").replace("'", "&#x27;") in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_catalogues_fit(width):
    for write in (print_parts, print_boards, print_links, lambda console: print_models(zoo_requests(), console)):
        console = Console(file=io.StringIO(), width=width, markup=False)
        write(console)
        assert isinstance(console.file, io.StringIO)
        text = console.file.getvalue()
        assert max(cell_len(line) for line in text.splitlines()) <= width
        assert len(text.splitlines()) < 130


def test_the_catalogues_break_no_number_and_name_what_is_unknown():
    for write, words in {
        print_parts: ("XCV80", "487,200 ALM", "unknown", "11,721×20", "assumed", "GW5AST-138"),
        print_boards: ("u250", "1,050,000", "yes", "4,500 to 6,100", "v80: list price", "unknown", "pcie_mmio"),
    }.items():
        console = Console(file=io.StringIO(), width=80, markup=False)
        write(console)
        assert isinstance(console.file, io.StringIO)
        for word in words:
            assert word in console.file.getvalue(), word


def test_a_file_gets_lines_of_a_fixed_width(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert new_console().width == PLAIN_WIDTH
    monkeypatch.setenv("COLUMNS", "63")
    assert new_console().width == 63


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0 ns"), (6.0612, "6.061 ns"), (999.9, "999.9 ns"), (1000, "1 µs"), (1088.4, "1.088 µs"), (2.5e6, "2.5 ms")],
)
def test_times_have_the_unit_that_suits_them(ns, text):
    assert time_text(ns) == text


def test_one_cycle_is_not_many():
    assert (cycles_text(1), cycles_text(2), cycles_text(1200)) == ("1 cycle", "2 cycles", "1,200 cycles")


@pytest.mark.parametrize("width", [80, 100])
def test_folded_engines_are_told_with_their_parameters(width):
    wishes = (Asked("layer 0", 36, "Resource"), Asked("layer 1", 11, "Resource"))
    graph = dense_network(12, 12, 10, asked=wishes)
    plan = make_plan(graph, Request(part="xc7a100t", clock="100MHz"))
    found = collect(Findings(graph, plan, timeline_of(graph, plan.choices)))
    text = shown(found, width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    first = plan.choices[0]
    assert isinstance(first, Folded)
    for part in (
        "Engines",
        f"folded, {first.order.replace('_', '-')}",
        f"{first.p} × {first.q}",
        first.store,
        "layer 0: reuse factor: asked 36, used 36; hls4ml would use 36",
        "layer 1: reuse factor: asked 11, used 10; hls4ml would use 12",
        "usable",
    ):
        assert part in text, part
    assert {c.edge for c in found.plan.converters} == {c.edge for c in plan.converters}
    for engine, choice in zip(found.plan.engines, plan.choices, strict=True):
        assert isinstance(choice, Folded)
        assert engine.fold is not None
        assert (engine.fold.reuse_factor, engine.fold.p, engine.fold.q) == (choice.reuse_factor, choice.p, choice.q)
    assert sum(hop.cycles for hop in found.critical_path) == found.latency.cycles_predicted


def test_a_pair_that_overlaps_is_said_to():
    wishes = tuple(Asked(f"layer {k}", 24, "Resource") for k in range(2))
    graph = dense_network(12, 12, 12, asked=wishes)
    plan = make_plan(graph, Request(part="xc7a100t", clock="100MHz"))
    assert [c.order for c in plan.choices if isinstance(c, Folded)] == ["output_serial", "input_serial"]
    text = shown(collect(Findings(graph, plan, timeline_of(graph, plan.choices))), 140)
    assert text.count("works on the 12 beats of r0 as they come") == 1
    assert "gather" in text  # what collects the last beats does not work on r0's


def test_a_routed_period_that_leaves_cells_out_settles_nothing():
    graph = dense_network(12, 10)
    plan = make_plan(graph, Request(part="xcvu9p", clock="1.8ns", budget="1us"))
    assert plan.verdict is Verdict.MET_IF_CLOCK_CLOSES
    routing = RoutingResult(1, plan.part, "nextpnr", 1.8, 1.7, 588.0, True, 1, 10, 10, 1, 0, 5, ())
    found = Findings(graph, plan, timeline_of(graph, plan.choices), routing=routing)
    assert collect(found).verdict is Verdict.MET
    blind = collect(replace(found, routing=replace(routing, untimed=("ICESTORM_DSP",))))
    assert blind.verdict is Verdict.MET_IF_CLOCK_CLOSES
    assert "paths through ICESTORM_DSP left out: no delays known" in shown(blind, 140)
