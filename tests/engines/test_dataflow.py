"""Engines connected: which converters stand between them, and what becomes of the cycles."""

from __future__ import annotations

import pytest

from flow.engines.converter import Converter
from flow.engines.dataflow import Dataflow, dataflow
from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.graph.graph import Graph
from tests.networks import chain_graph

GRAPH = chain_graph((8, 12, 10, 4))


def serial(nodes: tuple[str, ...], shape: tuple[int, int], lanes: tuple[int, int]) -> Folded:
    return Folded.plain(nodes, "input_serial", shape, lanes, store="bram", multiplier="dsp")


def whole(nodes: tuple[str, ...], shape: tuple[int, int], lanes: tuple[int, int]) -> Folded:
    return Folded.plain(nodes, "output_serial", shape, lanes, store="bram", multiplier="dsp")


def described(flow: Dataflow) -> list[tuple[str, str, tuple[str, ...], int]]:
    edges = {edge.name: edge for edge in flow.timeline.edges}
    return [(block.what.engine, block.output, block.inputs, edges[block.output].lanes) for block in flow.blocks]


def test_unrolled_runs_need_no_converter() -> None:
    flow = dataflow(GRAPH, (Unrolled(("d0",), 1), Unrolled(("d1",), 2), Unrolled(("d2",), 0)))
    assert described(flow) == [
        ("unrolled", "d0", ("x",), 12),
        ("unrolled", "d1", ("d0",), 10),
        ("unrolled", "d2", ("d1",), 4),
    ]
    assert (flow.timeline.outputs, flow.timeline.latency, flow.timeline.interval) == (("d2",), 3, 1)


def test_beats_are_collected_before_what_wants_whole_tensors() -> None:
    flow = dataflow(GRAPH, (whole(("d0",), (8, 12), (8, 5)), Unrolled(("d1",), 1), Unrolled(("d2",), 1)))
    assert described(flow)[:3] == [
        ("folded", "d0", ("x",), 5),
        ("gather", "d0_by_12", ("d0",), 12),
        ("unrolled", "d1", ("d0_by_12",), 10),
    ]
    d0, gathered = flow.timeline.edge("d0"), flow.timeline.edge("d0_by_12")
    assert len(d0.schedule.cycles) == 3
    assert gathered.schedule.cycles == (d0.schedule.last,)
    assert flow.timeline.edge("d1").schedule.cycles == (d0.schedule.last + 1,)
    assert (gathered.node, flow.timeline.interval) == ("d0", 3)


def test_a_whole_tensor_is_split_as_fast_as_it_is_taken() -> None:
    flow = dataflow(GRAPH, (Unrolled(("d0",), 1), serial(("d1",), (12, 10), (5, 4)), Unrolled(("d2",), 1)))
    (converter,) = (block.what for block in flow.blocks if block.output == "d0_by_5")
    assert converter == Converter("d0", 12, 12, 5, 3)
    assert flow.timeline.edge("d0_by_5").schedule.cycles == (1, 4, 7)
    assert flow.timeline.edge("d1").schedule.first > 7


@pytest.mark.parametrize(
    ("q", "groups_in", "p", "between"),
    [(3, 2, 3, None), (3, 1, 3, "regroup"), (3, 4, 4, "regroup"), (12, 4, 4, "split")],
    ids=["fits", "comes too fast", "other lanes", "comes whole"],
)
def test_serial_engines_meet_directly_where_beats_fit(q: int, groups_in: int, p: int, between: str | None) -> None:
    first = whole(("d0",), (8, 12), (8 // groups_in, q))
    second = serial(("d1",), (12, 10), (p, 5))  # takes a beat every 2 cycles
    flow = dataflow(GRAPH, (first, second, Unrolled(("d2",), 1)))
    kinds = [block.what.engine for block in flow.blocks]
    assert kinds[:2] == ["folded", "folded" if between is None else between]
    source = next(block.inputs[0] for block in flow.blocks if block.output == "d1")
    assert source == ("d0" if between is None else f"d0_by_{p}")
    spacing = flow.timeline.edge(source).schedule.spacing
    assert spacing is not None
    assert spacing >= second.wants.spacing == 2


def test_the_interval_is_that_of_the_busiest_engine() -> None:
    choices = (whole(("d0",), (8, 12), (2, 4)), whole(("d1",), (12, 10), (6, 5)), Unrolled(("d2",), 1))
    flow = dataflow(GRAPH, choices)
    busy = {edge.name: edge.busy for edge in flow.timeline.edges}
    assert (busy["d0"], busy["d1"], busy["d2"]) == (12, 4, 1)
    assert flow.timeline.interval == 12


def test_an_input_serial_engine_is_busy_until_its_last_group_of_outputs() -> None:
    """The regroup before it is free as its last beat leaves; the engine then has 5 groups to go through."""
    choices = (serial(("d0",), (8, 12), (4, 6)), serial(("d1",), (12, 10), (4, 2)), Unrolled(("d2",), 1))
    flow = dataflow(GRAPH, choices)
    arrival = flow.timeline.edge("d0_by_4").schedule
    assert (arrival.last - arrival.first, choices[1].groups_out) == (10, 5)
    assert flow.timeline.edge("d1").busy == flow.timeline.interval == 15
    assert flow.timeline.edge("d0_by_4").busy == 11


def test_outputs_leave_whole_and_a_converter_serves_all_who_want_the_same() -> None:
    graph = Graph("out", GRAPH.nodes, GRAPH.inputs, ("d0", "d2", "d0"))
    flow = dataflow(graph, (whole(("d0",), (8, 12), (8, 5)), Unrolled(("d1",), 1), whole(("d2",), (10, 4), (10, 1))))
    assert flow.timeline.outputs == ("d0_by_12", "d2_by_4", "d0_by_12")
    assert [block.output for block in flow.blocks].count("d0_by_12") == 1
    assert all(len(flow.timeline.edge(name).schedule.cycles) == 1 for name in flow.timeline.outputs)


def test_an_edge_is_not_named_like_a_node() -> None:
    graph = chain_graph((8, 12, 10, 4), names=("d0", "d0_by_12", "d2"))
    flow = dataflow(graph, (whole(("d0",), (8, 12), (8, 5)), Unrolled(("d0_by_12",), 1), Unrolled(("d2",), 1)))
    assert [block.output for block in flow.blocks] == ["d0", "d0_by_12_", "d0_by_12", "d2"]
