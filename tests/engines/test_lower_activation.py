"""Cones of activations equal their nodes' integer semantics, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flow.engines.lower.activation as lowering
from flow.engines.cone import Cone, Lookup, run_cone
from flow.engines.lower import lower, runs
from flow.engines.lower.open_sum import rounded_off
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode, BoundedRelu, HardSigmoid, Input, PRelu, Sign, Table
from flow.graph.verify import verify
from tests.networks import random_raw, random_type

SHAPE = (2, 3)
KINDS = ("table", "scaled table", "prelu", "bounded", "hard", "sign")


def with_input(x: FixedType, node: AnyNode) -> Graph:
    source = Input(name="x", label="x", inputs=(), shape=node.shape, type=x)
    graph = Graph("one", (source, node), ("x",), (node.name,))
    verify(graph)
    return graph


def common(kind: FixedType, shape: tuple[int, ...] = SHAPE) -> dict[str, Any]:
    return {"name": "n", "label": "n", "inputs": ("x",), "shape": shape, "type": kind}


def drawn(which: str, rng: np.random.Generator, x: FixedType) -> AnyNode:
    """Draw a node of a kind for inputs of type `x`."""
    fields = common(random_type(rng, width=(1, 14)))
    kind, other = random_type(rng, width=(1, 10)), random_type(rng, width=(1, 10))

    def code(of: FixedType) -> int:
        return int(random_raw(rng, of, (1,))[0])

    match which:
        case "table" | "scaled table":
            entries = int(rng.choice([1, 2, 7, 16, 64, 100]))
            scale = {"scale": code(other), "scale_type": other} if which == "scaled table" else {}
            span = int(rng.choice([8, 16, -8, 1]))
            return Table(**fields, values=random_raw(rng, kind, (entries,)), table_type=kind, span=span, **scale)
        case "prelu":
            shape = SHAPE if rng.integers(2) else SHAPE[-1:]
            return PRelu(**fields, slopes=random_raw(rng, kind, shape), slope_type=kind)
        case "bounded":
            bound = None if rng.integers(2) else int(rng.integers(0, 8))
            return BoundedRelu(**fields, threshold=code(kind), threshold_type=kind, bound=bound)
        case "hard":
            centred = bool(rng.integers(2))
            numbers = {"slope": code(kind), "slope_type": kind, "shift": code(other), "shift_type": other}
            return HardSigmoid(**fields, **numbers, centred=centred)
        case _:
            high, low = random_raw(rng, x, SHAPE[-1:]), random_raw(rng, x, SHAPE[-1:])
            return Sign(**fields, high=high, low=low if rng.integers(2) else high)


def inputs(rng: np.random.Generator, kind: FixedType, shape: tuple[int, ...] = SHAPE) -> IntArray:
    """Return every code of a narrow type, else random ones and the ends."""
    if kind.width > 12:
        return random_raw(rng, kind, (800, *shape))
    size = int(np.prod(shape))
    codes = np.resize(np.arange(kind.lo, kind.hi + 1), (-(-(kind.hi - kind.lo + 1) // size)) * size)
    return rng.permutation(codes).reshape(-1, *shape)


def differences(graph: Graph, raw: IntArray) -> tuple[int, Cone]:
    (run,) = runs(graph)
    cone = lower(graph, run)
    found = run_cone(cone, (raw.reshape(len(raw), -1),))
    expected = evaluate(graph, {"x": raw})["n"].raw.reshape(len(raw), -1)
    lo, hi = cone.output_range
    assert lo <= found.min()
    assert found.max() <= hi
    return int((found.astype(object) != expected.astype(object)).sum()), cone


@pytest.mark.parametrize("which", KINDS)
def test_cones_equal_evaluate(which: str) -> None:
    rng = np.random.default_rng(KINDS.index(which))
    for _ in range(150):
        x = random_type(rng, width=(1, 20))
        node = drawn(which, rng, x)
        if isinstance(node, Table) and x.integer > 20:
            continue
        found, _ = differences(with_input(x, node), inputs(rng, x))
        assert found == 0, (node, x)


def sigmoid(x: FixedType, *, entries: int = 1024, span: int = 16, **scale: Any) -> Graph:
    kind = FixedType(18, 8)
    grid = np.linspace(-8, 8, entries) if span > 0 else np.linspace(0, -8, entries)
    values = np.round(2.0**10 / (1 + np.exp(-grid))).astype(np.int64)
    out = FixedType(9, 1, True, Rounding.RND_CONV, Overflow.SAT)
    return with_input(x, Table(**common(out, (1,)), values=values, table_type=kind, span=span, **scale))


def tables_of(graph: Graph) -> list[int]:
    found, cone = differences(graph, inputs(np.random.default_rng(1), graph.node("x").type, (1,)))
    assert found == 0
    return [len(op.values) for op in cone.ops if isinstance(op, Lookup)]


def test_tables_hold_only_what_inputs_reach() -> None:
    assert tables_of(sigmoid(FixedType(16, 6))) == [1024]
    assert tables_of(sigmoid(FixedType(8, 3))) == [256]  # one entry for each input
    assert tables_of(sigmoid(FixedType(12, -1))) == [32]  # -0.25 … 0.25 in bins of 1/64
    assert tables_of(sigmoid(FixedType(16, 1, signed=False))) == [128]
    one = FixedType(1, 1, signed=False)
    assert tables_of(sigmoid(FixedType(16, 6), span=-8, scale=1, scale_type=one)) == [1024]
    assert tables_of(sigmoid(FixedType(16, 6, signed=False), span=-8, scale=1, scale_type=one)) == []


def test_faults_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = FixedType(16, 6)
    raw = inputs(np.random.default_rng(2), wide, (1,))
    graph = sigmoid(wide, entries=100)
    assert differences(graph, raw)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(Table, "offset", property(lambda node: node.entries // 2 + 1))
        off = lower(graph, ("n",))
    expected = evaluate(graph, {"x": raw})["n"].raw
    assert (run_cone(off, (raw,)) != expected).any()
    real = rounded_off

    def down(builder: Any, element: Any, bits: int, mode: Rounding) -> Any:
        return real(builder, element, bits, Rounding.TRN)

    with monkeypatch.context() as patch:
        patch.setattr(lowering, "rounded_off", down)
        assert differences(graph, raw)[0] > 0


def test_elementwise_activations_join_a_run() -> None:
    own = PRelu(**common(FixedType(8, 3)), slopes=np.arange(6).reshape(SHAPE), slope_type=FixedType(4, 1))
    shared = PRelu(**common(FixedType(8, 3)), slopes=np.arange(3), slope_type=FixedType(4, 1))
    source = Input(name="x", label="x", inputs=(), shape=SHAPE, type=FixedType(8, 3))
    first = Sign(**common(FixedType(2, 2)) | {"name": "s"}, high=np.zeros(3, int), low=np.zeros(3, int))
    for node, count in ((own, 2), (shared, 1)):
        second = replace(node, inputs=("s",))
        assert len(runs(Graph("two", (source, first, second), ("x",), ("n",)))) == count
