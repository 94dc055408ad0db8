"""Passes over nodes that only move elements keep the function and leave as few nodes as they can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.fixed import FixedType, Overflow, Rounding
from flow.graph import moves
from flow.graph.graph import Graph, evaluate
from flow.graph.moves import drop_still, merge_moves
from flow.graph.nodes import AnyNode, Input, Quantize, Rearrange, Reshape
from flow.graph.passes import run_passes
from flow.graph.verify import verify
from tests.networks import random_type, vectors

KIND = FixedType(6, 3)


def tensor(name: str, *shape: int, kind: FixedType = KIND) -> Input:
    return Input(name=name, label=name, inputs=(), shape=shape, type=kind)


def move(name: str, inputs: tuple[str, ...], indices: list[int], kind: FixedType = KIND) -> Rearrange:
    shape = (len(indices),)
    return Rearrange(name=name, label=name, inputs=inputs, shape=shape, type=kind, indices=np.array(indices))


def net(*nodes: AnyNode, outputs: tuple[str, ...] = ("z",)) -> Graph:
    graph = Graph("net", nodes, tuple(n.name for n in nodes if n.kind == "input"), outputs)
    verify(graph)
    return graph


def random_moves(seed: int) -> Graph:
    """Draw a network that only moves elements, some of it read twice, some of it with other types."""
    rng = np.random.default_rng(seed)

    def draw() -> FixedType:
        return KIND if rng.random() < 0.7 else random_type(rng, width=(4, 8))

    nodes: list[AnyNode] = [tensor(f"x{k}", int(rng.integers(1, 6)), kind=draw()) for k in range(2)]
    for k in range(7):
        count = int(rng.integers(1, 3))
        before = [nodes[int(i)] for i in rng.integers(max(0, len(nodes) - 4), len(nodes), count)]
        if rng.random() < 0.2:
            source = before[0]
            shape = (1, source.size)
            nodes.append(Reshape(name=f"n{k}", label="", inputs=(source.name,), shape=shape, type=source.type))
            continue
        size = sum(node.size for node in before)
        still = rng.random() < 0.3
        indices = list(range(size)) if still else rng.integers(-1, size, int(rng.integers(1, 7))).tolist()
        nodes.append(move(f"n{k}", tuple(node.name for node in before), indices, draw()))
    outputs = ("n6", "n3") if rng.random() < 0.3 else ("n6",)
    return net(*nodes, outputs=outputs)


def agree(graph: Graph, after: Graph, seed: int) -> bool:
    raw = vectors(np.random.default_rng(seed), graph, 40)
    first, second = evaluate(graph, raw), evaluate(after, raw)
    return all((first[name].raw == second[name].raw).all() for name in graph.outputs)


@pytest.mark.parametrize("seed", range(80))
def test_moved_elements_stay_the_same(seed: int) -> None:
    graph = random_moves(seed)
    assert agree(graph, run_passes(graph), seed)


def test_types_that_lose_values_are_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "_holds", lambda *types: len(types) == 2)
    assert sum(not agree(random_moves(seed), merge_moves(random_moves(seed)), seed) for seed in range(80)) >= 3


def test_a_move_of_a_move_is_one() -> None:
    first = move("y", ("a", "b"), [4, -1, 0, 2])
    shaped = Reshape(name="r", label="r", inputs=("y",), shape=(2, 2), type=KIND)
    last = move("z", ("r", "a"), [0, 1, 2, 3, -1, 4, 6])
    graph = merge_moves(net(tensor("a", 3), tensor("b", 2), first, shaped, last))
    (node,) = (n for n in graph.nodes if n.kind != "input")
    assert isinstance(node, Rearrange)
    assert node.inputs == ("a", "b", "a")
    assert node.indices.tolist() == [4, -1, 0, 2, -1, 5, 7]


def test_a_move_that_is_read_twice_or_leaves_stays() -> None:
    first, last = move("y", ("a",), [2, 1, 0]), move("z", ("y",), [1, 1])
    read = move("w", ("y",), [0, 0])
    assert len(merge_moves(net(tensor("a", 3), first, last, read, outputs=("z", "w"))).nodes) == 4
    assert len(merge_moves(net(tensor("a", 3), first, last, outputs=("y", "z"))).nodes) == 3


def test_what_moves_nothing_goes() -> None:
    still, last = move("y", ("a",), [0, 1, 2]), move("z", ("y",), [1, 1])
    assert [n.name for n in drop_still(net(tensor("a", 3), still, last)).nodes] == ["a", "z"]
    (_, shaped) = drop_still(net(tensor("a", 3, 1), still, outputs=("y",))).nodes
    assert isinstance(shaped, Reshape)
    rounded = FixedType(5, 3, True, Rounding.RND, Overflow.SAT)
    (_, cast) = drop_still(net(tensor("a", 3), replace(still, type=rounded), outputs=("y",))).nodes
    assert isinstance(cast, Quantize)
    (_, both) = drop_still(net(tensor("a", 3, 1), replace(still, type=rounded), outputs=("y",))).nodes
    assert isinstance(both, Rearrange)
    symmetric = replace(KIND, overflow=Overflow.SAT_SYM)
    (_, cast) = drop_still(net(tensor("a", 3), replace(still, type=symmetric), outputs=("y",))).nodes
    assert isinstance(cast, Quantize)
    for unlike in ([0, 1], [0, 2, 1], [0, 1, -1]):
        assert len(drop_still(net(tensor("a", 3), move("y", ("a",), unlike), last)).nodes) == 3
