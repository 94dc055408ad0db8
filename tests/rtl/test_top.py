from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.engines.lower import lower_graph, runs
from flow.engines.module import Instance, Module, Rom
from flow.engines.network import connect
from flow.engines.pipeline import place
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Dense, Input, Quantize, Relu
from flow.rtl.signature import Signature, load_signature
from flow.rtl.top import write_rtl
from flow.simulate.bulk import bulk_model
from flow.simulate.runner import simulate
from flow.simulate.vectors import expected
from tests.benches import lint
from tests.cones import DELAYS
from tests.conformance.random_designs import RandomDesign, prove
from tests.conformance.random_folds import build
from tests.networks import chain_graph, unrolled_top, vectors

HIDDEN = FixedType(4, 2, False, Rounding.RND, Overflow.SAT)


def branches() -> Graph:
    """Return two inputs; outputs are an input itself, an edge that is read on, and the end of two chains."""
    rng = np.random.default_rng(3)
    x, y = FixedType(5, 2), FixedType(3, 3, False)
    weight, wide = FixedType(4, 1), FixedType(16, 8)
    return Graph(
        "two chains/1",
        (
            Input(name="x", label="x", inputs=(), shape=(3,), type=x),
            Input(name="y", label="y", inputs=(), shape=(2,), type=y),
            Dense(
                name="o",
                label="first",
                inputs=("x",),
                shape=(4,),
                type=wide,
                weights=rng.integers(-8, 8, (3, 4)),
                bias=rng.integers(-8, 8, 4),
                weight_type=weight,
                bias_type=weight,
                accumulator=wide,
            ),
            Relu(name="i", label="second", inputs=("o",), shape=(4,), type=HIDDEN),
            Quantize(name="z", label="third", inputs=("i",), shape=(4,), type=FixedType(2, 1)),
            Quantize(name="w", label="fourth", inputs=("y",), shape=(2,), type=FixedType(2, 2)),
        ),
        ("y", "x"),
        ("z", "x", "o", "w"),
    )


def built(graph: Graph, depths: tuple[int, ...]) -> tuple[tuple[Module, ...], Signature]:
    placement = place(connect(lower_graph(graph, runs(graph)), graph.outputs), depths, DELAYS)
    return unrolled_top(graph, placement)


@pytest.mark.eda
@pytest.mark.parametrize("depths", [(1, 1, 0), (0, 2, 1)])
def test_branches_arrive_together(tmp_path: Path, depths: tuple[int, ...]) -> None:
    graph = branches()
    assert [run[-1] for run in runs(graph)] == ["o", "z", "w"]
    modules, signature = built(graph, depths)
    signature = write_rtl(tmp_path, modules, signature)
    assert signature.latency_cycles == 2
    assert [(p.name, p.offset) for p in signature.inputs] == [("y", 0), ("x", 6)]
    assert [(p.name, p.offset) for p in signature.outputs] == [("z", 0), ("x", 8), ("o", 23), ("w", 87)]
    assert {e.node: e.cycles for e in signature.edges} == {
        "x": (0,),
        "y": (0,),
        "o": (depths[0],),
        "z": (2,),
        "w": (depths[2],),
    }
    files = [tmp_path / file.path for file in signature.files]
    assert not lint(tmp_path, files, signature.top)
    values = evaluate(graph, vectors(np.random.default_rng(1), graph, 300))
    result = simulate(tmp_path, vectors=expected(signature, values), seeds=(1,))
    assert result.passed, result.failures


def test_files_are_as_the_signature_says(tmp_path: Path) -> None:
    modules, signature = built(branches(), (1, 1, 0))
    (tmp_path / "rtl").mkdir()
    (tmp_path / "rtl" / "old.sv").write_text("stale")
    written = write_rtl(tmp_path, modules, signature)
    assert load_signature(tmp_path / "signature.json") == written
    names = sorted(path.name for path in (tmp_path / "rtl").iterdir())
    assert [file.path for file in written.files] == [f"rtl/{name}" for name in names]
    assert "flow_delay.sv" in names
    for file in written.files:
        assert hashlib.sha256((tmp_path / file.path).read_bytes()).hexdigest() == file.sha256
    first = [(tmp_path / file.path).read_bytes() for file in written.files]
    assert write_rtl(tmp_path, *built(branches(), (1, 1, 0))) == written
    assert first == [(tmp_path / file.path).read_bytes() for file in written.files]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rtl", "signature.json"]


@pytest.mark.parametrize(
    ("model", "top"),
    [("delay", "flow_delay_top"), ("cone_o", "flow_cone_o_top"), ("a b/c", "flow_a_b_c"), ("µ", "flow_network")],
)
def test_the_top_module_has_a_name_of_its_own(model: str, top: str) -> None:
    modules, signature = built(replace(branches(), name=model), (1, 1, 0))
    assert signature.top == modules[-1].name == top
    assert len({module.name for module in modules}) == len(modules)


def test_a_design_without_hardware_is_wires(tmp_path: Path) -> None:
    graph = Graph("wire", (Input(name="x", label="x", inputs=(), shape=(2,), type=FixedType(3, 1)),), ("x",), ("x",))
    signature = write_rtl(tmp_path, *built(graph, ()))
    assert signature.latency_cycles == 0


def mixed() -> RandomDesign:
    """Return engines of both kinds, converters of all kinds, cones behind both, and outputs of different ages.

    Some nodes have names that the top module might want for itself.
    """
    chain = chain_graph((6, 7, 5, 4, 3), names=("valid", "f", "late_valid", "interval"))
    extra = chain_graph((5, 6, 4), names=("h", "i"))
    tail = (replace(extra.node("h"), inputs=("f",)), extra.node("i"))
    graph = Graph("mixed", (*chain.nodes, *tail), ("x",), ("interval", "f", "valid", "i"))
    choices = (
        Unrolled(("valid",), 1),
        Folded(("f",), "output_serial", 7, 5, 3, 2, "bram", "dsp", read=2, multiply=1, add=1, finish=1),
        Unrolled(("late_valid",), 1),
        Unrolled(("interval",), 1),
        Folded(("h",), "input_serial", 5, 6, 1, 4, "lutrom", "lut", read=1, multiply=0, add=1, finish=1),
        Folded(("i",), "input_serial", 6, 4, 3, 2, "registers", "dsp", read=1, multiply=1, add=1, finish=1),
    )
    return build(graph, choices, np.random.default_rng(2))


@pytest.mark.eda
def test_engines_of_all_kinds_meet(tmp_path: Path) -> None:
    design = mixed()
    signature = write_rtl(tmp_path, design.modules, design.signature)
    used = {item.module for item in design.modules[-1].items if isinstance(item, Instance)}
    assert {"flow_gather", "flow_regroup", "flow_valid", "flow_delay", "flow_folded_f", "flow_cone_valid"} <= used
    assert not lint(tmp_path / "rtl", sorted((tmp_path / "rtl").glob("*.sv")), signature.top)
    proof = prove(design, tmp_path, vectors(np.random.default_rng(1), design.graph, 300))
    assert not proof.faults, "\n".join(proof.faults)
    assert proof.telling
    words = expected(signature, evaluate(design.graph, vectors(np.random.default_rng(1), design.graph, 300)))
    np.testing.assert_array_equal(bulk_model(tmp_path).run(words.words_in).words_out, words.words_out)


def test_the_signature_tells_the_edges_of_the_timeline() -> None:
    design = mixed()
    timeline, signature = design.timeline, design.signature
    assert [(e.name, e.node, e.tensor.lanes, e.cycles) for e in signature.edges] == [
        (e.name, e.node, e.lanes, e.schedule.cycles) for e in timeline.edges
    ]
    assert (signature.latency_cycles, signature.interval_cycles) == (timeline.latency, timeline.interval)
    assert signature.interval_cycles == 10
    chains = [item for item in design.modules[-1].items if isinstance(item, Instance) and item.module == "flow_valid"]
    depths = {chain.name: dict(chain.parameters)["Depth"] for chain in chains}
    ahead = timeline.edge("interval").schedule.last - timeline.edge("f_by_5").schedule.last
    assert depths == {"u_valid_": timeline.edge("valid").schedule.last, "u_valid_f_by_5": ahead}


def test_memories_lie_beside_the_rtl_and_are_listed(tmp_path: Path) -> None:
    design = mixed()
    signature = write_rtl(tmp_path, design.modules, design.signature)
    paths = {memory.file: memory.path for memory in signature.memories}
    assert paths["rtl/f_weights.mem"] == "u_f.u_f_weights.words"
    assert {"rtl/f_weights.mem", "rtl/h_weights.mem"} <= set(paths)
    assert "rtl/i_weights.mem" not in paths
    hashes = {file.path: file.sha256 for file in signature.files}
    for memory in signature.memories:
        content = (tmp_path / memory.file).read_bytes()
        assert hashlib.sha256(content).hexdigest() == hashes[memory.file]
        lines = content.decode().splitlines()
        assert len(lines) == memory.words
        assert {len(line) for line in lines} == {-(-memory.width // 4)}
        roms = [item for m in design.modules if m.name == memory.module for item in m.items if isinstance(item, Rom)]
        assert [int(line, 16) for line in lines] == list(roms[0].memory.words)


def test_no_two_instances_have_one_name() -> None:
    names = [item.name for item in mixed().modules[-1].items if isinstance(item, Instance)]
    assert len(set(names)) == len(names)
