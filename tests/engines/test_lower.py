"""Cones equal their nodes' integer semantics, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from flow.engines.adder_graph import solve_matrix
from flow.engines.adders import AdderGraph, plain_graph
from flow.engines.cone import Add, Cone, Limit, Select, check_cone, depth, run_cone
from flow.engines.lower import lower, lower_graph, runs
from flow.errors import VerificationError
from flow.fixed import FixedType, IntArray, Overflow, Rounding, parse_type
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
            self.integer(-3, width + 3) if self.integer(0, 3) == 0 else self.integer(0, width),
            bool(self.rng.random() < 0.7),
            ROUNDINGS[self.integer(0, 6)],
            OVERFLOWS[self.integer(0, 3)],
        )

    def codes(self, kind: FixedType, shape: tuple[int, ...]) -> IntArray:
        style = self.integer(0, 11)
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
        if style % 2 and len(shape) == 2 and shape[1] > 2:  # columns that repeat, shifted and negated
            values[:, 1] = np.clip(-values[:, 0] * 2, kind.lo, kind.hi)
            values[:, 2] = values[:, 0]
            values[0] = 0
        return values

    def dense(self, before: AnyNode, name: str) -> Dense:
        weight_type = replace(self.type(1, 8), overflow=Overflow.WRAP)
        bias_type = replace(self.type(1, 8), overflow=Overflow.WRAP)
        fraction = before.type.fraction + weight_type.fraction
        style = self.integer(0, 3)
        product = before.type.width + weight_type.width
        if style == 0:
            accumulator = self.type(4, 16)
        else:
            drop = self.integer(0, product // 2) if style == 1 else -self.integer(0, 2)
            width = self.integer(min(3, product), product) if style == 2 else self.integer(product, product + 6)
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
        """Draw a type whose bits overlap another's, so that results are not all zero or saturated."""
        if self.integer(0, 2) == 0:
            return near
        cut = self.integer(-1, max(near.width - 4, 0))
        width = max(near.width - cut - self.integer(-2, 3), 1)
        modes = ROUNDINGS[self.integer(0, 6)], OVERFLOWS[self.integer(0, 3)]
        return FixedType(width, width - (near.fraction - cut), bool(self.rng.random() < 0.7), *modes)

    def elementwise(self, before: AnyNode, name: str) -> AnyNode:
        base = {"name": name, "label": name, "inputs": (before.name,), "shape": before.shape}
        style = self.integer(0, 4)
        if style == 0:
            return Reshape(**{**base, "shape": (before.size, 1)}, type=before.type)
        if style == 1:
            return Quantize(**base, type=self.result(before.type))
        if style == 2:
            scale_type, bias_type = self.type(1, 8).exact(), self.type(1, 8).exact()
            product = before.type.fraction + scale_type.fraction
            width = before.type.width + scale_type.width
            result = self.result(FixedType(width, width - product))
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


def check_seed(seed: int) -> None:
    draw = Draw(seed)
    graph = draw.graph()
    raw = draw.vectors(graph.node("x").type, graph.node("x").size)
    solve = plain_graph if seed % 5 else solve_matrix
    assert_equal(graph, lower_graph(graph, runs(graph), solve=solve), raw)
    if seed % 4 == 0:  # each run on its own, knowing only types
        assert_equal(graph, tuple(lower(graph, run, solve=plain_graph) for run in runs(graph)), raw)


@pytest.mark.parametrize("seed", range(10))
def test_random_graphs(seed: int) -> None:
    for k in range(30):
        check_seed(1000 * seed + k)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(20))
def test_many_random_graphs(seed: int) -> None:
    for k in range(200):
        check_seed(1_000_000 + 1000 * seed + k)


def chain(input_type: str, *nodes: AnyNode, size: int = 4) -> Graph:
    first = Input(name="x", label="x", inputs=(), shape=(size,), type=parse_type(input_type))
    graph = Graph("chain", (first, *nodes), ("x",), (nodes[-1].name,))
    verify(graph)
    return graph


def dense(
    weights: IntArray, bias: IntArray, kinds: tuple[str, str, str, str], name: str = "d", source: str = "x"
) -> Dense:
    """Make a dense node; kinds: the types of weights, bias, accumulator and result."""
    weight_type, bias_type, accumulator, result = (parse_type(kind) for kind in kinds)
    return Dense(
        name=name,
        label=name,
        inputs=(source,),
        shape=(weights.shape[1],),
        type=result,
        weights=weights,
        bias=bias,
        weight_type=weight_type,
        bias_type=bias_type,
        accumulator=accumulator,
    )


def relu(kind: str, size: int, name: str = "r", source: str = "d") -> Relu:
    return Relu(name=name, label=name, inputs=(source,), shape=(size,), type=parse_type(kind))


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("overflow", Overflow)
def test_every_mode_behind_a_dense(rounding: Rounding, overflow: Overflow) -> None:
    """All inputs of a small layer, with each mode in the quantizer, the rectifier and the accumulator."""
    weights, bias = np.array([[3, -5, 4, 0], [-2, 7, -4, 0]]), np.array([5, -4, 0, 13])
    x = np.stack(np.meshgrid(np.arange(-16, 16), np.arange(-16, 16)), axis=-1).reshape(-1, 2)
    for kind in (f"fixed<4,3,{rounding},{overflow}>", f"ufixed<3,3,{rounding},{overflow}>", f"fixed<1,4,{rounding}>"):
        for accumulator in ("fixed<12,7>", "fixed<6,1>", f"fixed<7,4,{rounding},{overflow}>", "ufixed<5,2>"):
            layer = dense(weights, bias, ("fixed<4,2>", "fixed<5,2>", accumulator, accumulator))
            quantize = Quantize(name="r", label="r", inputs=("d",), shape=(4,), type=parse_type(kind))
            leaky = replace(relu(kind, 4), slope=3, slope_type=parse_type("fixed<4,1>"))
            for last in (relu(kind, 4), quantize, leaky):
                graph = chain("fixed<5,2>", layer, last, size=2)
                assert_equal(graph, lower_graph(graph, runs(graph), solve=plain_graph), x)


def test_a_sum_that_always_ties_is_made_even() -> None:
    kinds = ("fixed<6,6>", "fixed<4,4>", "fixed<20,20>", "fixed<20,20>")
    for bias in range(-8, 8):
        layer = dense(np.array([[8], [-16]]), np.array([bias]), kinds)
        quantize = Quantize(name="r", label="r", inputs=("d",), shape=(1,), type=parse_type("fixed<8,10,RND_CONV>"))
        graph = chain("fixed<3,3>", layer, quantize, size=2)
        x = np.stack(np.meshgrid(np.arange(-4, 4), np.arange(-4, 4)), axis=-1).reshape(-1, 2)
        assert_equal(graph, lower_graph(graph, runs(graph), solve=plain_graph), x)


def test_wide_types_do_not_wrap() -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(-(1 << 31), 1 << 31, (4, 3))
    bias = rng.integers(-(1 << 31), 1 << 31, 3)
    x = rng.integers(-(1 << 31), 1 << 31, (50, 4))
    for accumulator in ("fixed<32,16>", "fixed<70,34>", "fixed<64,32,RND_CONV,SAT>"):
        layer = dense(weights, bias, ("fixed<32,16>", "fixed<32,16>", accumulator, "fixed<32,16,RND,SAT>"))
        graph = chain("fixed<32,16>", layer, relu("ufixed<20,8,RND_CONV,SAT>", 3))
        assert_equal(graph, lower_graph(graph, runs(graph)), x)


def test_runs_end_where_a_tensor_leaves() -> None:
    def quantize(name: str, source: str) -> Quantize:
        return Quantize(name=name, label=name, inputs=(source,), shape=(2,), type=parse_type("fixed<6,3>"))

    square = np.array([[1, 2], [3, 1]])
    kinds = ("fixed<4,4>", "fixed<4,4>", "fixed<20,10>", "fixed<8,4>")
    nodes = (
        Input(name="x", label="x", inputs=(), shape=(2,), type=parse_type("fixed<5,2>")),
        quantize("q0", "x"),
        quantize("q1", "q0"),
        dense(square, np.array([0, 1]), kinds, "d0", "q1"),
        relu("fixed<6,3>", 2, "r0", "d0"),
        quantize("q2", "r0"),  # its output is read twice
        dense(square, np.array([0, 1]), kinds, "d1", "q2"),
        quantize("q3", "q2"),
        relu("fixed<6,3>", 2, "r1", "d1"),  # its output leaves the graph
        quantize("q4", "r1"),
    )
    graph = Graph("forked", nodes, ("x",), ("r1", "q4", "q3"))
    verify(graph)
    assert runs(graph) == (("q0", "q1"), ("d0", "r0", "q2"), ("d1", "r1"), ("q3",), ("q4",))
    rng = np.random.default_rng(0)
    assert_equal(graph, lower_graph(graph, runs(graph)), rng.integers(-16, 16, (100, 2)))


def test_bias_and_rounding_join_the_adder_tree() -> None:
    weights = np.array([[1], [1], [1], [1]])
    kinds = ("fixed<2,2>", "fixed<8,4>", "fixed<20,12>", "fixed<20,12>")

    def last_cone(bias: int, kind: str) -> Cone:
        graph = chain("fixed<8,2>", dense(weights, np.array([bias]), kinds), relu(kind, 1))
        return lower_graph(graph, runs(graph))[-1]

    bare = last_cone(0, "fixed<12,10>")
    rounded = last_cone(5, "fixed<12,10,RND_CONV,SAT>")
    adders = [sum(isinstance(op, Add) for op in cone.ops) for cone in (bare, rounded)]
    assert adders == [3, 4]  # bias and rounding cost one adder together
    assert depth(last_cone(5, "fixed<12,10,RND>")) == 3


def test_a_negated_column_needs_no_negation() -> None:
    weights = np.array([[-1, 1], [-1, 1]])
    kinds = ("fixed<2,2>", "fixed<4,4>", "fixed<20,12>", "fixed<20,12>")
    graph = chain("fixed<8,2>", dense(weights, np.array([3, 0]), kinds), size=2)
    (cone,) = lower_graph(graph, runs(graph))
    assert sum(isinstance(op, Add) for op in cone.ops) == 2  # x + y, bias - (x + y)


def test_a_saturating_rectifier_is_one_operation() -> None:
    kinds = ("fixed<6,6>", "fixed<6,6>", "fixed<20,12>", "fixed<20,12>")
    graph = chain("fixed<8,2>", dense(np.full((4, 1), 21), np.array([0]), kinds), relu("ufixed<6,2,TRN,SAT>", 1))
    (cone,) = lower_graph(graph, runs(graph))
    assert [type(op) for op in cone.ops if isinstance(op, Limit | Select)] == [Limit]


def test_ranges_of_earlier_cones_narrow_later_ones() -> None:
    ones = np.ones((4, 4), dtype=np.int64)
    kinds = ("fixed<2,2>", "fixed<2,2>", "fixed<20,18>", "fixed<20,18>")
    graph = chain(
        "ufixed<3,1>",
        dense(ones, np.zeros(4, dtype=np.int64), kinds),
        dense(ones, np.ones(4, dtype=np.int64), kinds, "e", "d"),
    )
    cones = lower_graph(graph, runs(graph))
    assert (cones[1].inputs[0].lo, cones[1].inputs[0].hi) == (0, 28)
    alone = lower(graph, ("e",))
    assert (alone.inputs[0].lo, alone.inputs[0].hi) == (-(1 << 19), (1 << 19) - 1)
    assert alone.width(alone.outputs[0]) > cones[1].width(cones[1].outputs[0])


def test_a_reshape_does_not_narrow_a_range() -> None:
    reshape = Reshape(name="s", label="s", inputs=("x",), shape=(4,), type=parse_type("fixed<4,4,TRN,SAT_SYM>"))
    graph = chain("fixed<4,4>", reshape)
    nodes = (
        *graph.nodes,
        dense(np.ones((4, 1), dtype=np.int64), np.array([0]), ("fixed<2,2>",) * 2 + ("fixed<9,9>",) * 2, "d", "s"),
    )
    graph = Graph("reshaped", nodes, ("x",), ("s", "d"))
    verify(graph)
    assert lower(graph, ("d",)).inputs[0].lo == -8


@pytest.mark.parametrize("fault", ["sign", "shift", "output"])
def test_a_wrong_adder_graph_is_never_built(fault: str) -> None:
    def wrong(matrix: IntArray, lo: int, hi: int) -> AdderGraph:
        graph = plain_graph(matrix, lo, hi)
        last = graph.adders[-1]
        if fault == "output":
            return replace(graph, outputs=graph.outputs[::-1])
        changed = (
            replace(last, subtract=not last.subtract) if fault == "sign" else replace(last, shift_a=last.shift_a + 1)
        )
        return replace(graph, adders=(*graph.adders[:-1], changed))

    weights = np.array([[3, -5], [-2, 7], [11, 1], [1, 1]])
    kinds = ("fixed<6,6>", "fixed<6,6>", "fixed<20,12>", "fixed<20,12>")
    graph = chain("fixed<8,2>", dense(weights, np.array([1, 2]), kinds))
    with pytest.raises(VerificationError):
        lower_graph(graph, runs(graph), solve=wrong)


def test_saturating_sums_keep_the_order_of_the_inputs() -> None:
    weights = np.array([[1], [1], [-1], [-1]])
    kinds = ("fixed<2,2>", "fixed<4,4>", "fixed<4,4,TRN,SAT>", "fixed<4,4>")
    graph = chain("fixed<4,4>", dense(weights, np.array([0]), kinds))
    (cone,) = lower_graph(graph, runs(graph))
    assert run_cone(cone, (np.array([[7, 7, 7, 7]]),)).tolist() == [[-7]]  # 7, 7 (not 14), 0, -7
    rng = np.random.default_rng(0)
    assert_equal(graph, (cone,), rng.integers(-8, 8, (500, 4)))
    # where ranges show that nothing saturates, the sum is a tree
    quiet = chain(
        "fixed<4,4>", dense(weights, np.array([0]), ("fixed<2,2>", "fixed<4,4>", "fixed<9,9,TRN,SAT>", "fixed<9,9>"))
    )
    (cone,) = lower_graph(quiet, runs(quiet))
    assert depth(cone) == 2
    assert not any(isinstance(op, Limit) for op in cone.ops)


def test_same_operations_in_every_process(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_lower import Draw\nfrom flow.engines.lower import lower_graph, runs\n"
        "graphs = [Draw(seed).graph() for seed in range(0, 40, 5)]\n"
        "print([cone.ops for graph in graphs for cone in lower_graph(graph, runs(graph))])"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).parent)],
            env={**os.environ, "PYTHONHASHSEED": seed, "FPGAFLOW_CACHE": str(tmp_path / seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1
    assert len(answers.pop()) > 1000


MODELS = Path(__file__).parents[2] / ".." / "shared" / "models"


def stored_arrays(name: str) -> list[tuple[IntArray, IntArray]]:
    """Return (weights, bias) of a public network's dense layers, as floats."""
    found: dict[str, IntArray] = {}
    with h5py.File(MODELS / name) as file:
        file.visititems(lambda key, item: found.update({key: item[()]}) if isinstance(item, h5py.Dataset) else None)
    kernels = [key for key in found if "kernel" in key]
    return [(found[key], found[key.replace("kernel", "bias")]) for key in kernels]


@pytest.mark.skipif(not MODELS.is_dir(), reason="the public models lie beside the checkout, not in it")
@pytest.mark.parametrize(
    ("file", "weight_kind", "relu_kind", "most_adders", "most_depth"),
    [
        ("qkeras_3layer_weights.h5", "fixed<6,1>", "fixed<7,1,RND_CONV,SAT>", 2600, 25),
        ("KERAS_3layer_70pruned_retrained_weights.h5", "fixed<16,6>", "fixed<16,6>", 2500, 28),
    ],
)
def test_public_networks(file: str, weight_kind: str, relu_kind: str, most_adders: int, most_depth: int) -> None:
    weight_type = parse_type(weight_kind)
    scale = 1 << weight_type.fraction
    nodes: list[AnyNode] = [Input(name="x", label="x", inputs=(), shape=(16,), type=parse_type("fixed<16,6>"))]
    for k, arrays in enumerate(stored_arrays(file)):
        weights, bias = (np.clip(np.round(a * scale).astype(int), weight_type.lo, weight_type.hi) for a in arrays)
        accumulator = f"fixed<40,{40 - nodes[-1].type.fraction - weight_type.fraction}>"
        kinds = (weight_kind, weight_kind, accumulator, "fixed<16,6>" if k == 3 else accumulator)
        nodes.append(dense(weights, bias, kinds, f"d{k}", nodes[-1].name))
        if k < 3:
            nodes.append(relu(relu_kind, weights.shape[1], f"r{k}", f"d{k}"))
    graph = Graph("public", tuple(nodes), ("x",), (nodes[-1].name,))
    verify(graph)
    cones = lower_graph(graph, runs(graph))
    rng = np.random.default_rng(0)
    raw = rng.integers(-32768, 32768, (400, 16))
    assert_equal(graph, cones, np.concatenate([raw, raw // 64]))
    assert sum(isinstance(op, Add) for cone in cones for op in cone.ops) <= most_adders
    assert sum(depth(cone) for cone in cones) <= most_depth
