"""Designs on several dies, by hand, through simulation: every bit and beat where it is due, and faults that show."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.dataflow import dataflow
from flow.engines.module import Instance
from flow.errors import UserError
from flow.graph.graph import evaluate
from flow.plan.plan import timeline_of
from flow.rtl.design import Design, realize
from flow.rtl.top import write_rtl
from flow.simulate.runner import simulate
from flow.simulate.vectors import expected
from flow.synth.yosys import read_sources
from tests.benches import lint
from tests.conformance.random_designs import RandomDesign, prove
from tests.dies import CASES, REQUEST, Case, case, planned
from tests.networks import vectors


def designed(of: Case, *, exactly: int | None = None) -> Design:
    return realize(of.graph, REQUEST, planned(of, exactly=exactly), revise=False)


@pytest.mark.eda
@pytest.mark.parametrize("name", CASES)
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
@pytest.mark.parametrize("name", ["unrolled", "apart"])
def test_lint_is_silent(name: str, tmp_path: Path) -> None:
    design = designed(case(name))
    signature = write_rtl(tmp_path, design.modules, design.signature)
    assert not lint(tmp_path / "rtl", sorted((tmp_path / "rtl").glob("*.sv")), signature.top)


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
    assert {name: die_of[f"u_{name}"] for name in ("relu", "sum", "x_on_die_0_for_sum", "pool", "last")} == {
        "relu": 1,
        "sum": 0,
        "x_on_die_0_for_sum": 0,
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


def test_each_die_tells_by_itself_when_a_tensor_is_valid() -> None:
    top = designed(case("apart")).modules[-1]
    chains = {i.name: i.dies for i in top.items if isinstance(i, Instance) and i.module == "flow_valid"}
    assert chains == {"u_valid": (0,), "u_valid_y": (1,), "u_valid_sum": (1,)}


@pytest.mark.parametrize("dies", [(), (1, 1)])
def test_a_design_on_one_die_has_no_constraints(dies: tuple[int, ...], tmp_path: Path) -> None:
    of = case("unrolled")
    design = designed(replace(of, traffic=replace(of.traffic, dies=dies)))
    signature = write_rtl(tmp_path, design.modules, design.signature)
    assert not [file.path for file in signature.files if "dies" in file.path or "crossing" in file.path]
