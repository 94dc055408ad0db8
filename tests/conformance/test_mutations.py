"""Deliberate faults in a generated design, in its netlist and in what is predicted of it: each fails the run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from flow.cli import cli
from flow.cli.group import FAILED
from flow.device.parts import find_part
from flow.engines.dataflow import timing
from flow.engines.engine import Unrolled
from flow.engines.lower import lower_graph, runs
from flow.engines.network import connect
from flow.engines.pipeline import place
from flow.errors import VerificationError
from flow.fixed import Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Dense
from flow.graph.store import to_json
from flow.latency.schedule import Schedule
from flow.plan.planner import make_plan, target_of
from flow.rtl.design import realize
from flow.rtl.signature import Edge, Signature, signature_to_json
from flow.rtl.top import write_rtl
from flow.simulate.result import SimulationResult
from flow.simulate.runner import simulate
from flow.steps.context import Options
from flow.steps.run import run_to
from flow.synth.netlist import netlist_for_simulation
from flow.synth.yosys import synthesize
from tests.conformance.small_design import (
    HIDDEN,
    REQUEST,
    SCORES,
    changed,
    last_registers,
    small_design,
    small_graph,
    small_vectors,
    tiny_graph,
    vectors_of,
    with_flipped_weight,
    write_small,
)
from tests.networks import unrolled_top

pytestmark = pytest.mark.eda

TOP, FIRST, SECOND = "flow_small.sv", "flow_cone_relu.sv", "flow_cone_fc2.sv"
VALID, DATA = "assign valid_o = valid_at_fc2;", "assign data_o = edge_fc2;"
LATE_VALID = "logic late_q; always_ff @(posedge clk_i) late_q <= valid_taps[5] && !rst_i; assign valid_o = late_q;"
LATE_DATA = "logic [27:0] late_data_q; always_ff @(posedge clk_i) late_data_q <= edge_fc2; assign data_o = late_data_q;"
EARLY_VALID = "assign valid_o = valid_taps[4];"
RELU_VALID = "assign valid_at_relu = valid_taps[2];"
WRONG_BITS = {"stream", "gaps", "reset"}
WRONG_CYCLE = WRONG_BITS | {"latency"}


def failed(result: SimulationResult) -> set[str]:
    """Return the checks that failed; `random state` only says that some check did with some seed."""
    return {check.name for check in result.failures} - {"random state"}


def simulated(folder: Path) -> SimulationResult:
    return simulate(folder, vectors=small_vectors(), seeds=(1,))


@pytest.fixture(scope="module")
def right_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("right")


@pytest.fixture(scope="module")
def right(right_folder: Path) -> SimulationResult:
    write_small(right_folder)
    return simulated(right_folder)


def test_without_a_fault_all_checks_pass(right: SimulationResult) -> None:
    assert right.passed, right.failures
    assert (right.latency_simulated, right.interval_simulated) == (5, 1.0)
    assert (right.mismatches, right.beats_wrong, right.changed_files) == (0, 0, ())


# ---- another network than the expected one ----


def _bias(graph: Graph) -> Graph:
    node = graph.node("fc2")
    assert isinstance(node, Dense)
    bias = node.bias.copy()
    bias[2] ^= 1
    return changed(graph, "fc2", bias=bias)


NETWORKS: dict[str, tuple[Callable[[Graph], Graph], set[str]]] = {
    "a weight's lowest bit flipped in the first layer": (
        lambda g: with_flipped_weight(g, "fc1", (3, 2)),
        WRONG_BITS | {"timeline"},
    ),
    "a weight's lowest bit flipped in the last layer": (
        lambda g: with_flipped_weight(g, "fc2", (1, 3)),
        WRONG_BITS | {"timeline"},
    ),
    "a bias' lowest bit flipped": (_bias, WRONG_BITS | {"timeline"}),
    "hidden values truncated, not rounded": (
        lambda g: changed(g, "relu", type=replace(HIDDEN, rounding=Rounding.TRN)),
        WRONG_BITS | {"timeline"},
    ),
    "outputs truncated, not rounded": (
        lambda g: changed(g, "fc2", type=replace(SCORES, rounding=Rounding.TRN)),
        WRONG_BITS | {"timeline"},
    ),
    "halves rounded up, not to even": (
        lambda g: changed(g, "fc2", type=replace(SCORES, rounding=Rounding.RND)),
        WRONG_BITS | {"timeline"},
    ),
    "hidden values wrapped, not saturated": (
        lambda g: changed(g, "relu", type=replace(HIDDEN, overflow=Overflow.WRAP)),
        WRONG_BITS | {"timeline"},
    ),
    "outputs wrapped, not saturated": (
        lambda g: changed(g, "fc2", type=replace(SCORES, overflow=Overflow.WRAP)),
        WRONG_BITS | {"timeline"},
    ),
    "outputs saturated symmetrically": (
        lambda g: changed(g, "fc2", type=replace(SCORES, overflow=Overflow.SAT_SYM)),
        WRONG_BITS | {"timeline"},
    ),
}


@pytest.mark.parametrize("fault", NETWORKS)
def test_hardware_of_another_network_fails(fault: str, tmp_path: Path) -> None:
    change, checks = NETWORKS[fault]
    graph, design = change(small_graph()), small_design()
    depths = tuple(choice.depth for choice in design.plan.choices)
    delays = target_of(graph, REQUEST).delays
    placement = place(connect(lower_graph(graph, runs(graph)), graph.outputs), depths, delays)
    modules, _ = unrolled_top(graph, placement)
    write_rtl(tmp_path, modules, design.signature)
    result = simulated(tmp_path)
    assert failed(result) == checks, result.failures
    assert result.mismatches > 0
    assert result.first_mismatch is not None
    assert "'layer fc2'" in result.first_mismatch
    assert (result.latency_simulated, result.interval_simulated) == (5, 1.0)


# ---- faults in the text of the hardware ----


def _combinational(name: str) -> dict[str, str]:
    block, logic = last_registers(name)
    return {block: logic}


TEXTS: dict[str, tuple[Callable[[], dict[str, dict[str, str]]], set[str]]] = {
    "one register more on valid only": (lambda: {TOP: {VALID: LATE_VALID}}, WRONG_CYCLE),
    "one register less on valid only": (lambda: {TOP: {VALID: EARLY_VALID}}, WRONG_CYCLE),
    "one register more on data only": (lambda: {TOP: {DATA: LATE_DATA}}, WRONG_BITS),
    "one register less on data only": (lambda: {SECOND: _combinational(SECOND)}, WRONG_BITS | {"timeline"}),
    "one register more on both": (lambda: {TOP: {VALID: LATE_VALID, DATA: LATE_DATA}}, WRONG_CYCLE),
    "one register less on both": (
        lambda: {TOP: {VALID: EARLY_VALID}, SECOND: _combinational(SECOND)},
        WRONG_CYCLE | {"timeline"},
    ),
    "one register less on data inside": (lambda: {FIRST: _combinational(FIRST)}, WRONG_BITS | {"timeline"}),
    "a register moved from before an inner edge to behind it": (
        lambda: {
            FIRST: _combinational(FIRST),
            TOP: {
                ".data_i(edge_relu)": ".data_i(later_q)",
                "logic [27:0] edge_fc2;": "logic [35:0] later_q; always_ff @(posedge clk_i) later_q <= edge_relu;\n"
                "  logic [27:0] edge_fc2;",
            },
        },
        {"timeline"},
    ),
    "valid of an inner edge one cycle late": (lambda: {TOP: {RELU_VALID: RELU_VALID.replace("2", "3")}}, {"timeline"}),
    "valid of an inner edge one cycle early": (lambda: {TOP: {RELU_VALID: RELU_VALID.replace("2", "1")}}, {"timeline"}),
    "a pair of outputs swapped": (
        lambda: {TOP: {DATA: "assign data_o = {edge_fc2[27:14], edge_fc2[6:0], edge_fc2[13:7]};"}},
        WRONG_BITS,
    ),
    "a pair of inputs swapped": (
        lambda: {TOP: {"assign edge_x = data_i;": "assign edge_x = {data_i[47:12], data_i[5:0], data_i[11:6]};"}},
        WRONG_BITS | {"timeline"},
    ),
    "a reset that clears nothing": (
        lambda: {"flow_valid.sv": {"if (rst_i)": "if (rst_i && !clk_i)"}},
        {"reset", "timeline"},
    ),
    "overrun_o at a legal distance": (
        lambda: {TOP: {".overrun_o(overrun_o)": ".overrun_o()", VALID: f"{VALID} assign overrun_o = valid_at_relu;"}},
        {"overrun"},
    ),
}


@pytest.mark.parametrize("fault", TEXTS)
def test_a_fault_in_the_text_fails(fault: str, tmp_path: Path) -> None:
    edits, checks = TEXTS[fault]
    made = edits()
    write_small(tmp_path, edits=made)
    result = simulated(tmp_path)
    assert result.changed_files == tuple(sorted(f"rtl/{name}" for name in made))
    assert not result.passed
    assert failed(result) >= checks, result.failures
    if checks in ({"timeline"}, {"overrun"}):
        assert failed(result) == checks, result.failures


# ---- faults in what is predicted ----


def _edge(signature: Signature, node: str, cycle: int) -> Signature:
    def moved(edge: Edge) -> Edge:
        return replace(edge, cycles=(cycle,)) if edge.node == node else edge

    return replace(signature, edges=tuple(moved(edge) for edge in signature.edges))


PREDICTIONS: dict[str, tuple[Callable[[Signature], Signature], set[str]]] = {
    "an inner edge predicted one cycle late": (lambda s: _edge(s, "relu", 3), {"timeline"}),
    "an inner edge predicted one cycle early": (lambda s: _edge(s, "relu", 1), {"timeline"}),
    "the input edge predicted one cycle late": (lambda s: _edge(s, "x", 1), {"timeline"}),
    "the output edge predicted one cycle early": (lambda s: _edge(s, "fc2", 4), {"timeline"}),
    "latency predicted one cycle too long": (lambda s: replace(s, latency_cycles=6, output_cycles=(6,)), WRONG_CYCLE),
    "latency predicted one cycle too short": (lambda s: replace(s, latency_cycles=4, output_cycles=(4,)), WRONG_CYCLE),
    "interval predicted one cycle too long": (lambda s: replace(s, interval_cycles=2), {"overrun"}),
}


@pytest.mark.usefixtures("right")
@pytest.mark.parametrize("fault", PREDICTIONS)
def test_a_wrong_prediction_fails(fault: str, right_folder: Path) -> None:
    change, checks = PREDICTIONS[fault]
    signature = write_small(right_folder)
    (right_folder / "signature.json").write_bytes(signature_to_json(change(signature)))
    result = simulated(right_folder)
    assert failed(result) == checks, result.failures


def test_an_engine_that_predicts_another_schedule_fails_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(choice: Unrolled, arrivals: tuple[Schedule, ...]) -> Schedule:
        return Schedule((max(s.last for s in arrivals) + choice.depth + (choice.output == "relu"),))

    monkeypatch.setattr(Unrolled, "schedule", late)
    timing.cache_clear()  # what was remembered of engines is no longer so
    graph = small_graph()
    try:
        with pytest.raises(VerificationError, match="is not the predicted one"):
            realize(graph, REQUEST, make_plan(graph, REQUEST))
    finally:
        timing.cache_clear()


# ---- the netlist ----


TABLES = {
    "xcvu13p": r"LUT\d #\(\s*\.INIT\(\d+'h([0-9a-f]+)\)",
    "LFE5U-25F": r"LUT4 #\(\s*\.INIT\(16'h([0-9a-f]+)\)",
    "iCE40UP5K": r"SB_LUT4 #\(\s*\.LUT_INIT\(16'h([0-9a-f]+)\)",
    "GW2AR-18": r"LUT\d #\(\s*\.INIT\(\d+'h([0-9a-f]+)\)",
}


@pytest.mark.parametrize(
    "part",
    [
        "xcvu13p",
        "LFE5U-25F",
        pytest.param("iCE40UP5K", marks=pytest.mark.campaign),
        pytest.param("GW2AR-18", marks=pytest.mark.campaign),
    ],
)
def test_a_netlist_passes_and_one_flipped_bit_of_a_table_fails(part: str, tmp_path: Path) -> None:
    graph, request = tiny_graph(), replace(REQUEST, part=part)
    design = realize(graph, request, make_plan(graph, request))
    signature = write_rtl(tmp_path, design.modules, design.signature)
    netlist = netlist_for_simulation(tmp_path, synthesize(tmp_path, find_part(part)))
    words = vectors_of(graph, signature)

    def passed_through() -> SimulationResult:
        files = {"netlist": netlist.netlist, "cell_models": netlist.cell_models}
        return simulate(tmp_path, vectors=words, seeds=(1,), **files)

    right = passed_through()
    assert right.passed, right.failures
    assert right.latency_simulated == design.timeline.latency
    text = netlist.netlist.read_text()
    # some entries of some tables are never asked for
    for table in islice(re.finditer(TABLES[part], text), 6):
        digits = table[1]
        flipped = f"{int(digits, 16) ^ 1:0{len(digits)}x}"
        netlist.netlist.write_text(text[: table.start(1)] + flipped + text[table.end(1) :])
        wrong = passed_through()
        if not wrong.passed:
            break
    assert failed(wrong) >= {"stream", "gaps"}, wrong.failures
    assert wrong.mismatches > 0


# ---- the command ----


def test_the_command_ends_with_status_1(tmp_path: Path) -> None:
    model, out = tmp_path / "model.json", tmp_path / "run"
    model.write_bytes(to_json(small_graph()))
    asked = {"part": REQUEST.part, "clock": REQUEST.clock, "vectors": "100"}
    run_to("build", Options(model=str(model), out=out, **asked))
    options = [word for name, value in asked.items() for word in (f"--{name}", value)]
    command = ["simulate", str(model), "--out", str(out), *options]
    right = CliRunner().invoke(cli, command)
    assert right.exit_code == 0, right.output
    timeline = out / "timeline.json"
    told = timeline.read_bytes()
    stored = json.loads(told)
    stored["edges"][1]["schedule"]["cycles"] = [3]
    timeline.write_text(json.dumps(stored))
    untrue = CliRunner().invoke(cli, command)
    assert isinstance(untrue.exception, VerificationError)
    assert "timeline.json has 'relu' at cycles (3,)" in str(untrue.exception)
    timeline.write_bytes(told)
    path = out / "rtl" / TOP
    text = path.read_text()
    assert text.count(DATA) == 1
    path.write_text(text.replace(DATA, "assign data_o = edge_fc2 ^ 28'd1;"))
    wrong = CliRunner().invoke(cli, command)
    assert wrong.exit_code == FAILED, wrong.output
    assert f"rtl/{TOP}" in wrong.output
    assert "edge_fc2 ^ 28'd1" in path.read_text()
