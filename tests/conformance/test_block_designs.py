"""Designs whose products and tables stand in DSP blocks and block RAM, planned and by hand, through simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.blocks import Blocks
from flow.engines.dataflow import dataflow, whole_tensors
from flow.engines.engine import Resources, Streamed, Unrolled
from flow.engines.estimate import estimate, registers
from flow.engines.module import Instance, Item, Join, Rom, Unary
from flow.engines.multiplier import dsp_shapes
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Dense, Input, Merge, Table
from flow.graph.verify import verify
from flow.plan.options import Segment
from flow.plan.plan import Plan
from flow.plan.planner import make_plan, target_of
from flow.plan.request import Request
from flow.rtl.design import Design, realize
from flow.rtl.settle import settle
from flow.rtl.top import write_rtl
from flow.synth.yosys import synthesize
from tests.conformance.random_designs import RandomDesign, prove
from tests.networks import vectors
from tests.streaming import build, by_pixels, streamed

PART = "LFE5U-85F"
BYTE = FixedType(8, 3)
PRODUCT = FixedType(11, 5, rounding=Rounding.RND_CONV, overflow=Overflow.SAT)
ENTRY = FixedType(9, 1)


def gated(io_type: str = "io_parallel", shape: tuple[int, ...] = (3, 2, 2), entries: int = 512) -> Graph:
    """Return a product of two tensors, a table of what it gives, and the product of both."""
    values = np.random.default_rng(5).integers(ENTRY.lo, ENTRY.hi + 1, entries)
    nodes = (
        Input(name="a", label="a", inputs=(), shape=shape, type=BYTE),
        Input(name="b", label="b", inputs=(), shape=shape, type=FixedType(7, 2, signed=False)),
        Merge(name="m", label="m", inputs=("a", "b"), shape=shape, type=PRODUCT, op="multiply"),
        Table(name="t", label="t", inputs=("m",), shape=shape, type=ENTRY, values=values, table_type=ENTRY, span=32),
        Merge(name="p", label="p", inputs=("a", "t"), shape=shape, type=PRODUCT, op="multiply"),
    )
    graph = Graph("gated", nodes, ("a", "b"), ("p",), io_type=io_type)
    verify(graph)
    return graph


def in_blocks(design: RandomDesign | Design) -> set[str]:
    """Return which kinds of blocks a design places."""
    placed = {item.module for module in design.modules for item in module.items if isinstance(item, Instance)}
    return {kind for kind in ("flow_product", "flow_rom", "flow_table") if any(p.startswith(kind) for p in placed)}


def check(design: RandomDesign, folder: Path) -> tuple[str, ...]:
    """Return the faults that a simulation finds."""
    proof = prove(design, folder, vectors(np.random.default_rng(7), design.graph, 60))
    assert proof.telling
    return proof.faults


def inverted(item: Item) -> Item:
    """Return an item with the first factor of a product inverted."""
    if not isinstance(item, Instance) or item.module != "flow_product":
        return item
    (port, factor), *rest = item.connections
    return replace(item, connections=((port, Unary("~", Join((factor,)))), *rest))


def shifted(item: Item) -> Item:
    """Return an item with the words of a memory in block RAM one place further."""
    if not isinstance(item, Rom) or item.style != "block":
        return item
    return replace(item, memory=replace(item.memory, words=(*item.memory.words[1:], 0)))


@pytest.mark.eda
def test_whole_tensors(tmp_path: Path) -> None:
    graph = gated()
    choices = (Unrolled(("m", "t"), 3, products="dsp", tables="bram"), Unrolled(("p",), 2, products="dsp"))
    design = build(graph, choices, whole_tensors(graph))
    assert in_blocks(design) == {"flow_product", "flow_rom"}
    assert check(design, tmp_path / "right") == ()
    for fault in (inverted, shifted):
        modules = tuple(replace(module, items=tuple(map(fault, module.items))) for module in design.modules)
        assert check(replace(design, modules=modules), tmp_path / fault.__name__)


@pytest.mark.eda
@pytest.mark.campaign
def test_beats(tmp_path: Path) -> None:
    graph = gated("io_stream")
    choices = []
    for nodes, depth in ((("m", "t"), 3), (("p",), 1)):
        choice = streamed(graph, nodes, 2, depth=depth)
        assert isinstance(choice.inner, Unrolled)
        choices.append(replace(choice, inner=replace(choice.inner, products="dsp", tables="bram")))
    design = build(graph, tuple(choices), by_pixels(graph, 2, 2, beats_out=True))
    assert in_blocks(design) == {"flow_product", "flow_rom"}
    assert check(design, tmp_path) == ()


def request(*, spare: tuple[str, ...] = (), budget: str | None = "1us") -> Request:
    return Request(part=PART, clock="80MHz", budget=budget, spare=spare)


def stores(plan: Plan) -> list[tuple[str, str]]:
    """Return where the products and tables of a plan's cones stand."""
    cones = [p.choice.inner if isinstance(p.choice, Streamed) else p.choice for p in plan.runs]
    return [(cone.products, cone.tables) for cone in cones if isinstance(cone, Unrolled)]


@pytest.mark.parametrize("io_type", ["io_parallel", "io_stream"])
def test_a_plan_takes_blocks_to_spare_luts_and_luts_to_spare_blocks(io_type: str) -> None:
    graph = gated(io_type)
    saving = make_plan(graph, request(spare=("lut",)))
    assert saving.verdict == "met"
    assert stores(saving) == [("dsp", "bram"), ("dsp", "lut")]
    assert stores(make_plan(graph, request(spare=("dsp", "bram")))) == [("lut", "lut")] * 2
    assert stores(make_plan(gated(io_type, entries=128), request(spare=("lut",)))) == [("dsp", "lut")] * 2


def test_a_plan_is_built_as_planned() -> None:
    for io_type in ("io_parallel", "io_stream"):
        graph, asked = gated(io_type), request(spare=("lut",))
        plan = make_plan(graph, asked)
        design = realize(graph, asked, plan)
        assert design.plan.revisions == ()
        assert stores(design.plan) == stores(plan)
        assert in_blocks(design) == {"flow_product", "flow_rom"}
        for made, planned in zip(design.plan.runs, plan.runs, strict=True):
            built, guess = made.resources, planned.resources
            assert (built.dsp, built.bram, built.half_bram) == (guess.dsp, guess.bram, guess.half_bram)
            assert (made.choice, built.lut) == (planned.choice, pytest.approx(guess.lut, rel=0.05))


def test_cones_among_beats_keep_their_blocks() -> None:
    graph, asked = gated("io_stream"), request(spare=("lut",))
    plan = make_plan(graph, asked)
    cones = (Unrolled(("m", "t"), 4, products="dsp", tables="bram"), Unrolled(("p",), 2, products="dsp"))
    runs = tuple(replace(run, choice=cone) for run, cone in zip(plan.runs, cones, strict=True))
    assert settle(graph, replace(plan, runs=runs), target_of(graph, asked)).choices == cones


def test_an_estimate_tells_blocks_and_their_registers() -> None:
    graph, part = gated(), find_part(PART)
    delays, blocks = delays_of(part), Blocks(dsp_shapes(part), tables=True)
    guess = estimate(graph, ("m", "t"), delays, part.family, blocks)
    assert (guess.blocks.dsp, guess.blocks.bram, guess.lags) == (12, 12, 1)
    assert guess.lut < estimate(graph, ("m", "t"), delays, part.family).lut / 4
    many = estimate(gated(shape=(30, 20)), ("t",), delays, part.family, blocks)
    assert many.blocks.bram == 600
    assert registers(graph, ("m", "t"), delays, 40.0, blocks) == 2
    assert registers(graph, ("m", "t"), delays, delays.register_ns + guess.step_ns - 0.01, blocks) is None
    (*_, table) = graph.nodes[:4]
    behind = replace(table, inputs=("d",), shape=(5,))
    source = replace(graph.nodes[0], shape=(6,))
    weights = np.arange(30).reshape(6, 5) % 15 - 7
    matrix = Dense(
        name="d",
        label="d",
        inputs=("a",),
        shape=(5,),
        type=PRODUCT,
        weights=weights,
        bias=np.zeros(5, dtype=np.int64),
        weight_type=FixedType(4, 1),
        bias_type=FixedType(4, 1),
        accumulator=FixedType(18, 8),
    )
    dense = Graph("dense", (source, matrix, behind), ("a",), ("t",))
    guess = estimate(dense, ("d", "t"), delays, part.family, blocks)
    assert (guess.blocks.dsp, guess.blocks.bram, guess.lags) == (0, 5, 1)
    assert registers(dense, ("d", "t"), delays, 40.0, blocks) is None
    assert Segment.of(40.0, 1.0, delays).registers(guess, delays) == 2
    assert Segment.of(40.0, 1.0, delays).registers(replace(guess, lags=0), delays) == 1


@pytest.mark.eda
def test_a_plan_through_simulation_and_synthesis(tmp_path: Path) -> None:
    graph, asked = gated("io_stream"), request(spare=("lut",))
    design = realize(graph, asked, make_plan(graph, asked))
    choices = tuple(planned.choice for planned in design.plan.runs)
    flow = dataflow(graph, choices, design.plan.traffic)
    made = RandomDesign(graph, design.timeline, design.modules, design.signature, "planned", flow)
    assert check(made, tmp_path) == ()
    write_rtl(tmp_path, design.modules, design.signature)
    found = synthesize(tmp_path, find_part(PART)).total
    predicted = sum((planned.resources for planned in design.plan.runs), Resources())
    assert (found.dsp, found.bram) == (predicted.dsp, predicted.bram)
    assert found.dsp > 0
    assert found.bram > 0
