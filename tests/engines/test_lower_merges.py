"""Cones of merges, softmax and layer normalization equal their nodes' integer semantics, bit for bit."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import flow.engines.lower.softmax
from flow.engines.arithmetic import multiply
from flow.engines.cone import ConeBuilder, Port, run_cone
from flow.engines.lower import lower
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.frontend.border import to_graph
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode, Argmax, Dot, Input, LayerNorm, LegacySoftmax, Merge, Softmax
from flow.graph.nodes.merge import MergeOp
from flow.graph.verify import verify
from tests.frontend.merging_networks import everything
from tests.networks import random_raw, to_model, vectors

ROUNDINGS, OVERFLOWS = tuple(Rounding), tuple(Overflow)


def _behind(graph: Graph, name: str) -> tuple[AnyNode, ...]:
    """Return a node with all that it depends on, in order."""
    needed = {name}
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    return tuple(node for node in graph.nodes if node.name in needed)


def wrong(graph: Graph, name: str, *, lowered: Graph | None = None, count: int = 150) -> int:
    """Return how many values the cone of a node, and of what repeats its inputs, computes differently."""
    nodes = _behind(graph, name)
    alone = replace(graph, nodes=nodes, inputs=tuple(n.name for n in nodes if n.kind == "input"), outputs=(name,))
    values = evaluate(alone, vectors(np.random.default_rng(3), alone, count))
    before = (source for source in graph.node(name).inputs if source not in graph.inputs)
    cone = lower(lowered or graph, (*before, name))
    tensors = tuple(values[port.edge].raw.reshape(count, -1) for port in cone.inputs)
    theirs = values[name].raw.reshape(count, -1)
    return int((run_cone(cone, tensors).astype(object) != theirs.astype(object)).sum())


@pytest.fixture(scope="module")
def converted() -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hls4ml clips tables
        return to_graph(to_model(everything(parallel=True), Path("unwritten")), name="net", label_of={})


def test_cones_equal_all_that_hls4ml_converts(converted: Graph) -> None:
    assert len(converted.outputs) == 95
    assert {name: count for name in converted.outputs if (count := wrong(converted, name, count=80))} == {}


class Draw:
    """Draw types, tables and nodes from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def type(self, low: int = 2, high: int = 10) -> FixedType:
        width = int(self.rng.integers(low, high + 1))
        return FixedType(
            width,
            int(self.rng.integers(-2, width + 3)),
            bool(self.rng.random() < 0.6),
            ROUNDINGS[self.rng.integers(7)],
            OVERFLOWS[self.rng.integers(4)],
        )

    def codes(self, kind: FixedType, *shape: int) -> IntArray:
        return random_raw(self.rng, kind, shape)

    def table(self, argument: FixedType, kind: FixedType) -> IntArray:
        return self.codes(kind, 1 << int(self.rng.integers(1, min(argument.width, 6) + 1)))

    def graph(self, what: str) -> Graph:
        """Return inputs and one node m of the kind `what`."""
        shape = (int(self.rng.integers(1, 3)), int(self.rng.integers(1, 6)))
        kinds = [self.type() for _ in range(2 if what in ("dot", *get_args(MergeOp)) else 1)]
        shape = shape[1:] if what == "dot" else shape
        inputs = [
            Input(name=f"x{k}", label="x", inputs=(), shape=shape, type=replace(kind, overflow=Overflow.WRAP))
            for k, kind in enumerate(kinds)
        ]
        names = tuple(node.name for node in inputs)
        common = {"name": "m", "label": "m", "inputs": names, "shape": shape, "type": self.type()}
        node = self._node(what, common, inputs[0].type)
        graph = Graph("net", (*inputs, node), names, ("m",))
        verify(graph)
        return graph

    def _node(self, what: str, common: dict[str, Any], x: FixedType) -> AnyNode:
        match what:
            case "dot":
                return Dot(**(common | {"shape": (1,)}), accumulator=self.type(), length=common["shape"][0])
            case "argmax":
                return Argmax(**common)
            case "legacy":
                kind, sizes = self.type(4, 12), self.rng.integers(2, 70, 2)
                tables = {"exponentials": self.codes(kind, int(sizes[0])), "inverses": self.codes(kind, int(sizes[1]))}
                return LegacySoftmax(**common, **tables, table_type=kind)
            case "stable" | "latency":
                difference = replace(self.type(), signed=False) if what == "stable" else None
                kinds = {"exponential_type": self.type(), "inverse_type": self.type()}
                argument = self.type()
                return Softmax(
                    **common,
                    **kinds,
                    difference=difference,
                    accumulator=self.type(),
                    inverse_argument=argument,
                    exponentials=self.table(difference or x, kinds["exponential_type"]),
                    inverses=self.table(argument, kinds["inverse_type"]),
                )
            case "norm":
                channels = common["shape"][-1]
                kinds = {which: self.type(2, 6) for which in ("scale_type", "bias_type", "root_type")}
                accumulator = self.type(4, 10)
                return LayerNorm(
                    **common,
                    **kinds,
                    accumulator=accumulator,
                    inverse_count=int(self.codes(accumulator, 1)[0]),
                    inverse_roots=self.codes(kinds["root_type"], int(self.rng.integers(1, 40))),
                    scale=self.codes(kinds["scale_type"], channels),
                    bias=self.codes(kinds["bias_type"], channels),
                    range_power=int(self.rng.integers(0, 3)),
                )
            case _:
                return Merge(**common, op=what)


KINDS = (*get_args(MergeOp), "dot", "argmax", "legacy", "stable", "latency", "norm")


@pytest.mark.parametrize("what", KINDS)
def test_cones_of_drawn_nodes_equal_them(what: str) -> None:
    assert [seed for seed in range(25) if wrong(Draw(seed).graph(what), "m", count=60)] == []


@pytest.mark.campaign
@pytest.mark.parametrize("what", KINDS)
def test_cones_of_many_drawn_nodes_equal_them(what: str) -> None:
    assert [seed for seed in range(100, 400) if wrong(Draw(seed).graph(what), "m")] == []


FIELDS = {
    "dot0": ("accumulator",),
    "legacy0": ("exponentials", "inverses"),
    "own": ("difference", "accumulator", "inverse_argument", "exponentials", "inverses"),
    "own_latency": ("accumulator", "inverse_argument", "exponentials", "inverses"),
    "short_norm_x": ("accumulator", "inverse_roots", "scale", "bias"),
}


def faulty(value: Any) -> Any:
    """Return a table turned by one entry, or a type with one fraction bit less."""
    if isinstance(value, FixedType):
        return replace(value, integer=value.integer + 1)
    return np.roll(value, 1)


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, fields in FIELDS.items() for field in fields])
def test_faults_in_a_cone_are_seen(converted: Graph, name: str, field: str) -> None:
    node = converted.node(name)
    other = replace(node, **{field: faulty(getattr(node, field))})
    nodes = tuple(other if old is node else old for old in converted.nodes)
    assert wrong(converted, name, lowered=replace(converted, nodes=nodes), count=80)


def test_another_order_of_sums_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow.engines.lower.softmax, "balanced", lambda count: min(count, 1))
    graphs = [Draw(seed).graph("latency") for seed in range(40)]
    assert any(wrong(graph, "m", count=60) for graph in graphs if graph.node("m").shape[-1] > 2)


@pytest.mark.parametrize("bounds", [(-9627, 20568), (-3, 4), (-4, 3), (-1, 6), (-8, 1), (-1, 1)])
def test_products_of_lopsided_ranges_are_exact(bounds: tuple[int, int]) -> None:
    lo, hi = bounds
    values = np.unique(np.linspace(lo, hi, 40).astype(np.int64))
    pairs = np.array([(a, b) for a in values for b in values])
    builder = ConeBuilder("c", (Port("x", 2, lo, hi),))
    a, b = builder.read(0, 0), builder.read(0, 1)
    cone = builder.finish((multiply(builder, a, b), multiply(builder, a, a)))
    got = run_cone(cone, (pairs,))
    assert (got[:, 0] == pairs[:, 0] * pairs[:, 1]).all()
    assert (got[:, 1] == pairs[:, 0] ** 2).all()
