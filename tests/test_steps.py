"""Steps: skipped when nothing changed, run again when something did; hand-made changes kept; same bytes anywhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import flow
from flow import files
from flow.project import Project
from flow.steps import context
from tests.commands import Done, listing, save, tiny_graph
from tests.frontend.legacy_files import dense, inlet, quantizer, write_legacy

SKIPPED = "nothing changed"


@pytest.fixture
def here(tmp_path):
    save(tiny_graph(), tmp_path / "tiny.json")
    return tmp_path


@pytest.fixture
def run(fpgaflow, here):
    assert fpgaflow("build", "tiny.json", "--out", "run").status == 0
    return here / "run"


def skipped(done: Done) -> set[str]:
    """Return the steps that did not need to run."""
    assert done.status in {0, 3}, done
    return {line.removeprefix("• ").split(":")[0] for line in done.err.splitlines() if SKIPPED in line}


def test_a_second_build_does_nothing(fpgaflow, run):
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*.sv")}
    assert skipped(fpgaflow("build", "tiny.json", "--out", "run")) == {"convert", "build"}
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*.sv")} == before


@pytest.mark.parametrize(
    "options",
    [("--budget", "50ns"), ("--clock", "100MHz"), ("--part", "xcku115"), ("--link", "pcie_dma"), ("--rate", "1MHz")],
)
def test_another_request_builds_again_and_converts_not(fpgaflow, run, options):
    assert skipped(fpgaflow("build", "tiny.json", "--out", "run", *options)) == {"convert"}
    assert skipped(fpgaflow("build", "tiny.json", "--out", "run", *options)) == {"convert", "build"}


def test_another_weight_converts_and_builds_again(fpgaflow, here, run):
    before = listing(run)
    save(tiny_graph(weight=2), here / "tiny.json")
    assert skipped(fpgaflow("build", "tiny.json", "--out", "run")) == set()
    after = listing(run)
    for name in ("model.json", "vectors.npz", "rtl/flow_cone_r.sv", "signature.json"):
        assert before[name] != after[name]


def test_other_vectors_convert_again_and_build_not(fpgaflow, here, run):
    x = np.arange(40).reshape(10, 4) / 16
    np.save(here / "x.npy", x)
    options = ("build", "tiny.json", "--out", "run", "--vectors", "x.npy")
    assert skipped(fpgaflow(*options)) == {"build"}
    assert skipped(fpgaflow(*options)) == {"convert", "build"}
    x[0, 0] += 1
    np.save(here / "x.npy", x)
    assert skipped(fpgaflow(*options)) == {"build"}
    fpgaflow("build", "tiny.json", "--out", "run", "--vectors", "17")
    with np.load(run / "vectors.npz") as content:
        assert len(content["inputs"]) == 17


def test_another_version_of_the_program_does_it_all_again(fpgaflow, run, monkeypatch):
    monkeypatch.setattr(context, "program", lambda: "another")
    assert skipped(fpgaflow("build", "tiny.json", "--out", "run")) == set()


def test_what_only_shows_results_is_no_part_of_the_program_that_made_them(tmp_path, monkeypatch):
    package = tmp_path / "flow"
    for name in (
        "cli/runs.py",
        "report/terminal.py",
        "steps/show.py",
        "engines/lower.py",
        "engines/sv/x.sv",
        "device/x.toml",
    ):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("1")
    monkeypatch.setattr(flow, "__file__", str(package / "__init__.py"))
    made: dict[str | None, str] = {}
    for name in (
        None,
        "cli/runs.py",
        "report/terminal.py",
        "steps/show.py",
        "engines/lower.py",
        "engines/sv/x.sv",
        "device/x.toml",
    ):
        if name is not None:
            (package / name).write_text("2")
        made[name] = context.program.__wrapped__()
    assert made[None] == made["cli/runs.py"] == made["report/terminal.py"] == made["steps/show.py"]
    assert len(set(made.values())) == 4


@pytest.mark.parametrize("name", ["plan.json", "rtl/flow_tiny.sv", "signature.json", "vectors.npz", "conversion.json"])
def test_what_is_gone_is_made_again_by_build(fpgaflow, run, name):
    before = listing(run)
    (run / name).unlink()
    assert fpgaflow("build", "tiny.json", "--out", "run").status == 0
    assert listing(run) == before


@pytest.mark.parametrize(
    "name", ["rtl/flow_tiny.sv", "rtl/flow_valid.sv", "plan.json", "timeline.json", "signature.json"]
)
def test_a_file_changed_by_hand_is_named_kept_and_renewed_by_build_alone(fpgaflow, run, monkeypatch, name):
    before = listing(run)
    changed = (run / name).read_bytes() + b"\n"
    (run / name).write_bytes(changed)
    monkeypatch.setenv("PATH", "")  # the simulation stops before it begins: no compiler
    done = fpgaflow("simulate", "tiny.json", "--out", "run")
    assert f"changed by hand, used as it is: {name}" in " ".join(done.err.split())
    assert (run / name).read_bytes() == changed
    report = fpgaflow("report", "tiny.json", "--out", "run")
    assert report.status == 0
    assert (run / name).read_bytes() == changed
    assert skipped(fpgaflow("build", "tiny.json", "--out", "run")) == {"convert"}
    assert listing(run) == before


def test_a_hand_made_change_without_a_record_of_the_build_is_seen_by_its_hash(fpgaflow, run, monkeypatch):
    (run / "steps.json").unlink()
    text = (run / "rtl" / "flow_tiny.sv").read_text() + "// mine\n"
    (run / "rtl" / "flow_tiny.sv").write_text(text)
    monkeypatch.setenv("PATH", "")
    done = fpgaflow("simulate", "tiny.json", "--out", "run")
    assert "changed by hand, used as it is: rtl/flow_tiny.sv" in " ".join(done.err.split())
    assert (run / "rtl" / "flow_tiny.sv").read_text() == text


def test_hand_made_rtl_is_never_renewed_by_another_request_and_the_report_says_so(fpgaflow, run, monkeypatch):
    (run / "rtl" / "flow_tiny.sv").write_text("// mine\n")
    monkeypatch.setenv("PATH", "")
    done = fpgaflow("simulate", "tiny.json", "--out", "run", "--clock", "50MHz")
    assert "follows the former ones" in " ".join(done.err.split())
    assert (run / "rtl" / "flow_tiny.sv").read_text() == "// mine\n"
    shown = json.loads(fpgaflow("report", "tiny.json", "--out", "run", "--clock", "50MHz", "--json").out)
    assert "built for another model, request or version" in shown["notes"][0]
    assert shown["clock"]["period_ns"] != 20


def test_a_graph_changed_by_hand_no_longer_passes_as_what_was_converted(fpgaflow, run, monkeypatch):
    stored = json.loads((run / "model.json").read_text())
    stored["graph"]["nodes"][1]["weights"][0][0] = 0
    (run / "model.json").write_text(json.dumps(stored))
    done = fpgaflow("simulate", "tiny.json", "--out", "run")
    assert done.status == 1
    assert "does not compute the outputs in run/vectors.npz" in done.err
    assert "model.json" in " ".join(done.err.split())


def test_a_wrong_timeline_entry_fails(fpgaflow, run):
    stored = json.loads((run / "timeline.json").read_text())
    stored["edges"][1]["schedule"]["cycles"] = [5]
    (run / "timeline.json").write_text(json.dumps(stored))
    done = fpgaflow("simulate", "tiny.json", "--out", "run")
    assert done.status == 1
    assert "timeline.json has 'r' at cycles (5,)" in done.err


def test_a_wrong_latency_in_the_timeline_fails(fpgaflow, run):
    stored = json.loads((run / "timeline.json").read_text())
    stored["interval"] = 2
    (run / "timeline.json").write_text(json.dumps(stored))
    assert fpgaflow("simulate", "tiny.json", "--out", "run").status == 1


def test_a_budget_on_a_saved_graph_writes_nothing(fpgaflow, here):
    before = listing(here)
    assert fpgaflow("budget", "tiny.json", "--out", "run").status == 0
    assert listing(here) == before


def test_two_folders_and_two_places_hold_the_same_bytes(fpgaflow, here, monkeypatch):
    (here / "other place").mkdir()
    for place, model, out in ((here, "tiny.json", "run"), (here / "other place", "../tiny.json", "my run")):
        monkeypatch.chdir(place)
        assert fpgaflow("build", model, "--out", out).status == 0
    left, right = listing(here / "run"), listing(here / "other place" / "my run")
    assert left == right
    assert {
        "model.json",
        "plan.json",
        "timeline.json",
        "signature.json",
        "vectors.npz",
        "report.json",
        "report.html",
    } <= set(left)


def test_stamps_that_are_damaged_count_as_none(tmp_path):
    project = Project(tmp_path)
    (tmp_path / "out").write_text("1")
    project.record("build", "digest", [tmp_path / "out"])
    assert project.is_current("build", "digest")
    assert not project.is_current("build", "another")
    (tmp_path / "out").write_text("2")
    assert project.changed("build") == ("out",)
    assert project.ran_on("build", "digest")
    assert not project.is_current("build", "digest")
    (tmp_path / "steps.json").write_bytes(b'{"build": 3}')
    assert not project.ran_on("build", "digest")
    assert project.changed("build") == ()


def test_a_folder_that_was_made_for_nothing_is_gone_again(tmp_path):
    project = Project(tmp_path / "a" / "b")
    with pytest.raises(RuntimeError), project.opened():
        raise RuntimeError
    assert listing(tmp_path) == {}
    with pytest.raises(RuntimeError), project.opened():  # noqa: PT012 — what was written before an error stays
        files.write_whole(project.model, b"done")
        raise RuntimeError
    assert listing(tmp_path / "a") == {"b": "folder", "b/model.json": files.digest(b"done")}


# ---- with compilers ----

BITS = quantizer("quantized_bits", bits=4, integer=1, symmetric=0, alpha=1, keep_negative=True)
NET = [
    inlet(3),
    dense("fc1", 3, 3, kind="QDense", kernel_quantizer=BITS, bias_quantizer=BITS, activation="relu"),
    dense("fc2", 3, 2, kind="QDense", kernel_quantizer=BITS, bias_quantizer=BITS),
]
VOLATILE = ("sim/build", "sim/bulk/", "sim/netlist_build", "sim/log", "sim/netlist_log", "synth/yosys.log")
"""Compiled code, and the logs of tools."""


def artifacts(folder: Path) -> dict[str, str]:
    return {name: content for name, content in listing(folder).items() if not name.startswith(VOLATILE)}


@pytest.mark.eda
def test_a_converted_network_is_proven_and_its_files_are_the_same_anywhere(fpgaflow, tmp_path, monkeypatch):
    model = write_legacy(tmp_path, "a net", NET)
    x = np.random.default_rng(1).normal(0, 1, (60, 3))
    np.savez(tmp_path / "v.npz", x=x, y=np.zeros(60, dtype=int))
    words = ("--vectors", tmp_path / "v.npz", "--clip")
    first = fpgaflow("simulate", model, "--out", "run", *words, "--json")
    assert first.status == 0, first.err
    assert first.out.encode() == (tmp_path / "run" / "report.json").read_bytes(), "stdout holds the report alone"
    shown = json.loads(first.out)
    assert shown["bit_exact"] == {"vectors": 60, "mismatches": 0, "wrong_bits": 0, "reference": "hls4ml's C simulation"}
    assert shown["latency"]["cycles_predicted"] == shown["latency"]["cycles_simulated"]
    assert shown["timeline"]["beats_wrong"] == 0
    assert [layer["layer"] for layer in shown["fidelity"]]
    assert set(shown["accuracy"]) >= {"framework", "hls4ml", "rtl"}
    assert skipped(fpgaflow("simulate", model, "--out", "run", *words)) == {"convert", "build", "simulate"}

    (tmp_path / "b c").mkdir()
    monkeypatch.chdir(tmp_path / "b c")
    assert fpgaflow("build", f"..{os.sep}{model.name}", "--out", "other run", *words).status == 0
    left, right = artifacts(tmp_path / "run"), artifacts(tmp_path / "b c" / "other run")
    built = {name for name in right if not name.startswith(("report", "steps"))}
    assert {"model.json", "conversion.json", "vectors.npz", "hls/build_prj.tcl"} <= built
    assert {name: left[name] for name in built} == {name: right[name] for name in built}


@pytest.mark.eda
def test_a_whole_run_is_repeatable_and_hand_made_rtl_is_what_is_simulated(fpgaflow, here):
    words = ("run", "tiny.json", "--part", "LFE5U-25F", "--vectors", "20")
    assert fpgaflow(*words, "--out", "run").status == 0
    assert skipped(fpgaflow(*words, "--out", "run")) == {"convert", "build", "simulate", "synth"}
    assert fpgaflow(*words, "--out", "other run", "--netlist").status == 0
    left, right = artifacts(here / "run"), artifacts(here / "other run")
    made = {"sim/result.json", "sim/bulk.json", "sim/vectors.npz", "synth/result.json", "synth/netlist.v"}
    assert made <= left.keys()
    same = left.keys() - {"steps.json", "report.json", "report.html"}
    assert {name: left[name] for name in same} == {name: right[name] for name in same}

    top = here / "run" / "rtl" / "flow_tiny.sv"
    text = top.read_text()
    data = next(line for line in text.splitlines() if line.strip().startswith("assign data_o"))
    changed = text.replace(data, data.replace("=", "= ~", 1))
    top.write_text(changed)
    wrong = fpgaflow("simulate", *words[1:], "--out", "run", "--waves")
    assert wrong.status == 1
    assert "FAIL" in wrong.out
    assert "rtl/flow_tiny.sv differ from what was generated; simulated as they are." in " ".join(wrong.out.split())
    assert top.read_text() == changed
    assert (here / "run" / "sim" / "waves.fst").is_file()
    assert fpgaflow("build", *words[1:], "--out", "run").status == 0
    assert top.read_text() == text
    shown = json.loads((here / "run" / "report.json").read_text())
    assert shown["bit_exact"] is None, "what was simulated before is no longer what lies there"
    assert shown["resources"]["synthesized"] is not None, "what was synthesized before is what lies there again"


@pytest.mark.eda
def test_one_command_does_all_that_it_needs_before(fpgaflow, here):
    done = fpgaflow("synth", "tiny.json", "--part", "iCE40UP5K", "--vectors", "20", "--json")
    assert done.status == 0
    shown = json.loads(done.out)
    assert shown["resources"]["synthesized"]["lut"] > 0
    assert shown["bit_exact"] is None
