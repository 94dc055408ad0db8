"""Accumulators of a layer list lose nothing: sums equal those of unbounded integers, at the worst inputs too."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from flow.fixed import FixedArray
from flow.graph.nodes import Conv, Dense, Pool
from flow.sketch.assemble import to_graph
from flow.sketch.chain import chain_sketch
from flow.sketch.document import read_sketch

LISTED = """
input: {shape: [5, 4, 3], type: "ufixed<7,2>"}
bits: 5
layers:
  - conv2d: {filters: 4, kernel: [3, 2], bits: 3, activation: relu, integer: 2}
  - average_pool: {size: [3, 2], stride: 1}
  - flatten
  - dense: {units: 6, bits: 7, bias: false}
"""


def values(array: FixedArray) -> np.ndarray:
    return array.raw.astype(object) * Fraction(2) ** -array.type.fraction


def worst(matrix: np.ndarray, lo: int, hi: int) -> np.ndarray:
    """Return, for each output, the inputs that make its sum largest and smallest."""
    return np.concatenate([np.where(matrix.T > 0, a, b) for a, b in ((hi, lo), (lo, hi))])


def check(node: Dense | Conv, x) -> None:
    matrix = node.weights.reshape(-1, node.weights.shape[-1])
    rng = np.random.default_rng(2)
    drawn = rng.integers(x.type.lo, x.type.hi, (20, len(matrix)), endpoint=True)
    raw = np.concatenate([worst(matrix, x.type.lo, x.type.hi), drawn])
    layer = node if isinstance(node, Dense) else node.matrix
    got = values(layer.evaluate((FixedArray(raw, x.type),)))
    weights = matrix.astype(object) * Fraction(2) ** -node.weight_type.fraction
    bias = node.bias.astype(object) * Fraction(2) ** -node.bias_type.fraction
    assert np.array_equal(got, values(FixedArray(raw, x.type)) @ weights + bias)


@pytest.mark.parametrize("bits", ["2", "6", "3,9,2", "16"])
def test_sums_of_a_chain_are_exact(bits):
    graph = to_graph(chain_sketch("33-17-16-5", bits))
    for node in graph.nodes:
        if isinstance(node, Dense):
            (x,) = graph.feeding(node)
            check(node, x)
            for weight, bias in product(*((kind.lo, kind.hi) for kind in (node.weight_type, node.bias_type))):
                check(replace(node, weights=node.weights * 0 + weight, bias=node.bias * 0 + bias), x)


def test_sums_and_averages_of_a_list_are_exact(tmp_path):
    (tmp_path / "net.yaml").write_text(LISTED)
    graph = to_graph(read_sketch(tmp_path / "net.yaml", "net"))
    for node in graph.nodes:
        (x,) = graph.feeding(node) or (None,)
        if isinstance(node, Dense | Conv):
            check(node, x)
        elif isinstance(node, Pool):
            # the sum of the cells at the end of the type, before the division
            assert node.accumulator.hi >= (x.type.hi * node.window.cells) << (
                node.accumulator.fraction - x.type.fraction
            )
