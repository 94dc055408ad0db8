"""Streamed hardware keeps Verilator's lint silent, whatever its parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow.engines.line_buffer import RowStore
from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.graph.nodes import Input, Merge, Pool
from flow.graph.window import Window
from flow.rtl.top import write_rtl
from tests.benches import lint
from tests.streaming import build, by_pixels, streamed


@pytest.mark.parametrize(
    ("window", "pixels", "pace", "store"),
    [
        (Window(4, 6, 2, (3, 3), (1, 1), (1, 1, 1, 1)), 1, 1, "registers"),
        (Window(4, 6, 2, (3, 3), (1, 1), (1, 1, 1, 1)), 2, 3, "lutram"),
        (Window(4, 6, 2, (3, 3), (1, 1), (0, 0, 0, 0)), 1, 2, "bram"),
        (Window(6, 6, 1, (2, 2), (3, 3), (0, 0, 0, 0)), 1, 1, "registers"),
        (Window(1, 6, 3, (1, 2), (1, 2), (0, 0, 0, 0)), 1, 1, "registers"),
        (Window(4, 1, 3, (2, 1), (2, 1), (0, 0, 0, 0)), 1, 1, "registers"),
    ],
)
def test_lint_is_silent(tmp_path: Path, window: Window, pixels: int, pace: int, store: RowStore) -> None:
    kind = FixedType(5, 2)
    shape = (window.rows, window.columns, window.channels)
    x = Input(name="x", label="x", inputs=(), shape=shape, type=kind)
    out = (*window.positions, window.channels)
    pool = Pool(
        name="pool", label="pool", inputs=("x",), shape=out, type=kind, window=window, op="max", accumulator=kind
    )
    twice = Merge(name="twice", label="twice", inputs=("pool", "pool"), shape=out, type=kind, op="add")
    graph = Graph("lint", (x, pool, twice), ("x",), ("twice",))
    choices = (streamed(graph, ("pool",), pixels, pace=pace, store=store), streamed(graph, ("twice",), 1))
    design = build(graph, choices, by_pixels(graph, pixels, pace, beats_out=True))
    signature = write_rtl(tmp_path, design.modules, design.signature)
    assert not lint(tmp_path / "rtl", sorted((tmp_path / "rtl").glob("*.sv")), signature.top)
