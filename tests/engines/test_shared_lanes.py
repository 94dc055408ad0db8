"""Layers of one kind share their lanes, so that a planner prices them once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flow.device.parts import find_part
from flow.engines.folded import Folded
from flow.engines.folded_cost import folded_resources
from flow.engines.lane import build_lane, lane_of
from flow.graph.graph import Graph
from flow.graph.nodes import Dense
from tests.plan.graphs import changed, dense_network

PLAIN = Folded.plain(("d0", "r0"), "output_serial", (6, 4), (3, 2), store="lutrom", multiplier="lut")


def scaled(graph: Graph, factor: int) -> Graph:
    """Return the graph with all weights of its layer alike, and no biases."""
    return changed(graph, "d0", lambda node: _filled(node, factor))


def _filled(node: Dense, weight: int) -> Dense:
    return replace(node, weights=np.full_like(node.weights, weight), bias=np.zeros_like(node.bias))


def test_sums_of_as_many_bits_have_equal_lanes_and_hardware():
    one, other = (scaled(dense_network(6, 4), weight) for weight in (70, 80))
    assert lane_of(one, PLAIN) == lane_of(other, PLAIN)
    assert build_lane(lane_of(one, PLAIN)) is build_lane(lane_of(other, PLAIN))
    part = find_part("xc7a100t")
    assert folded_resources(one, PLAIN, part) == folded_resources(other, PLAIN, part)


def test_sums_of_more_bits_have_lanes_of_their_own():
    narrow, wide = (lane_of(scaled(dense_network(6, 4), weight), PLAIN) for weight in (33, 127))
    assert narrow.weight.width <= wide.weight.width
    assert narrow != wide
