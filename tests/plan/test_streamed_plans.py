"""Plans of networks with windows and branches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.dataflow import dataflow
from flow.engines.engine import Folded, Streamed, Unrolled
from flow.engines.estimate import Estimate
from flow.errors import UserError
from flow.fixed import FixedType
from flow.graph.graph import Asked, Graph
from flow.graph.nodes import AnyNode, Conv, Dense, Input, Merge, Pool, Relu, Reshape
from flow.graph.window import Window
from flow.latency.budget import Verdict
from flow.plan.clocks import addition_ns
from flow.plan.moves import Explorer
from flow.plan.options import Segment, space_of
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.plan.traffic import branches, places_of, traffics
from flow.rtl.design import realize

WEIGHT = FixedType(4, 1)
HIDDEN = FixedType(6, 3, False)


def _conv(name: str, source: AnyNode, filters: int, pads: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Conv:
    rng = np.random.default_rng(len(name))
    rows, columns, channels = source.shape
    window = Window(rows, columns, channels, (3, 3), (1, 1), pads)
    return Conv(
        name=name,
        label=name,
        inputs=(source.name,),
        shape=(*window.positions, filters),
        type=FixedType(12, 6),
        window=window,
        weights=rng.integers(-8, 8, (3, 3, channels, filters)),
        bias=rng.integers(-8, 8, filters),
        weight_type=WEIGHT,
        bias_type=WEIGHT,
        accumulator=FixedType(20, 10),
    )


def _relu(source: AnyNode) -> Relu:
    return Relu(name=f"{source.name}_relu", label=source.label, inputs=(source.name,), shape=source.shape, type=HIDDEN)


def cnn(rows: int, columns: int, channels: int, io_type: str, filters: int = 4) -> Graph:
    """Return convolution, maximum, convolution, dense."""
    x = Input(name="x", label="x", inputs=(), shape=(rows, columns, channels), type=FixedType(8, 0, False))
    first = _conv("c1", x, filters)
    relu = _relu(first)
    height, width, depth = relu.shape
    window = Window(height, width, depth, (2, 2), (2, 2), (0, 0, 0, 0))
    pool = Pool(
        name="pool",
        label="pool",
        inputs=(relu.name,),
        shape=(*window.positions, filters),
        type=HIDDEN,
        window=window,
        op="max",
        accumulator=HIDDEN,
    )
    second = _conv("conv2", pool, filters)
    last = _relu(second)
    flat = Reshape(name="flat", label="flat", inputs=(last.name,), shape=(last.size,), type=HIDDEN)
    dense = Dense(
        name="dense",
        label="dense",
        inputs=("flat",),
        shape=(10,),
        type=FixedType(12, 6),
        weights=np.random.default_rng(0).integers(-8, 8, (last.size, 10)),
        bias=np.zeros(10, dtype=np.int64),
        weight_type=WEIGHT,
        bias_type=WEIGHT,
        accumulator=FixedType(20, 10),
    )
    return Graph("cnn", (x, first, relu, pool, second, last, flat, dense), ("x",), ("dense",), io_type=io_type)


def residual(rows: int, columns: int, channels: int, io_type: str) -> Graph:
    """Return a convolution with a way around it."""
    x = Input(name="x", label="x", inputs=(), shape=(rows, columns, channels), type=FixedType(6, 2))
    conv = _conv("c", x, channels, (1, 1, 1, 1))
    total = Merge(name="sum", label="sum", inputs=("c", "x"), shape=x.shape, type=FixedType(13, 7), op="add")
    return Graph("residual", (x, conv, total), ("x",), ("sum",), io_type=io_type)


def test_a_stream_is_planned_in_beats_and_keeps_its_budget() -> None:
    graph = cnn(12, 12, 2, "io_stream")
    request = Request(part="LFE5U-85F", clock="20ns", budget="20us")
    plan = make_plan(graph, request)
    timeline = timeline_of(graph, plan.choices, plan.traffic)
    (arrival,) = plan.traffic.arrivals
    assert plan.verdict is Verdict.MET
    assert arrival.beats > 1
    assert timeline.latency * 20.0 <= 20_000
    assert isinstance(plan.choices[0], Streamed)
    design = realize(graph, request, plan)
    assert design.timeline.latency == design.signature.latency_cycles
    assert design.signature.input_cycles[1] == arrival.spacing


def test_time_buys_area() -> None:
    graph = cnn(12, 12, 2, "io_stream")
    areas = []
    for budget in ("4us", "40us", "400us"):
        plan = make_plan(graph, Request(part="LFE5U-85F", clock="20ns", budget=budget))
        assert plan.verdict is Verdict.MET
        areas.append(plan.resources.lut)
    assert areas[0] > areas[1] > areas[2]


def test_small_images_may_be_unrolled_whole_and_without_time_they_are() -> None:
    graph = cnn(8, 8, 1, "io_parallel")
    request = Request(part="xcvu13p", clock="5ns", budget="60ns")
    plan = make_plan(graph, request)
    assert all(isinstance(choice, Unrolled) for choice in plan.choices)
    slow = make_plan(graph, replace(request, budget="5us"))
    assert any(isinstance(choice, Streamed) for choice in slow.choices)
    assert slow.resources.lut < plan.resources.lut


def test_a_rate_bounds_the_interval() -> None:
    graph = cnn(12, 12, 2, "io_stream")
    for rate, most in (("500kHz", 100), ("200kHz", 250)):
        plan = make_plan(graph, Request(part="LFE5U-85F", clock="20ns", rate=rate))
        assert timeline_of(graph, plan.choices, plan.traffic).interval <= most


def test_the_way_around_waits_in_a_fifo_whose_cost_is_counted() -> None:
    graph = residual(6, 8, 3, "io_stream")
    plan = make_plan(graph, Request(part="LFE5U-85F", clock="20ns", budget="50us"))
    (fifo,) = [between for between in plan.converters if between.converter.engine == "fifo"]
    assert fifo.resources.lut or fifo.resources.ff
    assert [block.what.engine for block in dataflow(graph, plan.choices, plan.traffic).blocks].count("fifo") == 1


def test_an_asked_reuse_factor_of_a_convolution_is_used() -> None:
    graph = cnn(8, 8, 2, "io_stream")
    asked = replace(graph, asked=(Asked("conv2", 12, "Resource"),))
    plan = make_plan(asked, Request(part="LFE5U-85F", clock="20ns"))
    (choice,) = [c for c in plan.choices if "conv2" in c.nodes]
    assert isinstance(choice, Streamed)
    assert isinstance(choice.inner, Folded)
    assert choice.inner.reuse_factor == 12
    assert [(wish.label, wish.used) for wish in plan.reuse] == [("conv2", 12)]


def test_what_no_part_of_the_time_allows_is_missed_and_not_refused() -> None:
    plan = make_plan(cnn(14, 14, 1, "io_stream", 14), Request(part="LFE5U-25F", clock="20ns", budget="4us"))
    assert plan.verdict is Verdict.MISSED
    assert plan.advice


def test_what_fits_nowhere_says_what_it_takes() -> None:
    graph = cnn(14, 14, 1, "io_stream", 16)
    with pytest.raises(UserError, match="too large for iCE40UP5K, however it is built: the smallest plan") as caught:
        make_plan(graph, Request(part="iCE40UP5K"))
    assert "BRAM" in str(caught.value)


def test_dense_networks_are_planned_as_before() -> None:
    x = Input(name="x", label="x", inputs=(), shape=(4,), type=HIDDEN)
    assert not branches(Graph("plain", (x, _relu(x)), ("x",), ("x_relu",)))
    assert branches(cnn(8, 8, 1, "io_parallel"))


def test_a_cone_of_slow_operations_gets_the_registers_that_its_segments_need() -> None:
    """Half of an operation is left for a cut that misses its place: of the cone's own, not of a usual one."""
    delays = delays_of(find_part("xcvu9p"))
    segment = Segment.of(2.5, 0.2, delays)
    for step_ns in (0.2, 1.0, 1.6):
        guess = Estimate(delay_ns=9.0, step_ns=step_ns, lut=1, cut_bits=1, output_bits=1)
        assert segment.longest(guess, delays) <= 2.5 + 1e-9
        fewer = guess.delay_ns / (segment.registers(guess, delays) - 1) + step_ns / 2 + delays.register_ns
        assert fewer > 2.5


def test_cones_behind_windows_keep_within_the_segment_that_surely_closes() -> None:
    graph, part = cnn(8, 8, 1, "io_stream"), find_part("xcvu9p")
    wide = FixedType(60, 40)
    nodes = tuple(
        replace(n, weights=n.weights * 4095, weight_type=FixedType(16, 4), accumulator=wide, type=wide)
        if isinstance(n, Dense)
        else n
        for n in graph.nodes
    )
    graph, delays = replace(graph, nodes=nodes), delays_of(part)
    space = space_of(graph, part, delays)
    assert space.step_ns > addition_ns(space)  # slower than what a segment is made for
    segment = Segment.of(2.7, addition_ns(space), delays)
    arrivals = tuple(places_of(graph, traffic) for traffic in traffics(graph, 100))
    moves = Explorer(space, segment, 1000, 1000, arrivals).explored(beats_out=False).moves
    assert any(isinstance(choice, Unrolled) for move in moves for choice in move.way.choices)
    assert max(move.way.worst_ns for move in moves) <= segment.within_ns * (1 + 1e-9)


def test_where_the_least_latency_is_wanted_pixels_come_as_fast_as_budget_and_rate_let_them() -> None:
    graph = cnn(8, 8, 1, "io_stream")
    asked = {"part": "LFE5U-85F", "clock": "50MHz"}
    fastest = make_plan(graph, Request(**asked))
    within = make_plan(graph, Request(**asked, budget="20us", objective="latency"))
    frugal = make_plan(graph, Request(**asked, budget="20us"))
    assert within.choices == fastest.choices
    assert within.traffic == fastest.traffic
    cycles = [timeline_of(graph, plan.choices, plan.traffic).latency for plan in (within, frugal)]
    assert cycles[0] < cycles[1]
