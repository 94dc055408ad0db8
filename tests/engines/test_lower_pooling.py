"""Pools, moved elements and tables as cones: equal to their nodes' integer semantics, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.engines.cone import Add, Cone, Constant, Lookup, Read, Select, check_cone, run_cone
from flow.engines.lower import lower, lower_graph, pooling, runs
from flow.engines.lower.open_sum import Sum
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode, Embedding, Input, Pool, Quantize, Rearrange, Relu
from flow.graph.verify import verify
from flow.graph.window import Window
from tests.networks import random_raw, random_type, vectors


def near(rng: np.random.Generator, kind: FixedType) -> FixedType:
    """Draw a type that keeps some of the bits around those of a given one."""
    modes = random_type(rng)
    integer, fraction = kind.integer + int(rng.integers(-2, 4)), kind.fraction + int(rng.integers(-2, 4))
    width = max(1, integer + fraction)
    return FixedType(width, width - fraction, modes.signed, modes.rounding, modes.overflow)


def random_pool(rng: np.random.Generator) -> Graph:
    """Draw a pool between two casts, with padding, overlaps and any accumulator."""
    rows, columns = (int(n) for n in rng.integers(1, 6, 2))
    kernel = tuple(int(rng.integers(1, n + 1)) for n in (rows, columns))
    stride = tuple(int(n) for n in rng.integers(1, 4, 2))
    pads = tuple(int(rng.integers(0, k)) if rng.random() < 0.4 else 0 for k in np.repeat(kernel, 2))
    window = Window(rows, columns, int(rng.integers(1, 4)), kernel, stride, pads)
    outside = (window.taps() < 0).all(axis=1).any()
    window = replace(window, pads=(0, 0, 0, 0)) if outside else window
    x = random_type(rng, width=(1, 8))
    middle, places = near(rng, x), window.positions
    shape = (rows, columns, window.channels)
    accumulator = near(rng, middle) if rng.random() < 0.8 else FixedType(middle.width + 6, middle.integer + 6)
    pool = Pool(
        name="p",
        label="p",
        inputs=("q",),
        shape=(*places, window.channels),
        type=near(rng, accumulator),
        window=window,
        op="max" if rng.random() < 0.4 else "average",
        accumulator=accumulator,
        arithmetic=("parallel", "streamed", "running")[rng.integers(3)],
        count_padding=bool(rng.integers(2)),
    )
    nodes: tuple[AnyNode, ...] = (
        Input(name="x", label="x", inputs=(), shape=shape, type=x),
        Quantize(name="q", label="q", inputs=("x",), shape=shape, type=middle),
        pool,
        Relu(name="r", label="r", inputs=("p",), shape=pool.shape, type=near(rng, pool.type)),
    )
    return Graph("net", nodes, ("x",), ("r",))


def same(graph: Graph, cone: Cone, count: int = 60) -> bool:
    """Tell whether the cone of a whole graph computes what the graph does."""
    check_cone(cone)
    raw = vectors(np.random.default_rng(7), graph, count)
    ours = run_cone(cone, tuple(raw[port.edge].reshape(count, -1) for port in cone.inputs))
    theirs = evaluate(graph, raw)[graph.outputs[0]].raw.reshape(count, -1)
    return bool((ours.astype(object) == theirs.astype(object)).all())


def whole(graph: Graph) -> tuple[str, ...]:
    return tuple(node.name for node in graph.nodes if node.kind != "input")


@pytest.mark.parametrize("seed", range(120))
def test_pools_equal_their_evaluation(seed: int) -> None:
    graph = random_pool(np.random.default_rng(seed))
    verify(graph)
    assert same(graph, lower(graph, whole(graph)))


@pytest.mark.parametrize("bits", [40, 70])
def test_wide_pools_equal_their_evaluation(bits: int) -> None:
    for seed in range(20):
        graph = random_pool(np.random.default_rng(seed))
        wide = tuple(replace(n, type=replace(n.type, width=bits, integer=n.type.integer + 5)) for n in graph.nodes)
        pool = next(n for n in wide if isinstance(n, Pool))
        accumulator = FixedType(bits + 3, pool.accumulator.integer + 7, overflow=Overflow.SAT)
        graph = replace(graph, nodes=tuple(replace(n, accumulator=accumulator) if n is pool else n for n in wide))
        assert same(graph, lower(graph, whole(graph)), 20)


def seeds_that_see(monkeypatch: pytest.MonkeyPatch, name: str, wrong: object) -> int:
    """Return how many of 300 pools a wrong function in the lowering spoils."""
    monkeypatch.setattr(pooling, name, wrong)
    graphs = [random_pool(np.random.default_rng(seed)) for seed in range(300)]
    return sum(not same(graph, lower(graph, whole(graph))) for graph in graphs)


def test_sums_in_another_order_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pooling._plus
    assert seeds_that_see(monkeypatch, "_halves", lambda b, cells, acc: _in_order(real, b, cells, acc)) >= 2


def _in_order(plus: object, builder: object, cells: list[Sum], accumulator: FixedType) -> Sum:
    added = Sum(())
    for cell in cells:
        added = plus(builder, added, cell, accumulator, accumulator)
    return added


def coarse_sum(rounding: Rounding) -> Graph:
    """Return an average whose wrapping accumulator drops two fraction bits of every sum."""
    x, accumulator = FixedType(6, 3), FixedType(6, 5, True, rounding)
    window = Window(2, 3, 1, (2, 3), (1, 1), (0, 0, 0, 0))
    pool = Pool(
        name="p",
        label="p",
        inputs=("x",),
        shape=(1,),
        type=FixedType(12, 5),
        window=window,
        op="average",
        accumulator=accumulator,
    )
    port = Input(name="x", label="x", inputs=(), shape=(2, 3, 1), type=x)
    return Graph("net", (port, pool), ("x",), ("p",))


@pytest.mark.parametrize("rounding", Rounding)
def test_sums_that_round_at_each_step_equal_their_evaluation(
    rounding: Rounding, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = coarse_sum(rounding)
    keeps_steps = rounding in pooling._KEEP_STEPS
    assert same(graph, lower(graph, ("p",)))
    monkeypatch.setattr(pooling, "_KEEP_STEPS", frozenset(Rounding))
    assert same(graph, lower(graph, ("p",))) is keeps_steps


def test_a_missing_cell_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pooling._largest
    assert seeds_that_see(monkeypatch, "_largest", lambda b, n, pixels, place: real(b, n, pixels, _first(place))) >= 8


def _first(place: IntArray) -> IntArray:
    """Return a place with its last cell inside the image outside of it, if it has two."""
    inside = np.flatnonzero(place >= 0)
    return np.where(np.arange(len(place)) == inside[-1], -1, place) if len(inside) > 1 else place


def test_windows_that_overlap_share_the_maxima_of_rows() -> None:
    window = Window(9, 3, 1, (3, 3), (1, 3), (0, 0, 0, 0))
    x, kind = Input(name="x", label="x", inputs=(), shape=(9, 3, 1), type=FixedType(6, 3)), FixedType(6, 3)
    pool = Pool(
        name="p", label="p", inputs=("x",), shape=(7, 1, 1), type=kind, window=window, op="max", accumulator=kind
    )
    graph = Graph("net", (x, pool), ("x",), ("p",))
    cone = lower(graph, ("p",))
    assert same(graph, cone)
    assert sum(isinstance(op, Select) for op in cone.ops) == 9 * 2 + 7 * 2


def moved(indices: list[int], kind: FixedType, *, size: int = 6) -> Rearrange:
    return Rearrange(name="m", label="m", inputs=("x",), shape=(len(indices),), type=kind, indices=np.array(indices))


def test_moving_elements_takes_no_logic_and_pads_with_zeros() -> None:
    kind = FixedType(6, 3)
    x = Input(name="x", label="x", inputs=(), shape=(6,), type=kind)
    graph = Graph("net", (x, moved([5, -1, 0, 0, 3], kind)), ("x",), ("m",))
    cone = lower(graph, ("m",))
    assert same(graph, cone)
    assert {type(op) for op in cone.ops} == {Read, Constant}


@pytest.mark.parametrize("seed", range(25))
def test_gathered_elements_of_several_inputs_equal_their_evaluation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, int(rng.integers(1, 4)))
    names = tuple(f"x{k}" for k in range(len(sizes)))
    inputs = [
        Input(name=n, label=n, inputs=(), shape=(int(s),), type=random_type(rng))
        for n, s in zip(names, sizes, strict=True)
    ]
    count = int(rng.integers(1, 12))
    node = Rearrange(
        name="m",
        label="m",
        inputs=names,
        shape=(count,),
        type=random_type(rng),
        indices=rng.integers(-1, int(sizes.sum()), count),
    )
    graph = Graph("net", (*inputs, node), names, ("m",))
    verify(graph)
    assert same(graph, lower(graph, ("m",)))


def test_a_sum_that_is_moved_to_several_places_is_added_once() -> None:
    kind = FixedType(12, 6)
    x = Input(name="x", label="x", inputs=(), shape=(2, 2, 1), type=FixedType(6, 3))
    window = Window(2, 2, 1, (2, 2), (2, 2), (0, 0, 0, 0))
    pool = Pool(
        name="p", label="p", inputs=("x",), shape=(1,), type=kind, window=window, op="average", accumulator=kind
    )
    node = replace(moved([0] * 5, kind), inputs=("p",))
    graph = Graph("net", (x, pool, node), ("x",), ("m",))
    cone = lower(graph, ("p", "m"))
    assert same(graph, cone)
    assert sum(isinstance(op, Add) for op in cone.ops) <= 5


def test_what_only_moves_elements_joins_the_run_before_it() -> None:
    kind = FixedType(6, 3)
    x = Input(name="x", label="x", inputs=(), shape=(6,), type=kind)
    first = Relu(name="r", label="r", inputs=("x",), shape=(6,), type=kind)
    last = Quantize(name="q", label="q", inputs=("m",), shape=(3,), type=FixedType(5, 3))
    chain = (x, first, replace(moved([1, 0, -1], kind), inputs=("r",)), last)
    assert runs(Graph("net", chain, ("x",), ("q",))) == (("r", "m", "q"),)
    joined = replace(moved([1, 0, 7], kind), inputs=("r", "x"))
    assert runs(Graph("net", (x, first, joined, last), ("x",), ("q",))) == (("r",), ("m", "q"))


def test_ranges_reach_through_moved_elements() -> None:
    kind = FixedType(9, 5)
    x = Input(name="x", label="x", inputs=(), shape=(6,), type=FixedType(4, 4, signed=False))
    add = Relu(name="r", label="r", inputs=("x",), shape=(6,), type=kind)
    node = replace(moved([1, 0, -1], kind), inputs=("r",))
    last = Pool(
        name="p",
        label="p",
        inputs=("m",),
        shape=(1,),
        type=kind,
        window=Window(1, 3, 1, (1, 3), (1, 3), (0, 0, 0, 0)),
        op="max",
        accumulator=kind,
    )
    graph = Graph("net", (x, add, node, last), ("x",), ("p",))
    (port,) = lower(graph, ("p",), ranges={"r": (16, 48)}).inputs
    assert (port.edge, port.lo, port.hi) == ("m", 0, 48)
    (port,) = lower(graph, ("p",), ranges={"m": (3, 4)}).inputs
    assert (port.lo, port.hi) == (3, 4)
    narrow = replace(graph, nodes=(x, add, replace(node, type=FixedType(6, 2)), last))
    assert lower(narrow, ("p",), ranges={"r": (16, 48)}).inputs[0].hi == 31
    assert [cone.output_range for cone in lower_graph(graph, (("r",), ("m",), ("p",)))] == [(0, 240)] * 3


@pytest.mark.parametrize("vocabulary", [1, 3, 8, 11])
@pytest.mark.parametrize("x", [FixedType(3, 3), FixedType(3, 3, signed=False), FixedType(5, 5), FixedType(1, 1)])
def test_tables_of_rows_equal_their_evaluation(vocabulary: int, x: FixedType) -> None:
    rng = np.random.default_rng(vocabulary)
    rows = random_raw(rng, FixedType(6, 2), (vocabulary, 3))
    nodes = (
        Input(name="x", label="x", inputs=(), shape=(2,), type=x),
        Embedding(
            name="e",
            label="e",
            inputs=("x",),
            shape=(2, 3),
            type=FixedType(5, 2, True, Rounding.RND, Overflow.SAT),
            rows=rows,
            row_type=FixedType(6, 2),
        ),
    )
    graph = Graph("net", nodes, ("x",), ("e",))
    verify(graph)
    cone = lower(graph, ("e",))
    assert same(graph, cone)
    if vocabulary == 8 and not x.signed:
        assert sum(isinstance(op, Lookup) for op in cone.ops) == 6
