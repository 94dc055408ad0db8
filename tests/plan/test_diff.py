"""fpgaflow diff: what differs between two plans."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from flow.cli import cli
from flow.engines.engine import Unrolled
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.latency.timeline import timeline_to_json
from flow.plan.compare_plans import compare_plans, load_side
from flow.plan.pins import Pin
from flow.plan.plan import plan_to_json, timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from tests.plan.graphs import dense_network

WIRED = {"d0": Pin(engine="unrolled"), "d1": Pin(engine="unrolled")}
LARGE = Request(part="xcvu9p", clock="200MHz", pins=WIRED)


def _run(graph: Graph, request: Request, folder: Path) -> Path:
    folder.mkdir()
    plan = make_plan(graph, request)
    (folder / "plan.json").write_bytes(plan_to_json(plan))
    (folder / "timeline.json").write_bytes(timeline_to_json(timeline_of(graph, plan.choices, plan.traffic)))
    return folder


@pytest.fixture(name="runs")
def _runs(tmp_path: Path) -> tuple[Path, Path, Path]:
    graph = dense_network(16, 12, 6)
    pinned = replace(LARGE, pins=WIRED | {"d0": Pin(reuse_factor=24)})
    return (
        _run(graph, LARGE, tmp_path / "a"),
        _run(graph, replace(LARGE, latency_exact=20), tmp_path / "held"),
        _run(graph, pinned, tmp_path / "folded"),
    )


def test_a_plan_is_the_same_as_itself(runs: tuple[Path, ...]) -> None:
    found = compare_plans(load_side(runs[0]), load_side(runs[0] / "plan.json"))
    assert found.equal
    assert (found.figures, found.engines) == ((), ())


def test_held_outputs_change_cycles_time_and_registers_only(runs: tuple[Path, ...]) -> None:
    a, held = load_side(runs[0]), load_side(runs[1])
    assert a.timeline is not None
    found = compare_plans(a, held)
    figures = {figure.name: (figure.a, figure.b) for figure in found.figures}
    own = a.timeline.latency
    assert figures.pop("latency") == (own, 20)
    assert figures.pop("held back") == (0, 20 - own)
    assert figures.pop("exact latency") == (None, 20)
    assert figures.pop("core") == figures.pop("total") == (own * 5.0, 100.0)
    assert set(figures) <= {"FF", "period needed, least", "period needed, most"}
    last = found.engines[-1]
    assert last.nodes == (f"→ r1_late_{20 - own}",)
    assert last.a is None
    assert last.b is not None
    assert (last.b.engine, last.b.ready) == ("delay", 20)


def test_another_engine_is_told_for_all_of_its_nodes(runs: tuple[Path, ...]) -> None:
    found = compare_plans(load_side(runs[0]), load_side(runs[2]))
    (engine,) = (e for e in found.engines if "d0" in e.nodes)
    assert engine.nodes == ("d0", "r0")
    assert engine.a is not None
    assert engine.b is not None
    assert engine.a.engine.startswith("unrolled, depth ")
    assert engine.b.engine.startswith("folded, reuse factor 24, ")
    assert {"LUT", "latency", "interval"} <= {figure.name for figure in found.figures}


def test_other_weights_are_told_by_their_cells(tmp_path: Path) -> None:
    a = load_side(_run(dense_network(16, 12, 6), LARGE, tmp_path / "a"))
    b = load_side(_run(dense_network(16, 12, 6, seed=3), LARGE, tmp_path / "b"))
    found = compare_plans(a, b)
    assert not found.equal
    assert "LUT" in {figure.name for figure in found.figures}
    (first, _) = found.engines
    assert first.nodes == ("d0", "r0")
    assert first.a is not None
    assert first.b is not None
    assert first.a.lut != first.b.lut


def test_a_register_that_moves_is_a_difference_though_all_sums_are_equal(runs: tuple[Path, ...]) -> None:
    side = load_side(runs[0])
    depths = [run.choice.depth for run in side.plan.runs if isinstance(run.choice, Unrolled)]
    moved = tuple(
        replace(run, choice=replace(run.choice, depth=depth))
        for run, depth in zip(side.plan.runs, (depths[0] + 1, depths[1] - 1), strict=True)
        if isinstance(run.choice, Unrolled)
    )
    found = compare_plans(side, replace(side, plan=replace(side.plan, runs=moved)))
    assert (found.equal, found.figures) == (False, ())
    assert [engine.nodes for engine in found.engines] == [("d0", "r0"), ("d1", "r1")]


def test_the_command_ends_as_diff_does(runs: tuple[Path, ...], tmp_path: Path) -> None:
    same = CliRunner().invoke(cli, ["diff", str(runs[0]), str(runs[0])])
    assert (same.exit_code, "the same plan" in same.output) == (0, True)
    apart = CliRunner().invoke(cli, ["diff", str(runs[0]), str(runs[2])])
    assert apart.exit_code == 1
    assert "folded, reuse factor 24" in " ".join(apart.output.split())
    as_json = CliRunner().invoke(cli, ["diff", str(runs[0]), str(runs[1]), "--json"])
    told = json.loads(as_json.output)
    assert as_json.exit_code == 1
    assert (told["format"], told["equal"]) == (1, False)
    latency = next(figure for figure in told["figures"] if figure["name"] == "latency")
    assert (latency["unit"], latency["b"], latency["origin"]) == ("cycles", 20, "predicted")
    missing = CliRunner().invoke(cli, ["diff", str(runs[0]), str(tmp_path / "nothing")])
    assert missing.exit_code == 2


def test_a_plan_without_a_timeline_has_no_cycles(runs: tuple[Path, ...]) -> None:
    (runs[1] / "timeline.json").unlink()
    found = compare_plans(load_side(runs[0]), load_side(runs[1]))
    figures = {figure.name: (figure.a, figure.b) for figure in found.figures}
    assert figures["latency"][1] is None
    assert all(engine.b is None or engine.b.ready is None for engine in found.engines)


@pytest.mark.parametrize(
    ("keys", "figure", "said"),
    [
        (("clock", "period_ns"), "-5", "clock.period_ns = -5 is no number above 0"),
        (("clock", "period_ns"), "0", "clock.period_ns = 0 is no number above 0"),
        (("clock", "period_ns"), "1e309", "clock.period_ns = inf is no number above 0 to 1e+15"),
        (("clock", "period_ns"), "1e300", "clock.period_ns = 1e+300 is no number"),
        (("clock", "range_ns", 1), "-1", "clock.range_ns.1 = -1 is no number from 0"),
        (("budget_ns",), "NaN", "budget_ns = nan is no number above 0"),
        (("rate_hz",), "-40e6", "rate_hz = -4e+07 is no number above 0"),
        (("fixed_ns", 0), "1e300", "fixed_ns.0 = 1e+300 is no number from 0 to 1e+15"),
        (("fixed_ns", 2), "NaN", "fixed_ns.2 = nan is no number from 0"),
        (("best_ns",), "-Infinity", "best_ns = -inf is no number from 0"),
        (("proof", "bound"), "NaN", "proof.bound = nan is no number from 0"),
        (("proof", "value"), "-1", "proof.value = -1 is no number from 0"),
        (("runs", 0, "delay_ns"), "NaN", "runs.0.delay_ns = nan is no number from 0"),
        (("runs", 1, "resources", "lut"), "-1", "runs.1.resources.lut = -1 is no number from 0"),
        (("converters", 0, "resources", "ff"), "-1", "converters.0.resources.ff = -1 is no number from 0"),
    ],
)
def test_figures_that_nothing_can_have_are_no_plan(
    runs: tuple[Path, ...], keys: tuple[str | int, ...], figure: str, said: str
) -> None:
    file = runs[2] / "plan.json"
    stored = json.loads(file.read_text())
    inner = stored
    for key in keys[:-1]:
        inner = inner[key]
    assert keys[-1] in inner or isinstance(keys[-1], int)
    inner[keys[-1]] = "FIGURE"
    file.write_text(json.dumps(stored).replace('"FIGURE"', figure))
    result = CliRunner().invoke(cli, ["diff", str(runs[2]), str(runs[2])])
    assert isinstance(result.exception, UserError)
    assert str(result.exception).startswith(f"{file} is not a plan: {said}")
    assert str(result.exception).endswith("renew it: fpgaflow build")
