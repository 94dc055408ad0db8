"""The wheel: everything that the command needs is in it, and it works outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from flow.plan.request import load_request
from tests.commands import save, tiny_graph

ROOT = Path(__file__).parents[1]
CALL = "import sys; from flow.cli import main; sys.argv[0] = 'fpgaflow'; main()"
pytestmark = pytest.mark.eda


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*pip, "-w", str(out), str(ROOT)], cwd=out, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory) -> Path:
    """Return a folder with what the wheel holds, as an installer would leave it."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def call(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Call the installed command; the dependencies come from this environment, the checkout stays out."""
    search = os.pathsep.join([str(site), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    environment = os.environ | {"PYTHONPATH": search, "PYTHONSAFEPATH": "1"}
    # -S: no .pth file may bring the checkout back
    command = [sys.executable, "-S", "-c", CALL, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_file_of_the_packages_and_the_zoo_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    for package in ("flow", "sim"):
        files = [p for p in (ROOT / package).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        assert {p.relative_to(ROOT).as_posix() for p in files} <= inside
    for request in (ROOT / "models").glob("*/request.toml"):
        for path in (request, *request.parent.glob("*.keras"), *request.parent.glob("*.npz")):
            assert f"flow/zoo_models/{path.relative_to(ROOT / 'models').as_posix()}" in inside
        asked = load_request(request)
        for file in (asked.model, asked.vectors):
            path = (request.parent / str(file)).resolve()
            assert f"flow/zoo_models/{path.relative_to(ROOT / 'models').as_posix()}" in inside
    tops = {name.split("/")[0] for name in inside}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"flow", "sim"}
    assert not [name for name in inside if name.endswith((".pyc", "train.py"))]


def test_it_finds_its_tables_and_its_zoo_outside_the_checkout(site, tmp_path):
    where = "import flow.zoo; print(flow.zoo.zoo_folder())"
    done = subprocess.run(
        [sys.executable, "-S", "-c", where],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{sysconfig.get_path('purelib')}", "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == site / "flow" / "zoo_models"
    for words, said in (("models", "digits_mlp_folded"), ("parts", "xcvu13p"), ("links", "pcie_mmio")):
        done = call(site, tmp_path, words)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout


def test_it_simulates_and_synthesizes_outside_the_checkout(site, tmp_path):
    save(tiny_graph(), tmp_path / "tiny.json")
    done = call(
        site, tmp_path, "run", "tiny.json", "--part", "LFE5U-25F", "--vectors", "20", "--out", "a run", "--json"
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["bit_exact"] == {"vectors": 20, "mismatches": 0, "wrong_bits": 0, "reference": "the integer evaluator"}
    assert shown["latency"]["cycles_simulated"] == shown["latency"]["cycles_predicted"]
    assert shown["resources"]["synthesized"]["lut"] > 0


@pytest.mark.campaign
def test_it_converts_the_zoo_outside_the_checkout(site, tmp_path):
    for name in ("digits_mlp", "digits_mlp_folded"):
        done = call(site, tmp_path, "budget", name, "--json")
        assert done.returncode == 0, done.stderr
        shown = json.loads(done.stdout)
        assert (shown["model"], shown["verdict"]) == (name, "met")
        assert shown["accuracy"]["hls4ml"] > 0.95
