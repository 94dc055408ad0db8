"""Cones equal their nodes' integer semantics, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.adder_graph import solve_matrix
from flow.engines.adders import plain_graph
from flow.engines.cone import Cone, check_cone, run_cone
from flow.engines.lower import lower_graph
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Affine, AnyNode, Dense, Input, Quantize, Relu, Reshape
from flow.graph.verify import verify

ROUNDINGS, OVERFLOWS = tuple(Rounding), tuple(Overflow)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FPGAFLOW_CACHE", str(tmp_path))


class Draw:
    """Draw types, codes and graphs from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def type(self, low: int = 1, high: int = 14) -> FixedType:
        width = self.integer(low, high)
        return FixedType(
            width,
            self.integer(-3, width + 3),
            bool(self.rng.random() < 0.7),
            ROUNDINGS[self.integer(0, 6)],
            OVERFLOWS[self.integer(0, 3)],
        )

    def codes(self, kind: FixedType, shape: tuple[int, ...]) -> IntArray:
        style = self.integer(0, 5)
        if style == 0:
            values = np.zeros(shape, dtype=np.int64)
        elif style == 1:
            values = self.rng.integers(-1, 2, shape)
        elif style == 2:
            values = self.rng.choice([-1, 1], shape) << self.rng.integers(0, min(kind.width, 40), shape)
        elif style == 3:
            values = self.rng.integers(kind.lo, kind.hi, shape, endpoint=True) * (self.rng.random(shape) < 0.3)
        else:
            values = self.rng.integers(kind.lo, kind.hi, shape, endpoint=True)
        values = np.clip(values, kind.lo, kind.hi)
        if style == 5 and len(shape) == 2 and shape[1] > 2:  # columns that repeat, shifted and negated
            values[:, 1] = np.clip(-values[:, 0] * 2, kind.lo, kind.hi)
            values[:, 2] = values[:, 0]
            values[0] = 0
        return values

    def dense(self, before: AnyNode, name: str) -> Dense:
        weight_type = replace(self.type(1, 8), overflow=Overflow.WRAP)
        bias_type = replace(self.type(1, 8), overflow=Overflow.WRAP)
        fraction = before.type.fraction + weight_type.fraction
        style = self.integer(0, 3)
        if style == 0:
            accumulator = self.type(4, 16)
        else:
            drop = self.integer(0, 4) if style == 1 else -self.integer(0, 2)
            width = self.integer(3, 12) if style == 2 else self.integer(14, 26)
            modes = ROUNDINGS[self.integer(0, 6)], OVERFLOWS[self.integer(0, 3)]
            accumulator = FixedType(width, width - (fraction - drop), bool(self.rng.random() < 0.8), *modes)
        n_out = self.integer(1, 6)
        return Dense(
            name=name,
            label=name,
            inputs=(before.name,),
            shape=(n_out,),
            type=self.result(accumulator),
            weights=self.codes(weight_type, (before.size, n_out)),
            bias=self.codes(bias_type, (n_out,)),
            weight_type=weight_type,
            bias_type=bias_type,
            accumulator=accumulator,
        )

    def result(self, near: FixedType) -> FixedType:
        """Draw a type whose bits overlap another's, so that results are not all zero."""
        if self.integer(0, 2) == 0:
            return near
        fraction = near.fraction - self.integer(-1, max(near.width - 2, 0))
        width = self.integer(1, 12)
        modes = ROUNDINGS[self.integer(0, 6)], OVERFLOWS[self.integer(0, 3)]
        return FixedType(width, width - fraction, bool(self.rng.random() < 0.7), *modes)

    def elementwise(self, before: AnyNode, name: str) -> AnyNode:
        base = {"name": name, "label": name, "inputs": (before.name,), "shape": before.shape}
        style = self.integer(0, 4)
        if style == 0:
            return Reshape(**{**base, "shape": (before.size, 1)}, type=before.type)
        if style == 1:
            return Quantize(**base, type=self.result(before.type))
        if style == 2:
            scale_type, bias_type = self.type(1, 8).exact(), self.type(1, 8).exact()
            result = self.result(replace(before.type, integer=before.type.integer + scale_type.integer))
            channels = (before.shape[-1],)
            return Affine(
                **base,
                type=result,
                scale=self.codes(scale_type, channels),
                bias=self.codes(bias_type, channels),
                scale_type=scale_type,
                bias_type=bias_type,
            )
        slope_type = self.type(1, 6) if style == 4 else None
        slope = 0 if slope_type is None else self.integer(slope_type.lo, slope_type.hi)
        return Relu(**base, type=self.result(before.type), slope=slope, slope_type=slope_type)

    def graph(self) -> Graph:
        nodes: list[AnyNode] = [
            Input(name="x", label="x", inputs=(), shape=(self.integer(1, 6),), type=self.type(1, 12))
        ]
        for k in range(self.integer(1, 6)):
            before = nodes[-1]
            dense = len(before.shape) == 1 and self.integer(0, 1)
            nodes.append(self.dense(before, f"n{k}") if dense else self.elementwise(before, f"n{k}"))
        graph = Graph("random", tuple(nodes), ("x",), (nodes[-1].name,))
        verify(graph)
        return graph

    def vectors(self, port_type: FixedType, size: int, count: int = 60) -> IntArray:
        lo, hi = port_type.lo, port_type.hi
        corners = [v for v in (lo, hi, lo + 1, hi - 1, 0, 1, -1) if lo <= v <= hi]
        rows = self.rng.integers(lo, hi, (count, size), endpoint=True)
        rows[: len(corners)] = np.array(corners)[:, None]
        mixed = self.rng.choice(corners, (count // 3, size))
        return np.concatenate([rows, mixed])


def computed(graph: Graph, cones: tuple[Cone, ...], raw: IntArray) -> dict[str, IntArray]:
    tensors = {name: raw.reshape(raw.shape[0], -1) for name in graph.inputs}
    for cone in cones:
        check_cone(cone)
        tensors[cone.name] = run_cone(cone, tuple(tensors[port.edge] for port in cone.inputs))
    return tensors


def assert_equal(graph: Graph, cones: tuple[Cone, ...], raw: IntArray) -> None:
    expected = evaluate(graph, {"x": raw.reshape(-1, *graph.node("x").shape)})
    for name, found in computed(graph, cones, raw).items():
        wanted = expected[name].raw.reshape(raw.shape[0], -1)
        wrong = np.argwhere(found != wanted)
        assert wrong.size == 0, (
            f"{name}: vector, element {wrong[0]}: {found[tuple(wrong[0])]}, {wanted[tuple(wrong[0])]}"
        )


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed: int) -> None:
    for k in range(25):
        draw = Draw(1000 * seed + k)
        graph = draw.graph()
        raw = draw.vectors(graph.node("x").type, graph.node("x").size)
        assert_equal(graph, lower_graph(graph, solve=plain_graph if k % 5 else solve_matrix), raw)
