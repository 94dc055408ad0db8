"""A report of a plan on several dies: what lies on each, crossings in the timeline, and what is not known of them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from flow.device.parts import find_part
from flow.plan.compare_plans import Side, compare_plans
from flow.plan.plan import timeline_of
from flow.report.collect import Findings, collect
from flow.report.html import to_html
from flow.report.report import Report, load_report, report_to_json
from flow.report.terminal import print_report
from tests.dies import case, planned


def report_of(dies: tuple[int, ...], *, part: str = "xcvu9p") -> Report:
    of = case("unrolled")
    of = replace(of, traffic=replace(of.traffic, dies=dies))
    plan = planned(of)
    timeline = timeline_of(of.graph, of.choices, of.traffic)
    return collect(Findings(of.graph, replace(plan, part=find_part(part).device), timeline))


@pytest.fixture(scope="module")
def report() -> Report:
    return report_of((0, 2))


def text_of(report: Report) -> str:
    console = Console(file=io.StringIO(), width=120, markup=False, emoji=False, highlight=False)
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_each_die_is_counted_against_what_may_be_used_there(report: Report) -> None:
    told = json.loads(report_to_json(report))["plan"]["dies"]
    assert [(die["die"], die["engines"], die["origin"]) for die in told] == [
        (0, ["relu"], "predicted"),
        (1, [], "predicted"),
        (2, ["fc2"], "predicted"),
    ]
    relu, fc2 = (engine.resources for engine in report.plan.engines)
    side = 6 * 6 + 1  # 6 elements of 6 bits, and a valid bit
    assert [die["ff"] for die in told] == [relu.ff + side, 2 * side, fc2.ff + side]
    assert [die["lut"] for die in told] == [relu.lut, 0, fc2.lut]
    part = find_part("xcvu9p")
    for die in told:
        assert die["of_usable"] == {
            kind: die[kind] / part.on_dies(kind)[die["die"]] for kind in ("lut", "ff", "dsp", "bram")
        }


def test_a_board_counts_what_its_shell_leaves_of_each_die() -> None:
    told = report_of((0, 1), part="u200").plan.dies
    middle = told[1]
    assert middle.of_usable["lut"] == middle.lut / 139_776
    assert told[0].of_usable["lut"] == told[0].lut / 270_144


def test_the_pages_show_dies_and_crossings_and_say_what_is_not_timed(report: Report, tmp_path: Path) -> None:
    text = text_of(report)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    die = report.plan.dies[0]
    assert any(line.startswith(f"SLR0 {die.lut:,} ") and line.endswith("relu") for line in lines)
    assert any(line.startswith("→ relu_on_die_2 crossing, 6 lanes 2") for line in lines)
    assert sum(line.startswith("relu crossing 2 ") for line in lines) == 2
    assert "the wires of its 2 crossings lie between two registers each" in " ".join(text.split())
    assert "relu_on_die_1" in to_html(report).decode()
    path = tmp_path / "report.json"
    path.write_bytes(report_to_json(report))
    assert load_report(path) == report


@pytest.mark.parametrize("dies", [(), (1, 1)])
def test_a_plan_on_one_die_says_nothing_of_them(dies: tuple[int, ...]) -> None:
    report = report_of(dies)
    assert report.plan.dies == ()
    assert "SLR" not in text_of(report)
    assert not [note for note in report.notes if "crossing" in note]


def test_plans_that_differ_in_dies_are_told_apart() -> None:
    of = case("unrolled")
    one, other = (planned(replace(of, traffic=replace(of.traffic, dies=dies))) for dies in ((0, 1), (1, 0)))
    found = compare_plans(Side(Path("a"), one, None), Side(Path("b"), other, None))
    assert [(figure.name, figure.a, figure.b) for figure in found.figures] == [("dies of the runs", "0 1", "1 0")]
