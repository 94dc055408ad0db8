"""A budget on a saved graph must not wait for frameworks, converters or solvers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from flow.graph.store import to_json
from tests.networks import random_graph

HEAVY = ("tensorflow", "keras", "qkeras", "hls4ml", "alkaid", "cocotb", "pyosys", "h5py")

SCRIPT = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from flow.cli import main
main()
"""


def test_budget_on_a_saved_graph_imports_nothing_heavy(tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    model.write_bytes(to_json(random_graph(1)))
    command = [sys.executable, "-c", SCRIPT, "budget", str(model), "--part", "xcvu13p", "--json", "--out", "run"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["latency"]["cycles_predicted"] >= 1
    loaded = json.loads(done.stderr.splitlines()[-1])
    assert "flow.plan.planner" in loaded
    assert [name for name in HEAVY if name in loaded] == []
