"""What is early by nature is told, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flow.engines.dataflow import dataflow
from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.engines.settled import settled_early
from flow.fixed import FixedArray, FixedType, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Dense, Quantize
from tests.folding import dense_graph


def layer(*, last_row: bool) -> tuple[Graph, dict[str, FixedArray]]:
    """Return 4-3 and values for 20 vectors; without its last row of weights the last input counts nothing."""
    graph = dense_graph(4, 3, seed=7)
    node = graph.node("dense")
    assert isinstance(node, Dense)
    weights = node.weights.copy()
    weights[3] *= int(last_row)
    quantize = Quantize(name="cut", label="cut", inputs=("dense",), shape=(3,), type=FixedType(20, 12))
    nodes = (graph.nodes[0], replace(node, weights=weights), quantize)
    graph = Graph("layer", nodes, ("x",), ("cut",))
    return graph, evaluate(graph, {"x": np.random.default_rng(2).integers(1, 128, (20, 4))})


def folded(p: int) -> Folded:
    return Folded.plain(("dense",), "output_serial", (4, 3), (p, 1), store="bram", multiplier="dsp")


def test_a_last_step_that_adds_nothing_leaves_all_behind_it_early() -> None:
    graph, values = layer(last_row=False)
    settled = settled_early(graph, dataflow(graph, (folded(1), Unrolled(("cut",), 2))), values)
    assert set(settled.edges) == {"dense", "dense_by_3", "cut"}
    assert settled.edges["dense"].shape == (20, 3)
    assert all(np.all(flags) for flags in settled.edges.values())
    assert settled.output is not None
    assert np.all(settled.output)


def test_a_last_step_that_counts_leaves_nothing_early() -> None:
    graph, values = layer(last_row=True)
    settled = settled_early(graph, dataflow(graph, (folded(1), Unrolled(("cut",), 2))), values)
    assert (settled.edges, settled.output) == ({}, None)


def test_without_accumulators_nothing_is_early() -> None:
    graph, values = layer(last_row=False)
    settled = settled_early(graph, dataflow(graph, (folded(4), Unrolled(("cut",), 2))), values)
    assert (settled.edges, settled.output) == ({}, None)


def test_a_difference_that_a_cast_hides_leaves_what_follows_early() -> None:
    graph, _ = layer(last_row=True)
    coarse = replace(graph.node("cut"), type=FixedType(2, 20, rounding=Rounding.RND))
    graph = replace(graph, nodes=(*graph.nodes[:2], coarse))
    values = evaluate(graph, {"x": np.ones((5, 4), dtype=np.int64)})
    settled = settled_early(graph, dataflow(graph, (folded(1), Unrolled(("cut",), 2))), values)
    assert not np.all(settled.edges.get("dense", np.zeros(1)))
    assert np.all(settled.edges["cut"])


def test_a_split_has_the_beats_ready_that_wait_for_their_turn() -> None:
    graph, values = layer(last_row=True)
    serial = Folded.plain(("dense",), "input_serial", (4, 3), (2, 1), store="bram", multiplier="dsp")
    settled = settled_early(graph, dataflow(graph, (serial, Unrolled(("cut",), 1))), values)
    np.testing.assert_array_equal(settled.edges["x_by_2"], [[False, True]] * 20)


def test_an_output_that_never_changes_does_not_make_the_others_telling() -> None:
    graph, values = layer(last_row=False)
    idle = replace(graph.node("dense"), name="idle", weights=np.zeros((4, 3), dtype=np.int64))
    graph = replace(graph, nodes=(*graph.nodes, idle), outputs=("cut", "idle"))
    values = evaluate(graph, {"x": values["x"].raw})
    choices = (folded(1), Unrolled(("cut",), 2), Unrolled(("idle",), 1))
    settled = settled_early(graph, dataflow(graph, choices), values)
    assert settled.output is not None
    assert np.all(settled.output)
    busy = replace(idle, weights=np.eye(4, 3, dtype=np.int64))
    graph = replace(graph, nodes=(*graph.nodes[:-1], busy))
    values = evaluate(graph, {"x": values["x"].raw})
    assert settled_early(graph, dataflow(graph, choices), values).output is None


def test_a_regroup_has_the_beats_ready_that_wait_for_what_never_changes() -> None:
    graph, values = layer(last_row=True)
    dense = graph.node("dense")
    assert isinstance(dense, Dense)
    weights = dense.weights.copy()
    weights[:, 1] = 0
    behind = replace(dense, name="behind", inputs=("dense",), weights=np.eye(3, dtype=np.int64))
    graph = replace(graph, nodes=(graph.nodes[0], replace(dense, weights=weights), behind), outputs=("behind",))
    values = evaluate(graph, {"x": values["x"].raw})
    serial = Folded.plain(("behind",), "input_serial", (3, 3), (2, 3), store="bram", multiplier="dsp")
    settled = settled_early(graph, dataflow(graph, (folded(1), serial)), values)
    np.testing.assert_array_equal(settled.edges["dense_by_2"], [[True, False]] * 20)


def test_an_input_serial_engine_shows_the_group_before() -> None:
    graph, values = layer(last_row=True)
    serial = Folded.plain(("dense",), "input_serial", (4, 3), (2, 1), store="bram", multiplier="dsp")
    flow = dataflow(graph, (serial, Unrolled(("cut",), 1)))
    final = values["dense"].raw
    flags = settled_early(graph, flow, values).edges.get("dense", np.zeros((20, 3), dtype=bool))
    np.testing.assert_array_equal(flags[:, 1:], final[:, 1:] == final[:, :-1])
    alike = {**values, "dense": FixedArray(np.full_like(final, 5), values["dense"].type)}
    np.testing.assert_array_equal(settled_early(graph, flow, alike).edges["dense"], [[False, True, True]] * 20)
