"""The front as JSON, CSV, table and picture, and the command that gives it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from flow.graph.store import to_json
from flow.latency.budget import Origin
from flow.plan.pareto import pareto
from flow.plan.request import Request
from flow.report.market_picture import picture_format
from flow.report.pareto import Pareto, pareto_from_json, pareto_report, pareto_to_csv, pareto_to_json
from flow.report.pareto_picture import pareto_picture
from flow.report.pareto_table import print_pareto
from flow.report.terminal import new_console
from tests.commands import save, tiny_graph
from tests.plan.graphs import dense_network

ASKED = Request(part="xc7a35t", clock="80MHz", budget="200ns")
WORDS = ("--part", "xc7a35t", "--clock", "80MHz", "--budget", "200ns")


@pytest.fixture(scope="module")
def front() -> Pareto:
    graph = dense_network(8, 6, 4)
    return pareto_report(graph, ASKED, pareto(graph, ASKED))


def text_of(front: Pareto) -> str:
    console = new_console()
    console.width = 100
    with console.capture() as captured:
        print_pareto(front, console)
    return captured.get()


def test_json_is_read_back_as_it_was_and_has_the_documented_keys(front):
    data = pareto_to_json(front)
    assert pareto_from_json(data) == front
    page = (Path(__file__).parents[2] / "docs" / "pareto.md").read_text(encoding="utf-8")
    top = json.loads(data)
    keys = {*top, *top["points"][0], *top["points"][0]["clock"], *top["points"][0]["engines"][0], *top["usable"]}
    assert {key for key in keys if f"`{key}`" not in page} == set()


def test_figures_go_together(front):
    assert front.origin is Origin.PREDICTED
    assert len(front.points) > 5
    for point in front.points:
        assert point.ns == pytest.approx(point.cycles * point.clock.period_ns + front.fixed_ns)
        shares = [getattr(point, kind) / getattr(front.usable, kind) for kind in ("lut", "ff", "dsp", "bram")]
        assert point.area == pytest.approx(sum(shares))
        assert point.request == f"--clock 80MHz --budget {point.cycles * 12.5:g}ns"
        assert point.ii >= max(engine.reuse_factor for engine in point.engines)
    assert [p.ns for p in front.points] == sorted(p.ns for p in front.points)


def test_csv_has_a_line_for_each_point(front):
    rows = list(csv.DictReader(io.StringIO(pareto_to_csv(front), newline="")))
    assert [float(row["total_ns"]) for row in rows] == [point.ns for point in front.points]
    assert [int(row["lut"]) for row in rows] == [point.lut for point in front.points]
    assert {row["origin"] for row in rows} == {"predicted"}
    assert rows[-1]["engines"].count("reuse factor") == sum(e.engine == "folded" for e in front.points[-1].engines)


def test_the_table_has_all_points_and_says_what_may_be_missing(front):
    text = text_of(front)
    assert all(f"{point.lut:,}" in text for point in front.points)
    assert text.count("missed") == sum(point.ns > 200 for point in front.points)
    assert front.points[0].request in " ".join(text.split())
    assert "left out" not in text
    assert "17 between them were left out" in " ".join(text_of(replace(front, unasked=17)).split())
    assert "verdict" not in text_of(replace(front, budget_ns=None)).split("\n\n")[0].splitlines()[4]


def test_the_picture_has_the_budget_and_labels_and_is_reproducible(front, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need the docs extra")
    svg = pareto_picture(front, "svg")
    assert svg == pareto_picture(front, "svg")
    text = svg.decode()
    assert all(
        word in text
        for word in (">budget<", ">beyond the budget<", "clock surely closes", f"{front.points[-1].cycles:,} cycles")
    )
    assert "budget" not in pareto_picture(replace(front, budget_ns=None), "svg").decode().replace("no budget", "")
    assert pareto_picture(front, picture_format(tmp_path / "x.png")).startswith(b"\x89PNG")


# ---- the command ----


def test_each_point_is_had_again_with_the_options_that_it_gives(fpgaflow, tmp_path):
    (tmp_path / "net.json").write_bytes(to_json(tiny_graph()))
    done = fpgaflow("budget", "net.json", *WORDS, "--pareto", "--json", "--csv", "out.csv")
    assert done.status == 0
    found = json.loads(done.out)
    assert (tmp_path / "out.csv").read_text().count("\n") == 1 + len(found["points"])
    assert "front of latency and area" in done.err
    for point in found["points"]:
        again = json.loads(fpgaflow("budget", "net.json", *WORDS[:2], *point["request"].split(), "--json").out)
        assert again["latency"]["total_ns"] == pytest.approx(point["ns"])
        assert {k: again["resources"]["predicted"][k] for k in ("lut", "ff", "dsp", "bram")} == {
            k: point[k] for k in ("lut", "ff", "dsp", "bram")
        }


def test_the_command_ends_with_3_where_no_point_is_within_the_budget(fpgaflow, tmp_path):
    save(tiny_graph(), tmp_path / "net.json")
    done = fpgaflow("budget", "net.json", *WORDS[:4], "--budget", "1ns", "--pareto", "--csv", "-")
    assert done.status == 3
    assert {row["verdict"] for row in csv.DictReader(io.StringIO(done.out))} == {"missed"}
    done = fpgaflow("budget", "net.json", "--part", "xc7a35t", "--clock", "0.1ns", "--pareto")
    assert (done.status, done.out) == (3, "")
    assert "there is no front" in done.err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--all-parts",), ("--all-parts does not go with --pareto",)),
        (("--parts", "u250"), ("--parts does not go with --pareto",)),
        (("--sort", "price"), ("--sort does not go with --pareto",)),
        (("--sensitivity",), ("--sensitivity does not go with --pareto",)),
        (("--latency-exact", "9"), ("--latency-exact does not go with --pareto", "one latency")),
        (("--freeze", "net.json"), ("--freeze does not go with --pareto",)),
        (("--arrivals", "poisson:1MHz"), ("--arrivals does not go with --pareto", "load")),
        (("--buffer", "0"), ("--buffer does not go with --pareto",)),
        (("--bunch-crossings",), ("--bunch-crossings does not go with --pareto",)),
        (("--csv", "-", "--json"), ("--csv - and --json",)),
        (("--csv", "x.svg", "--picture", "x.svg"), ("--csv and --picture both name",)),
        (("--picture", "x.pdf"), ("x.pdf", ".svg or .png")),
    ],
)
def test_what_does_not_go_together_is_refused(fpgaflow, tmp_path, words, names):
    save(tiny_graph(), tmp_path / "net.json")
    fpgaflow.refused("budget", "net.json", *WORDS, "--pareto", *words, names=names)
    assert {path.name for path in tmp_path.iterdir()} <= {"net.json", "hls_projects"}


def test_a_contract_in_the_request_is_refused(fpgaflow, tmp_path):
    save(tiny_graph(), tmp_path / "net.json")
    (tmp_path / "request.toml").write_text('model = "net.json"\nclock = "5ns"\nlatency_exact = 9\n')
    fpgaflow.refused("budget", ".", "--pareto", names=("latency_exact", "leave it out of the request"))
