"""A folded engine's lanes, stepped in Python, compute what the nodes evaluate to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.engines.cone import run_cone
from flow.engines.folded import Folded, Multiplier, Order
from flow.engines.folded_contents import bias_words, step_weights, weight_words, word_width
from flow.engines.lane import LaneCones, build_lane, dense_of, lane_of
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Dense, Input, Quantize, Relu
from tests.folding import dense_graph, random_dense_graph, random_folds


def stepped(graph: Graph, choice: Folded, x: IntArray, weights: IntArray | None = None) -> IntArray:
    """Return the output of a folded engine for raw inputs of shape (batch, n_in), going step by step."""
    node, lane = dense_of(graph, choice), lane_of(graph, choice)
    cones = build_lane(lane)
    steps = step_weights(graph, choice) if weights is None else weights
    start = np.zeros(choice.groups_out * choice.q, dtype=object)
    start[: node.n_out] = node.start
    padded = np.zeros((len(x), choice.groups_in * choice.p), dtype=object)
    padded[:, : node.n_in] = x
    output = np.zeros((len(x), choice.groups_out * choice.q), dtype=object)
    accumulators: dict[int, IntArray] = {}
    for k, step in enumerate(steps):
        if choice.order == "output_serial":
            group, part = divmod(k, choice.groups_in)
        else:
            part, group = divmod(k, choice.groups_out)
        operands = padded[:, part * choice.p : (part + 1) * choice.p]
        for j in range(choice.q):
            at = group * choice.q + j
            given = _inputs(lane.soft, lane.weight.width, operands, step[j])
            bias = np.full((len(x), 1), start[at], dtype=object)
            if not choice.accumulates:
                given = (*given, bias) if lane.bias is not None else given
                output[:, at] = run_cone(cones.sums, given)[:, 0]
                continue
            output[:, at] = _accumulated(cones, given, bias if part == 0 else accumulators[at], accumulators, at)
    return output[:, : node.n_out]


def _inputs(soft: bool, width: int, operands: IntArray, weights: IntArray) -> tuple[IntArray, ...]:
    if not soft:
        return (operands * weights.astype(object),)
    bits = [[(int(w) >> b) & 1 for b in range(width)] for w in weights]
    return operands, np.tile(np.array(bits, dtype=object).reshape(1, -1), (len(operands), 1))


def _accumulated(
    cones: LaneCones, given: tuple[IntArray, ...], before: IntArray, kept: dict[int, IntArray], at: int
) -> IntArray:
    assert cones.accumulate is not None
    assert cones.finish is not None
    kept[at] = run_cone(cones.accumulate, (run_cone(cones.sums, given), before))
    return run_cone(cones.finish, (kept[at],))[:, 0]


@pytest.mark.parametrize("seed", range(60))
def test_a_folded_layer_computes_what_its_nodes_evaluate_to(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, x = random_dense_graph(rng, vectors=40)
    expected = evaluate(graph, {"x": x})[graph.outputs[0]].raw
    for choice in random_folds(rng, graph, 4):
        np.testing.assert_array_equal(stepped(graph, choice, x), expected, err_msg=str(choice))


def test_a_corrupted_weight_is_noticed() -> None:
    rng = np.random.default_rng(3)
    graph, x = dense_graph(8, 6, seed=3), rng.integers(-128, 128, (40, 8))
    choice = Folded.plain(("dense",), "output_serial", (8, 6), (4, 2), store="bram", multiplier="dsp")
    expected = evaluate(graph, {"x": x})["dense"].raw
    weights = step_weights(graph, choice).copy()
    np.testing.assert_array_equal(stepped(graph, choice, x, weights), expected)
    weights[2, 1, 3] += 4
    assert np.any(stepped(graph, choice, x, weights) != expected)


@pytest.mark.parametrize("order", ["output_serial", "input_serial"])
def test_every_weight_has_one_step_and_the_rest_is_zero(order: Order) -> None:
    graph = dense_graph(7, 5, seed=1)
    choice = Folded.plain(("dense",), order, (7, 5), (3, 2), store="bram", multiplier="dsp")
    steps = step_weights(graph, choice)
    assert steps.shape == (9, 2, 3)
    node = dense_of(graph, choice)
    assert sorted(steps[steps != 0]) == sorted(node.weights[node.weights != 0])
    assert steps[0, 1, 2] == node.weights[2, 1]
    second = node.weights[3, 0] if order == "output_serial" else node.weights[0, 2]
    assert steps[1, 0, 0] == second


@pytest.mark.parametrize("multiplier", ["dsp", "dsp_pair"])
def test_words_hold_the_weights_of_a_step(multiplier: Multiplier) -> None:
    graph = dense_graph(5, 3, seed=2)
    choice = Folded.plain(("dense",), "output_serial", (5, 3), (5, 3), store="bram", multiplier=multiplier)
    lane, steps = lane_of(graph, choice), step_weights(graph, choice)
    (word,) = weight_words(graph, choice)
    width = lane.weight.width
    assert word < 1 << word_width(lane, choice)

    def signed(low: int, bits: int) -> int:
        value = word >> low & (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value

    for j in range(3):
        for i in range(5):
            if multiplier == "dsp":
                found = signed((j * 5 + i) * width, width)
            else:
                at = (j // 2 * 5 + i) * (2 * width + 1)
                low = signed(at, width)
                found = low if j % 2 == 0 else signed(at + width, width + 1) + (low < 0)
            assert found == steps[0, j, i]


def test_biases_stand_in_the_order_of_the_groups() -> None:
    graph = dense_graph(4, 5, seed=4)
    choice = Folded.plain(("dense",), "output_serial", (4, 5), (4, 2), store="bram", multiplier="dsp")
    node, lane = dense_of(graph, choice), lane_of(graph, choice)
    words = bias_words(graph, choice)
    assert lane.bias is not None
    mask = (1 << lane.bias.width) - 1
    found = [word >> (j * lane.bias.width) & mask for word in words for j in range(2)]
    assert found == [*(int(v) & mask for v in node.start), 0]


def test_a_lossless_sum_is_only_as_wide_as_its_weights_need() -> None:
    kind = FixedType(8, 4)
    weights = np.ones((16, 1), dtype=np.int64)
    node = Dense(
        name="dense",
        label="dense",
        inputs=("x",),
        shape=(1,),
        type=FixedType(32, 16),
        weights=weights,
        bias=np.zeros(1, dtype=np.int64),
        weight_type=kind,
        bias_type=kind,
        accumulator=FixedType(48, 24),
    )
    graph = Graph("ones", (Input(name="x", label="x", inputs=(), shape=(16,), type=kind), node), ("x",), ("dense",))
    choice = Folded.plain(("dense",), "input_serial", (16, 1), (4, 1), store="bram", multiplier="dsp")
    assert lane_of(graph, choice).register.width == 12 + 16  # 16 sums of 8 bits, shifted into 24 fraction bits


def test_a_node_that_treats_elements_differently_is_refused() -> None:
    graph = dense_graph(4, 4, seed=1)
    with pytest.raises(TypeError, match="no folded form"):
        dense_of(graph, Folded.plain(("x",), "output_serial", (4, 4), (4, 1), store="bram", multiplier="dsp"))


def test_saturating_sums_stop_at_the_end_of_their_range_step_by_step() -> None:
    kind = FixedType(6, 6)
    node = Dense(
        name="dense",
        label="dense",
        inputs=("x",),
        shape=(1,),
        type=FixedType(8, 8),
        weights=np.array([[1], [1], [1], [-1]]),
        bias=np.array([0]),
        weight_type=kind,
        bias_type=kind,
        accumulator=FixedType(6, 6, overflow=Overflow.SAT),
    )
    graph = Graph("sat", (Input(name="x", label="x", inputs=(), shape=(4,), type=kind), node), ("x",), ("dense",))
    choice = Folded.plain(("dense",), "input_serial", (4, 1), (1, 1), store="bram", multiplier="dsp")
    assert stepped(graph, choice, np.array([[20, 20, 20, 20]])).item() == 31 - 20


@pytest.mark.parametrize("p", [1, 2, 6])
def test_an_unsigned_accumulator_wraps_sums_below_zero(p: int) -> None:
    graph = dense_graph(6, 3, seed=1, width=4)
    choice = Folded.plain(("dense",), "output_serial", (6, 3), (p, 1), store="bram", multiplier="dsp")
    node = replace(
        dense_of(graph, choice),
        bias=np.zeros(3, dtype=np.int64),
        accumulator=FixedType(20, 16, signed=False),
        type=FixedType(10, 8, overflow=Overflow.SAT),
    )
    graph = replace(graph, nodes=(graph.nodes[0], node))
    raw = np.random.default_rng(1).integers(-8, 8, (50, 6))
    expected = evaluate(graph, {"x": raw})["dense"].raw
    assert np.mean(expected == node.type.hi) > 0.2  # far above, where a signed sum would be below zero
    np.testing.assert_array_equal(stepped(graph, choice, raw), expected)


def test_relu_and_casts_behind_the_sum_are_absorbed() -> None:
    graph = dense_graph(6, 4, seed=5)
    kind = FixedType(5, 3, signed=False, rounding=Rounding.RND_CONV, overflow=Overflow.SAT)
    relu = Relu(name="relu", label="relu", inputs=("dense",), shape=(4,), type=kind)
    last = Quantize(name="last", label="last", inputs=("relu",), shape=(4,), type=replace(kind, width=4))
    longer = replace(graph, nodes=(*graph.nodes, relu, last), outputs=("last",))
    x = np.random.default_rng(1).integers(-128, 128, (50, 6))
    nodes = ("dense", "relu", "last")
    choice = Folded.plain(nodes, "input_serial", (6, 4), (2, 3), store="lutrom", multiplier="lut")
    np.testing.assert_array_equal(stepped(longer, choice, x), evaluate(longer, {"x": x})["last"].raw)
