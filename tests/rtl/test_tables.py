"""A design with constant tables through simulation and synthesis, its files included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.device.parts import find_part
from flow.engines.cone import ConeBuilder, Port, run_cone
from flow.engines.dataflow import dataflow
from flow.engines.engine import Unrolled
from flow.engines.network import connect
from flow.engines.pipeline import Placement, place
from flow.errors import UserError
from flow.fixed import FixedArray, FixedType, IntArray
from flow.graph.graph import Graph
from flow.graph.nodes import Input, Quantize
from flow.rtl.signature import Signature
from flow.rtl.top import build_top, write_rtl
from flow.simulate.runner import simulate
from flow.simulate.vectors import Vectors, expected
from flow.synth.yosys import synthesize
from tests.cones import DELAYS

X, Y = FixedType(8, 8, signed=False), FixedType(12, 12)
TABLE = tuple(int(60000 / (k + 40)) - 700 for k in range(200))


def design() -> tuple[Graph, Placement]:
    """Return elements that are looked up in one table, some in a second one behind it, then in the first one again."""
    common = {"label": "tables", "shape": (4,), "type": Y}
    graph = Graph(
        "tables",
        (
            Input(name="x", label="x", inputs=(), shape=(4,), type=X),
            Quantize(name="y", inputs=("x",), **common),
            Quantize(name="z", inputs=("y",), **common),
        ),
        ("x",),
        ("z",),
    )
    first = ConeBuilder("y", (Port("x", 4, X.lo, X.hi),))
    found = [looked_up(first, first.read(0, k)) for k in range(4)]
    for k in (2, 3):
        low = first.limit(found[k], FixedType(5, 5, signed=False))
        found[k] = first.add(found[k], first.lookup(low, tuple(v * v % 61 for v in range(32))))
    cones = [first.finish(tuple(found))]
    second = ConeBuilder("z", (Port("y", 4, *cones[0].output_range),))
    again = second.read(0, 0)
    rest = tuple(second.read(0, k) for k in (1, 2, 3))
    cones.append(second.finish((looked_up(second, second.limit(again, X)), *rest)))
    return graph, place(connect(tuple(cones), graph.outputs), (3, 2), DELAYS)


def looked_up(builder: ConeBuilder, value: int) -> int:
    return builder.lookup(builder.minimum(value, builder.constant(len(TABLE) - 1)), TABLE)


def write(folder: Path) -> tuple[Signature, Vectors, IntArray]:
    """Write the design; return its signature, vectors, and what its first cone computes."""
    graph, placement = design()
    flow = dataflow(graph, (Unrolled(("y",), 3), Unrolled(("z",), 2)))
    modules, signature = build_top(graph, flow, {cone.name: cone for cone in placement.cones})
    assert len({module.name for module in modules}) == len(modules)
    signature = write_rtl(folder, modules, signature)
    raw = np.random.default_rng(3).integers(0, 256, (60, 4))
    y = run_cone(placement.cones[0].wiring.cone, (raw,))
    z = run_cone(placement.cones[1].wiring.cone, (y,))
    values = {"x": FixedArray(raw, X), "y": FixedArray(y, Y), "z": FixedArray(z, Y)}
    return signature, expected(signature, values), y


def test_equal_tables_are_one_module_and_every_place_is_listed(tmp_path: Path) -> None:
    signature, _, _ = write(tmp_path)
    assert len({memory.file for memory in signature.memories}) == 2
    assert len({memory.path for memory in signature.memories}) == 7
    where = [memory.path.split(".") for memory in signature.memories]
    assert [path[0] for path in where] == ["u_y"] * 6 + ["u_z"]
    assert {(path[1][:3], path[2]) for path in where} == {("u_v", "words")}
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
    assert details["memory"] == f"{5 * len(TABLE) + 2 * 32:,} words of 7 memories as their files say"
    mapped = synthesize(tmp_path, find_part("LFE5U-25F"))
    assert mapped.total.bram == 0
    file = tmp_path / signature.memories[0].file
    file.write_text(file.read_text().replace("a", "b", 1))
    for check in (lambda: simulate(tmp_path, vectors=vectors), lambda: synthesize(tmp_path, find_part("LFE5U-25F"))):
        with pytest.raises(UserError, match=file.name):
            check()
