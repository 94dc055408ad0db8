"""Designs on several dies, by hand, through simulation: every bit and beat where it is due, and faults that show."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.dataflow import Traffic, dataflow, whole_tensors
from flow.engines.engine import Choice, Folded, Unrolled
from flow.engines.lower import runs
from flow.errors import UserError
from flow.graph.graph import Graph, evaluate
from flow.plan.plan import Plan, timeline_of
from flow.plan.planner import assemble, target_of
from flow.plan.priced import priced, worst_of
from flow.plan.request import Request
from flow.plan.solve import Depths, judged
from flow.rtl.design import Design, realize
from flow.rtl.top import write_rtl
from flow.simulate.runner import simulate
from flow.simulate.vectors import expected
from flow.synth.yosys import read_sources
from tests.conformance.random_designs import RandomDesign, prove
from tests.conformance.small_design import small_graph
from tests.conformance.stream_design import SPACING, stream_graph
from tests.networks import vectors
from tests.plan.graphs import dense_network
from tests.streaming import by_pixels, streamed

REQUEST = Request(part="xcvu9p", clock="10ns")
STREAMED = (("conv", "relu"), ("sum",), ("pool",), ("last",))


def residual() -> Graph:
    """Return branches that meet, of tensors that cross whole; two of them leave."""
    return replace(stream_graph(), io_type="io_parallel", outputs=("last", "relu"))


def cones(graph: Graph) -> tuple[Choice, ...]:
    return tuple(Unrolled(nodes, 2) for nodes in runs(graph))


def folds(graph: Graph) -> tuple[Choice, ...]:
    """Return dense layers, an output-serial one before two input-serial ones."""
    orders = ("output_serial", "input_serial", "input_serial")
    found: list[Choice] = []
    for nodes, order in zip(runs(graph), orders, strict=True):
        n_in, n_out = graph.node(nodes[0]).weights.shape
        lanes = (4, n_out // 2) if order == "output_serial" else (n_in // 2, n_out // 2)
        found.append(Folded.plain(nodes, order, (n_in, n_out), lanes, store="lutrom", multiplier="lut"))
    return tuple(found)


def beats(graph: Graph) -> tuple[Choice, ...]:
    return tuple(streamed(graph, nodes, 1) for nodes in STREAMED)


@dataclass(frozen=True, slots=True)
class Case:
    """Hold a network with its engines. borders: on the way that takes longest, by hand."""

    graph: Graph
    choices: tuple[Choice, ...]
    traffic: Traffic
    borders: int


def case(name: str) -> Case:
    match name:
        case "unrolled":
            graph = small_graph()
            return Case(graph, cones(graph), replace(whole_tensors(graph), dies=(0, 2)), 2)
        case "folded":
            graph = dense_network(16, 12, 10, 4)
            return Case(graph, folds(graph), replace(whole_tensors(graph), dies=(2, 0, 1)), 3)
        case "beats of pixels":
            graph = stream_graph()
            traffic = replace(by_pixels(graph, 1, SPACING, beats_out=True), dies=(1, 0, 0, 1))
            return Case(graph, beats(graph), traffic, 2)
        case _:
            graph = residual()
            choices = cones(graph)
            return Case(graph, choices, replace(whole_tensors(graph), dies=(0, 1, 0, 2)), 4)


def planned(of: Case, *, exactly: int | None = None) -> Plan:
    """Return the plan of engines that a planner did not choose."""
    target = target_of(of.graph, REQUEST)
    made = tuple(priced(of.graph, choice, target.part, target.delays) for choice in of.choices)
    timeline = timeline_of(of.graph, of.choices, of.traffic)
    worst_ns = worst_of(of.graph, of.choices, of.traffic, target.part, target.delays)
    goal = replace(target.goal, interval=timeline.interval)
    solution = judged(goal, Depths((), timeline.latency, worst_ns), 10.0, target.delays)
    plan = assemble(
        of.graph, REQUEST, target, planned=made, solution=solution, best_ns=float("inf"), traffic=of.traffic
    )
    return replace(plan, latency_exact=exactly)


def designed(of: Case, *, exactly: int | None = None) -> Design:
    return realize(of.graph, REQUEST, planned(of, exactly=exactly), revise=False)


@pytest.mark.eda
@pytest.mark.parametrize("name", ["unrolled", "folded", "beats of pixels", "branches"])
def test_every_bit_and_beat_is_where_it_is_due(name: str, tmp_path: Path) -> None:
    of = case(name)
    design = designed(of)
    assert design.plan.choices == of.choices
    on_one = timeline_of(of.graph, of.choices, replace(of.traffic, dies=()))
    assert (design.timeline.latency, design.timeline.interval) == (on_one.latency + 2 * of.borders, on_one.interval)
    flow = dataflow(of.graph, of.choices, of.traffic)
    drawn = RandomDesign(of.graph, design.timeline, design.modules, design.signature, "", flow)
    proof = prove(drawn, tmp_path, vectors(np.random.default_rng(7), of.graph, 40))
    assert not proof.faults
    assert proof.telling


@pytest.mark.eda
def test_a_register_of_a_crossing_too_few_or_too_many_is_seen(tmp_path: Path) -> None:
    of = case("unrolled")
    design = designed(of)
    signature = write_rtl(tmp_path, design.modules, design.signature)
    checked = expected(signature, evaluate(of.graph, vectors(np.random.default_rng(3), of.graph, 40)))
    path = tmp_path / "rtl" / "flow_die_border.sv"
    right = path.read_text()
    wire = re.sub(r"always_ff.*?begin(.*?)end", r"always_comb begin\1end", right, flags=re.DOTALL).replace("<=", "=")
    twice = right.replace("= valid_q;", "= late_q[Width];").replace("= data_q;", "= late_q[Width-1:0];")
    late = "  logic [Width:0] late_q;\n  always_ff @(posedge clk_i) late_q <= {valid_q & ~rst_i, data_q};\n"
    twice = twice.replace("  assign valid_o", f"{late}  assign valid_o")
    for text, wrong in ((right, set[str]()), (wire, {"latency", "timeline"}), (twice, {"latency", "timeline"})):
        path.write_text(text)
        found = simulate(tmp_path, vectors=checked, seeds=(1,))
        assert {check.name for check in found.failures} >= wrong
        assert found.passed == (not wrong), found.failures


def test_a_contract_holds_back_behind_the_crossings() -> None:
    of = case("unrolled")
    free = designed(of)
    design = designed(of, exactly=free.timeline.latency + 3)
    assert design.timeline.latency == design.signature.latency_cycles == free.timeline.latency + 3
    assert (design.plan.traffic.held, design.plan.traffic.dies) == (3, (0, 2))


def test_each_instance_has_its_die_in_the_constraints(tmp_path: Path) -> None:
    design = designed(case("beats of pixels"))
    signature = write_rtl(tmp_path, design.modules, design.signature)
    lines = (tmp_path / "rtl" / "dies.xdc").read_text().splitlines()
    said = [re.fullmatch(r"set_property USER_SLR_ASSIGNMENT SLR(\d) \[get_cells (\S+)\]", line) for line in lines[2:]]
    die_of = {match[2]: int(match[1]) for match in said if match}
    assert len(die_of) == len(lines) - 2
    text = (tmp_path / "rtl" / f"{signature.top}.sv").read_text()
    instances = Counter(re.findall(r"^  (?:flow_\w+(?: #\(.*?\))?|\)) (u_\w+) \($", text, re.MULTILINE | re.DOTALL))
    named = {path.split("/")[0] for path in die_of}
    assert named == set(instances)
    assert {path: die for path, die in die_of.items() if "/" in path} == {
        "u_x_on_die_0/u_before": 1,
        "u_x_on_die_0/u_behind": 0,
        "u_relu_on_die_0/u_before": 1,
        "u_relu_on_die_0/u_behind": 0,
        "u_pool_on_die_1/u_before": 0,
        "u_pool_on_die_1/u_behind": 1,
    }
    assert {name: die_of[f"u_{name}"] for name in ("relu", "sum", "pool", "last")} == {
        "relu": 1,
        "sum": 0,
        "pool": 0,
        "last": 1,
    }
    assert die_of["u_interval"] == 1
    border = (tmp_path / "rtl" / "flow_crossing.sv").read_text()
    assert all(f") {half} (" in border for half in ("u_before", "u_behind"))
    # it is one of the design's files: changed ones are told, a missing one is refused
    assert read_sources(tmp_path).changed == ()
    (tmp_path / "rtl" / "dies.xdc").write_text("")
    assert read_sources(tmp_path).changed == ("rtl/dies.xdc",)
    (tmp_path / "rtl" / "dies.xdc").unlink()
    with pytest.raises(UserError, match=r"missing.*dies\.xdc"):
        read_sources(tmp_path)


@pytest.mark.parametrize("dies", [(), (1, 1)])
def test_a_design_on_one_die_has_no_constraints(dies: tuple[int, ...], tmp_path: Path) -> None:
    of = case("unrolled")
    design = designed(replace(of, traffic=replace(of.traffic, dies=dies)))
    signature = write_rtl(tmp_path, design.modules, design.signature)
    assert not [file.path for file in signature.files if "dies" in file.path or "crossing" in file.path]
