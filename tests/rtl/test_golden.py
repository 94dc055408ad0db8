"""One small design, letter by letter. To accept a change: REWRITE_GOLDEN=1 pytest tests/rtl/test_golden.py."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from flow.engines.cone import Add, Cone, Constant, Limit, Port, Read, Round, Select, Shift
from flow.engines.dataflow import dataflow
from flow.engines.engine import Unrolled
from flow.engines.network import connect
from flow.engines.pipeline import place
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Dense, Input, Relu
from flow.rtl.top import build_top, write_rtl
from tests.benches import lint
from tests.cones import DELAYS

GOLDEN = Path(__file__).parents[1] / "golden" / "small_net"


def small_net(folder: Path) -> list[Path]:
    """Write a design of two cones that were made by hand; return its files."""
    x, hidden, out = FixedType(5, 3), FixedType(4, 2, False), FixedType(7, 5)
    first = Cone(
        "hidden",
        (Port("x", 2, -16, 15),),
        (
            Read(0, 0),
            Read(0, 1),
            Add(0, 1, 0, 2, True),  # x0 - 4 x1
            Add(0, 1, 1, 0),  # 2 x0 + x1
            Round(2, 2, Rounding.RND_CONV),
            Round(3, 1, Rounding.TRN),
            Limit(4, 4, False, Overflow.SAT),
            Limit(5, 4, False, Overflow.WRAP),
            Constant(0),
            Select(3, 7, 8),
        ),
        ((-16, 15), (-16, 15), (-76, 79), (-48, 45), (-19, 20), (-24, 22), (0, 15), (0, 15), (0, 0), (0, 15)),
        (6, 9),
    )
    second = Cone(
        "out",
        (Port("hidden", 2, 0, 15),),
        (Read(0, 0), Read(0, 1), Shift(1, 1), Add(0, 1, 0, 1), Add(3, 0, 0, 3, True)),
        ((0, 15), (0, 15), (0, 30), (0, 45), (-120, 45)),
        (2, 4),
    )
    weights = {"weights": np.ones((2, 2)), "bias": np.zeros(2), "weight_type": x, "bias_type": x, "accumulator": out}
    weights |= {name: np.asarray(weights[name], dtype=np.int64) for name in ("weights", "bias")}
    graph = Graph(
        "small net",
        (
            Input(name="x", label="x", inputs=(), shape=(2,), type=x),
            Dense(name="sums", label="dense 1", inputs=("x",), shape=(2,), type=out, **weights),
            Relu(name="hidden", label="relu", inputs=("sums",), shape=(2,), type=hidden),
            Dense(name="out", label="dense 2", inputs=("hidden",), shape=(2,), type=FixedType(8, 8), **weights),
        ),
        ("x",),
        ("out", "hidden"),
    )
    placement = place(connect((first, second), graph.outputs), (1, 2), DELAYS)
    flow = dataflow(graph, (Unrolled(("sums", "hidden"), 1), Unrolled(("out",), 2)))
    signature = write_rtl(folder, *build_top(graph, flow, {cone.name: cone for cone in placement.cones}))
    return [folder / file.path for file in signature.files] + [folder / "signature.json"]


def test_the_text_is_as_it_was(tmp_path: Path) -> None:
    files = small_net(tmp_path)
    if os.environ.get("REWRITE_GOLDEN"):
        small_net(GOLDEN)
    for path in files:
        assert path.read_text() == (GOLDEN / path.relative_to(tmp_path)).read_text(), path.name
    assert sorted(p.name for p in (GOLDEN / "rtl").iterdir()) == sorted(p.name for p in files[:-1])


@pytest.mark.eda
def test_the_text_is_still_accepted(tmp_path: Path) -> None:
    assert not lint(tmp_path, sorted((GOLDEN / "rtl").iterdir()), "flow_small_net")
