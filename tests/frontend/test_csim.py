"""The C simulation as a child process: exact, and harmless whatever it does."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.errors import MissingTool, UserError, VerificationError
from flow.fixed import FixedArray, FixedType
from flow.frontend import csim
from flow.frontend.border import Port, Ports, ports, to_graph, write_files
from flow.frontend.convert import Conversion, convert, equal_to_csim, write_project
from flow.frontend.csim import CompiledCsim, build_csim, write_csim
from flow.frontend.source import Knobs
from flow.graph.graph import Asked, Graph, evaluate
from flow.graph.nodes import Dense
from flow.graph.store import from_json, to_json
from tests.frontend.fake_source import FakeSource, dense_layer, relu_net

PORTS = Ports("net", (Port("x", "input_t", 2, FixedType(8, 3)),), (Port("y", "result_t", 1, FixedType(8, 3)),))


def draws(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape) * 0.5


def script(folder: Path, code: str) -> CompiledCsim:
    """Put a Python program in the place of the compiled one."""
    program = folder / "csim"
    program.write_text(f"#!{sys.executable}\n{code}\n")
    program.chmod(0o755)
    return CompiledCsim(folder, PORTS)


X = (np.zeros((3, 2), dtype=np.int64),)


def test_a_crash_is_one_message(tmp_path: Path) -> None:
    crashing = "import os, sys; print('assert failed', file=sys.stderr, flush=True); os.abort()"
    with pytest.raises(UserError, match="stopped with SIGABRT: assert failed"):
        script(tmp_path, crashing).run_raw(X)


def test_an_endless_run_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csim, "RUN_SECONDS", 0.3)
    with pytest.raises(UserError, match="did not end"):
        script(tmp_path, "import time; time.sleep(60)").run_raw(X)


def test_missing_weights_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="weights"):
        script(tmp_path, "import sys; print('ERROR: file w does not exist', file=sys.stderr)").run_raw(X)


def test_wrong_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="takes 2 values"):
        script(tmp_path, "").run_raw((np.zeros((3, 5), dtype=np.int64),))


def test_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"g\+\+ is not installed"):
        build_csim(PORTS, tmp_path)


@pytest.mark.eda
def test_compiler_errors_are_shown(tmp_path: Path) -> None:
    (tmp_path / "csim.cpp").write_text("int main() { return nonsense; }\n")
    with pytest.raises(UserError, match=r"does not compile: .*error:.*nonsense"):
        build_csim(PORTS, tmp_path)


@pytest.mark.parametrize("width", [1, 7, 32, 63, 64, 65, 130])
@pytest.mark.parametrize("signed", [True, False])
def test_words_keep_every_bit(width: int, *, signed: bool) -> None:
    kind = FixedType(width, 2, signed)
    port = Port("x", "t", 4, kind)
    raw = np.array([[kind.lo, kind.hi, 0, min(1, kind.hi)]], dtype=object)
    again = csim._from_words(csim._to_words(raw, port), port)
    assert again.astype(object).tolist() == raw.tolist()


def test_the_project_is_the_same_each_time(tmp_path: Path) -> None:
    contents = []
    for name in ("a b", "c'd"):
        folder = tmp_path / name
        folder.mkdir()
        write_files(relu_net().convert(folder), folder)
        files = sorted(p for p in folder.rglob("*") if p.is_file())
        contents.append({str(p.relative_to(folder)): p.read_bytes() for p in files})
    assert contents[0].keys() == contents[1].keys()
    assert [name for name in contents[0] if contents[0][name] != contents[1][name]] == []
    assert all(str(tmp_path).encode() not in data for data in contents[0].values())


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Conversion:
    return convert(relu_net(), (draws(60, 6),), tmp_path_factory.mktemp("odd 'folder"))


@pytest.mark.eda
def test_the_whole_conversion(done: Conversion) -> None:
    source, x = relu_net(), draws(60, 6)
    assert done.graph.outputs == ("second",)
    assert (evaluate(done.graph, done.inputs)["second"].raw == done.outputs["second"]).all()
    assert (
        np.abs(done.outputs["second"] * done.graph.node("second").type.step - source.predict((x,))["second"]).max()
        < 0.1
    )
    assert [layer.label for layer in done.fidelity.layers] == ["first", "relu", "second"]
    assert done.notes == ()


@pytest.mark.eda
def test_a_planned_project_is_compared_where_its_strategy_differs(done: Conversion, tmp_path: Path) -> None:
    knobs = {"first": Knobs(3, "Resource"), "second": Knobs(1, "Latency")}
    place = {"graph": done.graph, "inputs": done.inputs, "scratch": tmp_path / "scratch"}
    notes = write_project(relu_net(), tmp_path / "hls", knobs, **place)
    assert notes == ("Resource in 'first': the C simulation equals the reference's",)
    assert (tmp_path / "hls" / "firmware" / "net.cpp").is_file()
    assert not (tmp_path / "hls" / "csim").exists()

    wrong = evaluate(done.graph, done.inputs)
    raw = wrong["second"].raw.copy()
    raw[7, 1] ^= 1
    wrong["second"] = FixedArray(raw, wrong["second"].type)
    built = CompiledCsim(tmp_path / "scratch", ports(relu_net().convert(tmp_path)))
    with pytest.raises(VerificationError, match=r"output 'second': 1 of 180 .*first in vector 7, element \(1,\)"):
        equal_to_csim(done.graph, done.inputs, wrong, built)


def test_wishes_reach_the_graph_and_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def simulated(graph: Graph, raw: Any, values: Any, csim: Any) -> Any:
        return {name: values[name].raw for name in graph.outputs}

    monkeypatch.setattr("flow.frontend.convert.build_csim", lambda *_: None)
    monkeypatch.setattr("flow.frontend.convert.equal_to_csim", simulated)
    wishes = {"relu": Knobs(4, "Resource"), "second": Knobs(3, "Resource"), "x": Knobs(2, "Latency")}
    converted = convert(relu_net().but(asked=wishes), (draws(60, 6),), tmp_path)
    assert converted.graph.asked == (Asked("second", 3, "Resource"),)
    assert from_json(to_json(converted.graph), "a file").asked == converted.graph.asked


@pytest.mark.eda
def test_a_folded_plan_is_compared_and_what_hls4ml_made_of_it_is_said(done: Conversion, tmp_path: Path) -> None:
    knobs = {"first": Knobs(4, "Resource"), "relu": Knobs(1, "Latency"), "second": Knobs(5, "Resource")}
    place = {"inputs": done.inputs, "scratch": tmp_path / "scratch"}
    notes = write_project(relu_net(), tmp_path / "hls", knobs, graph=done.graph, **place)
    assert notes == (
        "Resource in 'first', Resource in 'second': the C simulation equals the reference's",
        "layer 'first': reuse factor 4 planned, hls4ml uses 3",  # of 6 × 5: it knows 3 and 6
    )
    parameters = (tmp_path / "hls" / "firmware" / "parameters.h").read_text()
    assert parameters.count("nnet::resource;") == 2
    assert {"reuse_factor = 3;", "reuse_factor = 5;"} <= set(re.findall(r"reuse_factor = \d+;", parameters))

    first = done.graph.node("first")
    assert isinstance(first, Dense)
    codes = first.weights.copy()
    codes[2, 3] += 64
    faulty = tuple(replace(node, weights=codes) if node is first else node for node in done.graph.nodes)
    with pytest.raises(VerificationError, match=r"output 'second': .*hls4ml's C simulation"):
        write_project(relu_net(), tmp_path / "no", knobs, graph=replace(done.graph, nodes=faulty), **place)
    assert not (tmp_path / "no").exists()


@pytest.mark.eda
def test_another_order_of_a_saturating_sum_is_a_fault(tmp_path: Path) -> None:
    weights = np.where(np.arange(9) < 5, 1.0, -1.0).reshape(9, 1)
    types = {"result": "fixed<8,4>", "weight": "fixed<4,2>", "bias": "fixed<4,2>", "accum": "fixed<6,3,TRN,SAT>"}
    source = FakeSource(
        layers=(
            {"name": "x", "class_name": "InputLayer", "input_shape": [9]},
            dense_layer("sum", "x", weights, np.zeros(1)),
        ),
        precisions={"x": {"result": "fixed<6,3>"}, "sum": types},
        function=lambda x: {"x": x, "sum": x @ weights},
    )
    graph = to_graph(source.convert(tmp_path), name="saturating", label_of=source.label_of)
    place = {"graph": graph, "inputs": {"x": np.full((2, 9), 8)}, "scratch": tmp_path / "scratch"}
    with pytest.raises(VerificationError, match="output 'sum': 2 of 2 values differ"):
        write_project(source, tmp_path / "other", {"sum": Knobs(3, "Resource")}, **place)
    # one input after the other is the reference's order: what a folded engine does with such a sum
    write_project(source, tmp_path / "same", {"sum": Knobs(9, "Resource")}, **place)


@pytest.mark.parametrize(
    ("arrays", "part"),
    [
        ((), "1 inputs"),
        ((np.zeros((4, 5)),), r"takes vectors of shape \(6,\)"),
        ((np.zeros((0, 6)),), "takes vectors"),
        ((np.full((4, 6), np.nan),), "NaN"),
    ],
)
def test_vectors_must_fit(arrays: tuple[np.ndarray, ...], part: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=part):
        convert(relu_net(), arrays, tmp_path)


def test_write_csim_writes_no_absolute_path(tmp_path: Path) -> None:
    write_csim(relu_net().convert(tmp_path), tmp_path)
    assert str(tmp_path) not in (tmp_path / "csim.cpp").read_text()
