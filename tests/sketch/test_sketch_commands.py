"""Every command takes a layer list, and says that nothing was trained."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flow.graph.store import load_graph
from tests.commands import listing
from tests.test_cli_lazy import HEAVY, SCRIPT

CHAIN = ("--layers", "4-3-2", "--bits", "3", "--sparsity", "0.5", "--input-type", "fixed<4,1>")
NOTE = "Not trained: random weights, sparsity 0.5, seed 0, stand in for trained ones"
LISTED = """
input: {shape: [4, 4, 1], type: "ufixed<4,0>", name: picture}
bits: 3
layers:
  - conv2d: {filters: 2, kernel: 3, activation: relu}
  - flatten
  - dense: {units: 2, activation: sigmoid}
"""


def test_a_budget_of_a_chain_says_that_it_is_not_trained_and_writes_nothing(fpgaflow, tmp_path):
    done = fpgaflow("budget", *CHAIN, "--json")
    assert done.status == 0
    report = json.loads(done.out)
    assert report["model"] == "dense_4_3_2"
    assert any(note.startswith(NOTE) for note in report["notes"])
    assert listing(tmp_path) == {}
    again = json.loads(fpgaflow("budget", *CHAIN, "--json").out)
    for one in (report, again):
        assert one["plan"].pop("solve_s") >= 0.0  # a measured time
    assert again == report


def test_assumed_input_types_are_named(fpgaflow):
    assert "hls4ml's default, is assumed" in fpgaflow("budget", *CHAIN[:4], "--json").out
    assert "is assumed" not in fpgaflow("budget", *CHAIN, "--json").out


@pytest.mark.eda
def test_a_chain_goes_the_whole_road(fpgaflow, tmp_path):
    done = fpgaflow("run", *CHAIN, "--vectors", "50", "--clock", "100MHz", "--json", "--no-synth")
    assert done.status == 0, done.err
    report = json.loads(done.out)
    assert (report["bit_exact"]["vectors"], report["bit_exact"]["mismatches"]) == (50, 0)
    assert report["latency"]["cycles_predicted"] == report["latency"]["cycles_simulated"]
    assert any(note.startswith(NOTE) for note in report["notes"])
    assert any("no trained network to compare with" in note for note in report["notes"])
    folder = tmp_path / "hls_projects" / "dense_4_3_2"
    assert fpgaflow("report", *CHAIN, "--clock", "100MHz", "--json").out == done.out
    # the saved graph is the whole network, notes and all
    graph = load_graph(folder / "model.json")
    assert graph.notes[0].startswith(NOTE)
    again = json.loads(fpgaflow("budget", folder / "model.json", "--clock", "100MHz", "--json").out)
    assert any(note.startswith(NOTE) for note in again["notes"])


def test_another_seed_makes_other_weights_in_the_same_folder(fpgaflow, tmp_path):
    assert fpgaflow("build", *CHAIN, "--vectors", "9").status == 0
    model = tmp_path / "hls_projects" / "dense_4_3_2" / "model.json"
    first = model.read_bytes()
    done = fpgaflow("build", *CHAIN, "--vectors", "9", "--seed", "1")
    assert done.status == 0
    assert model.read_bytes() != first
    done = fpgaflow("report", *CHAIN, "--out", "nowhere")
    assert '--layers "4-3-2" --bits "3" --sparsity "0.5" --input-type "fixed<4,1>"' in done.err


def test_a_folder_may_hold_a_list_and_a_request_with_its_types(fpgaflow, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "net.yaml").write_text(LISTED)
    request = 'model = "net.yaml"\nclock = "100MHz"\n'
    (folder / "request.toml").write_text(request)
    plain = json.loads(fpgaflow("budget", folder, "--json").out)
    assert plain["model"] == "pictures"
    types = 'picture = "ufixed<6,0>"\nconv1_relu = {result = "ufixed<7,0>"}\ndense1 = {weight = "fixed<9,1>"}\n'
    (folder / "request.toml").write_text(f"{request}[precision]\n{types}")
    assert fpgaflow("build", folder, "--out", "run").status == 0
    graph = load_graph(tmp_path / "run" / "model.json")
    assert [str(node.type) for node in graph.nodes][:3] == ["ufixed<6,0>", "fixed<14,6>", "ufixed<7,0>"]
    assert str(graph.node("dense1").weight_type) == "fixed<9,1>"
    wide = json.loads(fpgaflow("budget", folder, "--json").out)
    lut = [sum(run["resources"]["lut"] for run in report["plan"]["engines"]) for report in (plain, wide)]
    assert lut[0] < lut[1]


def test_a_budget_of_a_list_imports_nothing_heavy(tmp_path: Path):
    (tmp_path / "net.yaml").write_text(LISTED)
    command = [sys.executable, "-c", SCRIPT, "budget", "net.yaml", "--json"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stderr.splitlines()[-1])
    assert "flow.sketch.assemble" in loaded
    assert [name for name in HEAVY if name in loaded] == []
