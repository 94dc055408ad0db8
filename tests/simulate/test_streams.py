"""Designs whose ports carry several beats or several tensors: right ones pass, faults made on purpose are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.errors import VerificationError
from flow.fixed import FixedArray, FixedType
from flow.rtl.signature import Signature
from flow.simulate.result import SimulationResult
from flow.simulate.runner import simulate
from flow.simulate.vectors import expected
from tests.simulate.streams import SHIFTED, pair, stream

ONE_SEED = (1,)


def failed(result: SimulationResult) -> set[str]:
    return {check.name for check in result.failures} - {"random state"}


def details(result: SimulationResult) -> dict[str, str]:
    return {check.name: check.detail for check in result.checks}


@pytest.mark.eda
def test_a_right_design_whose_ports_carry_beats_passes(tmp_path: Path) -> None:
    design = stream()
    result = simulate(design.write(tmp_path), vectors=design.vectors, seeds=(1, 2))
    assert result.passed, result.failures
    assert (result.first_output_simulated, result.latency_simulated, result.interval_simulated) == (6, 8, 7.0)
    assert result.edges == 3
    assert result.beats_checked > 10 * 1500
    told = details(result)
    assert told["latency"] == "the result came after 6 to 8 cycles"
    assert told["overrun"].endswith("high at a distance of 6 and 5 cycles and where a beat comes too early")
    # the design said so when the bench broke its rules, which is no fault
    assert "Assertion failed in stream: a beat came too early" in (tmp_path / "sim" / "log.txt").read_text()
    assert "assertions" not in told


@pytest.mark.eda
def test_a_right_design_of_several_inputs_and_outputs_passes(tmp_path: Path) -> None:
    design = pair()
    result = simulate(design.write(tmp_path), vectors=design.vectors, seeds=ONE_SEED)
    assert result.passed, result.failures
    assert details(result)["latency"] == "the result came after 1 cycles"


OUT_BEATS = "stream gaps reset latency"
STREAM_FAULTS: dict[str, tuple[dict[str, str], str]] = {
    "output beats late by one": (
        {
            "assign valid_o = y_valid_q;": "logic late_q; always_ff @(posedge clk_i) late_q <= y_valid_q && !rst_i;"
            "assign valid_o = late_q;"
        },
        OUT_BEATS,
    ),
    "last output beat late by one": (
        {
            "wire pop = |due_q[6:4];": "logic late_q; always_ff @(posedge clk_i) late_q <= due_q[6] && !rst_i;"
            "wire pop = due_q[4] || due_q[5] || late_q;"
        },
        f"{OUT_BEATS}",
    ),
    "middle output beat missing": (
        {
            "assign valid_o = y_valid_q;": "logic m_q; always_ff @(posedge clk_i) m_q <= due_q[5];"
            "assign valid_o = y_valid_q && !m_q;"
        },
        f"{OUT_BEATS} interval",
    ),
    "beats that no inference asked for": (
        {"y_valid_q <= pop;": "y_valid_q <= pop || due_q[0];"},
        f"{OUT_BEATS} interval",
    ),
    "output lanes exchanged": ({"data_o = y_q;": "data_o = {y_q[8:0], y_q[17:9]};"}, "stream gaps reset"),
    "wrong lane inside": ({"{9'(x1) + 9'(k_q), 9'(x0)": "{9'(x0) + 9'(k_q), 9'(x0)"}, "stream gaps reset timeline"),
    "wrong in the last beat only": (
        {"if (pop) y_q <= head;": "if (pop) y_q <= head ^ 18'(due_q[6]);"},
        "stream gaps reset",
    ),
    "garbage captured on the input of one beat": ({"if (first) k_q": "if (valid_i) k_q"}, "stream gaps timeline"),
    "input of one beat captured at any time": ({"if (first) k_q": "k_q"}, "stream gaps timeline"),
    "input of one beat gathered from all": (
        {"if (first) k_q <= k_data;": "if (valid_i) k_q <= first ? k_data : k_q | k_data;"},
        "stream gaps timeline",
    ),
    "lane beyond the tensor added": (
        {"9'(x0) + 9'(k_q)};": "9'(x0) + 9'(k_q) + (due_q[4] ? 9'(x1) : 9'd0)};"},
        "stream gaps timeline",
    ),
    "pixels read a cycle late": ({"x0 = x_q[7:0];": "x0 = x_data[7:0];"}, "stream gaps timeline"),
    "beats that no reset counts anew": (
        {"{beat_q, wait_q, x_valid_q,": "{wait_q, x_valid_q,", "logic [1:0] beat_q,": "logic [1:0] beat_q = 2'd0,"},
        "reset",
    ),
    "overrun that knows starts only": (
        {"overrun_o = valid_i && wait_q != 2'd0": "overrun_o = first && wait_q != 2'd0"},
        "overrun",
    ),
    "overrun that knows beats only": ({"beat_q == 2'd2 ? 2'd2 : 2'd1": "beat_q == 2'd2 ? 2'd0 : 2'd1"}, "overrun"),
    "overrun that lets starts come early by one": (
        {"beat_q == 2'd2 ? 2'd2 : 2'd1": "beat_q == 2'd2 ? 2'd1 : 2'd1"},
        "overrun",
    ),
    "overrun in legal traffic": (
        {"beat_q == 2'd2 ? 2'd2 : 2'd1": "beat_q == 2'd2 ? 2'd2 : 2'd2"},
        "overrun assertions",
    ),
    "FIFO of one entry less": ({".Depth(2)": ".Depth(1)"}, "assertions"),
    "FIFO read too soon": ({"wire pop = |due_q[6:4];": "wire pop = |due_q[5:3];"}, "assertions stream latency"),
}


@pytest.mark.eda
@pytest.mark.parametrize("fault", STREAM_FAULTS)
def test_a_fault_of_a_streamed_design_is_named(fault: str, tmp_path: Path) -> None:
    edits, names = STREAM_FAULTS[fault]
    checks = set(names.split())
    result = simulate(stream().write(tmp_path, edits=edits), vectors=stream().vectors, seeds=ONE_SEED)
    assert checks <= failed(result), result.checks
    if checks in ({"overrun"}, {"assertions"}):
        assert checks == failed(result), result.failures


@pytest.mark.eda
@pytest.mark.parametrize("condition", ["held_q == 3'(Depth)", "held_q == 3'd5"], ids=["error", "none"])
def test_what_the_design_reports_is_told(condition: str, tmp_path: Path) -> None:
    edits = {"#(.Depth(2)) u_fifo": "#(.Depth(1)) u_fifo", "held_q == 3'(Depth)": condition}
    result = simulate(stream().write(tmp_path, edits=edits), vectors=stream().vectors, seeds=(1, 2))
    if condition == "held_q == 3'd5":
        assert result.passed
        return
    assert failed(result) == {"assertions"}
    detail = details(result)["assertions"]
    assert "Assertion failed in stream.u_fifo: no room for what comes (seed 1)" in detail
    assert detail.startswith("the design reports ")


@pytest.mark.eda
def test_a_design_that_stops_the_simulation_says_why(tmp_path: Path) -> None:
    edits = {"#(.Depth(2)) u_fifo": "#(.Depth(1)) u_fifo", '$error("no room': '$fatal(1, "no room'}
    result = simulate(stream().write(tmp_path, edits=edits), vectors=stream().vectors, seeds=ONE_SEED)
    assert failed(result) == {"run"}
    assert "no room for what comes" in details(result)["run"]


SIGNATURE_FAULTS: dict[str, tuple[Callable[[Signature], Signature], str]] = {
    "output beat predicted early": (lambda s: replace(s, output_cycles=(6, 7, 9)), OUT_BEATS),
    "first output beat predicted late": (lambda s: replace(s, output_cycles=(5, 7, 8)), OUT_BEATS),
    "edge's middle beat predicted late": (
        lambda s: replace(s, edges=(*s.edges[:2], replace(s.edges[2], cycles=(2, 5, 6)))),
        "timeline",
    ),
    "input beats sent at another pace": (lambda s: replace(s, input_cycles=(0, 3, 6)), "timeline stream"),
    "interval too long": (lambda s: replace(s, interval_cycles=9), "overrun"),
    "interval too short": (lambda s: replace(s, interval_cycles=6), "overrun"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stream")


@pytest.mark.eda
@pytest.mark.parametrize("fault", SIGNATURE_FAULTS)
def test_a_fault_in_a_streamed_signature_is_named(fault: str, folder: Path) -> None:
    change, names = SIGNATURE_FAULTS[fault]
    design = stream()
    design.write(folder, signature=change(design.signature))
    result = simulate(folder, vectors=design.vectors, seeds=ONE_SEED)
    assert set(names.split()) <= failed(result), result.checks


PAIR_FAULTS = {
    "outputs exchanged": {"data_o = {q_q, p1_q, p0_q}": "data_o = {p1_q, p0_q, q_q}"},
    "inputs mixed up": {"b = {1'b0, data_i[16:12]}": "b = {1'b0, data_i[15:11]}"},
    "second output late": {
        "q_q <= a0 * b;": "m_q <= a0 * b; q_q <= m_q;",
        "logic signed [10:0] q_q": "logic signed [10:0] q_q, m_q",
    },
}


@pytest.mark.eda
@pytest.mark.parametrize("fault", PAIR_FAULTS)
def test_a_fault_of_several_tensors_is_named(fault: str, tmp_path: Path) -> None:
    design = pair()
    result = simulate(design.write(tmp_path, edits=PAIR_FAULTS[fault]), vectors=design.vectors, seeds=ONE_SEED)
    assert {"stream", "gaps"} <= failed(result)
    if fault == "second output late":
        assert result.first_mismatch is not None
        assert result.first_mismatch.startswith("'second output'[0]: ")


@pytest.mark.eda
def test_a_mismatch_in_a_later_beat_says_where_it_is(tmp_path: Path) -> None:
    design = stream()
    edits = {"if (pop) y_q <= head;": "if (pop) y_q <= head ^ (due_q[5] ? 18'h200 : 18'h0);"}
    result = simulate(design.write(tmp_path, edits=edits), vectors=design.vectors, seeds=ONE_SEED)
    assert result.first_mismatch is not None
    assert result.first_mismatch.startswith("'shifted'[3, 0]: expected ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input_cycles": (0, 2)}, r"data_i has beats in 2 cycles, but its tensors take: 'pixels' 3, 'offset' 1"),
        (
            {"outputs": (SHIFTED, replace(SHIFTED, lanes=5))},
            r"data_o has beats in 3 cycles.*: 'shifted' 3, 'shifted' 1",
        ),
        ({"input_cycles": (1, 2, 4)}, "the first input beat must come in cycle 0"),
        ({"output_cycles": (6, 7, 9)}, "the last output beat after the latency"),
        ({"interval_cycles": 4}, "all come before the next inference may start"),
    ],
)
def test_ports_that_no_bench_can_follow_are_refused(change: dict[str, object], message: str) -> None:
    signature = replace(stream(2).signature, **change)
    x = {"x": np.zeros((2, 5, 1), np.int64), "k": np.zeros((2, 1), np.int64), "shifted": np.zeros((2, 5, 1), np.int64)}
    types = {"x": FixedType(8, 4), "k": FixedType(8, 4), "shifted": FixedType(9, 5)}
    with pytest.raises(VerificationError, match=message):
        expected(signature, {name: FixedArray(raw, types[name]) for name, raw in x.items()})
