"""Random weights: exactly as sparse as stated, inside their type, repeatable."""

from __future__ import annotations

import numpy as np
import pytest

from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.sketch.assemble import to_graph
from flow.sketch.chain import chain_sketch
from flow.sketch.weights import random_bias, random_weights


def kernels(graph: Graph) -> list[np.ndarray]:
    return [node.weights for node in graph.nodes if node.kind in ("dense", "conv")]


@pytest.mark.parametrize("sparsity", ["0", "0.1", "0.5", "0.333", "0.9", "0.999"])
def test_sparsity_is_the_stated_fraction_rounded_to_a_count(sparsity):
    for kernel in kernels(to_graph(chain_sketch("16-64-32-7", "6", sparsity))):
        assert int((kernel == 0).sum()) == round(float(sparsity) * kernel.size)


@pytest.mark.parametrize("kind", [FixedType(2, 1), FixedType(6, 1), FixedType(4, 8), FixedType(1, 1), FixedType(9, -3)])
@pytest.mark.parametrize("signed", [True, False])
def test_weights_of_any_type_fit_it_and_none_that_is_kept_is_zero(kind, signed):
    kind = FixedType(kind.width, kind.integer, signed)
    codes = random_weights(np.random.default_rng(3), (50, 20), kind, 50, 0.5)
    assert int((codes == 0).sum()) == 500
    assert kind.lo <= codes.min() <= codes.max() <= kind.hi
    bias = random_bias(np.random.default_rng(3), 200, kind)
    assert kind.lo <= bias.min() <= bias.max() <= kind.hi


def test_the_smallest_are_pruned_and_the_rest_keeps_the_scale():
    dense = random_weights(np.random.default_rng(1), (256, 100), FixedType(10, 1), 256, 0.0)
    sparse = random_weights(np.random.default_rng(1), (256, 100), FixedType(10, 1), 256, 0.75)
    assert np.abs(sparse[sparse != 0]).min() > 10  # far from the smallest step
    for codes, kept in ((dense, 256), (sparse, 64)):
        rms = np.sqrt(np.mean((codes[codes != 0] / 512) ** 2.0))
        assert rms == pytest.approx(np.sqrt(2 / kept), rel=0.02)


def test_a_seed_repeats_and_another_does_not():
    first, again, other = (kernels(to_graph(chain_sketch("8-8-4", "5", seed=seed))) for seed in (7, 7, 8))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_what_changes_in_one_layer_leaves_the_weights_of_the_others_alone():
    first, other = (kernels(to_graph(chain_sketch("8-8-8-4", bits))) for bits in ("5,5,5", "5,7,5"))
    assert [np.array_equal(a, b) for a, b in zip(first, other, strict=True)] == [True, False, True]
    assert not np.array_equal(first[0], first[1])  # nor are they copies
