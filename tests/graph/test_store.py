"""model.json: the same bytes for the same graph, and a readable refusal of everything else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.errors import UserError
from flow.graph.graph import evaluate
from flow.graph.store import from_json, load_graph, to_json
from tests.networks import random_graph, vectors


@pytest.mark.parametrize("seed", range(25))
def test_round_trip_keeps_bytes_and_function(seed: int) -> None:
    graph = random_graph(seed, width=(1, 90 if seed % 3 == 0 else 10))
    data = to_json(graph)
    again = from_json(data, "model.json")
    assert to_json(again) == data
    raw = vectors(np.random.default_rng(seed), graph, 8)
    ours, theirs = evaluate(graph, raw), evaluate(again, raw)
    assert all((ours[name].raw == theirs[name].raw).all() for name in ours)


def dense_graph() -> dict[str, Any]:
    for seed in range(1000):
        stored: dict[str, Any] = json.loads(to_json(random_graph(seed)))
        if stored["graph"]["nodes"][1]["kind"] == "dense" and len(stored["graph"]["nodes"]) > 3:
            return stored
    raise AssertionError("no such graph")


def damaged(**change: Any) -> bytes:
    """Return a stored graph with fields of its dense node replaced."""
    stored = dense_graph()
    stored["graph"]["nodes"][1] |= change
    return json.dumps(stored).encode()


TYPE = {"signed": True, "rounding": "TRN", "overflow": "WRAP"}


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "not a model.json"),
        (b"\x00\xff", "not a model.json"),
        (b"[]", "not a model.json"),
        (b'{"format": 1}', "graph"),
        (b"[" * 5000, "not a model.json"),
        (damaged(kind="conv9d"), "kind|tag"),
        (damaged(weights=[[1, 2], [3]]), "integers"),
        (damaged(weights=[[1.5]]), "integers"),
        (damaged(weights=[[True]]), "integers"),
        (damaged(weights="abc"), "integers"),
        (damaged(bias=[10**30] * 4), "a bias is outside"),
        (damaged(weights=[]), "do not match"),
        (damaged(bias=[[0]]), "do not match"),
        (damaged(type={"width": 10**9, "integer": 2, **TYPE}), "1 to 1024 bits"),
        (damaged(type={"width": 0, "integer": 2, **TYPE}), "1 to 1024 bits"),
        (damaged(type={"width": 8, "integer": -(10**9), **TYPE}), "integer bits"),
        (damaged(shape=[10**12]), "elements|shape"),
        (damaged(shape=[]), "no elements"),
        (damaged(shape=[-3]), "no elements"),
        (damaged(inputs=["n1"]), "before it is computed"),
        (damaged(inputs=["n0"]), "before it is computed"),
        (damaged(inputs=["x", "x"]), "2 inputs"),
        (damaged(name="x"), "used twice"),
        (damaged(name="a;rm -rf"), "letters, digits"),
        (damaged(name="m'); $finish"), "letters, digits"),
    ],
)
def test_damaged_files_are_refused(data: bytes, part: str) -> None:
    with pytest.raises(UserError, match=part) as caught:
        from_json(data, "here/model.json")
    assert "here/model.json" in str(caught.value)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(("key", "value"), [("inputs", []), ("outputs", []), ("outputs", ["nothing"])])
def test_ports_must_name_nodes(key: str, value: list[str]) -> None:
    stored = dense_graph()
    stored["graph"][key] = value
    with pytest.raises(UserError, match=key):
        from_json(json.dumps(stored).encode(), "model.json")


@pytest.mark.parametrize(
    ("factor", "strategy", "part"),
    [(0, "Resource", "0 is not 1 or more"), (-1, "Latency", "-1 is not 1 or more"), (2, "<b>", "'<b>' is not a str")],
)
def test_wishes_that_mean_nothing_are_refused(factor: int, strategy: str, part: str) -> None:
    stored = dense_graph()
    wish = {"label": "n1", "reuse_factor": factor, "strategy": strategy}
    stored["graph"]["asked"] = [{**wish, "reuse_factor": 2, "strategy": "Resource_Unrolled"}]
    assert from_json(json.dumps(stored).encode(), "model.json").asked[0].reuse_factor == 2
    stored["graph"]["asked"] = [wish]
    with pytest.raises(UserError, match=part):
        from_json(json.dumps(stored).encode(), "model.json")


def test_another_format_is_refused() -> None:
    stored = dense_graph() | {"format": 99}
    with pytest.raises(UserError, match="format 99"):
        from_json(json.dumps(stored).encode(), "model.json")


def test_large_unsigned_codes_do_not_wrap() -> None:
    graph = random_graph(3, width=(64, 64))
    assert to_json(from_json(to_json(graph), "m")) == to_json(graph)


def test_missing_file_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        load_graph(tmp_path / "model.json")


def test_loading_imports_no_framework(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(to_json(random_graph(1)))
    code = (
        "import sys, pathlib; from flow.graph.store import load_graph; load_graph(pathlib.Path(sys.argv[1]));"
        "print(sorted({'tensorflow', 'keras', 'hls4ml', 'qkeras'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
