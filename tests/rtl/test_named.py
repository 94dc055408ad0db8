"""The wrapper with a port for each tensor."""

from __future__ import annotations

from pathlib import Path

from flow.engines.unrolled import Unrolled
from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.graph.nodes import Input, Merge
from flow.rtl.named import named_top
from flow.rtl.top import write_rtl
from tests.benches import lint
from tests.streaming import build, by_pixels


def _graph() -> Graph:
    kinds = {"zz_first": FixedType(6, 2), "aa_second": FixedType(4, 2, False)}
    inputs = [Input(name=n, label=n.replace("_", "-"), inputs=(), shape=(3,), type=kind) for n, kind in kinds.items()]
    total = Merge(name="total", label="total", inputs=tuple(kinds), shape=(3,), type=FixedType(8, 4), op="add")
    most = Merge(name="most", label="most", inputs=tuple(kinds), shape=(3,), type=FixedType(7, 3), op="maximum")
    return Graph("two", (*inputs, total, most), tuple(kinds), ("total", "most"))


def test_each_tensor_has_a_port_in_declared_order(tmp_path: Path) -> None:
    graph = _graph()
    design = build(graph, (Unrolled(("total",), 1), Unrolled(("most",), 2)), by_pixels(graph, 1))
    signature = write_rtl(tmp_path, design.modules, design.signature)
    module = named_top(signature)
    assert module is not None
    data = [
        (port.direction, port.signal.name, port.signal.width) for port in module.ports if "data" in port.signal.name
    ]
    assert data == [
        ("input", "data_zz_first_i", 18),
        ("input", "data_aa_second_i", 12),
        ("output", "data_total_o", 24),
        ("output", "data_most_o", 21),
    ]
    assert f"rtl/{module.name}.sv" in {file.path for file in signature.files}
    text = (tmp_path / "rtl" / f"{module.name}.sv").read_text()
    assert "data_zz_first_i: zz-first, 3 of fixed<6,2>" in text
    assert ".data_i({data_aa_second_i, data_zz_first_i})" in text
    assert "assign data_most_o = data_o[44:24];" in text
    assert not lint(tmp_path / "rtl", sorted((tmp_path / "rtl").glob("*.sv")), module.name)


def test_one_input_and_one_output_need_no_wrapper() -> None:
    graph = _graph()
    single = Graph(
        "one",
        (
            graph.nodes[0],
            Merge(
                name="twice", label="twice", inputs=("zz_first", "zz_first"), shape=(3,), type=FixedType(8, 4), op="add"
            ),
        ),
        ("zz_first",),
        ("twice",),
    )
    assert named_top(build(single, (Unrolled(("twice",), 1),), by_pixels(single, 1)).signature) is None
