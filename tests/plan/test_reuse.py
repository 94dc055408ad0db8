"""Reuse factors that the hls4ml configuration asks for."""

from __future__ import annotations

import itertools

import pytest

from flow.engines.folded import Folded
from flow.engines.lower import runs
from flow.graph.graph import Asked
from flow.plan.plan import load_plan, plan_to_json
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.plan.reuse import Reuse, used_by_hls4ml, valid_for_hls4ml, wishes
from tests.plan.graphs import changed, dense_network, saturating


def test_the_rule_is_hls4mls_own():
    from hls4ml.backends import get_backend

    backend = get_backend("Vitis")
    for n_in, n_out in itertools.product((1, 2, 3, 5, 6, 16, 17), (1, 2, 4, 5, 9, 16)):
        theirs = backend.get_valid_reuse_factors(n_in, n_out)
        assert [f for f in range(1, n_in * n_out + 1) if valid_for_hls4ml(n_in, n_out, f)] == theirs
        for asked in range(1, n_in * n_out + 3):
            expected = asked if asked in theirs else backend.get_closest_reuse_factor(theirs, asked)
            assert used_by_hls4ml(n_in, n_out, asked) == expected, (n_in, n_out, asked)
            assert used_by_hls4ml(n_in, n_out, asked, "Latency") == asked
            if asked > 1 and len(theirs) > 1:
                less = theirs[:-1]  # what `include_max_rf=False` leaves
                expected = asked if asked in less else backend.get_closest_reuse_factor(less, asked)
                assert used_by_hls4ml(n_in, n_out, asked, "Resource_Unrolled") == expected, (n_in, n_out, asked)


@pytest.mark.parametrize(("asked", "used"), [(1, 1), (2, 2), (7, 6), (11, 10), (13, 12), (29, 18), (10_000, 30)])
def test_the_nearest_smaller_one_is_used_where_none_is_exact(asked, used):
    graph = dense_network(5, 6, asked=(Asked("layer 0", asked, "Resource"),))
    (wish,) = wishes(graph, runs(graph))
    assert (wish.asked, wish.used) == (asked, used)


def test_a_layer_gets_the_reuse_factor_that_is_asked_for():
    graph = dense_network(16, 12, 6, asked=(Asked("layer 0", 24, "Resource"), Asked("layer 9", 2, "Resource")))
    plan = make_plan(graph, Request(part="xcvu9p", clock="200MHz"))
    folded = {c.nodes[0]: c.reuse_factor for c in plan.choices if isinstance(c, Folded)}
    assert folded == {"d0": 24}  # the other stays unrolled: without a budget that is fastest
    assert plan.reuse == (Reuse("layer 0", "d0", 24, "Resource", 24, 16),)


def test_a_reuse_factor_of_one_keeps_a_layer_unrolled():
    free = dense_network(64, 64)
    wished = dense_network(64, 64, asked=(Asked("layer 0", 1, "Latency"),))
    request = Request(part="xcvu9p", clock="200MHz", budget="20us")
    assert any(isinstance(c, Folded) for c in make_plan(free, request).choices)
    assert not any(isinstance(c, Folded) for c in make_plan(wished, request).choices)


def test_where_the_order_of_additions_counts_a_small_factor_means_unrolled():
    graph = changed(dense_network(6, 5, asked=(Asked("layer 0", 4, "Resource"),)), "d0", saturating)
    (wish,) = wishes(graph, runs(graph))
    assert wish.used == 1


def test_the_plan_keeps_what_was_asked(tmp_path):
    graph = dense_network(8, 6, asked=(Asked("layer 0", 12, "Resource"),))
    plan = make_plan(graph, Request(part="xc7a100t", clock="100MHz"))
    (tmp_path / "plan.json").write_bytes(plan_to_json(plan))
    assert load_plan(tmp_path / "plan.json") == plan
    assert (plan.reuse[0].asked, plan.reuse[0].used) == (12, 12)
