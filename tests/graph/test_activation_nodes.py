"""Activations computed by hand, and what makes their nodes inconsistent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flow.fixed import FixedArray, FixedType
from flow.graph.nodes import AnyNode, BoundedRelu, HardSigmoid, Input, PRelu, Sign, Table

X, OUT = FixedType(6, 4), FixedType(10, 6)  # steps of 1/4 and 1/16
ONE = FixedType(1, 1, signed=False)


def common(shape: tuple[int, ...] = (3,)) -> dict[str, Any]:
    return {"name": "n", "label": "n", "inputs": ("x",), "shape": shape, "type": OUT}


def values(node: AnyNode, *x: float) -> list[float]:
    """Return a node's results for numbers."""
    raw = np.array([round(v * 4) for v in x]).reshape(1, -1)
    return [float(v) for v in node.evaluate((FixedArray(raw, X),)).to_float()[0]]


def table(span: int = 8, **more: Any) -> Table:
    return Table(**common() | more, values=np.arange(10, 14), table_type=FixedType(8, 8), span=span)


def test_tables_are_indexed_towards_zero_and_end_at_both_ends() -> None:
    # bins of 2 from -4 to 4; all of -2 … 2 is the bin of 0
    node = table()
    assert values(node, -7.75, -4.0, -3.75) == [10, 10, 11]
    assert values(node, -2.0, -1.75, 0.0, 1.75) == [11, 12, 12, 12]
    assert values(node, 2.0, 3.75, 7.75) == [13, 13, 13]


def test_tables_below_zero_count_downwards() -> None:
    node = table(span=-8)
    assert values(node, -0.25, -1.75, -2.0, -7.75) == [10, 10, 11, 13]
    scaled = Table(
        **common(), values=np.arange(10, 14), table_type=FixedType(8, 8), span=-8, scale=3, scale_type=FixedType(4, 3)
    )
    assert values(scaled, -0.25, 0.0, 0.5, 2.0) == [10, 0, 0.75, 3]


def test_slopes_are_per_element() -> None:
    node = PRelu(**common(), slopes=np.array([2, -4, 1]), slope_type=FixedType(4, 2))  # 0.5, -1, 0.25
    assert values(node, -1.0, -1.0, -1.0) == [-0.5, 1.0, -0.25]
    assert values(node, 1.0, 0.0, 2.5) == [1.0, 0.0, 2.5]


def test_thresholds_and_bounds_are_exclusive() -> None:
    node = BoundedRelu(**common(), threshold=6, threshold_type=FixedType(6, 4), bound=6)
    assert values(node, 1.5, 1.75, 6.0, 6.25, -1.0) == [0, 1.75, 6, 6, 0]
    below = BoundedRelu(**common(), threshold=-2, threshold_type=FixedType(6, 5))  # above -1
    assert values(below, -1.0, -0.75, 7.0) == [0, -0.75, 7.0]


def test_lines_are_cut() -> None:
    numbers = {"slope": 1, "slope_type": FixedType(3, 1), "shift": 1, "shift_type": FixedType(2, 1)}  # x / 4 + 1 / 2
    assert values(HardSigmoid(**common(), **numbers), -2.25, -1.0, 0.25, 2.25) == [0, 0.25, 0.5625, 1]
    assert values(HardSigmoid(**common(), **numbers, centred=True), -2.25, -1.0, 0.25, 2.25) == [-1, -0.5, 0.125, 1]


def test_signs_compare_with_their_channels_thresholds() -> None:
    node = Sign(**common(), high=np.array([-1, 2, 8]), low=np.array([-1, -2, 0]))
    assert values(node, 0.0, 0.5, 2.25) == [1, 0, 1]
    assert values(node, -0.25, -0.5, 0.0) == [-1, -1, -1]


@pytest.mark.parametrize(
    ("node", "part"),
    [
        (table(shape=(2,)), "differs from its input's"),
        (table(span=6), "span 6 is not a power of two"),
        (table(span=0), "span 0"),
        (Table(**common(), values=np.array([200]), table_type=FixedType(8, 8), span=8), "an entry is outside"),
        (Table(**common(), values=np.zeros((0,), int), table_type=ONE, span=8), "are no table"),
        (Table(**common(), values=np.array([1]), table_type=ONE, span=8, scale=2), "scale 2 has no type"),
        (
            Table(**common(), values=np.array([1]), table_type=ONE, span=8, scale=2, scale_type=ONE),
            "scale 2 is outside",
        ),
        (PRelu(**common(), slopes=np.zeros(2, int), slope_type=ONE), "slopes of shape"),
        (PRelu(**common(), slopes=np.full(3, 2), slope_type=ONE), "a slope is outside"),
        (BoundedRelu(**common(), threshold=2, threshold_type=ONE), "threshold 2 is outside"),
        (HardSigmoid(**common(), slope=2, slope_type=ONE, shift=0, shift_type=ONE), "slope 2 is outside"),
        (HardSigmoid(**common(), slope=1, slope_type=ONE, shift=-1, shift_type=ONE), "shift -1 is outside"),
        (Sign(**common(), high=np.zeros(2, int), low=np.zeros(3, int)), "should have shape"),
    ],
)
def test_inconsistent_nodes_are_told(node: AnyNode, part: str) -> None:
    source = Input(name="x", label="x", inputs=(), shape=(3,), type=X)
    assert any(part in problem for problem in node.problems((source,)))


def test_consistent_nodes_have_no_problems() -> None:
    source = Input(name="x", label="x", inputs=(), shape=(3,), type=X)
    assert table().problems((source,)) == ()
    assert Sign(**common(), high=np.zeros(3, int), low=np.ones(3, int)).problems((source,)) == ()
