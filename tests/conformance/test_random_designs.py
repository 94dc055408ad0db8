"""0 wrong bits and 0 wrong beats over random networks, precisions and plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow.graph.nodes import Dense
from tests.conformance.random_designs import draw_design, draw_graph, prove, prove_seed, simulated_networks

pytestmark = pytest.mark.eda

FEW = range(20)
MANY = range(1000, 1200)
STEP = 10


@pytest.mark.parametrize("seed", FEW)
def test_a_random_design_is_exact(seed: int, tmp_path: Path) -> None:
    proof = prove_seed(seed, tmp_path)
    assert not proof.faults, "\n".join(proof.faults)


@pytest.mark.campaign
@pytest.mark.parametrize("first", MANY[::STEP])
def test_many_random_designs_are_exact(first: int, tmp_path: Path) -> None:
    faults = [fault for seed in range(first, first + STEP) for fault in prove_seed(seed, tmp_path / str(seed)).faults]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("seed", "count"),
    [(7, 10), *(pytest.param(seed, 15, marks=pytest.mark.campaign) for seed in (309, 310))],
)
def test_random_designs_equal_the_c_simulation(seed: int, count: int, tmp_path: Path) -> None:
    faults, telling = [], 0
    for k, network in enumerate(simulated_networks(seed, count, tmp_path / "hls")):
        design = draw_design(network.graph, seed + k)
        proof = prove(design, tmp_path / f"design{k}", network.raw, outputs=network.outputs)
        faults += [f"network {k} of {seed}, {design.drawn}: {fault}" for fault in proof.faults]
        telling += proof.telling
    assert not faults, "\n".join(faults)
    assert telling > count / 2


def test_the_draw_covers_what_it_should() -> None:
    graphs = [draw_graph(seed) for seed in (*FEW, *MANY)]
    nodes = [node for graph in graphs for node in graph.nodes]
    assert {node.kind for node in nodes} == {"input", "dense", "quantize", "relu", "affine", "reshape"}
    assert len({node.type.rounding for node in nodes}) == 7
    assert len({node.type.overflow for node in nodes}) == 4
    assert any(not node.type.signed for node in nodes)
    assert any(node.type.integer > node.type.width for node in nodes)
    assert any(node.type.integer < 0 for node in nodes)
    assert any(node.type.width > 62 for node in nodes)
    assert any(node.slope_type is not None for node in nodes if node.kind == "relu")
    dense = [(node, graph) for graph in graphs for node in graph.nodes if isinstance(node, Dense)]
    linear = [node.is_linear(graph.feeding(node)[0].type) for node, graph in dense]
    assert 20 < sum(linear) < len(linear) - 20
    assert len({node.accumulator.overflow for node, _ in dense}) == 4
    read_twice = [g for g in graphs if any(sum(isinstance(c, Dense) for c in g.consumers(n.name)) > 1 for n in g.nodes)]
    assert len(read_twice) >= 5
    assert sum(len(graph.outputs) > 1 for graph in graphs) > 40
    assert sum(len(graph.outputs) == 1 and graph.node(graph.outputs[0]).size == 1 for graph in graphs) >= 5
    designs = [draw_design(graph, seed) for seed, graph in zip(FEW, graphs, strict=False)]
    assert {design.drawn.split()[0] for design in designs} == {"planned", "scattered"}
    latencies = {design.signature.latency_cycles for design in designs}
    assert len(latencies) >= 4
