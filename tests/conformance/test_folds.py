"""Folded and mixed designs: 0 wrong bits, 0 wrong beats, cycles as predicted; overlapped pairs; deliberate faults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.rtl.top import write_rtl
from flow.simulate.bulk import bulk_model
from flow.simulate.result import SimulationResult
from flow.simulate.runner import simulate
from tests.conformance.folded_design import FIRST, SECOND, folded_design, folded_vectors, write_folded
from tests.conformance.random_designs import prove
from tests.conformance.random_folds import build, draw_choices, draw_graph, prove_seed
from tests.folding import dense_graph
from tests.networks import vectors

FEW = range(12)
MANY = range(1000, 1200)
STEP = 10
WRONG_BITS = {"stream", "gaps", "reset", "timeline"}
SOME_WRONG_BITS = {"stream", "gaps", "timeline"}  # where few values tell


@pytest.mark.eda
@pytest.mark.parametrize("seed", FEW)
def test_a_random_fold_is_exact(seed: int, tmp_path: Path) -> None:
    proof = prove_seed(seed, tmp_path)
    assert not proof.faults, "\n".join(proof.faults)


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.parametrize("first", MANY[::STEP])
def test_many_random_folds_are_exact(first: int, tmp_path: Path) -> None:
    faults = [fault for seed in range(first, first + STEP) for fault in prove_seed(seed, tmp_path / str(seed)).faults]
    assert not faults, "\n".join(faults)


def test_the_draw_covers_what_it_should() -> None:
    drawn = []
    for seed in (*FEW, *MANY):
        rng = np.random.default_rng([seed, 11])
        drawn.append(draw_choices(draw_graph(seed), rng))
    folds = [choice for choices in drawn for choice in choices if isinstance(choice, Folded)]
    assert {f.order for f in folds} == {"output_serial", "input_serial"}
    assert {f.store for f in folds} == {"registers", "lutrom", "bram"}
    assert {f.multiplier for f in folds} == {"dsp", "dsp_pair", "lut"}
    assert {f.read for f in folds} == {1, 2}
    assert any(f.n_in % f.p for f in folds)
    assert any(f.n_out % f.q for f in folds)
    assert any(f.accumulates and f.order == "output_serial" for f in folds)
    assert any(f.groups_out > 1 and f.order == "input_serial" for f in folds)
    mixed = [
        any(isinstance(c, Unrolled) for c in choices) and any(isinstance(c, Folded) for c in choices)
        for choices in drawn
    ]
    assert sum(mixed) > 20


# ---- an output-serial engine and the input-serial one behind it ----


def pair(n_in: int, hidden: int, n_out: int) -> Graph:
    """Return two dense layers of 8-bit weights, the hidden values cut to 8 bits."""
    first, second = dense_graph(n_in, hidden, seed=1), dense_graph(hidden, n_out, seed=2)
    narrow = replace(first.node("dense"), name="first", label="first", type=first.node("x").type)
    last = replace(second.node("dense"), name="last", label="last", inputs=("first",))
    return Graph("pair", (first.nodes[0], narrow, last), ("x",), ("last",))


def overlapped(shape: tuple[int, int, int], lanes: int) -> tuple[Folded, Folded]:
    """Return folds that hand on `lanes` elements a beat."""
    n_in, hidden, n_out = shape
    common = {"store": "bram", "multiplier": "dsp", "read": 2, "multiply": 2, "add": 2}
    first = Folded(("first",), "output_serial", n_in, hidden, n_in, lanes, **common, finish=0)
    return first, Folded(("last",), "input_serial", hidden, n_out, lanes, n_out, **common, finish=1)


@pytest.mark.eda
@pytest.mark.parametrize(("shape", "lanes", "reuse"), [((64, 64, 64), 1, 64), ((50, 70, 30), 3, 24)])
def test_a_pair_takes_little_more_than_one_of_its_engines(
    shape: tuple[int, int, int], lanes: int, reuse: int, tmp_path: Path
) -> None:
    graph, choices = pair(*shape), overlapped(shape, lanes)
    design = build(graph, choices, np.random.default_rng(1))
    assert [choice.reuse_factor for choice in choices] == [reuse, reuse]
    assert design.timeline.latency <= reuse + sum(choice.fill for choice in choices) + 1
    assert design.timeline.interval == reuse
    proof = prove(design, tmp_path, vectors(np.random.default_rng(3), graph, 300))
    assert not proof.faults, "\n".join(proof.faults)


# ---- deliberate faults ----


def failed(result: SimulationResult) -> set[str]:
    """Return the checks that failed; `random state` only says that some check did with some seed."""
    return {check.name for check in result.failures} - {"random state"}


def simulated(folder: Path) -> SimulationResult:
    return simulate(folder, vectors=folded_vectors(), seeds=(1,))


def edit(folder: Path, name: str, old: str, new: str) -> None:
    """Replace text in a generated file, once."""
    path = folder / "rtl" / name
    text = path.read_text()
    assert text.count(old) >= 1, (name, old)
    path.write_text(text.replace(old, new, 1))


@pytest.mark.eda
def test_without_a_fault_all_checks_pass_and_all_agree_in_bulk(tmp_path: Path) -> None:
    write_folded(tmp_path)
    result = simulated(tmp_path)
    assert result.passed, result.failures
    timeline = folded_design().timeline
    assert (result.latency_simulated, result.interval_simulated) == (timeline.latency, timeline.interval)
    assert timeline.interval == 12
    words = folded_vectors()
    np.testing.assert_array_equal(bulk_model(tmp_path).run(words.words_in).words_out, words.words_out)


TOP, ENGINE_1, ENGINE_2 = "flow_small.sv", "flow_folded_relu.sv", "flow_folded_fc2.sv"
FAULTS: dict[str, tuple[str, str, str, set[str]]] = {
    "a sequencer takes a step less": (
        "flow_sequencer.sv",
        "outer_q == OuterWidth'(Outer - 1)",
        "outer_q == OuterWidth'(Outer - 2)",
        WRONG_BITS,
    ),
    "a sequencer goes through a group less": (
        "flow_sequencer.sv",
        "inner_q == InnerWidth'(Inner - 1)",
        "inner_q == InnerWidth'(Inner - 2)",
        WRONG_BITS,
    ),
    "accumulators are never begun anew": (
        "flow_sequencer.sv",
        "assign first_o = inner_q == '0;",
        "assign first_o = 1'b0;",
        WRONG_BITS,
    ),
    "accumulators begin anew at every step": (
        "flow_sequencer.sv",
        "assign first_o = outer_q == '0;",
        "assign first_o = 1'b1;",
        WRONG_BITS,
    ),
    "accumulators move on between steps": (ENGINE_2, "ring_next = step_5 ?", "ring_next = 1'b1 ?", WRONG_BITS),
    "a reset leaves a sequencer where it is": (
        "flow_sequencer.sv",
        "    if (rst_i) begin\n      running_q <= 1'b0;\n      inner_q <= '0;\n      outer_q <= '0;\n    end else if",
        "    if",
        {"reset"},
    ),
    "a reset leaves the address where it is": (
        "flow_sequencer.sv",
        "next_o = '0;\n    end else",
        "end else",
        {"reset"},
    ),
    "operands do not move on": ("flow_operands.sv", "else if (rotate_i)", "else if (rotate_i & 1'b0)", WRONG_BITS),
    "a borrow is forgotten": ("flow_product_pairs.sv", " + Width'(delayed[Width-1])", "", SOME_WRONG_BITS),
    "inputs count as unsigned": ("flow_products.sv", "InputSigned & inputs_i", "1'b0 & inputs_i", WRONG_BITS),
    "valid comes a cycle early": (
        ENGINE_1,
        "valid_o = ends_taps[6];",
        "valid_o = ends_taps[5];",
        WRONG_BITS | {"latency"},
    ),
}


@pytest.mark.eda
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_folded_engine_fails(fault: str, tmp_path: Path) -> None:
    name, old, new, checks = FAULTS[fault]
    write_folded(tmp_path)
    edit(tmp_path, name, old, new)
    assert failed(simulated(tmp_path)) >= checks


DEPTHS: dict[str, Callable[[], tuple[Folded, Folded]]] = {
    "a register more behind the multipliers": lambda: (replace(FIRST, multiply=2), SECOND),
    "a register less in an adder tree": lambda: (FIRST, replace(SECOND, add=1)),
    "a register more behind the accumulators": lambda: (replace(FIRST, finish=3), SECOND),
}


@pytest.mark.eda
@pytest.mark.parametrize("fault", DEPTHS)
def test_a_pipeline_of_another_depth_than_predicted_fails(fault: str, tmp_path: Path) -> None:
    right, wrong = folded_design(), folded_design(DEPTHS[fault]())
    # the right signature over the wrong hardware
    written = write_rtl(tmp_path, wrong.modules, right.signature)
    assert written.latency_cycles == right.timeline.latency
    assert failed(simulated(tmp_path)) >= {"latency", "timeline", "stream"}


def spoil(folder: Path, name: str, change: Callable[[list[str]], list[str]], *, hashed: bool) -> None:
    """Change the words of a memory's file; hashed: the signature's hash follows."""
    path = folder / "rtl" / name
    path.write_text("\n".join(change(path.read_text().split())) + "\n")
    if hashed:
        signature = json.loads((folder / "signature.json").read_text())
        for file in signature["files"]:
            if file["path"] == f"rtl/{name}":
                file["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        (folder / "signature.json").write_text(json.dumps(signature))


def flipped(words: list[str], k: int) -> list[str]:
    return [*words[:k], f"{int(words[k], 16) ^ 1:0{len(words[k])}x}", *words[k + 1 :]]


@pytest.mark.eda
@pytest.mark.parametrize("name", ["relu_weights.mem", "fc2_weights.mem", "relu_biases.mem", "fc2_biases.mem"])
def test_a_wrong_bit_in_a_memory_shows_in_the_outputs(name: str, tmp_path: Path) -> None:
    write_folded(tmp_path)
    spoil(tmp_path, name, lambda words: flipped(words, 1), hashed=True)
    assert failed(simulated(tmp_path)) >= SOME_WRONG_BITS


@pytest.mark.parametrize("loss", ["changed", "missing"])
def test_a_memory_that_is_not_as_written_is_refused(loss: str, tmp_path: Path) -> None:
    write_folded(tmp_path)
    path = tmp_path / "rtl" / "relu_weights.mem"
    if loss == "missing":
        path.unlink()
    else:
        spoil(tmp_path, path.name, lambda words: flipped(words, 0), hashed=False)
    with pytest.raises(UserError, match=r"relu_weights\.mem.*fpgaflow build"):
        simulated(tmp_path)
    with pytest.raises(UserError, match=r"relu_weights\.mem.*fpgaflow build"):
        bulk_model(tmp_path)
