"""Merges and inner products against the same formulas in exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from flow.fixed import FixedArray, FixedType, IntArray, Overflow, Rounding, cast, parse_type
from flow.graph.graph import Graph
from flow.graph.nodes import Dot, Input, Merge
from flow.graph.nodes.merge import MergeOp
from flow.graph.store import from_json, to_json
from flow.graph.verify import verify
from tests.networks import random_raw

FORMULAS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "average": lambda a, b: (a + b) / 2,
    "maximum": max,
    "minimum": min,
}
TYPES = tuple(
    tuple(parse_type(text) for text in row)
    for row in (
        ("fixed<8,3>", "fixed<8,3>", "fixed<9,4>"),
        ("fixed<8,3>", "ufixed<6,-2>", "fixed<7,2,RND_CONV,SAT>"),
        ("ufixed<7,7>", "fixed<12,14>", "ufixed<10,6,TRN_ZERO,WRAP>"),
        ("fixed<40,20>", "fixed<33,2>", "fixed<61,30,RND,SAT_SYM>"),
        ("fixed<64,32>", "ufixed<80,1>", "fixed<150,60>"),
    )
)


def edges(rng: np.random.Generator, kind: FixedType, count: int) -> IntArray:
    """Return random raw values of a type, its ends and zero among them."""
    values = random_raw(rng, kind, (count, 3))
    pick = rng.integers(0, 8, values.shape)
    return np.where(pick == 0, kind.lo, np.where(pick == 1, kind.hi, np.where(pick == 2, 0, values)))


def value(raw: int, kind: FixedType) -> Fraction:
    return Fraction(int(raw)) * Fraction(2) ** -kind.fraction


def assigned(exact: Fraction, kind: FixedType) -> int:
    scaled = exact * Fraction(2) ** 400
    assert scaled.denominator == 1
    return int(cast(np.array([scaled.numerator], dtype=object), 400, kind, 2000)[0])


@pytest.mark.parametrize("types", TYPES, ids=lambda t: "-".join(map(str, t)))
@pytest.mark.parametrize("op", get_args(MergeOp))
def test_merges_are_exact_before_the_assignment(op: MergeOp, types: tuple[FixedType, ...]) -> None:
    a, b, out = types
    node = Merge(name="m", label="m", inputs=("a", "b"), shape=(3,), type=out, op=op)
    rng = np.random.default_rng(7)
    left, right = edges(rng, a, 60), edges(rng, b, 60)
    got = node.evaluate((FixedArray(left, a), FixedArray(right, b)))
    wanted = [assigned(FORMULAS[op](value(p, a), value(q, b)), out) for p, q in zip(left.flat, right.flat, strict=True)]
    assert [int(v) for v in got.raw.flat] == wanted


@pytest.mark.parametrize("accumulator", ["fixed<10,4>", "fixed<9,4,RND,SAT>", "ufixed<70,20,TRN,SAT_ZERO>"])
def test_an_inner_product_casts_each_product_and_each_sum(accumulator: str) -> None:
    a, b, acc, out = (parse_type(t) for t in ("fixed<8,3>", "fixed<7,1>", accumulator, "fixed<8,3,RND_CONV,SAT>"))
    node = Dot(name="d", label="d", inputs=("a", "b"), shape=(1,), type=out, accumulator=acc, length=3)
    rng = np.random.default_rng(8)
    left, right = edges(rng, a, 200), edges(rng, b, 200)
    got = node.evaluate((FixedArray(left, a), FixedArray(right, b))).raw
    for row in range(200):
        total = 0
        for p, q in zip(left[row], right[row], strict=True):
            term = assigned(value(p, a) * value(q, b), acc)
            total = assigned(value(total, acc) + value(term, acc), acc)
        assert int(got[row, 0]) == assigned(value(total, acc), out)


def graph_of(*shapes: tuple[int, ...]) -> Graph:
    kind = FixedType(8, 3, rounding=Rounding.RND, overflow=Overflow.SAT)
    inputs = tuple(
        Input(name=name, label=name, inputs=(), shape=shape, type=kind)
        for name, shape in zip("ab", shapes, strict=True)
    )
    merge = Merge(name="m", label="m", inputs=("a", "b"), shape=shapes[0], type=kind, op="average")
    return Graph("net", (*inputs, merge), ("a", "b"), ("m",))


def test_a_merge_is_stored_and_read_again() -> None:
    graph = graph_of((2, 3), (2, 3))
    verify(graph)
    again = from_json(to_json(graph), "model.json").node("m")
    assert isinstance(again, Merge)
    assert again.op == "average"


def test_merges_of_two_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"node 'm' .*shape \(2, 3\) differs from its input's \(3, 2\)"):
        verify(graph_of((2, 3), (3, 2)))


def test_inner_products_of_other_lengths_are_refused() -> None:
    graph = graph_of((4,), (3,))
    kind = graph.nodes[0].type
    dot = Dot(name="d", label="d", inputs=("a", "b"), shape=(1,), type=kind, accumulator=kind, length=4)
    assert dot.problems(graph.nodes[:2]) == ("expects 4 elements, its input has shape (3,)",)
