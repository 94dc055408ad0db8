"""0 wrong bits and 0 wrong beats over random networks of all kinds of nodes, whole and in beats; shrinking."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from flow.engines.dataflow import dataflow
from flow.engines.engine import Choice, Streamed
from flow.engines.line_buffer import LineBuffer
from flow.graph.graph import Graph
from tests.conformance.draws import Draws, shrink
from tests.conformance.random_streams import (
    WrongDrawError,
    clean,
    draw_hardware,
    draw_network,
    draws_of,
    prove_drawn,
    prove_seed,
)
from tests.conformance.shrink_stream import smallest

FEW = (*range(12), 107)
"""107: a merge with what is always zero, which comes in beats on its way."""
MANY = range(1000, 1200)
STEP = 10
DRAWN = range(160)
"""Seeds whose networks and hardware are drawn, not built."""


@pytest.mark.eda
@pytest.mark.parametrize("seed", FEW)
def test_a_random_stream_is_exact(seed: int, tmp_path: Path) -> None:
    proof = prove_seed(seed, tmp_path)
    assert not proof.faults, "\n".join(proof.faults)


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.parametrize("first", MANY[::STEP])
def test_many_random_streams_are_exact(first: int, tmp_path: Path) -> None:
    faults = [fault for seed in range(first, first + STEP) for fault in prove_seed(seed, tmp_path / str(seed)).faults]
    assert not faults, "\n".join(faults)


def _drawn() -> Iterator[tuple[Graph, tuple[Choice, ...], tuple[object, ...]]]:
    """Give networks with the choices of their hardware and the engines between them."""
    for seed in DRAWN:
        network = draw_network(draws_of(seed))
        drawn = draw_hardware(network)
        if drawn is not None:
            traffic, choices, _ = drawn
            blocks = dataflow(network.graph, choices, traffic).blocks
            yield network.graph, choices, tuple(block.what for block in blocks)


def test_the_draw_covers_what_it_should() -> None:
    drawn = list(_drawn())
    nodes = [node for graph, _, _ in drawn for node in graph.nodes]
    assert {node.kind for node in nodes} >= {
        *("input", "conv", "depthwise", "pool", "merge", "rearrange", "dense", "relu", "quantize", "affine", "reshape"),
        *("bounded_relu", "prelu", "hard_sigmoid", "sign", "table", "softmax", "legacy_softmax", "argmax"),
        *("layer_norm", "embedding", "dot"),
    }
    assert len({node.type.rounding for node in nodes}) == 7
    assert len({node.type.overflow for node in nodes}) == 4
    assert sum(len(graph.inputs) > 1 for graph, _, _ in drawn) > 20
    assert sum(len(graph.outputs) > 1 for graph, _, _ in drawn) > 20
    engines = [engine for _, _, whats in drawn for engine in whats]
    assert {engine.engine for engine in engines} == {  # type: ignore[attr-defined] # every engine says what it is
        *("unrolled", "folded", "streamed", "gather", "split", "regroup", "delay", "fifo"),
    }
    streams = [choice for _, choices, _ in drawn for choice in choices if isinstance(choice, Streamed)]
    assert len(streams) > 100
    assert {choice.inner.engine for choice in streams} == {"unrolled", "folded"}
    buffers = [choice.buffer for choice in streams if isinstance(choice.buffer, LineBuffer)]
    assert {buffer.store for buffer in buffers} == {"registers", "lutram", "bram"}
    assert {buffer.flush > 0 for buffer in buffers} == {True, False}
    assert any(step > cells for buffer in buffers for step, cells in zip(buffer.stride, buffer.kernel, strict=True))
    assert any(buffer.pace > 1 for buffer in buffers)


def test_the_same_numbers_give_the_same_network() -> None:
    draws = draws_of(5)
    first = draw_network(draws).graph
    again = draw_network(Draws(draws.taken)).graph
    assert [(n.name, n.kind, n.inputs, n.shape, n.type) for n in first.nodes] == [
        (n.name, n.kind, n.inputs, n.shape, n.type) for n in again.nodes
    ]


def test_numbers_shrink_to_the_least_that_fail() -> None:
    def fails(draws: Draws) -> bool:
        items = []
        while draws.chance(90):
            with draws.part():
                items.append(draws.integer(3, 1000))
        return sum(item >= 37 for item in items) >= 2

    start = next(d for seed in range(99) if fails(d := Draws(np.random.default_rng(seed))))
    found = shrink(start.taken, fails, tries=2000)
    assert found == [10, 34, 10, 34]
    with pytest.raises(ValueError, match="does not fail"):
        shrink([0], fails, tries=10)


def test_a_refusal_by_accident_is_a_fault() -> None:
    assert clean(ValueError("a row of 3 beats")) == "a row of 3 beats"
    for text in ("", "two\nlines", "zip() argument 2 is shorter than argument 1"):
        with pytest.raises(WrongDrawError):
            clean(ValueError(text))


def _steps_over_pixels(draws: Draws) -> Graph | None:
    """Return a drawn network whose hardware has a window that leaves pixels out."""
    network = draw_network(draws)
    drawn = draw_hardware(network)
    buffers = [choice.buffer for choice in (drawn[1] if drawn else ()) if isinstance(choice, Streamed)]
    found = [b for b in buffers if isinstance(b, LineBuffer) and b.stride[0] > b.kernel[0]]
    return network.graph if found else None


def test_a_network_shrinks_to_the_node_that_matters() -> None:
    found = ((draws, _steps_over_pixels(draws)) for draws in map(draws_of, range(1000)))
    start = next(draws for draws, graph in found if graph is not None and len(graph.nodes) > 4)
    numbers = shrink(start.taken, lambda draws: _steps_over_pixels(draws) is not None, tries=400)
    graph = _steps_over_pixels(Draws(numbers))
    assert graph is not None
    assert len(graph.nodes) == 2
    assert graph.nodes[0].size <= 8


@pytest.mark.eda
@pytest.mark.campaign
def test_a_fault_is_found_and_shrunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = LineBuffer.corners
    monkeypatch.setattr(LineBuffer, "corners", lambda self: tuple(step + (self.top > 0) for step in right(self)))
    seed = next(seed for seed in range(500, 600) if prove_drawn(draws_of(seed), tmp_path).kind)
    found = smallest(draws_of(seed), tries=150)
    assert found is not None
    assert "top=1" in found.told
    assert found.told.count(" input()") == 1
