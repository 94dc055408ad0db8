"""Deliberate faults in hardware that computes in beats, and in what is predicted of it: each fails the run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flow.graph.graph import Graph
from flow.graph.nodes import Conv
from flow.rtl.signature import Edge, Signature, signature_to_json
from flow.rtl.top import write_rtl
from flow.simulate.result import SimulationResult
from flow.simulate.runner import simulate
from tests.conformance.stream_design import SPACING, stream_design, stream_graph, stream_vectors, write_stream
from tests.streaming import build, by_pixels

pytestmark = pytest.mark.eda

TOP, RELU, POOL, LAST = (f"flow_{name}.sv" for name in ("stream", "streamed_relu", "streamed_pool", "streamed_last"))
WINDOW, FIFO, GUARD = "flow_window.sv", "flow_fifo.sv", "flow_interval_guard.sv"
BITS = {"stream", "gaps", "timeline"}
CYCLES = BITS | {"latency"}


def failed(result: SimulationResult) -> set[str]:
    """Return the checks that failed; `random state` only says that some check did with some seed."""
    return {check.name for check in result.failures} - {"random state"}


def simulated(folder: Path) -> SimulationResult:
    return simulate(folder, vectors=stream_vectors(), seeds=(1,))


def edit(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / "rtl" / name
    text = path.read_text()
    assert text.count(old) == 1, (name, old, text.count(old))
    path.write_text(text.replace(old, new))


def test_without_a_fault_all_checks_pass(tmp_path: Path) -> None:
    write_stream(tmp_path)
    result = simulated(tmp_path)
    assert result.passed, result.failures
    timeline = stream_design().timeline
    assert (result.latency_simulated, result.interval_simulated) == (timeline.latency, timeline.interval)
    assert (result.mismatches, result.beats_wrong) == (0, 0)


# ---- faults in the text of the hardware ----

FAULTS: dict[str, tuple[str, str, str, set[str]]] = {
    "a row is a column short": (
        WINDOW,
        "at_q == AddressWidth'(Columns - 1)",
        "at_q == AddressWidth'(Columns - 2)",
        BITS,
    ),
    "a row in registers is a column short": (
        WINDOW,
        "assign above = kept_q[KeptBits-1:0];",
        "assign above = Columns == 4 ? kept_q[2*KeptBits-1-:KeptBits] : kept_q[KeptBits-1:0];",
        BITS,
    ),
    "pixels outside count as zero in a pool": (POOL, ".Pad(32)", ".Pad(0)", BITS),
    "strides begin with the second row": (
        WINDOW,
        "assign on_row = phase == '0;",
        "assign on_row = phase == PhaseWidth'(1);",
        CYCLES,
    ),
    "strides begin with the second column": (
        WINDOW,
        "assign on_column = (phase == '0)",
        "assign on_column = (phase == PhaseWidth'(1))",
        CYCLES,
    ),
    "the row above the image is not masked": (
        WINDOW,
        "after_first = row >= RowWidth'(PadTop - r);",
        "after_first = 1'b1;",
        BITS,
    ),
    "the row below the image is not masked": (
        WINDOW,
        "until_last = row <= RowWidth'(Rows + PadTop - 1 - r);",
        "until_last = 1'b1;",
        BITS,
    ),
    "the column before the image is not masked": (
        WINDOW,
        "after_first = column >= ColumnWidth'(PadLeft - c);",
        "after_first = 1'b1;",
        BITS,
    ),
    "the column behind the image is not masked": (
        WINDOW,
        "until_last = column <= ColumnWidth'(Columns + PadLeft - 1 - c);",
        "until_last = 1'b1;",
        BITS,
    ),
    "the first window comes a step early": (
        WINDOW,
        "left_q <= LeadWidth'(Lead);",
        "left_q <= LeadWidth'(Lead - 1);",
        CYCLES,
    ),
    "the first window comes a step late": (
        WINDOW,
        "left_q <= LeadWidth'(Lead);",
        "left_q <= LeadWidth'(Lead + 1);",
        CYCLES,
    ),
    "empty steps come too fast": (RELU, f".Pace({SPACING})", f".Pace({SPACING - 1})", CYCLES),
    "empty steps come too slowly": (RELU, f".Pace({SPACING})", f".Pace({SPACING + 1})", CYCLES),
    "valid comes a cycle early": (RELU, "valid_o = valid_taps[2]", "valid_o = valid_taps[1]", CYCLES),
    "a FIFO has an entry less": (TOP, ".Depth(7)", ".Depth(6)", {"assertions"}),
    "a FIFO hands on the second beat": (
        FIFO,
        "assign head = kept_q[Width-1:0];",
        "assign head = kept_q[2*Width-1:Width];",
        BITS,
    ),
    "a reset leaves a FIFO as it is": (
        FIFO,
        "if (rst_i) begin\n          free_q",
        "if (rst_i & ~clk_i) begin\n          free_q",
        {"reset"},
    ),
    "a reset leaves the count of beats": (
        WINDOW,
        "if (rst_i) begin\n      came_q",
        "if (rst_i & ~clk_i) begin\n      came_q",
        {"reset"},
    ),
    "a late beat is not reported": (
        GUARD,
        "assign broken = begun & (valid_i != due);",
        "assign broken = 1'b0;",
        {"overrun"},
    ),
    "an early start is not reported": (
        GUARD,
        "assign soon = first_o & (wait_q != '0);",
        "assign soon = 1'b0;",
        {"overrun"},
    ),
}


CORE = (
    "a row is a column short",
    "pixels outside count as zero in a pool",
    "strides begin with the second row",
    "the row above the image is not masked",
    "the first window comes a step early",
    "empty steps come too fast",
    "valid comes a cycle early",
    "a FIFO has an entry less",
    "a late beat is not reported",
)
"""Faults that every run of the tests tries; the campaign tries all."""


@pytest.mark.parametrize(
    "fault", [name if name in CORE else pytest.param(name, marks=pytest.mark.campaign) for name in FAULTS]
)
def test_a_fault_in_the_text_fails(fault: str, tmp_path: Path) -> None:
    name, old, new, checks = FAULTS[fault]
    write_stream(tmp_path)
    edit(tmp_path, name, old, new)
    result = simulated(tmp_path)
    assert failed(result) >= checks, result.failures


# ---- hardware of another network ----


@pytest.mark.parametrize(("name", "place"), [("conv", (2, 0, 1, 1)), ("last", (1, 0, 0, 2))])
def test_a_flipped_bit_of_a_weight_fails(name: str, place: tuple[int, ...], tmp_path: Path) -> None:
    graph, right = stream_graph(), stream_design()
    node = graph.node(name)
    assert isinstance(node, Conv)
    weights = node.weights.copy()
    weights[place] ^= 1
    nodes = tuple(replace(n, weights=weights) if n is node else n for n in graph.nodes)
    changed = Graph(graph.name, nodes, graph.inputs, graph.outputs, io_type=graph.io_type)
    assert right.flow is not None
    choices = tuple(block.what for block in right.flow.blocks if block.what.engine == "streamed")
    wrong = build(changed, choices, by_pixels(changed, 1, SPACING, beats_out=True))
    write_rtl(tmp_path, wrong.modules, right.signature)
    result = simulated(tmp_path)
    assert failed(result) >= BITS, result.failures
    assert result.mismatches > 0


# ---- faults in what is predicted ----


def _edge(signature: Signature, name: str, beat: int, later: int) -> Signature:
    def moved(edge: Edge) -> Edge:
        cycles = tuple(cycle + later * (k == beat) for k, cycle in enumerate(edge.cycles))
        return replace(edge, cycles=cycles) if edge.name == name else edge

    return replace(signature, edges=tuple(moved(edge) for edge in signature.edges))


PREDICTIONS: dict[str, tuple[Callable[[Signature], Signature], set[str]]] = {
    "an interval of one cycle less": (lambda s: replace(s, interval_cycles=s.interval_cycles - 1), {"overrun"}),
    "an interval of one cycle more": (lambda s: replace(s, interval_cycles=s.interval_cycles + 1), {"overrun"}),
    "one beat of an inner edge a cycle late": (lambda s: _edge(s, "relu", 7, 1), {"timeline"}),
    "the last beat of a FIFO a cycle early": (lambda s: _edge(s, "x_for_sum", 11, -1), {"timeline"}),
    "one beat of the pool a cycle late": (lambda s: _edge(s, "pool", 3, 1), {"timeline"}),
}


@pytest.mark.parametrize("fault", PREDICTIONS)
def test_a_wrong_prediction_fails(fault: str, tmp_path: Path) -> None:
    change, checks = PREDICTIONS[fault]
    signature = write_stream(tmp_path)
    (tmp_path / "signature.json").write_bytes(signature_to_json(change(signature)))
    result = simulated(tmp_path)
    assert failed(result) >= checks, result.failures


def test_a_guard_that_allows_a_cycle_less_fails(tmp_path: Path) -> None:
    interval = write_stream(tmp_path).interval_cycles
    edit(tmp_path, TOP, f".Interval({interval})", f".Interval({interval - 1})")
    assert failed(simulated(tmp_path)) >= {"overrun"}


def test_the_interval_is_the_least_that_the_hardware_keeps(tmp_path: Path) -> None:
    signature = write_stream(tmp_path)
    less = signature.interval_cycles - 1
    edit(tmp_path, TOP, f".Interval({less + 1})", f".Interval({less})")
    (tmp_path / "signature.json").write_bytes(signature_to_json(replace(signature, interval_cycles=less)))
    assert failed(simulated(tmp_path)) >= {"stream"}


def test_every_part_of_a_stream_is_there(tmp_path: Path) -> None:
    write_stream(tmp_path)
    text = "\n".join(path.read_text() for path in sorted((tmp_path / "rtl").glob("*.sv")))
    assert len(re.findall(r"flow_window #\(\.Width", text)) == 3
    assert len(re.findall(r"flow_fifo #\(\.Width", text)) == 1
