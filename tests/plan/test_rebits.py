"""One bit more or less in a network: what is computed is what the change says, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode, Dense, Input, Merge, Pool, Quantize, Relu, Reshape, Sign
from flow.graph.verify import verify
from flow.graph.window import Window
from flow.plan.rebits import (
    ACTIVATIONS,
    CannotChangeError,
    activations_of,
    weights_of,
    with_activation_bits,
    with_weight_bits,
)
from tests.networks import random_graph, vectors
from tests.plan.graphs import changed, dense_network


def outputs(graph: Graph, inputs: dict[str, np.ndarray]) -> np.ndarray:
    return evaluate(graph, inputs)[graph.outputs[0]].to_float()


def drawn(graph: Graph, count: int = 200) -> dict[str, np.ndarray]:
    return vectors(np.random.default_rng(3), graph, count)


@pytest.mark.parametrize("name", ["d0", "d1", "d2"])
def test_one_more_weight_bit_that_is_zero_changes_no_result(name):
    graph = dense_network(12, 10, 8, 6)
    finer = with_weight_bits(graph, name, +1, draw=False)
    inputs = drawn(graph)
    assert finer.node(name).weight_type == replace(graph.node(name).weight_type, width=9)
    assert np.array_equal(outputs(finer, inputs), outputs(graph, inputs))


def test_a_drawn_bit_changes_weights_by_a_new_step_at_most_and_is_always_the_same():
    graph = dense_network(32, 24)
    graph = changed(graph, "d0", lambda n: replace(n, weights=np.where(n.weights % 3 == 0, 0, n.weights)))
    before, after = graph.node("d0"), with_weight_bits(graph, "d0", +1).node("d0")
    steps = after.weights - 2 * before.weights
    assert set(np.unique(steps).tolist()) == {-1, 0, 1}
    assert np.array_equal(after.weights == 0, before.weights == 0)
    assert 0.4 < float(np.mean(steps[before.weights != 0] == 0)) < 0.6
    assert abs(int(steps.sum())) < 60
    assert np.array_equal(after.weights, with_weight_bits(graph, "d0", +1).node("d0").weights)


def test_one_weight_bit_less_is_rounding_by_hand():
    graph = dense_network(12, 10, 6)
    coarser, inputs = with_weight_bits(graph, "d0", -1), drawn(graph)
    node, kind = graph.node("d0"), FixedType(7, 1)
    by_hand = np.clip(np.round(node.weights / 2), kind.lo, kind.hi).astype(int)  # numpy rounds half to even
    assert coarser.node("d0").weight_type == kind
    assert np.array_equal(coarser.node("d0").weights, by_hand)
    assert by_hand.max() == kind.hi < node.weights.max() / 2  # the upper end is reached, and does not wrap
    x = evaluate(graph, inputs)["x"].to_float()
    exact = x @ (by_hand * kind.step) + node.bias * node.bias_type.step
    assert np.array_equal(evaluate(coarser, inputs)["d0"].to_float(), exact)


def test_what_kept_every_bit_goes_on_to_and_nothing_else_changes():
    graph = dense_network(12, 10, 6)
    for change in (+1, -1):
        new = with_weight_bits(graph, "d0", change)
        old, node = graph.node("d0"), new.node("d0")
        assert node.accumulator.fraction == old.accumulator.fraction + change
        assert node.type == node.accumulator
        assert node.accumulator.integer == old.accumulator.integer
        assert new.node("r0") is graph.node("r0")
        assert new.node("d1") is graph.node("d1")


def test_an_accumulator_that_drops_bits_stays_as_the_user_has_it():
    graph = changed(dense_network(12, 10, 6), "d0", lambda n: replace(n, accumulator=FixedType(12, 7)))
    assert with_weight_bits(graph, "d0", +1).node("d0").accumulator == FixedType(12, 7)


def test_a_bias_keeps_its_bits_where_the_products_lose_one():
    kind = FixedType(8, 8)
    graph = changed(dense_network(12, 10), "d0", lambda n: replace(n, accumulator=FixedType(20, 13), weight_type=kind))
    graph = replace(graph, nodes=(replace(graph.nodes[0], type=FixedType(8, 8)), *graph.nodes[1:]))
    new = with_weight_bits(graph, "d0", -1).node("d0")
    assert new.accumulator.fraction == new.bias_type.fraction == 7


def test_one_activation_bit_less_is_rounding_by_hand():
    graph = dense_network(12, 10, 6)
    new, inputs = with_activation_bits(graph, "r0", -1), drawn(graph)
    sums, found = evaluate(graph, inputs)["d0"].to_float(), evaluate(new, inputs)
    kind = new.node("r0").type
    assert kind == FixedType(7, 2, False, Rounding.RND_CONV, Overflow.SAT)
    by_hand = np.clip(np.round(sums / kind.step), 0, kind.hi) * kind.step
    assert np.array_equal(found["r0"].to_float(), by_hand)
    node = graph.node("d1")
    exact = by_hand @ (node.weights * node.weight_type.step) + node.bias * node.bias_type.step
    assert np.array_equal(found["d1"].to_float(), exact)


def test_one_activation_bit_more_keeps_what_it_adds():
    graph = dense_network(12, 10, 6)
    new, inputs = with_activation_bits(graph, "r0", +1), drawn(graph)
    before, found = evaluate(graph, inputs), evaluate(new, inputs)
    kind = new.node("r0").type
    by_hand = np.clip(np.round(before["d0"].to_float() / kind.step), 0, kind.hi) * kind.step
    assert np.array_equal(found["r0"].to_float(), by_hand)
    assert np.any(found["r0"].to_float() != before["r0"].to_float())
    node = graph.node("d1")
    exact = by_hand @ (node.weights * node.weight_type.step) + node.bias * node.bias_type.step
    assert np.array_equal(found["d1"].to_float(), exact)


def around_a_pool() -> Graph:
    pixel, relu = FixedType(6, 2), FixedType(6, 2, False, Rounding.RND_CONV, Overflow.SAT)
    nodes: list[AnyNode] = [
        Input(name="x", label="x", inputs=(), shape=(4, 4, 2), type=FixedType(9, 2)),
        Quantize(name="q", label="q", inputs=("x",), shape=(4, 4, 2), type=pixel),
        Relu(name="r", label="r", inputs=("q",), shape=(4, 4, 2), type=relu),
        Merge(name="m", label="m", inputs=("q", "r"), shape=(4, 4, 2), type=FixedType(8, 4), op="add"),
        Pool(
            name="p",
            label="p",
            inputs=("m",),
            shape=(2, 2, 2),
            type=FixedType(8, 4),
            accumulator=FixedType(8, 4),
            op="max",
            window=Window(4, 4, 2, (2, 2), (2, 2), (0, 0, 0, 0)),
        ),
        Reshape(name="f", label="f", inputs=("p",), shape=(8,), type=FixedType(8, 4)),
        Sign(
            name="s", label="s", inputs=("f",), shape=(8,), type=FixedType(2, 2), high=np.full(8, 3), low=np.full(8, -3)
        ),
    ]
    return Graph(name="pooled", nodes=tuple(nodes), inputs=("x",), outputs=("f", "s"))


def test_moves_sums_and_maxima_carry_the_new_bit_and_thresholds_keep_their_value():
    graph = around_a_pool()
    verify(graph)
    finer, coarser = with_activation_bits(graph, "q", +1), with_activation_bits(graph, "q", -1)
    for name in ("m", "p", "f"):
        assert finer.node(name).type == FixedType(9, 4)
        assert coarser.node(name).type == FixedType(8, 4)  # the other input still has the finer step
    assert finer.node("p").accumulator == FixedType(9, 4)
    assert finer.node("s").high.tolist() == [6] * 8
    assert coarser.node("s").high.tolist() == [3] * 8
    inputs = drawn(graph)
    inputs["x"] = inputs["x"] >> 3 << 3  # what the coarser type already holds
    for name in ("f", "s"):
        assert np.array_equal(evaluate(finer, inputs)[name].to_float(), evaluate(graph, inputs)[name].to_float())


def test_what_cannot_change_says_why():
    graph = around_a_pool()
    with pytest.raises(CannotChangeError, match="has no further bits"):
        with_activation_bits(graph, "r", +1)
    with pytest.raises(CannotChangeError, match="no type of its own"):
        with_activation_bits(graph, "p", +1)
    with pytest.raises(CannotChangeError, match="no weights"):
        with_weight_bits(graph, "q", +1)
    one = changed(
        dense_network(4, 4), "d0", lambda n: replace(n, weights=-(n.weights & 1), weight_type=FixedType(1, 1))
    )
    with pytest.raises(CannotChangeError, match="have one bit"):
        with_weight_bits(one, "d0", -1)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_stay_legal_and_a_zero_bit_changes_nothing_unless_sums_saturate(seed):
    graph = random_graph(seed)
    inputs = drawn(graph, 40)
    before = outputs(graph, inputs)
    for name in weights_of(graph):
        new = with_weight_bits(graph, name, +1, draw=False)
        node = graph.node(name)
        assert isinstance(node, Dense)
        wraps = node.accumulator.overflow is node.type.overflow is Overflow.WRAP
        if wraps:
            assert np.array_equal(outputs(new, inputs), before)
    for name in activations_of(graph):
        assert isinstance(graph.node(name), ACTIVATIONS)
        for change in (+1, -1):
            try:
                evaluate(with_activation_bits(graph, name, change), {})
            except CannotChangeError:
                continue
            except KeyError:
                pass  # an input's type has changed with it: only legality is checked
