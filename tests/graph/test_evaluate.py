"""The evaluator where its fast paths and its exact ones meet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.errors import UserError
from flow.fixed import FixedArray, FixedType, Overflow
from flow.graph.graph import evaluate
from flow.graph.nodes import Dense
from tests.networks import random_graph, random_raw, saturating_graph, vectors


def dense(seed: int, x: FixedType, w: FixedType, accumulator: FixedType) -> Dense:
    rng = np.random.default_rng(seed)
    return Dense(
        name="d",
        label="d",
        inputs=("x",),
        shape=(4,),
        type=accumulator,
        weights=random_raw(rng, w, (9, 4)),
        bias=random_raw(rng, w, (4,)),
        weight_type=w,
        bias_type=w,
        accumulator=accumulator,
    )


@pytest.mark.parametrize("width", [4, 12, 20, 26, 31, 40, 62, 63, 64, 90])
def test_sums_of_any_width_are_exact(width: int) -> None:
    x = FixedType(width, width // 2)
    accumulator = FixedType(2 * width + 6, 2 * (width // 2) + 6)
    node = dense(width, x, x, accumulator)
    raw = random_raw(np.random.default_rng(1), x, (20, 9))
    got = node.evaluate((FixedArray(raw, x),)).raw.astype(object)
    bias = node.bias.astype(object) << x.fraction
    assert (got == raw.astype(object) @ node.weights.astype(object) + bias).all()


def into(raw: np.ndarray, kind: FixedType) -> np.ndarray:
    """Bring integers into a type's range, by definition."""
    if kind.overflow is Overflow.WRAP:
        return (raw - kind.lo) % (1 << kind.width) + kind.lo
    if kind.overflow is Overflow.SAT_ZERO:
        return np.where((raw < kind.lo) | (raw > kind.hi), 0, raw)
    return np.minimum(np.maximum(raw, kind.lo), kind.hi)


@pytest.mark.parametrize("overflow", list(Overflow))
@pytest.mark.parametrize("width", [8, 15, 30])
def test_one_matrix_product_equals_adding_one_by_one(width: int, overflow: Overflow) -> None:
    x, w = FixedType(8, 3), FixedType(6, 2)
    accumulator = FixedType(width, width - 9, overflow=overflow)
    node = dense(width, x, w, accumulator)
    raw = random_raw(np.random.default_rng(2), x, (50, 9))
    at_once = node.evaluate((FixedArray(raw, x),)).raw
    object_only = replace(node, weights=node.weights.astype(object), bias=node.bias.astype(object))
    acc = object_only.start.astype(object) + np.zeros((50, 4), dtype=object)
    for i in range(9):
        term = into(raw[:, i : i + 1].astype(object) * object_only.weights[i], accumulator)
        acc = into(acc + term, accumulator)
    assert (at_once.astype(object) == acc).all()


def test_order_matters_in_a_saturating_accumulator() -> None:
    graph = saturating_graph(0)
    node = graph.nodes[1]
    assert isinstance(node, Dense)
    raw = vectors(np.random.default_rng(0), graph, 200)["x"]
    forward = node.evaluate((FixedArray(raw, graph.nodes[0].type),)).raw
    turned = replace(node, weights=node.weights[::-1])
    backward = turned.evaluate((FixedArray(raw[:, ::-1], graph.nodes[0].type),)).raw
    assert (forward != backward).any()


def test_wrong_inputs_are_refused() -> None:
    graph = random_graph(5)
    kind, shape = graph.nodes[0].type, graph.nodes[0].shape
    with pytest.raises(UserError, match="outside"):
        evaluate(graph, {"x": np.full((2, *shape), kind.hi + 1)})
    with pytest.raises(UserError, match="shape"):
        evaluate(graph, {"x": np.zeros((2, shape[0] + 1), dtype=np.int64)})


def test_small_integer_arrays_do_not_overflow() -> None:
    graph = random_graph(7, width=(8, 8))
    raw = random_raw(np.random.default_rng(1), graph.nodes[0].type, (30, *graph.nodes[0].shape))
    small = raw.astype(np.int8 if graph.nodes[0].type.signed else np.uint8)
    a, b = evaluate(graph, {"x": raw}), evaluate(graph, {"x": small})
    assert all((a[name].raw == b[name].raw).all() for name in a)
