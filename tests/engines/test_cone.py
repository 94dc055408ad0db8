"""The cone IR: its builder's rewrites keep values, and its ranges hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from flow.engines.cone import (
    Add,
    Cone,
    ConeBuilder,
    Constant,
    Limit,
    Port,
    Read,
    Round,
    Select,
    Shift,
    check_cone,
    depth,
    run_cone,
)
from flow.fixed import FixedType, IntArray, Overflow, Rounding, limit, round_off


def everything(lo: int, hi: int) -> IntArray:
    return np.arange(lo, hi + 1).reshape(-1, 1)


def reader(lo: int, hi: int, size: int = 1) -> ConeBuilder:
    return ConeBuilder("cone", (Port("x", size, lo, hi),))


def check_ranges(cone: Cone, tensors: tuple[IntArray, ...]) -> None:
    """Every value of every operation lies in its range."""
    whole = Cone(cone.name, cone.inputs, cone.ops, cone.ranges, tuple(range(len(cone.ops))))
    values = run_cone(whole, tensors)
    for k, (lo, hi) in enumerate(cone.ranges):
        assert lo <= values[:, k].min(), cone.ops[k]
        assert values[:, k].max() <= hi, cone.ops[k]


SPANS = [(-40, 37), (0, 50), (-50, -3), (-9, 0), (3, 60)]


@pytest.mark.parametrize("mode", Rounding)
@pytest.mark.parametrize("span", SPANS)
def test_rounding_is_exact(mode: Rounding, span: tuple[int, int]) -> None:
    x = everything(*span)
    for bits, offset in product((0, 1, 2, 3, 7), (-3, 0, 4, 8)):
        builder = reader(*span)
        value = builder.add(builder.read(0, 0), builder.constant(offset))
        result = builder.round(value, bits, mode)
        assert builder.range(result) == tuple(round_off(np.array(span) + offset, bits, mode))
        cone = builder.finish((result,))
        assert np.array_equal(run_cone(cone, (x,)), round_off(x + offset, bits, mode)), (bits, offset)
        assert all(op.mode is Rounding.TRN for op in cone.ops if isinstance(op, Round))
        check_ranges(cone, (x,))


@pytest.mark.parametrize("mode", Overflow)
@pytest.mark.parametrize("span", SPANS)
def test_limits_are_exact(mode: Overflow, span: tuple[int, int]) -> None:
    x = everything(*span)
    for width, signed in product((1, 3, 5, 7, 8), (False, True)):
        target = FixedType(width, width, signed, Rounding.TRN, mode)
        builder = reader(*span)
        cone = builder.finish((builder.limit(builder.read(0, 0), target),))
        assert np.array_equal(run_cone(cone, (x,)), limit(x, target)), target
        assert any(isinstance(op, Limit) for op in cone.ops) <= (not np.array_equal(limit(x, target), x))
        check_ranges(cone, (x,))


@pytest.mark.parametrize("seed", range(20))
def test_random_straight_lines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ports = (Port("x", 2, -5, 6), Port("y", 1, 0, 9))
    builder = ConeBuilder("cone", ports)
    x, y = rng.integers(-5, 7, (300, 2)), rng.integers(0, 10, (300, 1))
    values = [builder.read(0, 0), builder.read(0, 1), builder.read(1, 0), builder.constant(int(rng.integers(-9, 9)))]
    wanted = [x[:, 0], x[:, 1], y[:, 0], np.full(300, builder.range(values[3])[0])]
    for _ in range(40):
        a, b, c = (int(k) for k in rng.integers(0, len(values), 3))
        shift_a, shift_b, bits = (int(k) for k in rng.integers(0, 3, 3))
        kind = rng.integers(0, 6)
        if kind <= 1:
            values.append(builder.add(values[a], values[b], shift_a=shift_a, shift_b=shift_b, subtract=kind == 1))
            wanted.append((wanted[a] << shift_a) + (wanted[b] << shift_b) * (-1 if kind else 1))
        elif kind == 2:
            values.append(builder.shift(values[a], bits))
            wanted.append(wanted[a] << bits)
        elif kind == 3:
            mode = tuple(Rounding)[rng.integers(0, 7)]
            values.append(builder.round(values[a], bits, mode))
            wanted.append(round_off(wanted[a], bits, mode))
        elif kind == 4:
            width, signed = int(rng.integers(1, 8)), bool(rng.integers(0, 2))
            target = FixedType(width, width, signed, Rounding.TRN, tuple(Overflow)[rng.integers(0, 4)])
            values.append(builder.limit(values[a], target))
            wanted.append(limit(wanted[a], target))
        else:
            values.append(builder.select(values[a], values[b], values[c]))
            wanted.append(np.where(wanted[a] > 0, wanted[b], wanted[c]))
        if np.abs(wanted[-1]).max() > 1 << 40:
            values.pop()
            wanted.pop()
    cone = builder.finish(tuple(values))
    check_cone(cone)
    assert np.array_equal(run_cone(cone, (x, y)), np.stack(wanted, axis=1))
    check_ranges(cone, (x, y))


def test_linear_ranges_are_exact() -> None:
    builder = reader(-8, 7, 2)
    a, b = builder.read(0, 0), builder.read(0, 1)
    both, difference = builder.add(a, b), builder.add(a, b, subtract=True)
    again = builder.add(both, difference)
    assert builder.range(again) == (-16, 14)  # 2a: an interval sum would say (-31, 29)
    assert builder.range(builder.add(again, builder.shift(a, 1), subtract=True)) == (0, 0)
    terms = ((both, 0, False), (difference, 0, False))
    assert builder.sum_range(terms, 3) == (-13, 17)


def test_equal_sums_are_one_value() -> None:
    builder = reader(-8, 7, 3)
    a, b, c = (builder.read(0, k) for k in range(3))
    assert builder.add(builder.add(a, b), c) == builder.add(a, builder.add(c, b))
    assert builder.add(a, b) == builder.add(b, a)
    assert builder.add(a, a) == builder.shift(a, 1)
    assert builder.range(builder.add(a, a, subtract=True)) == (0, 0)


def test_wiring_before_an_adder_becomes_its_shift() -> None:
    builder = reader(0, 15, 2)
    a, b = builder.read(0, 0), builder.read(0, 1)
    cone = builder.finish((builder.add(builder.shift(a, 3), b), builder.add(a, builder.constant(40))))
    assert Add(0, 1, 3, 0) in cone.ops
    assert Constant(5) in cone.ops
    assert not any(isinstance(op, Shift) for op in cone.ops)


def test_convergent_rounding_costs_one_adder_at_most() -> None:
    builder = reader(-100, 100)
    cone = builder.finish((builder.round(builder.read(0, 0), 3, Rounding.RND_CONV),))
    assert sum(isinstance(op, Add) for op in cone.ops) == 1
    biased = reader(-100, 100)
    value = biased.add(biased.read(0, 0), biased.constant(4 + 16))
    cone = biased.finish((biased.round_prepared(value, 3, Rounding.RND_CONV),))
    assert sum(isinstance(op, Add) for op in cone.ops) == 1
    x = everything(-100, 100)
    assert np.array_equal(run_cone(cone, (x,)), round_off(x + 16, 3, Rounding.RND_CONV))


def test_wide_values_do_not_wrap() -> None:
    builder = reader(-(1 << 62), 1 << 62, 2)
    a, b = builder.read(0, 0), builder.read(0, 1)
    cone = builder.finish((builder.add(a, b, shift_a=70), builder.round(builder.add(a, b), 5, Rounding.RND)))
    raw = np.array([[1 << 62, -3], [-(1 << 62), 5]])
    assert run_cone(cone, (raw,)).tolist() == [
        [(1 << 132) - 3, ((1 << 62) - 3 + 16) >> 5],
        [-(1 << 132) + 5, (-(1 << 62) + 5 + 16) >> 5],
    ]


def test_output_range_depth_and_check() -> None:
    builder = reader(0, 3, 2)
    a, b = builder.read(0, 0), builder.read(0, 1)
    cone = builder.finish((builder.add(builder.add(a, b), b, shift_a=2), builder.negate(a)))
    assert cone.output_range == (-3, 27)
    assert depth(cone) == 2
    assert cone.width(cone.outputs[0]) == 6
    check_cone(cone)
    with pytest.raises(ValueError, match="reads a later value"):
        check_cone(Cone("bad", cone.inputs, (Read(0, 0), Add(0, 2)), ((0, 1), (0, 2)), (1,)))
    with pytest.raises(ValueError, match="an output is not defined"):
        check_cone(Cone("bad", cone.inputs, (Read(0, 0),), ((0, 1),), (1,)))


def test_a_decided_select_vanishes() -> None:
    builder = reader(1, 9)
    a, other = builder.read(0, 0), builder.constant(0)
    assert builder.select(a, a, other) == a
    assert builder.select(builder.negate(a), a, other) == other
    assert not any(isinstance(op, Select) for op in builder.finish((a, other)).ops)
