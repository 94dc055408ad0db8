"""The bench passes right designs and names what is wrong with others. Each fault here is deliberate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.errors import MissingTool, UserError, VerificationError
from flow.rtl.signature import Edge, Signature
from flow.simulate import bulk, runner
from flow.simulate.result import SimulationResult, load_result
from flow.simulate.runner import simulate
from tests.simulate.designs import BEATS_CONTENTS, SERIAL, HandDesign, beats, pipeline, serial

pytestmark = pytest.mark.eda

ONE_SEED = (1,)


def failed(result: SimulationResult) -> set[str]:
    return {check.name for check in result.failures} - {"random state"}


@pytest.fixture(scope="module")
def right_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "it's a $(run) & more"


@pytest.fixture(scope="module")
def right(right_folder: Path) -> SimulationResult:
    design = pipeline()
    return simulate(design.write(right_folder), vectors=design.vectors)


def test_a_right_design_passes_all_checks(right: SimulationResult, right_folder: Path) -> None:
    assert right.passed, right.failures
    names = ["stream", "interval", "latency", "gaps", "reset", "overrun", "timeline", "random state"]
    assert [check.name for check in right.checks] == names
    assert (right.latency_simulated, right.interval_simulated) == (3, 1.0)
    assert (right.vectors, right.mismatches, right.beats_wrong, right.edges) == (50, 0, 0, 2)
    assert right.beats_checked > 3 * 1300
    assert right.changed_files == ()
    assert load_result(right_folder / "sim" / "result.json") == right
    assert "sim.bench.bench passed" in (right_folder / "sim" / "log.txt").read_text()


@pytest.mark.usefixtures("right")
def test_a_second_run_compiles_nothing(right_folder: Path) -> None:
    program = right_folder / "sim" / "build" / "simulation"
    made = program.stat().st_mtime_ns
    steps: list[tuple[str, int, int]] = []
    result = simulate(right_folder, vectors=pipeline().vectors, seeds=(7,), progress=lambda *step: steps.append(step))
    assert result.passed
    assert program.stat().st_mtime_ns == made
    assert [done for _, done, _ in steps] == [0, 1, 2]


def test_a_right_design_of_interval_3_passes(tmp_path: Path) -> None:
    design = serial()
    result = simulate(design.write(tmp_path), vectors=design.vectors, seeds=(1, 2))
    assert result.passed, result.failures
    assert (result.latency_simulated, result.interval_simulated) == (4, 3.0)
    assert {"overrun", "recovery"} <= {check.name for check in result.checks}


@pytest.fixture(scope="module")
def beats_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return beats().write(tmp_path_factory.mktemp("beats"))


def test_a_right_design_of_several_beats_passes(beats_folder: Path) -> None:
    result = simulate(beats_folder, vectors=beats().vectors, seeds=(1, 2))
    assert result.passed, result.failures
    assert (result.latency_simulated, result.interval_simulated, result.edges) == (7, 5.0, 2)
    assert result.beats_checked > 7 * 1500
    details = {check.name: check.detail for check in result.checks}
    assert details["memory"] == "3 words of the memory as their files say"
    assert details["random state"].endswith("seeds 1, 2; 1,000, 200 inferences back to back")
    assert details["overrun"].endswith("at a distance of 4 and 2 and 1 cycles")


BEATS_FAULTS = {
    "lanes exchanged": (
        {"wire [15:0] x_data = hold_q[15:0];": "wire [15:0] x_data = {hold_q[7:0], hold_q[15:8]};"},
        {"timeline", "stream"},
    ),
    "middle beat wrong": ({"words[address_i]": "words[address_i] ^ 8'(address_i == 2'd1)"}, {"timeline", "stream"}),
    "beat one cycle late": (
        {"wire x_valid = busy_q && !odd_q;": "wire x_valid = busy_q && odd_q;"},
        {"timeline", "stream", "latency"},
    ),
    "sequencer that no reset clears": (
        {"{busy_q, odd_q, beat_q, products_valid_q, total": "{products_valid_q, total"},
        {"reset"},
    ),
    "memory that is not filled": ({'  initial $readmemh("beats.mem", words);\n': ""}, {"memory", "stream"}),
    "word changed": (
        {"words);": "words);\n  initial words[2] = 8'h09;"},
        {"memory"},  # in the lane that no element meets
    ),
    "overrun high too late": ({"valid_i ? 3'd4": "valid_i ? 3'd3"}, {"overrun"}),
}


@pytest.mark.parametrize("fault", BEATS_FAULTS)
def test_a_fault_of_a_design_of_several_beats_is_named(fault: str, tmp_path: Path) -> None:
    edits, checks = BEATS_FAULTS[fault]
    result = simulate(beats().write(tmp_path, edits=edits), vectors=beats().vectors, seeds=ONE_SEED)
    assert checks <= failed(result), result.checks
    if checks == {"memory"}:
        assert failed(result) == checks
        assert "word 2 of u_rom.words is 9, not e9 as rtl/beats.mem says" in result.failures[0].detail


@pytest.mark.usefixtures("beats_folder")
def test_contents_of_memories_are_never_changed_by_hand(beats_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> Path:
        raise AssertionError("compiled")

    monkeypatch.setattr(runner, "build_design", never)
    monkeypatch.setattr(bulk, "build_design", never)
    path, text = beats_folder / "rtl" / "beats.mem", BEATS_CONTENTS
    try:
        path.write_text(text.replace("7f", "7e"))
        for run in (lambda: simulate(beats_folder, vectors=beats().vectors), lambda: bulk.bulk_model(beats_folder)):
            with pytest.raises(UserError, match=r"beats\.mem is no longer as it was built; .*: fpgaflow build"):
                run()
        path.unlink()
        for run in (lambda: simulate(beats_folder, vectors=beats().vectors), lambda: bulk.bulk_model(beats_folder)):
            with pytest.raises(UserError, match=r"beats\.mem is missing; .*: fpgaflow build"):
                run()
    finally:
        path.write_text(text)


def test_long_intervals_get_fewer_inferences_but_never_less_than_a_thousand() -> None:
    signature = beats().signature
    fast, slow = replace(signature, interval_cycles=1), replace(signature, interval_cycles=300)
    assert runner.traffic_counts(fast, 5000, first=True) == (5000, 300)
    assert runner.traffic_counts(fast, 50, first=False) == (200, 100)
    assert runner.traffic_counts(slow, 5000, first=True) == (1000, 166)
    assert runner.traffic_counts(slow, 5000, first=False) == (66, 16)
    assert runner.traffic_counts(replace(slow, interval_cycles=10**6), 1, first=False) == (8, 8)


LATE_VALID = "logic late_q; always_ff @(posedge clk_i) late_q <= y_valid_q && !rst_i; assign valid_o = late_q;"
LATE_DATA = "logic [23:0] late_data_q; always_ff @(posedge clk_i) late_data_q <= y_data_q; assign data_o = late_data_q;"
VALID, DATA = "assign valid_o = y_valid_q;", "assign data_o = y_data_q;"
ALL_RESET = "{a_valid_q, b_valid_q, y_valid_q} <= 3'b000;"
PIPELINE_FAULTS = {
    "flipped constant": ({"12'sd37": "12'sd36"}, {"stream", "gaps", "reset"}),
    "flipped weight": ({"12'sd3 * b1": "12'sd2 * b1"}, {"stream", "gaps", "reset"}),
    "register more on valid": ({VALID: LATE_VALID}, {"latency", "stream", "gaps", "reset"}),
    "register more on data": ({DATA: LATE_DATA}, {"stream", "gaps", "reset"}),
    "register more on both": ({VALID: LATE_VALID, DATA: LATE_DATA}, {"latency", "stream", "gaps", "reset"}),
    "register less on valid": ({VALID: "assign valid_o = b_valid_q;"}, {"latency", "stream", "gaps", "reset"}),
    "register less on data": ({DATA: "assign data_o = {y1, y0};"}, {"stream", "gaps", "reset"}),
    "register less on both": (
        {VALID: "assign valid_o = b_valid_q;", DATA: "assign data_o = {y1, y0};"},
        {"latency", "stream", "gaps", "reset"},
    ),
    "swapped outputs": ({"y_data_q <= {y1, y0};": "y_data_q <= {y0, y1};"}, {"stream", "gaps", "reset"}),
    "register moved behind an edge": (
        {
            "b_data_q <= {a1[8]": "b_data_d <= {a1[8]",
            "logic [15:0] b_data_q;": "logic [15:0] b_data_d; wire [15:0] b_data_q = "
            "{a_data_q[17] ? 8'd0 : a_data_q[16:9], a_data_q[8] ? 8'd0 : a_data_q[7:0]};",
            "y0 = b0 + 12'sd3 * b1": "y0 = {4'd0, b_data_d[7:0]} + 12'sd3 * {4'd0, b_data_d[15:8]}",
            "y1 = b0 - b1": "y1 = {4'd0, b_data_d[7:0]} - {4'd0, b_data_d[15:8]}",
        },
        {"timeline"},
    ),
    "a reset that forgets a valid": (
        {ALL_RESET: "{a_valid_q, b_valid_q, y_valid_q} <= {1'b0, a_valid_q, 1'b0};"},
        {"reset", "timeline"},
    ),
    "overrun without a reason": ({"overrun_o = 1'b0": "overrun_o = valid_i && y_valid_q"}, {"overrun"}),
    "contents that nothing ever sets": (
        {
            "wire signed [11:0] y0 = ": "logic [9:0] old_q; always_ff @(posedge clk_i) if (&b_data_q) old_q <= '0;"
            "wire signed [11:0] y0 = 12'(old_q) + "
        },
        {"stream", "gaps", "reset"},
    ),
}


@pytest.mark.parametrize("fault", PIPELINE_FAULTS)
def test_a_fault_in_the_hardware_is_named(fault: str, tmp_path: Path) -> None:
    edits, checks = PIPELINE_FAULTS[fault]
    design = pipeline()
    result = simulate(design.write(tmp_path, edits=edits), vectors=design.vectors, seeds=ONE_SEED)
    assert not result.passed
    assert checks <= failed(result), result.checks
    if checks in ({"timeline"}, {"overrun"}):
        assert failed(result) == checks, result.failures
    if "timeline" in checks:
        assert result.wrong_edges
        assert result.beats_wrong > 0


def test_a_mismatch_says_where_it_is(tmp_path: Path) -> None:
    design = pipeline()
    folder = design.write(tmp_path, edits={"12'sd37": "12'sd36"})
    result = simulate(folder, vectors=design.vectors, seeds=ONE_SEED)
    assert result.mismatches > 1000
    assert result.first_mismatch is not None
    assert result.first_mismatch.startswith("'dense 2'[0]: expected ")
    assert result.first_mismatch.endswith(", inference 0 (vector 0)")
    assert (result.latency_simulated, result.interval_simulated) == (3, 1.0)


def wrong_cycle(edge: Edge, cycle: int) -> Edge:
    return replace(edge, cycles=(cycle,))


SIGNATURE_FAULTS: dict[str, tuple[Callable[[Signature], Signature], set[str]]] = {
    "beat predicted late": (lambda s: replace(s, edges=(s.edges[0], wrong_cycle(s.edges[1], 3))), {"timeline"}),
    "beat predicted early": (lambda s: replace(s, edges=(wrong_cycle(s.edges[0], 0), s.edges[1])), {"timeline"}),
    "edges exchanged": (
        lambda s: replace(s, edges=(replace(s.edges[0], valid="b_valid_q", cycles=(2,)), s.edges[1])),
        {"timeline"},
    ),
    "latency too long": (
        lambda s: replace(s, latency_cycles=4, output_cycles=(4,)),
        {"latency", "stream", "gaps", "reset"},
    ),
    "latency too short": (
        lambda s: replace(s, latency_cycles=2, output_cycles=(2,)),
        {"latency", "stream", "gaps", "reset"},
    ),
    "interval too long": (lambda s: replace(s, interval_cycles=2), {"overrun"}),
}


@pytest.mark.usefixtures("right")
@pytest.mark.parametrize("fault", SIGNATURE_FAULTS)
def test_a_fault_in_the_signature_is_named(fault: str, right_folder: Path) -> None:
    change, checks = SIGNATURE_FAULTS[fault]
    design = pipeline()
    folder = design.write(right_folder, signature=change(design.signature))
    result = simulate(folder, vectors=design.vectors, seeds=ONE_SEED)
    assert failed(result) == checks, result.failures


def test_a_signal_that_is_not_there_is_named(tmp_path: Path) -> None:
    design = pipeline()
    first, second = design.signature.edges
    gone = replace(design.signature, edges=(first, replace(second, data="nowhere_q")))
    result = simulate(design.write(tmp_path, signature=gone), vectors=design.vectors, seeds=ONE_SEED)
    assert failed(result) == {"timeline"}
    assert "no signal nowhere_q" in result.wrong_edges[0].fault


SERIAL_FAULTS = {
    "overrun stuck low": ({"overrun_o = valid_i && left_q != 2'd0": "overrun_o = 1'b0"}, {"overrun"}),
    "overrun lasts too short": ({"valid_i ? 2'd2": "valid_i ? 2'd1"}, {"overrun"}),
    "overrun lasts too long": ({"valid_i ? 2'd2": "valid_i ? 2'd3"}, {"overrun"}),
    "counter that no reset clears": ({"{x_valid_q, busy_q, done_q, left_q}": "{x_valid_q, done_q, left_q}"}, {"reset"}),
}


@pytest.mark.parametrize("fault", SERIAL_FAULTS)
def test_a_fault_of_a_serial_design_is_named(fault: str, tmp_path: Path) -> None:
    edits, checks = SERIAL_FAULTS[fault]
    design = serial()
    result = simulate(design.write(tmp_path, edits=edits), vectors=design.vectors, seeds=ONE_SEED)
    assert checks <= failed(result), result.checks


def test_an_interval_that_is_too_short_is_named(tmp_path: Path) -> None:
    design = serial()
    folder = design.write(tmp_path, signature=replace(design.signature, interval_cycles=2))
    result = simulate(folder, vectors=design.vectors, seeds=ONE_SEED)
    assert {"stream", "overrun"} <= failed(result)


def test_data_that_is_held_from_a_cycle_before_is_early(tmp_path: Path) -> None:
    held = "logic [10:0] held_q; always_ff @(posedge clk_i) if (done_q) held_q <= sum_q; assign data_o = held_q;"
    later = (
        "logic [1:0] later_q; always_ff @(posedge clk_i) later_q <= rst_i ? 2'd0 : {later_q[0], done_q};"
        "assign valid_o = later_q[1];"
    )
    edits = {"assign data_o = sum_q;": held, "assign valid_o = done_q;": later}
    design = HandDesign(SERIAL, replace(serial().signature, latency_cycles=6, output_cycles=(6,)), serial().vectors)
    result = simulate(design.write(tmp_path, edits=edits), vectors=design.vectors, seeds=ONE_SEED)
    assert failed(result) >= {"stream", "gaps"}
    detail = next(check.detail for check in result.failures if check.name == "stream")
    assert "right one cycle before" in detail


@pytest.mark.usefixtures("right")
def test_wrong_vectors_fail(right_folder: Path) -> None:
    design = pipeline()
    design.write(right_folder)
    words = design.vectors.words_out.copy()
    words[20, 0, 0] ^= np.uint64(1 << 13)
    result = simulate(right_folder, vectors=replace(design.vectors, words_out=words), seeds=ONE_SEED)
    assert "stream" in failed(result)
    assert result.first_mismatch is not None
    assert "'dense 2'[1]" in result.first_mismatch
    assert "(vector 20)" in result.first_mismatch
    edge = design.vectors.words_edges[1].copy()
    edge[3, 0] ^= np.uint64(1)
    edges = (design.vectors.words_edges[0], edge)
    result = simulate(right_folder, vectors=replace(design.vectors, words_edges=edges), seeds=ONE_SEED)
    assert failed(result) == {"timeline"}


def test_a_changed_file_is_reported_and_used(tmp_path: Path) -> None:
    design = pipeline()
    source = design.write(tmp_path) / "rtl" / "pipeline.sv"
    source.write_text(source.read_text().replace("12'sd37", "12'sd38"))
    result = simulate(tmp_path, vectors=design.vectors, seeds=ONE_SEED)
    assert result.changed_files == ("rtl/pipeline.sv",)
    assert "stream" in failed(result)
    assert "12'sd38" in source.read_text()


def test_a_netlist_with_cell_models_goes_through_the_same_bench(tmp_path: Path) -> None:
    design = pipeline()
    folder = design.write(tmp_path / "run")
    cells, netlist = tmp_path / "cells.v", tmp_path / "netlist.v"
    cells.write_text("module BUF(input I, output O); assign O = I; endmodule\n")
    netlist.write_text(design.text.replace(VALID, "BUF b (.I(y_valid_q), .O(valid_o));"))
    result = simulate(folder, vectors=design.vectors, seeds=ONE_SEED, netlist=netlist, cell_models=(cells,))
    assert result.passed, result.failures
    assert result.edges == 0
    assert "timeline" not in {check.name for check in result.checks}
    netlist.write_text(netlist.read_text().replace("12'sd37", "12'sd36"))
    assert not simulate(folder, vectors=design.vectors, seeds=ONE_SEED, netlist=netlist, cell_models=(cells,)).passed


def test_a_simulation_that_hangs_ends(
    right_folder: Path, right: SimulationResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "START_SECONDS", 0.05)
    monkeypatch.setattr(runner, "SLOWEST_CYCLES_PER_SECOND", 1e9)
    pipeline().write(right_folder)
    result = simulate(right_folder, vectors=pipeline().vectors, seeds=(1, 2))
    assert failed(result) == {"run"}
    assert "no end after" in result.failures[0].detail


def test_hardware_that_does_not_compile_is_refused(tmp_path: Path) -> None:
    design = pipeline()
    folder = design.write(tmp_path, edits={DATA: "assign data_o = nonsense("})
    with pytest.raises(VerificationError, match=r"Verilator refuses the hardware: %Error: .*pipeline\.sv:\d+"):
        simulate(folder, vectors=design.vectors, seeds=ONE_SEED)


def test_missing_things_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = pipeline()
    with pytest.raises(UserError, match=r"signature\.json is missing"):
        simulate(tmp_path, vectors=design.vectors)
    folder = design.write(tmp_path)
    with pytest.raises(UserError, match="no vectors"):
        simulate(folder, vectors=design.vectors.first(0))
    (folder / "rtl" / "pipeline.sv").unlink()
    with pytest.raises(UserError, match=r"pipeline\.sv is missing"):
        simulate(folder, vectors=design.vectors)
    design.write(tmp_path)
    (folder / "sim").write_text("a file where a folder must be made")
    with pytest.raises(UserError, match="cannot write the simulation"):
        simulate(folder, vectors=design.vectors)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"g\+\+ is not installed"):
        simulate(folder, vectors=design.vectors)
