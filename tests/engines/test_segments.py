"""Cones between other engines: where each that another engine reads must end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flow.engines.dataflow import whole_tensors
from flow.engines.engine import Choice, Unrolled
from flow.engines.folded import Folded
from flow.engines.pipeline import place
from flow.engines.segments import lower_unrolled, network_of, segments
from flow.graph.graph import Graph
from tests.cones import DELAYS
from tests.plan.graphs import dense_network


def read_twice() -> Graph:
    """Return a layer that two equal ones read."""
    chain = dense_network(3, 4, 4, bits=4)
    last, rectified = chain.nodes[-2:]
    beside = (replace(last, name="beside"), replace(rectified, name="beside_r", inputs=("beside",)))
    return replace(chain, nodes=(*chain.nodes, *beside), outputs=(rectified.name, "beside_r"))


def test_a_cone_that_a_cone_and_another_engine_read_ends_in_a_register() -> None:
    graph = read_twice()
    cones = (Unrolled(("d0", "r0"), 1), Unrolled(("d1", "r1"), 1))
    folded = Folded.plain(("beside", "beside_r"), "output_serial", (4, 4), (2, 1), store="lutrom", multiplier="lut")
    choices: tuple[Choice, ...] = (*cones, folded)
    (segment,) = segments(graph, choices, whole_tensors(graph))
    assert (segment.leaving, segment.crossing) == (("r0", "r1"), ())
    network = network_of(segment, lower_unrolled(graph, choices))
    assert place(network, (1, 1), DELAYS).stage("r0") == 1
    with pytest.raises(ValueError, match="leave no register"):
        place(network, (0, 1), DELAYS)


def test_a_cone_that_is_read_here_and_beyond_a_border_ends_in_a_register_of_its_own() -> None:
    graph = read_twice()
    first, far = Unrolled(("d0", "r0"), 1), Unrolled(("d1", "r1"), 1)
    folded = Folded.plain(("beside", "beside_r"), "output_serial", (4, 4), (2, 1), store="lutrom", multiplier="lut")
    for dies, ends in (((0, 1, 0), (("r0",), ())), ((0, 1, 1), ((), ("r0",)))):
        traffic = replace(whole_tensors(graph), dies=dies)
        here, _ = segments(graph, (first, far, folded), traffic)
        assert (here.leaving, here.crossing) == ends, dies


def test_before_a_converter_and_a_border_a_cone_ends_in_a_register_of_its_own() -> None:
    graph = dense_network(3, 4, 4, bits=4)
    first = Unrolled(("d0", "r0"), 1)
    serial = Folded.plain(("d1", "r1"), "input_serial", (4, 4), (2, 4), store="lutrom", multiplier="lut")
    traffic = replace(whole_tensors(graph), dies=(0, 1))
    (here,) = segments(graph, (first, serial), traffic)
    assert (here.leaving, here.crossing) == (("r0",), ())


def test_in_a_plan_of_cones_what_leaves_early_is_held_back_behind_it() -> None:
    chain = dense_network(3, 4, 4, bits=4)
    graph = replace(chain, outputs=("r0", "r1"))
    choices = (Unrolled(("d0", "r0"), 0), Unrolled(("d1", "r1"), 1))
    (segment,) = segments(graph, choices, whole_tensors(graph))
    assert place(network_of(segment, lower_unrolled(graph, choices)), (0, 1), DELAYS).stage("r0") == 0
