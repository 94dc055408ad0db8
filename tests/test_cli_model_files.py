"""Model files through the real command: odd paths, wrong configurations, layers that cannot be built."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import listing, save, tiny_graph
from tests.frontend.legacy_files import dense, inlet, quantizer, write_legacy

ROOT = Path(__file__).parents[1]
ODD = "a b/c'd;e"
EVIL = 'x $(touch pwned)`touch pwned`"&|\\ é [bold]'
BITS = quantizer("quantized_bits", bits=4, integer=1, symmetric=0, alpha=1, keep_negative=True)
NET = [inlet(4), dense("fc1", 4, 3, kind="QDense", kernel_quantizer=BITS, bias_quantizer=BITS, activation="relu")]


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ("Model: [", ("c.yml", "YAML")),
        ("- 1\n- 2\n", ("c.yml",)),
        ("Modell:\n  Precision: ap_fixed<8,4>\n", ("Modell",)),
        ("LayerName:\n  fc7:\n    Precision: ap_fixed<8,4>\n", ("fc7", "fc1")),
        ("LayerName:\n  fc1:\n    Precision: ap_fixed<8,four>\n", ("fc1", "ap_fixed<8,four>")),
        ("Model:\n  Strategy: Fastest\n", ("Fastest", "Latency")),
        ("Model:\n  ReuseFactor: 0\n", ("ReuseFactor",)),
        ("\xff\xfe", ("c.yml",)),
    ],
)
def test_wrong_configurations_are_refused(fpgaflow, tmp_path, config, names):
    write_legacy(tmp_path, "net", NET)
    (tmp_path / "c.yml").write_bytes(config.encode("latin-1"))
    before = listing(tmp_path)
    for goal in ("budget", "build"):
        fpgaflow.refused(goal, "net.json", "--config", "c.yml", "--out", "run", names=names)
    assert listing(tmp_path) == before


def test_an_unknown_layer_is_named_with_its_kind(fpgaflow, tmp_path):
    write_legacy(tmp_path, "net", [*NET, ("Lambda", {"name": "my trick"}, {})])
    before = listing(tmp_path)
    fpgaflow.refused("build", "net.json", "--out", "run", names=("my trick", "Lambda"))
    assert listing(tmp_path) == before


def test_missing_weights_are_named(fpgaflow, tmp_path):
    write_legacy(tmp_path, "net", NET)
    (tmp_path / "net_weights.h5").unlink()
    fpgaflow.refused("build", "net.json", names=("net.json", "net_weights.h5"))


@pytest.mark.parametrize("name", [ODD, EVIL])
def test_models_and_folders_may_have_any_name(fpgaflow, tmp_path, name):
    path = save(tiny_graph(name), tmp_path / f"{name}.json")
    out = tmp_path / f"{name} run"
    assert fpgaflow("budget", path).status == 0
    assert fpgaflow("build", path, "--out", out).status == 0
    assert fpgaflow("report", path, "--out", out).status == 0
    assert fpgaflow("build", path).status == 0
    assert [p.name for p in (tmp_path / "hls_projects").iterdir()], "the default folder has a tame name"
    assert not (tmp_path / "pwned").exists()


def test_a_saved_graph_is_found_inside_and_outside_its_folder(fpgaflow, tmp_path, monkeypatch):
    save(tiny_graph(), tmp_path / "tiny.json")
    assert fpgaflow("build", "tiny.json").status == 0
    inside = tmp_path / "hls_projects" / "tiny" / "model.json"
    before = listing(inside.parent)
    done = fpgaflow("build", inside)
    assert done.status == 0
    assert "nothing changed" in done.err
    assert listing(inside.parent) == before
    outside = tmp_path / "kept" / "model.json"
    outside.parent.mkdir()
    shutil.copy(inside, outside)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert fpgaflow("build", "../kept/model.json").status == 0
    assert (tmp_path / "elsewhere" / "hls_projects" / "kept" / "signature.json").is_file()


def test_a_saved_graph_is_known_by_its_contents(fpgaflow, tmp_path):
    path = save(tiny_graph(), tmp_path / "tiny.json")
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    assert fpgaflow("budget", "tiny.json").status == 0


def _make(folder: Path, target: str, model: str, options: str) -> subprocess.CompletedProcess[str]:
    venv = Path(sys.executable).parents[1]
    if not (venv / "bin" / "fpgaflow").exists():
        pytest.skip("fpgaflow is not installed beside this Python")
    words = ["make", "-C", str(ROOT), "--no-print-directory", "-o", f"{venv}/installed", f"VENV={venv}", target]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        [*words, f"MODEL={model}", f"OPTIONS={options}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", [ODD, EVIL])
def test_make_takes_any_path(tmp_path, name):
    path = save(tiny_graph(), tmp_path / f"{name}.json")
    done = _make(tmp_path, "build", str(path), f"--out {tmp_path}/run --json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "signature.json").is_file()
    assert not (ROOT / "pwned").exists()


def test_make_passes_the_exit_status_of_a_mistake_on(tmp_path):
    done = _make(tmp_path, "budget", str(tmp_path / "nowhere.json"), "")
    assert done.returncode == 2
    assert "there is no model" in done.stderr
