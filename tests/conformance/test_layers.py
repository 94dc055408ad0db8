"""Small models of every layer from Keras to simulated hardware, each exact or refused as docs/conformance.md says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from flow.engines.dataflow import dataflow
from flow.engines.engine import Streamed
from flow.errors import UserError, VerificationError
from flow.frontend.border import to_graph
from flow.frontend.convert import Conversion, convert
from flow.frontend.load import load
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Conv, Table
from flow.graph.passes import run_passes
from flow.plan.planner import make_plan
from flow.plan.request import Request
from tests.conformance.layers.case import IMAGE, IO_TYPES, Case, IoType, case, chain
from tests.conformance.layers.drive import CLOCK, PART, judge, prove_hardware, refusal, together
from tests.conformance.layers.suite import STREAMED, Pack, all_cases, packs
from tests.conformance.layers.table import DOCUMENT, as_expected, render

pytest.importorskip("qkeras")

CORE = tuple(case for case in all_cases() if case.core)
# vectors are the same to both io types, but for hls4ml's C++
SHORT = tuple(
    pack
    for pack in packs(CORE, most=24)
    if pack.io_type == "io_parallel" or any(len(shape) > 1 for case in pack.cases for shape in case.shapes)
)


def check(pack: Pack, folder: Path) -> None:
    found = judge(pack, folder)
    expected = {case.name: case.expected[pack.io_type] for case in pack.cases}
    wrong = {name: found[name] for name in expected if not as_expected(found[name], expected[name])}
    assert not wrong


def test_the_page_lists_exactly_the_cases() -> None:
    assert DOCUMENT.read_text() == render(all_cases())


@pytest.mark.parametrize("io_type", IO_TYPES)
def test_what_is_refused_is_refused_in_one_line_without_a_compiler(
    io_type: IoType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    expected = {case.name: (case, case.expected[io_type]) for case in all_cases() if io_type in case.expected}
    asked = {name: pair for name, pair in expected.items() if pair[1].kind == "refused"}
    assert len(asked) > 30
    found = {name: refusal(case, io_type, tmp_path) for name, (case, _) in asked.items()}
    assert not {name: found[name] for name, (_, due) in asked.items() if not as_expected(found[name], due)}


@pytest.mark.eda
@pytest.mark.parametrize("pack", SHORT, ids=lambda pack: pack.name)
def test_the_short_suite(pack: Pack, tmp_path: Path) -> None:
    check(pack, tmp_path)


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("pack", packs(all_cases()), ids=lambda pack: pack.name)
def test_the_whole_suite(pack: Pack, tmp_path: Path) -> None:
    check(pack, tmp_path)


def test_the_short_suite_has_every_kind_of_node_and_engine(tmp_path: Path) -> None:
    kinds: set[str] = set()
    engines: set[str] = set()
    for pack in SHORT:
        made = together(pack.cases, pack.io_type)
        raw = to_graph(load(made.model, made.config).convert(tmp_path), name="pack", label_of={})
        graph = run_passes(replace(raw, io_type=pack.io_type))
        kinds |= {node.kind for found in (raw, graph) for node in found.nodes}
        engines |= engines_of(graph, pack.budget)
    every = get_args(get_args(AnyNode)[0])
    assert kinds == {field.default for kind in every for field in fields(kind) if field.name == "kind"}
    assert engines == {"Unrolled", "Folded", "Streamed", "LineBuffer", "Reducer", "Converter", "Delay", "Fifo"}


def engines_of(graph: Graph, budget: str | None) -> set[str]:
    plan = make_plan(graph, Request(part=PART, clock=CLOCK, budget=budget))
    blocks: list[Any] = [block.what for block in dataflow(graph, plan.choices, plan.traffic).blocks]
    inside = [part for what in blocks if isinstance(what, Streamed) for part in (what.buffer, what.inner) if part]
    return {type(what).__name__ for what in (*blocks, *inside)}


# ---- the suite itself must see faults ----

WINDOW = ("Conv2D", {"filters": 2, "kernel_size": (2, 3), "padding": "same"})
SEEING = case("Conv2D", "same, behind it a sigmoid", chain(WINDOW, ("Activation", {"activation": "sigmoid"})), IMAGE)


def changed(graph: Graph, kind: type[Any], change: Callable[[Any], Any]) -> Graph:
    """Return the graph with its first node of a kind changed."""
    old = next(node for node in graph.nodes if isinstance(node, kind))
    return replace(graph, nodes=tuple(change(node) if node is old else node for node in graph.nodes))


def flip(node: Conv) -> Conv:
    weights = np.array(node.weights)
    weights[0, 1, 0, 0] ^= 1
    return replace(node, weights=weights)


def move_padding(node: Conv) -> Conv:
    top, bottom, left, right = node.window.pads
    return replace(node, window=replace(node.window, pads=(bottom, top, left, right)))


def shift_table(node: Table) -> Table:
    return replace(node, values=np.roll(np.array(node.values), 1))


FAULTS: dict[str, tuple[type[Any], Callable[[Any], Any]]] = {
    "a weight": (Conv, flip),
    "a pad": (Conv, move_padding),
    "a table": (Table, shift_table),
}


def convert_case(one: Case, io_type: IoType, folder: Path) -> Conversion:
    made = together((one,), io_type)
    return convert(load(made.model, made.config), made.vectors, folder)


@pytest.mark.eda
def test_hardware_of_another_graph_is_seen(tmp_path: Path) -> None:
    done = convert_case(SEEING, "io_stream", tmp_path / "convert")
    prove_hardware(done, tmp_path / "right", STREAMED)
    for name, (kind, change) in FAULTS.items():
        with pytest.raises(VerificationError, match="bits and"):
            prove_hardware(
                replace(done, graph=changed(done.graph, kind, change)), tmp_path / name.replace(" ", "_"), STREAMED
            )


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.parametrize("fault", FAULTS)
def test_a_graph_that_is_not_what_hls4ml_computes_is_seen(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, change = FAULTS[fault]
    monkeypatch.setattr(
        "flow.frontend.convert.to_graph", lambda *args, **named: changed(to_graph(*args, **named), kind, change)
    )
    found = judge(Pack("io_parallel", (SEEING,)), tmp_path)[SEEING.name]
    assert found.kind == "wrong"
    assert "hls4ml's C simulation" in found.words


@pytest.mark.eda
@pytest.mark.campaign
def test_a_conversion_that_is_not_what_keras_computes_is_seen(tmp_path: Path) -> None:
    made = together((SEEING,), "io_parallel")
    source = load(made.model, made.config)
    kernel = next(layer for layer in made.model.layers if type(layer).__name__ == "Conv2D").kernel
    kernel.assign(np.flip(np.array(kernel), axis=0))
    with pytest.raises(UserError, match="a different function"):
        convert(source, made.vectors, tmp_path)
