"""Products, quotients, tables and extremes of a cone: exact on every input of small ranges."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from flow.engines.arithmetic import ceiling_reciprocal, floor_reciprocal
from flow.engines.cone import Add, Cone, ConeBuilder, Constant, Lookup, Port, Read, Select, check_cone, run_cone
from flow.fixed import IntArray, Rounding

SPANS = [(-8, 7), (0, 15), (-13, -2), (3, 9), (-1, 0), (0, 1), (-20, 3)]
Span = tuple[int, int]


def pair(a: Span, b: Span) -> tuple[ConeBuilder, tuple[IntArray, IntArray]]:
    """Return a builder that reads two values, and all pairs of theirs."""
    builder = ConeBuilder("cone", (Port("a", 1, *a), Port("b", 1, *b)))
    grid = np.array(list(product(range(a[0], a[1] + 1), range(b[0], b[1] + 1))))
    return builder, (grid[:, :1], grid[:, 1:])


def exact_ranges(cone: Cone, tensors: tuple[IntArray, ...]) -> None:
    """Every value lies in its range, and the ranges of the outputs are as tight as can be."""
    check_cone(cone)
    whole = Cone(cone.name, cone.inputs, cone.ops, cone.ranges, tuple(range(len(cone.ops))))
    values = run_cone(whole, tensors)
    for k, (lo, hi) in enumerate(cone.ranges):
        assert lo <= values[:, k].min(), cone.ops[k]
        assert values[:, k].max() <= hi, cone.ops[k]
    for v in cone.outputs:
        assert cone.ranges[v] == (values[:, v].min(), values[:, v].max()), cone.ops[v]


@pytest.mark.parametrize(("a", "b"), list(product(SPANS, SPANS)))
def test_products_and_extremes_are_exact(a: Span, b: Span) -> None:
    builder, (x, y) = pair(a, b)
    left, right = builder.read(0, 0), builder.read(1, 0)
    cone = builder.finish((builder.multiply(left, right), builder.maximum(left, right), builder.minimum(left, right)))
    expected = np.concatenate([x * y, np.maximum(x, y), np.minimum(x, y)], axis=1)
    assert np.array_equal(run_cone(cone, (x, y)), expected)
    exact_ranges(cone, (x, y))


def test_extremes_with_zero_need_no_difference() -> None:
    builder = ConeBuilder("cone", (Port("x", 1, -9, 9),))
    x, zero = builder.read(0, 0), builder.constant(0)
    assert builder.maximum(zero, x) == builder.maximum(x, zero) == builder.select(x, x, zero)
    assert builder.minimum(zero, x) == builder.minimum(x, zero) == builder.select(x, zero, x)
    assert builder.range(builder.maximum(x, builder.constant(9))) == (9, 9)


@pytest.mark.parametrize("span", [*SPANS, (-128, 127), (0, 255), (-100, -7), (5, 200)])
def test_squares_are_exact_and_take_half_the_rows(span: Span) -> None:
    builder = ConeBuilder("cone", (Port("x", 1, *span),))
    value = builder.read(0, 0)
    cone = builder.finish((builder.multiply(value, value),))
    x = np.arange(span[0], span[1] + 1).reshape(-1, 1)
    assert np.array_equal(run_cone(cone, (x,)), x * x)
    exact_ranges(cone, (x,))


def test_constant_and_shifted_factors_take_no_rows() -> None:
    builder, (x, y) = pair((-8, 7), (0, 15))
    a, b = builder.read(0, 0), builder.read(1, 0)
    values = (
        builder.multiply(a, builder.constant(0)),
        builder.multiply(builder.constant(-8), a),
        builder.multiply(builder.constant(5), b),
        builder.multiply(builder.constant(5), builder.constant(-7)),
    )
    cone = builder.finish(values)
    assert sum(isinstance(op, Add) for op in cone.ops) == 2  # 0 - a and b + 4b
    assert not any(isinstance(op, Select) for op in cone.ops)
    ones = np.ones_like(x)
    assert np.array_equal(run_cone(cone, (x, y)), np.concatenate([0 * x, -8 * x, 5 * y, -35 * ones], axis=1))
    shifted = builder.multiply(builder.shift(a, 3), builder.shift(b, 2))
    assert shifted == builder.shift(builder.multiply(a, b), 5)
    assert builder.multiply(a, b) == builder.multiply(b, a)


def test_wide_products_do_not_wrap() -> None:
    builder = ConeBuilder("cone", (Port("a", 2, -(1 << 40), 1 << 40),))
    a, b = builder.read(0, 0), builder.read(0, 1)
    cone = builder.finish((builder.multiply(a, b), builder.multiply(a, a)))
    raw = np.array([[1 << 40, -(1 << 40)], [-(1 << 40) + 1, 12345], [-3, -5], [0, 7]])
    wanted = [[int(p) * int(q), int(p) ** 2] for p, q in raw]
    assert run_cone(cone, (raw,)).tolist() == wanted


@pytest.mark.parametrize("towards_zero", [False, True])
@pytest.mark.parametrize("span", [(-60, 75), (0, 200), (-90, -1), (17, 80), (-100, 0), (-3, 1000)])
def test_quotients_are_exact(span: Span, towards_zero: bool) -> None:
    x = np.arange(span[0], span[1] + 1).reshape(-1, 1)
    for divisor in (1, 2, 3, 4, 5, 6, 7, 9, 12, 25, 48, 49, 64, 100, 257):
        builder = ConeBuilder("cone", (Port("x", 1, *span),))
        result = builder.divide(builder.read(0, 0), divisor, towards_zero=towards_zero)
        cone = builder.finish((result,))
        floor = x // divisor
        expected = np.where(x < 0, -(-x // divisor), floor) if towards_zero else floor
        assert np.array_equal(run_cone(cone, (x,)), expected), divisor
        exact_ranges(cone, (x,))


@pytest.mark.parametrize("seed", range(40))
def test_reciprocals_of_wide_ranges_hold_at_every_turn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    divisor = int(rng.integers(2, 1 << int(rng.integers(2, 16))))
    lo, hi = sorted(int(v) for v in rng.integers(-(1 << 30), 1 << 30, 2))
    down, up = floor_reciprocal(lo, hi, divisor), ceiling_reciprocal(lo, hi, divisor)
    turns = [int(v) * divisor + d for v in rng.integers(lo // divisor, hi // divisor + 1, 2000) for d in (-1, 0, 1)]
    for a in (lo, lo + 1, hi - 1, hi, *(a for a in turns if lo <= a <= hi)):
        assert (a * down.factor + down.offset) >> down.shift == a // divisor
        assert (a * up.factor + up.offset) >> up.shift == -(-a // divisor)


def test_a_divisor_must_be_positive() -> None:
    builder = ConeBuilder("cone", (Port("x", 1, -9, 9),))
    with pytest.raises(ValueError, match="a divisor must be positive, not 0"):
        builder.divide(builder.read(0, 0), 0, towards_zero=False)


@pytest.mark.parametrize("span", [(0, 15), (0, 11), (5, 12), (0, 1), (3, 3), (2, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_tables_are_exact(span: Span, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [
        tuple(int(v) for v in rng.integers(-30, 90, 16)),
        tuple(int(v) << 3 for v in rng.integers(-3, 9, 16)),
        tuple(int(v) for v in np.repeat(rng.integers(0, 9, 4), 4)),
        tuple(range(16)),
        (7,) * 16,
    ]
    x = np.arange(span[0], span[1] + 1).reshape(-1, 1)
    builder = ConeBuilder("cone", (Port("x", 1, *span),))
    cone = builder.finish(tuple(builder.lookup(builder.read(0, 0), table) for table in tables))
    assert np.array_equal(run_cone(cone, (x,)), np.array(tables).T[x[:, 0]])
    exact_ranges(cone, (x,))


def test_tables_keep_only_what_tells() -> None:
    builder = ConeBuilder("cone", (Port("x", 1, 0, 10),))
    x = builder.read(0, 0)
    assert builder.lookup(x, tuple(range(20))) == x
    assert builder.lookup(x, (5,) * 11 + (6,)) == builder.constant(5)
    irregular = (3, 3, 1, 1, 8, 8, 2, 2, 0, 0, 6)
    halved = builder.lookup(x, irregular)
    assert halved == builder.lookup(builder.round(x, 1, Rounding.TRN), (3, 1, 8, 2, 0, 6))
    doubled = builder.lookup(x, tuple(2 * v for v in irregular))
    assert doubled == builder.shift(halved, 1)
    assert builder.lookup(x, (*irregular, 77, 78)) == halved
    cone = builder.finish((halved, doubled))
    assert [op for op in cone.ops if isinstance(op, Lookup)] == [Lookup(1, (3, 1, 8, 2, 0, 6))]
    step = builder.lookup(builder.round(x, 3, Rounding.TRN), (4, 9))
    assert not any(isinstance(op, Lookup) for op in builder.finish((step,)).ops)
    assert {type(op) for op in builder.finish((step,)).ops} >= {Read, Select, Constant}


def test_a_table_must_hold_the_whole_range() -> None:
    builder = ConeBuilder("cone", (Port("x", 1, -1, 10),))
    with pytest.raises(ValueError, match="a table of 16 entries is read at -1 to 10"):
        builder.lookup(builder.read(0, 0), tuple(range(16)))
    with pytest.raises(ValueError, match="a table of 3 entries is read at 0 to 10"):
        builder.lookup(builder.maximum(builder.read(0, 0), builder.constant(0)), (1, 5, 3))
