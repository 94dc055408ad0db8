"""A design with constant tables through simulation and synthesis, its files included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.device.parts import find_part
from flow.engines.cone import ConeBuilder, Port, run_cone
from flow.engines.network import connect
from flow.engines.pipeline import Placement, place
from flow.errors import UserError
from flow.fixed import FixedArray, FixedType, IntArray
from flow.graph.graph import Graph
from flow.graph.nodes import Input, Quantize
from flow.rtl.signature import Signature
from flow.rtl.top import write_rtl
from flow.simulate.runner import simulate
from flow.simulate.vectors import Vectors, expected
from flow.synth.yosys import synthesize
from tests.cones import DELAYS
from tests.networks import unrolled_top

X, Y = FixedType(8, 8, signed=False), FixedType(12, 12)
TABLE = tuple(int(60000 / (k + 40)) - 700 for k in range(200))


def design() -> tuple[Graph, Placement]:
    """Return four elements that are looked up in one table, two of them in a second one behind it."""
    graph = Graph(
        "tables",
        (
            Input(name="x", label="x", inputs=(), shape=(4,), type=X),
            Quantize(name="y", label="tables", inputs=("x",), shape=(4,), type=Y),
        ),
        ("x",),
        ("y",),
    )
    builder = ConeBuilder("y", (Port("x", 4, X.lo, X.hi),))
    found = []
    for k in range(4):
        index = builder.minimum(builder.read(0, k), builder.constant(len(TABLE) - 1))
        value = builder.lookup(index, TABLE)
        if k > 1:
            low = builder.limit(value, FixedType(5, 5, signed=False))
            value = builder.add(value, builder.lookup(low, tuple(v * v % 61 for v in range(32))))
        found.append(value)
    return graph, place(connect((builder.finish(tuple(found)),), graph.outputs), (3,), DELAYS)


def write(folder: Path) -> tuple[Signature, Vectors, IntArray]:
    """Write the design; return its signature, vectors, and what it computes."""
    graph, placement = design()
    signature = write_rtl(folder, *unrolled_top(graph, placement))
    raw = np.random.default_rng(3).integers(0, 256, (60, 4))
    out = run_cone(placement.cones[0].wiring.cone, (raw,))
    return signature, expected(signature, {"x": FixedArray(raw, X), "y": FixedArray(out, Y)}), out


def test_equal_tables_are_one_module_and_every_place_is_listed(tmp_path: Path) -> None:
    signature, _, _ = write(tmp_path)
    assert len({memory.file for memory in signature.memories}) == 2
    assert len({memory.path for memory in signature.memories}) == 6
    assert all(memory.path.startswith("u_y.u_v") and memory.path.endswith(".words") for memory in signature.memories)
    large = next(memory for memory in signature.memories if memory.words == len(TABLE))
    lines = (tmp_path / large.file).read_text().splitlines()
    assert len(lines) == len(TABLE)
    assert len(set(lines)) == len(set(TABLE))
    modules = [file.path for file in signature.files if "flow_table_" in file.path]
    assert len(modules) == 4  # a module and its contents, twice


@pytest.mark.eda
def test_simulation_and_synthesis_see_the_contents(tmp_path: Path) -> None:
    signature, vectors, out = write(tmp_path)
    assert {TABLE[0], TABLE[-1]} < set(out[:, :2].flat)
    result = simulate(tmp_path, vectors=vectors, seeds=(1,))
    assert result.passed, result.failures
    details = {check.name: check.detail for check in result.checks}
    assert details["memory"] == f"{4 * len(TABLE) + 2 * 32:,} words of 6 memories as their files say"
    mapped = synthesize(tmp_path, find_part("LFE5U-25F"))
    assert mapped.total.bram == 0
    file = tmp_path / signature.memories[0].file
    file.write_text(file.read_text().replace("a", "b", 1))
    for check in (lambda: simulate(tmp_path, vectors=vectors), lambda: synthesize(tmp_path, find_part("LFE5U-25F"))):
        with pytest.raises(UserError, match=file.name):
            check()
