"""Bad input: one readable message, status 2, no traceback, and nothing half-written."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.graph.nodes import Dense, Input
from tests.commands import listing, save, tiny_graph


@pytest.fixture
def here(tmp_path):
    save(tiny_graph(), tmp_path / "tiny.json")
    return tmp_path


@pytest.fixture
def built(fpgaflow, here):
    assert fpgaflow("build", "tiny.json", "--out", "run").status == 0
    return here / "run"


# ---- models ----


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.json", b"", "x.json"),
        ("x.json", b"\x00\xff garbage", "x.json"),
        ("x.json", b'{"format":1,"graph":{"name":', "x.json is not a model.json"),
        ("x.json", b'{"format":1,"graph":' + b"[" * 100_000, "x.json"),
        ("x.json", b'{"class_name":"Sequential","config":' + b"[" * 100_000, "x.json"),
        ("x.json", b'{"a":1}', "no class_name"),
        ("x.keras", b"", "x.keras"),
        ("x.keras", b"PK\x03\x04 cut off", "x.keras"),
        ("x.h5", b"junk", "x.h5"),
        ("x.h5", b"\x89HDF\r\n\x1a\n cut off", "x.h5"),
        ("x.txt", b"hello", "this kind of file is not known"),
    ],
)
def test_corrupt_models_are_refused(fpgaflow, here, name, content, said):
    (here / name).write_bytes(content)
    before = listing(here)
    for goal in ("budget", "build"):
        fpgaflow.refused(goal, name, names=(said,))
    assert listing(here) == before


def test_missing_models_are_refused_with_the_nearest_names(fpgaflow, here):
    before = listing(here)
    fpgaflow.refused("run", "nowhere.keras", names=("nowhere.keras", "neither a file nor in the zoo"))
    fpgaflow.refused("run", "jet_tager", names=("did you mean jet_tagger",))
    fpgaflow.refused("run", "", names=("no model ''",))
    fpgaflow.refused("run", "x" * 5000, names=("File name too long",))
    fpgaflow.refused("run", "\udcff\udcfe", names=("no model",))
    (here / "folder").mkdir()
    fpgaflow.refused("run", "folder", names=("request.toml",))
    (here / "folder").rmdir()
    assert listing(here) == before


def _hostile(changes):
    stored = json.loads(json.dumps({"format": 1, "graph": None}))
    from flow.graph.store import to_json

    stored = json.loads(to_json(tiny_graph()))
    changes(stored["graph"])
    return json.dumps(stored).encode()


HOSTILE = {
    "a shape of a billion": lambda g: g["nodes"][0].update(shape=[10**9]),
    "a shape beyond 64 bits": lambda g: g["nodes"][0].update(shape=[10**30]),
    "a negative shape": lambda g: g["nodes"][0].update(shape=[-4]),
    "a width of a billion bits": lambda g: g["nodes"][0]["type"].update(width=10**9),
    "a name that leaves its folder": lambda g: g["nodes"][1].update(name="../../etc/x"),
    "a name that is Verilog": lambda g: g["nodes"][1].update(name="d; initial $finish;"),
    "a label that writes to the terminal": lambda g: g["nodes"][1].update(label="\x1b[2J", shape=[7]),
    "ragged weights": lambda g: g["nodes"][1].update(weights=[[1], [1, 2]]),
    "weights of text": lambda g: g["nodes"][1].update(weights=[["1"]]),
    "weights of NaN": lambda g: g["nodes"][1].update(weights=[[float("nan")]]),
    "a weight outside its type": lambda g: g["nodes"][1]["weights"][0].__setitem__(0, 1000),
    "an unknown kind": lambda g: g["nodes"][1].update(kind="softmax"),
    "an unknown rounding": lambda g: g["nodes"][1]["type"].update(rounding="UP"),
    "no nodes": lambda g: g.update(nodes=[]),
    "an unknown output": lambda g: g.update(outputs=["nothing"]),
    "a loop": lambda g: g["nodes"][1].update(inputs=["r"]),
    "an unknown format": None,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_graphs_are_refused(fpgaflow, here, what):
    change = HOSTILE[what]
    content = (
        (here / "tiny.json").read_bytes().replace(b'"format":1', b'"format":99') if change is None else _hostile(change)
    )
    (here / "bad.json").write_bytes(content)
    before = listing(here)
    for goal in ("budget", "build"):
        said = fpgaflow.refused(goal, "bad.json", names=("bad.json",))
        assert "\x1b" not in said
    assert listing(here) == before


def test_a_graph_of_few_bytes_and_many_values_is_refused_before_they_are_made(fpgaflow, here):
    wide = Input(name="x", label="x", inputs=(), shape=(1 << 22,), type=FixedType(6, 3))
    relu = replace(tiny_graph().nodes[2], inputs=("x",), shape=wide.shape)
    save(Graph(name="wide", nodes=(wide, relu), inputs=("x",), outputs=("r",)), here / "wide.json")
    before = listing(here)
    fpgaflow.refused("build", "wide.json", names=("wide is too large for xcvu13p", "8,388,608 elements"))
    assert listing(here) == before


def test_a_network_larger_than_the_part_is_told_sizes_and_parts_that_hold_it(fpgaflow, here):
    rng = np.random.default_rng(1)
    x, weight, total = FixedType(8, 4), FixedType(8, 4), FixedType(24, 16)
    dense = Dense(
        name="d",
        label="wide layer",
        inputs=("x",),
        shape=(256,),
        type=total,
        weights=rng.integers(-128, 128, (256, 256)),
        bias=np.zeros(256, dtype=np.int64),
        weight_type=weight,
        bias_type=weight,
        accumulator=total,
    )
    start = Input(name="x", label="x", inputs=(), shape=(256,), type=x)
    save(Graph(name="big", nodes=(start, dense), inputs=("x",), outputs=("d",)), here / "big.json")
    before = listing(here)
    for goal in ("budget", "build"):
        said = fpgaflow.refused(
            goal, "big.json", "--part", "iCE40UP5K", names=("iCE40UP5K, however it is built", "3,696", "'d'", "xcvu13p")
        )
        assert "it would fit" in said
    assert listing(here) == before


# ---- options ----


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--part", "xcvu13"), ("unknown part 'xcvu13'", "did you mean", "xcvu13p")),
        (("--link", "pci_mmio"), ("unknown link 'pci_mmio'", "pcie_mmio")),
        (("--link", "custom:in_ns=x,boundary=pins"), ("custom link", "in_ns=x")),
        (("--link", "custom:"), ("boundary must be one of",)),
        (("--boundary", "wire_to_wire"), ("wire_to_wire", "direct", "core, pins")),
        (("--boundary", "moon"), ("moon", "host_to_host")),
        (("--part", "iCE40UP5K", "--link", "pcie_mmio"), ("iCE40UP5K has none", "transceivers")),
        (("--budget", "5"), ("budget '5' has no unit", "5us")),
        (("--budget", "0us"), ("budget '0us' must be greater than zero",)),
        (("--budget", "-1us"), ("budget '-1us'", "5us")),
        (("--budget", "5 bananas"), ("unknown unit 'bananas'",)),
        (("--budget", "nan"), ("budget 'nan'",)),
        (("--budget", "1e999s"), ("budget '1e999s'",)),
        (("--rate", "40"), ("rate '40' has no unit", "40MHz")),
        (("--rate", "0MHz"), ("rate '0MHz' must be greater than zero",)),
        (("--rate", "1e-300Hz"), ("rate '1e-300Hz'",)),
        (("--clock", "200"), ("clock '200' has no unit", "200MHz, 5ns or auto")),
        (("--clock", "0MHz"), ("clock '0MHz' must be greater than zero",)),
        (("--clock", "0ns"), ("clock '0ns' must be greater than zero",)),
        (("--clock", "1e300GHz"), ("clock '1e300GHz'",)),
        (("--clock", "1e-300Hz"), ("clock '1e-300Hz'",)),
        (("--vectors", "0"), ("--vectors 0", "between 1 and 1,000,000")),
        (("--vectors", "-5"), ("--vectors -5", "between 1 and 1,000,000")),
        (("--vectors", "9" * 5000), ("between 1 and 1,000,000",)),
        (("--vectors", "²"), ("--vectors ²", "no such file")),
        (("--vectors", "x" * 5000), ("no such file",)),
        (("--vectors", "nowhere.npy"), ("nowhere.npy", "there is no such file")),
        (("--config", "nowhere.yml"), ("nowhere.yml",)),
        (("--out", ""), ("--out", "empty")),
        (("--frobnicate",), ("No such option",)),
    ],
)
def test_wrong_options_are_refused(fpgaflow, here, options, names):
    before = listing(here)
    for goal in ("budget", "build"):
        fpgaflow.refused(goal, "tiny.json", *options, names=names)
    assert listing(here) == before


def test_a_saved_graph_takes_no_hls4ml_configuration(fpgaflow, here):
    (here / "c.yml").write_text("Model:\n  Precision: ap_fixed<8,4>\n")
    fpgaflow.refused("budget", "tiny.json", "--config", "c.yml", names=("c.yml", "saved graph"))


def test_an_unknown_command_is_refused(fpgaflow, here):
    fpgaflow.refused("frobnicate", names=("No such command 'frobnicate'",))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("model = 'tiny.json'\nbudgett = '1us'\n", ("unknown key 'budgett'", "budget")),
        ("model = 'tiny.json'\nbudget = 5\n", ("budget",)),
        ("model = 'tiny.json'\nbudget = '5'\n", ("no unit",)),
        ("model = 'gone.json'\n", ("gone.json does not exist",)),
        ("vectors = 'x.npz'\n", ("'model' names no file",)),
        ("model = 'tiny.json'\nmust_beat = ['a slow GPU']\n", ("must_beat", "no baseline row 'a slow GPU'")),
        (
            "model = 'tiny.json'\nmust_beat = ['resident kernel']\n",
            ("must not be compared", "core", "rows that may be"),
        ),
        ("model = [", ("is not TOML",)),
        ("\udcff", ("is not TOML",)),
    ],
)
def test_wrong_requests_are_refused(fpgaflow, here, text, names):
    folder = here / "mine"
    save(tiny_graph(), folder / "tiny.json")
    (folder / "request.toml").write_text(text, errors="surrogateescape")
    before = listing(here)
    for goal in ("budget", "build"):
        fpgaflow.refused(goal, "mine", names=("mine" if "must" not in text else "must_beat", *names))
    assert listing(here) == before


# ---- vectors ----


def _good(count=5):
    return np.zeros((count, 4))


def test_vectors_outside_the_input_type_are_named_counted_and_clipped_when_asked(fpgaflow, here):
    x = _good()
    x[1, 2], x[3, 0] = 9.5, -100
    np.save(here / "x.npy", x)
    before = listing(here)
    names = ("x.npy", "2 of 20 values", "'x'", "fixed<6,3", "-4 to 3.875", "9.5", "vector 1, element (2,)")
    for goal in ("budget", "build"):
        fpgaflow.refused(goal, "tiny.json", "--vectors", "x.npy", names=names)
    assert listing(here) == before
    assert fpgaflow("build", "tiny.json", "--vectors", "x.npy", "--clip", "--out", "run").status == 0
    notes = json.loads((here / "run" / "report.json").read_text())["notes"]
    assert any("2 input values" in note and "clipped" in note for note in notes)


def _object_array(path):
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)


def _pickle(path):
    path.write_bytes(pickle.dumps([1, 2, 3]))


def _cut(path):
    np.save(path, _good())
    path.write_bytes(path.read_bytes()[:-30])


VECTORS = {
    "a wrong shape": (lambda p: np.save(p, np.zeros((5, 3))), ("shape (5, 3)", "(n, 4)")),
    "no vectors at all": (lambda p: np.save(p, np.zeros((0, 4))), ("shape (0, 4)", "n at least 1")),
    "one number": (lambda p: np.save(p, np.float64(3)), ("shape ()",)),
    "NaN": (lambda p: np.save(p, np.full((5, 4), np.nan)), ("20 of 20", "NaN or infinite")),
    "infinite values": (lambda p: np.save(p, np.full((5, 4), np.inf)), ("20 of 20", "NaN or infinite")),
    "text": (lambda p: np.save(p, np.array([["a"] * 4])), ("needs real numbers",)),
    "complex numbers": (lambda p: np.save(p, np.zeros((5, 4), dtype=complex)), ("needs real numbers",)),
    "Python objects": (_object_array, ("Python objects, which are never loaded",)),
    "a pickle": (_pickle, ("x.npy",)),
    "a file cut short": (_cut, ("cannot be read",)),
    "an empty file": (lambda p: p.write_bytes(b""), ("cannot be read",)),
}


@pytest.mark.parametrize("what", VECTORS)
def test_wrong_vectors_are_refused(fpgaflow, here, what):
    write, names = VECTORS[what]
    write(here / "x.npy")
    before = listing(here)
    for goal in ("budget", "build"):
        fpgaflow.refused(goal, "tiny.json", "--vectors", "x.npy", names=("x.npy", *names))
    assert listing(here) == before


def test_wrong_archives_of_vectors_are_refused(fpgaflow, here):
    np.savez(here / "z.npz", z=_good())
    fpgaflow.refused("budget", "tiny.json", "--vectors", "z.npz", names=("z.npz", "no array x", "z"))
    np.savez(here / "y.npz", x=_good(), y=np.zeros(3, dtype=int))
    fpgaflow.refused("budget", "tiny.json", "--vectors", "y.npz", names=("y has 3 entries for 5 vectors",))
    (here / "v.csv").write_text("1,2,3,4\n")
    fpgaflow.refused("budget", "tiny.json", "--vectors", "v.csv", names=("v.csv", ".npy"))


# ---- folders ----


def test_an_output_folder_that_cannot_be_written_is_refused(fpgaflow, here):
    (here / "file").write_text("mine")
    before = listing(here)
    fpgaflow.refused("build", "tiny.json", "--out", "file", names=("file", "--out"))
    fpgaflow.refused("build", "tiny.json", "--out", "file/below", names=("file/below", "Not a directory", "--out"))
    fpgaflow.refused("build", "tiny.json", "--out", "/proc/nothing", names=("/proc/nothing", "--out"))
    assert listing(here) == before


def test_a_folder_with_somebody_elses_work_is_left_alone(fpgaflow, here):
    (here / "mine" / "rtl").mkdir(parents=True)
    (here / "mine" / "rtl" / "precious.sv").write_text("module precious; endmodule\n")
    before = listing(here)
    fpgaflow.refused("build", "tiny.json", "--out", "mine", names=("mine", "rtl", "--out"))
    assert listing(here) == before


def test_a_report_on_nothing_is_refused(fpgaflow, here):
    before = listing(here)
    fpgaflow.refused("report", "tiny.json", "--out", "empty", names=("holds no built design", "fpgaflow run tiny.json"))
    assert listing(here) == before


@pytest.mark.parametrize("name", ["model.json", "plan.json", "timeline.json", "signature.json", "conversion.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'{"format": 1'])
def test_corrupt_artifacts_are_refused_by_name(fpgaflow, built, name, content):
    (built / name).write_bytes(content)
    before = listing(built)
    for goal in ("report", "simulate"):
        if (name, goal) == ("conversion.json", "simulate"):
            continue  # read for the report, after the simulation
        fpgaflow.refused(goal, "tiny.json", "--out", "run", names=(f"run/{name}",))
    assert {k: v for k, v in listing(built).items() if not k.startswith("sim")} == before
    assert fpgaflow("build", "tiny.json", "--out", "run").status == 0, "build renews it"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"{}"])
def test_corrupt_vectors_are_refused_by_name(fpgaflow, built, content):
    (built / "vectors.npz").write_bytes(content)
    fpgaflow.refused("simulate", "tiny.json", "--out", "run", names=("run/vectors.npz", "holds no vectors of tiny"))


def test_missing_rtl_is_named(fpgaflow, built):
    (built / "rtl" / "flow_tiny.sv").write_text("")
    (built / "rtl" / "flow_valid.sv").unlink()
    for goal in ("simulate", "synth"):
        fpgaflow.refused(goal, "tiny.json", "--out", "run", names=("flow_valid.sv",))


def test_a_missing_compiler_is_named_in_one_line(fpgaflow, built, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    said = fpgaflow.refused("simulate", "tiny.json", "--out", "run", names=("g++ is not installed", "apt install g++"))
    assert len([line for line in said.splitlines() if line.startswith("fpgaflow:")]) == 1
    assert not (built / "sim").exists()


def test_a_full_disk_ends_in_one_message(fpgaflow, here, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "run/model.json")

    monkeypatch.setattr("flow.steps.convert.write_whole", full)
    fpgaflow.refused("build", "tiny.json", "--out", "run", names=("run/model.json: No space left on device",))
    assert not (here / "run").exists()


def test_too_little_memory_ends_in_one_message(fpgaflow, here, monkeypatch):
    def small(*_, **__):
        raise MemoryError

    monkeypatch.setattr("flow.steps.convert.evaluated", small)
    fpgaflow.refused("build", "tiny.json", "--out", "run", names=("not enough memory",))
    assert not (here / "run").exists()
