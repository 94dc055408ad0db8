"""How the report tells which cones have products in DSP blocks and tables in block RAM."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from flow.engines.dataflow import dataflow
from flow.engines.unrolled import Unrolled
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.report.collect import Findings, collect
from flow.report.report import Report, load_report, report_to_json
from flow.report.terminal import print_report
from tests.commands import tiny_graph


def report_with(cone: Unrolled) -> Report:
    """Return the report of a small network whose only cone is replaced."""
    graph = tiny_graph()
    plan = make_plan(graph, Request(part="LFE5U-85F", clock="40MHz", budget="9us"))
    (run,) = plan.runs
    cone = replace(cone, nodes=run.choice.nodes)
    plan = replace(plan, runs=(replace(run, choice=cone),), converters=())
    return collect(Findings(graph, plan, dataflow(graph, (cone,)).timeline))


def text_of(report: Report) -> str:
    console = Console(file=io.StringIO(), width=120, markup=False, emoji=False, highlight=False)
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_products_and_tables_are_told(tmp_path):
    report = report_with(Unrolled(("n",), 2, products="dsp", tables="bram"))
    (engine,) = report.plan.engines
    assert (engine.products, engine.tables) == ("dsp", "bram")
    assert "wiring, bram" in text_of(report)
    assert "adders, dsp" in text_of(report)
    path = tmp_path / "report.json"
    path.write_bytes(report_to_json(report))
    assert load_report(path) == report


def test_a_cone_without_blocks_is_told_as_before():
    report = report_with(Unrolled(("n",), 2))
    (engine,) = report.plan.engines
    assert (engine.products, engine.tables) == ("lut", "lut")
    assert "Engines" not in text_of(report)
