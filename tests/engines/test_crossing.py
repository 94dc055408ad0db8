"""Choices on several dies: the cycles of crossings by hand, what lies where, and what ends in a register."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.device.parts import find_part
from flow.engines.crossing import CROSSING_CYCLES, Crossing
from flow.engines.dataflow import Block, Dataflow, Traffic, dataflow, only_cones, whole_tensors
from flow.engines.engine import Choice, Resources, Unrolled
from flow.engines.folded import Folded
from flow.engines.segments import Segment, segments
from flow.engines.settled import settled_early
from flow.engines.streamed_cost import waiting_resources
from flow.fixed import FixedType
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Dense, Input, Merge, Quantize
from tests.conformance.stream_design import SPACING, stream_graph
from tests.folding import dense_graph
from tests.networks import chain_graph
from tests.streaming import by_pixels, streamed

CHAIN = chain_graph((8, 12, 10, 4))
CONES = (Unrolled(("d0",), 1), Unrolled(("d1",), 2), Unrolled(("d2",), 1))
BYTE = FixedType(8, 3)


def on_dies(graph: Graph, *dies: int, traffic: Traffic | None = None) -> Traffic:
    return replace(traffic or whole_tensors(graph), dies=dies)


def cycles(flow: Dataflow) -> dict[str, tuple[int, ...]]:
    return {edge.name: edge.schedule.cycles for edge in flow.timeline.edges}


def crossings(flow: Dataflow) -> list[Block]:
    return [block for block in flow.blocks if isinstance(block.what, Crossing)]


def branching() -> Graph:
    """Return two ways from x that meet: one through a, one through b, and y that reads x alone."""
    common = {"shape": (3,), "type": BYTE}
    nodes = (
        Input(name="x", label="x", inputs=(), **common),
        *(Quantize(name=name, label=name, inputs=("x",), **common) for name in ("a", "b", "y")),
        Merge(name="sum", label="sum", inputs=("a", "b"), op="add", **common),
    )
    return Graph("branching", nodes, ("x",), ("sum", "y"))


def test_a_chain_takes_two_cycles_more_for_each_border() -> None:
    flow = dataflow(CHAIN, CONES, on_dies(CHAIN, 0, 2, 1))
    assert [(block.output, block.inputs, block.die) for block in flow.blocks] == [
        ("d0", ("x",), 0),
        ("d0_on_die_1", ("d0",), 1),
        ("d0_on_die_2", ("d0_on_die_1",), 2),
        ("d1", ("d0_on_die_2",), 2),
        ("d1_on_die_1", ("d1",), 1),
        ("d2", ("d1_on_die_1",), 1),
    ]
    assert cycles(flow) == {
        "x": (0,),
        "d0": (1,),
        "d0_on_die_1": (3,),
        "d0_on_die_2": (5,),
        "d1": (7,),
        "d1_on_die_1": (9,),
        "d2": (10,),
    }
    assert CROSSING_CYCLES == 2
    assert (flow.timeline.latency, flow.timeline.interval, flow.input_dies) == (10, 1, (0,))
    assert [hop.cycles for hop in flow.timeline.critical_path] == [1, 2, 2, 2, 2, 1]
    assert {block.what.lanes for block in crossings(flow) if isinstance(block.what, Crossing)} == {12, 10}


@pytest.mark.parametrize("dies", [(), (0, 0, 0), (1, 1, 1)])
def test_one_die_needs_no_crossing(dies: tuple[int, ...]) -> None:
    traffic = on_dies(CHAIN, *dies)
    flow = dataflow(CHAIN, CONES, traffic)
    assert not crossings(flow)
    assert only_cones(CONES, traffic)
    assert flow.dies(CHAIN) == dict.fromkeys(("x", "d0", "d1", "d2"), max(dies, default=0))


@pytest.mark.parametrize(
    ("dies", "said"),
    [((0, 1), "2 dies for 3 choices"), ((0, 1, 1, 0), "4 dies for 3 choices"), ((0, -1, 0), "counted from 0")],
)
def test_dies_that_do_not_fit_are_refused(dies: tuple[int, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        dataflow(CHAIN, CONES, on_dies(CHAIN, *dies))


def test_branches_meet_behind_the_crossing_and_readers_share_it() -> None:
    """The way through die 0 waits on die 2, where both meet; y and b take what goes by on its way there."""
    graph = branching()
    choices = (*(Unrolled((name,), 1) for name in ("a", "b", "y")), Unrolled(("sum",), 1))
    flow = dataflow(graph, choices, on_dies(graph, 0, 2, 1, 2))
    assert cycles(flow) == {
        "x": (0,),
        "a": (1,),
        "x_on_die_1": (2,),
        "x_on_die_2": (4,),
        "b": (5,),
        "y": (3,),
        "a_on_die_1": (3,),
        "a_on_die_2": (5,),
        "sum": (6,),
    }
    later = dataflow(graph, (*choices[:1], Unrolled(("b",), 3), *choices[2:]), on_dies(graph, 0, 2, 1, 2))
    (waits,) = (block for block in later.blocks if block.what.engine == "delay")
    assert (waits.inputs, waits.die, cycles(later)[waits.output]) == (("a_on_die_2",), 2, (7,))
    shared = dataflow(graph, choices, on_dies(graph, 0, 1, 1, 1))
    assert [block.output for block in crossings(shared)] == ["x_on_die_1", "a_on_die_1"]


def test_a_network_input_lies_with_the_first_that_reads_it() -> None:
    graph = branching()
    choices = (*(Unrolled((name,), 1) for name in ("a", "b", "y")), Unrolled(("sum",), 1))
    flow = dataflow(graph, choices, on_dies(graph, 2, 0, 2, 2))
    assert (flow.input_dies, [b.output for b in crossings(flow)][:2]) == ((2,), ["x_on_die_1", "x_on_die_0"])


def test_converters_lie_with_the_writer_and_what_is_held_back_with_it() -> None:
    serial = Folded.plain(("d1",), "input_serial", (12, 10), (4, 5), store="bram", multiplier="dsp")
    choices: tuple[Choice, ...] = (Unrolled(("d0",), 1), serial, Unrolled(("d2",), 1))
    flow = dataflow(CHAIN, choices, replace(on_dies(CHAIN, 0, 1, 0), held=3))
    before, came = cycles(dataflow(CHAIN, choices)), cycles(flow)
    placed = [(block.output, block.what.engine, block.die) for block in flow.blocks]
    assert placed == [
        ("d0", "unrolled", 0),
        ("d0_by_4", "split", 0),
        ("d0_by_4_on_die_1", "crossing", 1),
        ("d1", "folded", 1),
        ("d1_by_10", "gather", 1),
        ("d1_by_10_on_die_0", "crossing", 0),
        ("d2", "unrolled", 0),
        ("d2_late_3", "delay", 0),
    ]
    assert came["d0_by_4"] == before["d0_by_4"]
    assert came["d1"] == tuple(cycle + 2 for cycle in before["d1"])
    assert came["d2"] == tuple(cycle + 4 for cycle in before["d2"])
    assert flow.timeline.interval == dataflow(CHAIN, choices).timeline.interval


def test_beats_of_pixels_keep_their_distance_and_wait_in_a_fifo_on_the_readers_die() -> None:
    graph = stream_graph()
    choices = tuple(streamed(graph, nodes, 1) for nodes in (("conv", "relu"), ("sum",), ("pool",), ("last",)))
    traffic = by_pixels(graph, 1, SPACING)
    flow, before = (
        dataflow(graph, choices, on_dies(graph, 1, 0, 0, 1, traffic=traffic)),
        dataflow(graph, choices, traffic),
    )
    came, was = cycles(flow), cycles(before)
    assert came["x_on_die_0"] == tuple(cycle + 2 for cycle in was["x"])
    assert came["relu_on_die_0"] == tuple(cycle + 2 for cycle in was["relu"])
    assert came["sum"] == tuple(cycle + 2 for cycle in was["sum"])
    assert came["last"] == tuple(cycle + 4 for cycle in was["last"])
    (fifo,) = (block for block in flow.blocks if block.what.engine == "fifo")
    assert (fifo.inputs, fifo.die) == (("x_on_die_0", "relu_on_die_0"), 0)
    (without,) = (block for block in before.blocks if block.what.engine == "fifo")
    assert fifo.what == without.what


def test_cones_are_cut_at_a_crossing_which_ends_them_with_its_register() -> None:
    assert segments(CHAIN, CONES, on_dies(CHAIN, 0, 0, 1)) == (
        Segment((0, 1), (), ("d1",)),
        Segment((2,), ("d2",)),
    )
    graph = replace(CHAIN, outputs=("d2", "d1"))
    assert segments(graph, CONES, on_dies(graph, 0, 0, 1))[0] == Segment((0, 1), ("d1",))


def test_a_cone_before_a_converter_ends_in_a_register_of_its_own() -> None:
    serial = Folded.plain(("d1",), "input_serial", (12, 10), (4, 5), store="bram", multiplier="dsp")
    choices: tuple[Choice, ...] = (Unrolled(("d0",), 1), serial, Unrolled(("d2",), 1))
    assert segments(CHAIN, choices, on_dies(CHAIN, 0, 1, 1))[0] == Segment((0,), ("d0",))
    whole = Folded.plain(("d1",), "output_serial", (12, 10), (12, 5), store="bram", multiplier="dsp")
    assert segments(CHAIN, (choices[0], whole, choices[2]), on_dies(CHAIN, 0, 1, 1))[0] == Segment((0,), (), ("d0",))


def test_a_crossing_takes_two_registers_with_their_valid_bits() -> None:
    assert waiting_resources(Crossing("x", 5), 7, find_part("xcvu9p")) == Resources(ff=2 * (5 * 7 + 1))


def test_what_is_early_by_nature_is_early_behind_a_crossing() -> None:
    """The last row of weights is zero, so that the accumulators are done a step before their beats are due."""
    dense = dense_graph(4, 3, seed=7)
    node = dense.node("dense")
    assert isinstance(node, Dense)
    weights = node.weights * np.array([[1], [1], [1], [0]])
    cut = Quantize(name="cut", label="cut", inputs=("dense",), shape=(3,), type=FixedType(20, 12))
    graph = Graph("early", (dense.nodes[0], replace(node, weights=weights), cut), ("x",), ("cut",))
    values = evaluate(graph, {"x": np.random.default_rng(2).integers(1, 128, (20, 4))})
    serial = Folded.plain(("dense",), "output_serial", (4, 3), (1, 1), store="bram", multiplier="dsp")
    flow = dataflow(graph, (serial, Unrolled(("cut",), 2)), on_dies(graph, 0, 1))
    settled = settled_early(graph, flow, values)
    assert set(settled.edges) == {"dense", "dense_by_3", "dense_by_3_on_die_1", "cut"}
    assert all(flags.all() for flags in settled.edges.values())
