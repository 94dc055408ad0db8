"""How the report tells what crosses beat by beat: the numbers counted by hand, the table at every width."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from flow.baseline.work import Work, work_of
from flow.device.parts import find_part
from flow.engines.dataflow import Traffic, dataflow
from flow.engines.engine import Choice, Resources
from flow.engines.reducer import Reducer
from flow.engines.streamed import Streamed
from flow.engines.unrolled import Unrolled
from flow.graph.graph import Graph
from flow.graph.nodes import Pool
from flow.graph.window import Window
from flow.plan.candidate import planned_converters
from flow.plan.plan import Planned
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.report.collect import Findings, collect
from flow.report.html import to_html
from flow.report.planned import MemoryReport, StreamReport
from flow.report.report import Report, load_report, report_to_json
from flow.report.streams import is_streamed
from flow.report.terminal import print_report
from tests.commands import tiny_graph
from tests.report.skip_graph import HIDDEN, PIXELS, SPACING, skip_graph
from tests.streaming import PART, by_pixels, streamed


def report_of(graph: Graph, choices: tuple[Choice, ...], traffic: Traffic) -> Report:
    """Return the report of a plan whose choices are given."""
    flow = dataflow(graph, choices, traffic)
    plan = replace(
        make_plan(graph, Request(part=PART, clock="40MHz", budget="9us")),
        traffic=traffic,
        runs=tuple(Planned(choice, Resources(lut=7), 1.0) for choice in choices),
        converters=planned_converters(graph, flow.blocks, find_part(PART)),
    )
    return collect(Findings(graph, plan, flow.timeline))


@pytest.fixture(scope="module")
def report() -> Report:
    graph = skip_graph()
    choices = (
        streamed(graph, ("conv", "relu"), 1, depth=2, pace=SPACING, store="lutram"),
        streamed(graph, ("sum",), 1),
        streamed(graph, ("pool",), 1, pace=SPACING),
        streamed(graph, ("last",), 1, pace=3, fold=(8, 1)),
    )
    return report_of(graph, choices, by_pixels(graph, 1, SPACING, beats_out=True))


def text_of(report: Report, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_engines_tell_windows_beats_and_line_buffers(report):
    told = {engine.output: engine.stream for engine in report.plan.engines}
    rows = (2 * 2 * PIXELS.width, 2 * 2 * HIDDEN.width, 1 * 2 * HIDDEN.width)  # rows above, of 2 channels each
    assert told == {
        "relu": StreamReport(1, (2,), 2, 2, "window", 30, (3, 3), MemoryReport("lutram", 6, rows[0])),
        "sum": StreamReport(1, (2, 2), 2, 1, "nothing", 30, None, None),
        "pool": StreamReport(1, (2,), 2, 2, "window", 9, (3, 2), MemoryReport("registers", 6, rows[1])),
        "last": StreamReport(1, (2,), 3, 3, "window", 4, (2, 2), MemoryReport("registers", 3, rows[2])),
    }
    last = report.plan.engines[-1]
    assert last.fold is not None
    assert (last.engine, last.fold.reuse_factor, last.fold.p, last.fold.q) == ("streamed", 3, 8, 1)


def test_tensors_tell_their_cadence(report):
    (coming,), (leaving,) = report.plan.inputs, report.plan.outputs
    assert (coming.tensor, coming.lanes, coming.beats, coming.first, coming.spacing) == ("x", 2, 30, 0, 2)
    # four windows of three filters, one filter a cycle
    assert (leaving.tensor, leaving.lanes, leaving.beats, leaving.spacing) == ("last", 1, 12, 1)
    assert leaving.first + 1 <= report.latency.cycles_predicted


def test_what_waits_for_another_branch_is_told(report):
    (fifo,) = [between for between in report.plan.converters if between.waiting is not None]
    # a pixel comes every 2nd cycle and waits 17: until the pixel below and right of it comes (7 later), a cycle for
    # the window and two in the cone
    assert (fifo.kind, fifo.lanes_in, fifo.lanes_out) == ("fifo", 2, 2)
    assert fifo.waiting == MemoryReport("registers", 9, 2 * PIXELS.width)


def test_a_pool_over_everything_keeps_a_running_result():
    graph = skip_graph()
    x, window = graph.node("x"), Window(5, 6, 2, (5, 6), (5, 6), (0, 0, 0, 0))
    pool = Pool(
        name="pool", label="p", inputs=("x",), shape=(1, 1, 2), type=PIXELS, window=window, op="max", accumulator=PIXELS
    )
    whole = Graph("whole", (x, pool), ("x",), ("pool",), io_type="io_stream")
    choice = Streamed(("pool",), (4,), 2, Reducer(15, "max"), Unrolled(("pool",), 1))
    report = report_of(whole, (choice,), by_pixels(whole, 2))
    assert report.plan.engines[0].stream == StreamReport(2, (4,), 2, 1, "running_result", 1, None, None)
    assert "2 pixels a beat; one running result for each lane" in text_of(report, 120)


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_table_fits(report, width):
    text = text_of(report, width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    for word in ("Streams", "2 + 2 to 2", "streamed, output-serial", "fifo, 2 lanes"):
        assert word in text, word


def test_the_table_tells_all(report):
    text = text_of(report, 140)
    for part in (
        "x →",
        "1 pixel a beat; 30 windows of 3 × 3 beats; rows above: 6 × 20 bits in lutram",
        "1 pixel a beat; nothing",
        "9 × 10 bits in registers, until what it meets comes",
        "→ last",
    ):
        assert part in text, part
    assert "30 windows of 3 × 3 beats" in to_html(report).decode()


def test_the_file_holds_it_and_can_be_read_again(report, tmp_path):
    (tmp_path / "report.json").write_bytes(report_to_json(report))
    assert load_report(tmp_path / "report.json") == report
    told = json.loads(report_to_json(report))["plan"]
    assert told["inputs"] == [{"tensor": "x", "lanes": 2, "beats": 30, "first": 0, "spacing": 2}]
    assert told["engines"][0]["stream"]["lines"] == {"store": "lutram", "words": 6, "bits": 20}


def test_whole_tensors_have_no_such_table():
    graph = tiny_graph()
    plan = make_plan(graph, Request())
    report = collect(Findings(graph, plan, dataflow(graph, plan.choices).timeline))
    assert not is_streamed(report.plan)
    assert "Streams" not in text_of(report, 140)


def test_the_weights_of_convolutions_count():
    # two kernels of 4-bit weights, 3 x 3 x 2 x 2 and 2 x 2 x 2 x 3, with 2 and 3 biases; every one of 30 and 4 places
    assert work_of(skip_graph()) == Work(30 * 36 + 4 * 24, -(-(36 + 2 + 24 + 3) * 4 // 8), 3)
