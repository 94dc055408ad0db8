"""`fpgaflow baseline`: what it prints, measures, writes and refuses."""

from __future__ import annotations

import json
import os
import sys
import types
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from flow.baseline.measured import load_measurement, measurement_to_json
from flow.baseline.work import fingerprint
from flow.errors import UserError
from flow.frontend.csim_timing import time_csim
from flow.progress import Progress
from flow.steps.context import Options, open_context
from flow.steps.measure import cpu, gpu
from flow.steps.measure import measure as module
from flow.steps.measure.machine import one_core
from tests.baseline.fake_torch import Calls, fake_torch
from tests.baseline.test_timing import measurement
from tests.commands import listing, save, tiny_graph
from tests.frontend.fake_source import relu_net

HOST = ("--link", "pcie_mmio")
CORES = os.sched_getaffinity(0)


@pytest.fixture
def here(tmp_path):
    save(tiny_graph(), tmp_path / "tiny.json")
    return tmp_path


def own(path, **change):
    """Leave a measurement of the tiny network."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(measurement_to_json(measurement(network=fingerprint(tiny_graph()), **change)))
    return path


def test_without_a_model_the_published_figures_are_shown(fpgaflow, here):
    before = listing(here)
    done = fpgaflow("baseline")
    assert done.status == 0
    for word in ("resident kernel", "CUDA graph", "GPUDirect", "unknown", "35.2 µs", "April 2026", "lstm_large"):
        assert word in done.out, word
    assert "faster" not in done.out
    shown = json.loads(fpgaflow("baseline", "--json").out)
    assert shown["headline"] is None
    assert {row["factor"] for row in shown["baseline"]} == {None}
    assert listing(here) == before


def test_beside_a_model_rows_have_factors_at_its_boundary_alone(fpgaflow, here):
    shown = json.loads(fpgaflow("baseline", "tiny.json", *HOST, "--json").out)
    head = shown["headline"]
    known = [row for row in shown["baseline"] if row["factor"] is not None]
    assert head["factor"] == min(row["factor"] for row in known)
    assert head["strongest"] == "resident kernel"
    assert head["typical"] == "launch per inference"
    assert {row["boundary"] for row in known} == {"host_to_host"}
    done = fpgaflow("baseline", "tiny.json", *HOST)
    assert "than the strongest baseline at host_to_host, 'resident kernel'" in " ".join(done.out.split())
    core = json.loads(fpgaflow("baseline", "tiny.json", "--json").out)
    assert core["headline"] is None


def test_a_measurement_in_the_runs_folder_an_option_or_the_request_is_a_row(fpgaflow, here):
    def names(*words):
        done = fpgaflow("budget", *words, "--json")
        assert done.status == 0, done.err
        return [r["name"] for r in json.loads(done.out)["baseline"] if r["origin"] == "measured" and r["factor"]]

    graph = "measured: the network, one CUDA graph"
    assert names("tiny.json", *HOST) == []
    own(here / "hls_projects" / "tiny" / "measured" / "gpu.json")
    assert names("tiny.json", *HOST) == [graph]
    assert names("tiny.json", *HOST, "--out", "elsewhere") == []
    other = own(here / "other.json", device="another GPU")
    assert names("tiny.json", *HOST, "--out", "elsewhere", "--measured", other) == [graph]
    save(tiny_graph(), here / "mine" / "tiny.json")
    own(here / "mine" / "my.json")
    (here / "mine" / "request.toml").write_text("model = 'tiny.json'\nlink = 'pcie_mmio'\nmeasured = 'my.json'\n")
    assert names("mine") == [graph]


def test_a_measurement_may_win_and_changes_no_hardware(fpgaflow, here):
    assert fpgaflow("build", "tiny.json", *HOST).status == 0
    own(here / "hls_projects" / "tiny" / "measured" / "gpu.json", p50=850.0)
    shown = json.loads(fpgaflow("report", "tiny.json", *HOST, "--json").out)
    assert shown["headline"]["strongest"] == "measured: the network, one CUDA graph"
    assert shown["headline"]["strongest_origin"] == "measured"
    assert shown["headline"]["factor"] < 1, "the honest answer may be that the GPU is faster"
    assert not any("built for another" in note for note in shown["notes"])


def test_files_of_measurements_are_checked(fpgaflow, here):
    (here / "bad.json").write_text("{}")
    fpgaflow.refused("budget", "tiny.json", "--measured", "bad.json", names=("bad.json", "fpgaflow baseline"))
    (here / "mine").mkdir()
    save(tiny_graph(), here / "mine" / "tiny.json")
    (here / "mine" / "request.toml").write_text("model = 'tiny.json'\nmeasured = ['none.json']\n")
    fpgaflow.refused("budget", "mine", names=("none.json", "No such file"))


def hide(monkeypatch, module, *names):
    monkeypatch.setattr(module, "find_spec", lambda name: None if name in names else ModuleSpec(name, None))


def test_what_is_missing_is_named(fpgaflow, here, monkeypatch):
    before = listing(here)
    hide(monkeypatch, gpu, "torch")
    for words in ((), ("tiny.json",)):
        fpgaflow.refused("baseline", *words, "--measure", "gpu", names=("needs PyTorch", "pytorch.org"))
    hide(monkeypatch, cpu, "onnxruntime")
    fpgaflow.refused("baseline", "tiny.json", "--measure", "cpu", names=("needs onnxruntime", "fpgaflow[baseline]"))
    torch: Any = types.ModuleType("torch")
    torch.__version__ = "9.9"
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)
    hide(monkeypatch, gpu)
    monkeypatch.setitem(sys.modules, "torch", torch)
    fpgaflow.refused("baseline", "tiny.json", "--measure", "gpu", names=("PyTorch 9.9 finds no CUDA device",))
    assert listing(here) == before


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--measure", "cpu"), ("name a MODEL",)),
        (("--measure", "gpu", "--device", "cpu"), ("--output",)),
        (("tiny.json", "--measure", "cpu", "--count", "0"), ("--count 0",)),
        (("tiny.json", "--measure", "cpu", "--warmup", "-1"), ("--warmup -1",)),
        (("tiny.json", "--measure", "cpu", "--count", "99999999999"), ("10,000,000",)),
    ],
)
def test_what_cannot_be_measured_is_refused(fpgaflow, here, monkeypatch, words, named):
    hide(monkeypatch, gpu)
    hide(monkeypatch, cpu)
    monkeypatch.setitem(sys.modules, "torch", fake_torch(Calls()))
    fpgaflow.refused("baseline", *words, names=named)
    assert [path.name for path in here.iterdir()] == ["tiny.json"]


def test_the_cuda_path_captures_once_replays_and_waits_each_time(fpgaflow, here, monkeypatch):
    calls = Calls()
    hide(monkeypatch, gpu)
    monkeypatch.setitem(sys.modules, "torch", fake_torch(calls))
    done = fpgaflow("baseline", "tiny.json", "--measure", "gpu", "--count", "100", "--warmup", "10", "--out", "run")
    assert done.status == 0, done.err
    found = load_measurement(here / "run" / "measured" / "gpu.json")
    assert (found.kind, found.device, found.software) == ("gpu", "Fake GPU", "PyTorch 0.0 (fake), CUDA 0.0")
    assert found.network == fingerprint(tiny_graph())
    spans = {one.name: one.boundary for one in found.results}
    assert spans == {
        "one launch": None,
        "copy there and back": None,
        "the network, launched layer by layer": "host_to_host",
        "the network, one CUDA graph": "host_to_host",
    }
    assert (calls.captures, calls.replays) == (1, 110)
    assert calls.waits == 4 * 110 + 1
    assert all(one.timing.count == 100 and one.timing.warmup == 10 for one in found.results)


def test_the_cpu_is_measured_pinned_and_reported(fpgaflow, here):
    if find_spec("onnxruntime") is None or find_spec("onnx") is None:
        pytest.skip("ONNX Runtime is not installed (the extra 'baseline')")
    done = fpgaflow("baseline", "tiny.json", "--measure", "cpu", "--count", "200", "--warmup", "20", "--out", "run")
    assert done.status == 0, done.err
    path = here / "run" / "measured" / "cpu.json"
    found = load_measurement(path)
    assert found.pinned
    assert os.sched_getaffinity(0) == CORES, "the core is given back"
    assert [one.name for one in found.results] == ["ONNX Runtime on this CPU"]
    assert found.results[0].timing.p90_ns is not None
    assert found.results[0].timing.p99_ns is None, "200 calls show no 99th percentile"
    assert str(here) not in path.read_text()
    shown = json.loads(fpgaflow("budget", "tiny.json", *HOST, "--out", "run", "--json").out)
    row = next(row for row in shown["baseline"] if row["name"] == "measured: ONNX Runtime on this CPU")
    assert row["factor"] == pytest.approx(row["ns"] / shown["latency"]["total_ns"])


def test_one_core_is_one_core():
    with one_core() as pinned:
        assert pinned
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == CORES


@pytest.mark.eda
def test_hls4mls_program_times_each_inference(tmp_path):
    model = relu_net().convert(tmp_path / "net")
    raw = np.arange(18).reshape(3, 6)
    times = time_csim(model, tmp_path / "net", (raw,), count=150, warmup=10)
    assert times.shape == (150,)
    assert (times > 0).all()


def test_a_program_that_does_not_compile_leaves_the_rest(here, monkeypatch):
    if find_spec("onnxruntime") is None or find_spec("onnx") is None:
        pytest.skip("ONNX Runtime is not installed (the extra 'baseline')")

    def fails(*_words):
        raise UserError("hls4ml's C++ does not compile: error")

    said: list[str] = []
    monkeypatch.chdir(here)
    monkeypatch.setattr(module, "_in_cpp", fails)
    monkeypatch.setattr(Progress, "warn", lambda _self, text: said.append(text))
    run = open_context(Options("tiny.json"), Progress.silent())
    monkeypatch.setattr(type(run), "is_graph", False)
    results, software = module._on_cpu(run, tiny_graph(), count=20, warmup=2)
    assert [one.name for one in results] == ["ONNX Runtime on this CPU"]
    assert "g++" not in software
    assert "does not compile" in said[0]
