from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.errors import UserError, VerificationError
from flow.fixed import FixedType
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Input, Pool
from flow.graph.window import Window
from flow.rtl.top import write_rtl
from flow.simulate.bulk import PATIENCE, bulk_model
from flow.simulate.vectors import expected
from tests.simulate.designs import HandDesign, beats, pipeline, serial
from tests.simulate.streams import pair, stream
from tests.streaming import build, by_pixels, streamed

pytestmark = pytest.mark.eda


DESIGNS = [pipeline(5000), serial(5000), beats(5000), stream(5000), pair(5000)]


@pytest.mark.parametrize("design", DESIGNS, ids=[design.signature.top for design in DESIGNS])
def test_bulk_results_are_those_of_the_evaluator(design: HandDesign, tmp_path: Path) -> None:
    model = bulk_model(design.write(tmp_path / "a folder"))
    steps: list[tuple[int, int]] = []
    run = model.run(design.vectors.words_in, progress=lambda done, total: steps.append((done, total)))
    np.testing.assert_array_equal(run.words_out, design.vectors.words_out)
    assert steps[-1] == (5000, 5000)
    signature = design.signature
    chunks = 3
    per_chunk = signature.latency_cycles - signature.interval_cycles + 1
    assert run.cycles == 5000 * signature.interval_cycles + chunks * per_chunk
    single = model.run(design.vectors.words_in[:10], threads=1)
    np.testing.assert_array_equal(single.words_out, design.vectors.words_out[:10])


def test_a_change_in_the_rtl_shows_and_a_compiled_design_is_reused(tmp_path: Path) -> None:
    design = pipeline(100)
    bulk_model(design.write(tmp_path))
    library = tmp_path / "sim" / "bulk" / "design.so"
    made = library.stat().st_mtime_ns
    bulk_model(tmp_path)
    assert library.stat().st_mtime_ns == made
    changed = bulk_model(design.write(tmp_path / "other", edits={"12'sd37": "12'sd38"}))
    assert not np.array_equal(changed.run(design.vectors.words_in).words_out, design.vectors.words_out)


def test_wrong_words_and_silent_hardware_are_refused(tmp_path: Path) -> None:
    design = pipeline(10)
    mute = {"assign valid_o = y_valid_q;": "assign valid_o = y_valid_q && b_valid_q;"}
    model = bulk_model(design.write(tmp_path, edits=mute))
    with pytest.raises(UserError, match=r"takes \(n, 1, 1\)"):
        model.run(np.zeros((4, 1, 2), np.uint64))
    with pytest.raises(VerificationError, match="only 9 of 10 inferences"):
        model.run(design.vectors.words_in)
    assert model.run(design.vectors.words_in[:0]).words_out.shape == (0, 1, 1)


def test_wide_ports_are_copied_whole(tmp_path: Path) -> None:
    wide = pipeline(1)
    text = """
module pipeline (
    input logic clk_i, input logic rst_i, input logic valid_i, input logic [119:0] data_i,
    output logic valid_o, output logic [119:0] data_o, output logic overrun_o
);
  always_ff @(posedge clk_i) data_o <= ~data_i;
  always_ff @(posedge clk_i) valid_o <= valid_i && !rst_i;
  assign overrun_o = 1'b0;
endmodule
"""
    port = replace(wide.signature.inputs[0], shape=(15,), lanes=15)
    signature = replace(
        wide.signature,
        latency_cycles=1,
        output_cycles=(1,),
        inputs=(port,),
        outputs=(replace(port, name="y"),),
        edges=(),
    )
    model = bulk_model(HandDesign(text, signature, wide.vectors).write(tmp_path))
    words = np.random.default_rng(3).integers(0, 1 << 63, size=(300, 1, 2)).astype(np.uint64)
    words[..., 1] &= np.uint64((1 << 56) - 1)
    expected = ~words
    expected[..., 1] &= np.uint64((1 << 56) - 1)
    np.testing.assert_array_equal(model.run(words).words_out, expected)


BULK_COMPLAINTS = {
    "assertion": ({"assert (!(pop_i && held_q == 3'd0))": "assert (!pop_i)"}, "u_fifo: nothing is there to leave"),
    "error": ({"#(.Depth(2)) u_fifo": "#(.Depth(1)) u_fifo"}, "u_fifo: no room for what comes"),
    "fatal": ({'$error("no room for what comes")': '$fatal(1, "stop here")', ".Depth(2)": ".Depth(1)"}, "stop here"),
}


@pytest.mark.parametrize("fault", BULK_COMPLAINTS)
def test_an_error_that_the_design_reports_stops_a_bulk_run(
    fault: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    edits, message = BULK_COMPLAINTS[fault]
    design = stream(3000)
    model = bulk_model(design.write(tmp_path, edits=edits))
    wanted = rf"reports an error in the bulk simulation: stream\.sv:\d+: .*{message}"
    for threads in (1, 2):
        with pytest.raises(VerificationError, match=wanted):
            model.run(design.vectors.words_in, threads=threads)
    assert capfd.readouterr().out == ""


def test_an_error_in_an_initial_block_is_told(tmp_path: Path) -> None:
    design = pair(10)
    edit = {"  assign overrun_o = 1'b0;": '  assign overrun_o = 1\'b0;\n  initial $fatal(1, "wrong from the start");'}
    with pytest.raises(VerificationError, match="wrong from the start"):
        bulk_model(design.write(tmp_path, edits=edit)).run(design.vectors.words_in)


def test_a_beat_that_is_missing_leaves_an_inference_without_result(tmp_path: Path) -> None:
    design = stream(10)
    edits = {"y_valid_q <= pop;": "y_valid_q <= pop && !(sum_valid_q && due_q[5]);"}
    with pytest.raises(VerificationError, match="only 6 of 10 inferences gave a result"):
        bulk_model(design.write(tmp_path, edits=edits)).run(design.vectors.words_in)


def test_results_may_lie_further_apart_than_behind_their_inputs(tmp_path: Path) -> None:
    """The result is out long before the last pixels, which no window needs, have come."""
    kind, window = FixedType(4, 2), Window(60, 2, 1, (2, 2), (60, 2), (0, 0, 0, 0))
    x = Input(name="x", label="x", inputs=(), shape=(60, 2, 1), type=kind)
    pool = Pool(
        name="top", label="top", inputs=("x",), shape=(1, 1, 1), type=kind, window=window, op="max", accumulator=kind
    )
    graph = Graph("early", (x, pool), ("x",), ("top",))
    design = build(graph, (streamed(graph, ("top",), 1),), by_pixels(graph, 1))
    signature = write_rtl(tmp_path, design.modules, design.signature)
    assert signature.latency_cycles + PATIENCE < signature.interval_cycles
    raw = np.random.default_rng(0).integers(kind.lo, kind.hi + 1, (20, 60, 2, 1))
    words = expected(signature, evaluate(graph, {"x": raw}))
    np.testing.assert_array_equal(bulk_model(tmp_path).run(words.words_in).words_out, words.words_out)
