"""Which parameter sets a dense run has on a part."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from flow.device.parts import find_part
from flow.engines.folded_choices import choices, foldable, group_counts, reuse_factors, spread
from flow.engines.folded_cost import folded_resources
from flow.engines.lower import runs
from flow.fixed import FixedType
from flow.graph.nodes import Dense
from tests.plan.graphs import changed, dense_network, saturating, with_affine

PART = find_part("xc7a100t")


def head_of(graph, name="d0") -> Dense:
    node = graph.node(name)
    assert isinstance(node, Dense)
    return node


def test_a_dense_head_takes_its_relu_along_and_leaves_an_affine_node():
    graph = with_affine(dense_network(6, 5))
    (run,) = runs(graph)
    assert run == ("d0", "r0", "a")
    assert foldable(graph, run) == 2
    assert foldable(graph, ("r0", "a")) == 0


@pytest.mark.parametrize("n", [1, 2, 7, 12, 64, 100])
def test_group_counts_are_what_some_lanes_give(n):
    counts = group_counts(n)
    assert set(counts) == {math.ceil(n / lanes) for lanes in range(1, n + 1)}
    assert all(math.ceil(n / math.ceil(n / count)) == count for count in counts)
    kept = sorted(spread(n, 1.25))
    assert {1, n} <= set(kept) <= set(counts)


def test_every_reuse_factor_that_lanes_give_can_be_asked_for():
    graph = dense_network(5, 6)
    possible = {math.ceil(5 / p) * math.ceil(6 / q) for p in range(1, 6) for q in range(1, 7)}
    assert set(reuse_factors(graph, head_of(graph))) == possible
    for factor in possible - {1}:
        found = choices(graph, ("d0", "r0"), PART, reuse_factor=factor)
        assert found
        assert {choice.reuse_factor for choice in found} == {factor}
        assert {choice.nodes for choice in found} == {("d0", "r0")}
    assert choices(graph, ("d0", "r0"), PART, reuse_factor=1) == ()
    assert choices(graph, ("d0", "r0"), PART, reuse_factor=29) == ()


def test_both_orders_all_stores_and_multipliers_are_offered():
    found = choices(dense_network(24, 20), ("d0", "r0"), PART)
    assert {choice.order for choice in found} == {"output_serial", "input_serial"}
    assert {choice.store for choice in found} == {"registers", "lutrom", "bram"}
    assert {"dsp", "lut"} <= {choice.multiplier for choice in found}
    assert all(choice.groups_in > 1 for choice in found if choice.order == "input_serial")
    assert max(choice.reuse_factor for choice in found) == 24 * 20
    # no lanes stand idle that fewer lanes could replace
    for choice in found:
        assert math.ceil(24 / choice.groups_in) == choice.p
        assert math.ceil(20 / choice.groups_out) == choice.q


def test_only_small_contents_lie_in_registers():
    small, large = (choices(dense_network(n, n), ("d0", "r0"), PART) for n in (8, 64))
    assert any(choice.store == "registers" for choice in small)
    assert not any(choice.store == "registers" for choice in large)


def test_a_part_without_multipliers_gets_none():
    found = choices(dense_network(12, 12, bits=8), ("d0", "r0"), find_part("iCE40UP5K"))
    assert {choice.multiplier for choice in found} <= {"lut", "dsp"}
    wide = choices(dense_network(6, 6, bits=24), ("d0", "r0"), find_part("iCE40UP5K"))
    assert {choice.multiplier for choice in wide} == {"lut"}


@pytest.mark.parametrize("part", ["xcvu9p", "xc7a100t", "LFE5U-25F", "GW2AR-18"])
@pytest.mark.parametrize("bits", range(1, 10))
def test_all_that_is_offered_can_be_counted(bits, part):
    """Pairs of narrow products do not become DSP blocks, and inputs without a sign take a bit more."""
    graph = dense_network(3, 4, bits=max(bits, 2))
    source = replace(graph.nodes[0], type=FixedType(bits, 1, signed=False))
    graph = replace(graph, nodes=(source, *graph.nodes[1:]))
    for choice in choices(graph, ("d0", "r0"), find_part(part)):
        dsp = folded_resources(graph, choice, find_part(part)).dsp
        assert (dsp > 0) == (choice.multiplier != "lut")


def test_inputs_without_a_sign_come_in_pairs_too():
    graph = dense_network(4, 4, 4)  # behind a ReLU
    assert not graph.node("r0").type.signed
    assert "dsp_pair" in {choice.multiplier for choice in choices(graph, ("d1", "r1"), PART)}


def test_sums_that_saturate_are_added_one_input_after_the_other():
    graph = changed(dense_network(6, 5), "d0", saturating)
    head = head_of(graph)
    assert not head.is_linear(graph.node("x").type)
    found = choices(graph, ("d0", "r0"), PART)
    assert found
    assert {choice.p for choice in found} == {1}
    assert reuse_factors(graph, head) == (1, 6, 12, 18, 30)


def test_neighbours_can_match_their_beats():
    graph = dense_network(50, 70, 30)
    given = {(c.q, c.groups_in) for c in choices(graph, ("d0", "r0"), PART) if c.order == "output_serial"}
    wanted = {c.p for c in choices(graph, ("d1", "r1"), PART) if c.order == "input_serial"}
    assert {q for q, spacing in given if spacing == 1 and q < 35} <= wanted


def test_only_matrix_products_are_folded():
    with pytest.raises(TypeError, match="no folded form"):
        choices(dense_network(4, 3), ("r0",), PART)
