"""Exit statuses, and what `--json` prints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from flow.progress import Progress
from flow.report.report import BulkReport, bulk_to_json
from flow.simulate.result import Check, SimulationResult, result_to_json
from flow.steps.context import Options, open_context
from tests.commands import save, tiny_graph

GOOD = SimulationResult(
    vectors=1000,
    mismatches=0,
    first_mismatch=None,
    latency_simulated=1,
    interval_simulated=1.0,
    edges=2,
    beats_checked=5994,
    beats_wrong=0,
    wrong_edges=(),
    checks=(Check("stream", passed=True, detail="1000 inferences back to back"),),
    changed_files=(),
)

RIGHT = BulkReport(1000, 0, None)


@pytest.fixture
def here(tmp_path):
    save(tiny_graph(), tmp_path / "tiny.json")
    return tmp_path


def simulated(result, bulk=RIGHT):
    """Leave the result of a simulation in the folder, as the step would."""
    run = open_context(Options("tiny.json"), Progress.silent())
    run.project.simulation.parent.mkdir()
    run.project.simulation.write_bytes(result_to_json(result))
    run.project.bulk.write_bytes(bulk_to_json(bulk))
    run.project.record("simulate", run.simulation_digest(), (run.project.simulation, run.project.bulk))


@pytest.mark.parametrize(
    ("options", "verdict", "status"),
    [
        ((), "met", 0),
        (("--budget", "1us"), "met", 0),
        (("--budget", "1us", "--link", "pcie_mmio"), "met", 0),
        (("--budget", "4.5ns"), "met_if_clock_closes", 0),
        (("--budget", "2ns"), "missed", 3),
        (("--clock", "100MHz", "--rate", "200MHz"), "missed", 3),
        (("--clock", "1GHz"), "missed", 3),
    ],
)
def test_the_status_follows_the_verdict(fpgaflow, here, options, verdict, status):
    for goal in ("budget", "build"):
        done = fpgaflow(goal, "tiny.json", *options, "--json")
        assert (done.status, json.loads(done.out)["verdict"]) == (status, verdict), goal


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--budget", "2ns"), ("best reachable total is", "above the budget", "'r' has", "core would have to shrink")),
        (("--budget", "50ns", "--link", "pcie_mmio"), ("'pcie_mmio' alone takes 890 ns of the 50 ns budget",)),
        (
            ("--budget", "50us", "--link", "uart:300kbaud"),
            ("alone takes 200 µs of the 50 µs budget", "above 200 µs"),
        ),
        (("--budget", "2us", "--link", "xrt_mmio"), ("alone takes 10 µs of the 2 µs budget",)),
        (("--rate", "1kHz", "--clock", "5ms"), ("One inference per 1 ms", "clock cycle of 5 ms")),
        (("--budget", "5ns", "--clock", "100MHz"), ("With this clock the total is 10 ns", "--clock auto", "reachable")),
        (("--clock", "100MHz", "--rate", "200MHz"), ("One inference per 5 ns", "clock of at most 5 ns (200 MHz)")),
        (("--rate", "5GHz"), ("One inference per 0.2 ns", "shortest period that was found")),
        (("--clock", "1GHz"), ("No design closes a clock of 1 ns", "at most 775 MHz", "--clock auto")),
        (("--clock", "1GHz", "--part", "LFE5U-25F"), ("No pipeline closes a clock of 1 ns", "--clock auto")),
        (("--budget", "4.5ns"), ("may not close", "place and route decides")),
    ],
)
def test_a_miss_says_what_is_reachable_what_limits_and_what_would_have_to_change(fpgaflow, here, options, said):
    done = fpgaflow("budget", "tiny.json", *options)
    heading = " ".join(done.out.split("╰")[0].replace("│", " ").split())
    for text in said:
        assert text in heading
    assert "best reachable" in done.out


def test_json_is_the_report_and_nothing_else(fpgaflow, here):
    done = fpgaflow("build", "tiny.json", "--json")
    assert done.out.encode() == (here / "hls_projects" / "tiny" / "report.json").read_bytes()
    again = fpgaflow("report", "tiny.json", "--json")
    assert again.out == done.out
    assert fpgaflow("budget", "tiny.json", "--json").out.startswith("{")


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (GOOD, 0),
        (replace(GOOD, mismatches=1, first_mismatch="relu[0]: expected 1, found 2"), 1),
        (replace(GOOD, beats_wrong=1), 1),
        (replace(GOOD, checks=(Check("reset", passed=False, detail="a result after reset"),)), 1),
    ],
)
def test_wrong_hardware_ends_with_status_1(fpgaflow, here, result, status):
    assert fpgaflow("build", "tiny.json").status == 0
    simulated(result)
    done = fpgaflow("report", "tiny.json")
    assert done.status == status
    assert ("FAIL" in done.out) == (status == 1)


def test_wrong_hardware_counts_before_a_missed_budget(fpgaflow, here):
    assert fpgaflow("build", "tiny.json", "--budget", "2ns").status == 3
    run = open_context(Options("tiny.json"), Progress.silent())
    assert run.project.plan.exists()
    simulated(replace(GOOD, mismatches=1))
    assert fpgaflow("report", "tiny.json").status == 1


def test_a_simulated_latency_beyond_the_prediction_is_judged_and_explained(fpgaflow, here):
    assert fpgaflow("build", "tiny.json", "--budget", "8ns").status == 0
    simulated(replace(GOOD, latency_simulated=2))
    done = fpgaflow("report", "tiny.json", "--json")
    assert done.status == 3
    shown = json.loads(done.out)
    assert (shown["latency"]["cycles_predicted"], shown["latency"]["cycles_simulated"]) == (1, 2)
    assert "simulated at 2 cycles" in shown["advice"]


def test_bulk_mismatches_end_with_status_1(fpgaflow, here):
    assert fpgaflow("build", "tiny.json").status == 0
    simulated(GOOD, BulkReport(1000, 3, None))
    done = fpgaflow("report", "tiny.json", "--json")
    assert (done.status, json.loads(done.out)["bit_exact"]["mismatches"]) == (1, 3)


def test_wrong_bits_in_the_bench_are_told_as_bits(fpgaflow, here):
    assert fpgaflow("build", "tiny.json").status == 0
    simulated(replace(GOOD, mismatches=2135), BulkReport(1000, 3, None))
    done = fpgaflow("report", "tiny.json")
    assert done.status == 1
    assert "3 of 1,000 vectors differ" in " ".join(done.out.split())
    assert "2,135 bits wrong in the bench's traffic" in " ".join(done.out.split())


@pytest.mark.parametrize(("clock", "status"), [("auto", 0), ("1MHz", 1)])
def test_a_baseline_row_that_must_be_beaten_and_is_not_ends_with_status_1(fpgaflow, here, clock, status):
    folder = here / "mine"
    save(tiny_graph(), folder / "tiny.json")
    (folder / "request.toml").write_text(
        f"model = 'tiny.json'\nlink = 'pcie_mmio'\nclock = '{clock}'\nmust_beat = ['resident kernel']\n"
    )
    for goal in ("budget", "build"):
        done = fpgaflow(goal, "mine")
        assert done.status == status
        assert ("NOT BEATEN" in done.out) == (status == 1)
    other = fpgaflow("budget", "mine", "--link", "direct")
    assert other.status == 0, "the rows belong to the request's own link"


def test_a_result_that_was_changed_by_hand_is_refused(fpgaflow, here):
    assert fpgaflow("build", "tiny.json").status == 0
    simulated(replace(GOOD, mismatches=1))
    result = here / "hls_projects" / "tiny" / "sim" / "result.json"
    for content in (result_to_json(GOOD), b"", b"{}"):
        result.write_bytes(content)
        fpgaflow.refused("report", "tiny.json", names=("sim/result.json", "fpgaflow simulate"))


def test_what_lists_and_explains_ends_with_status_0(fpgaflow):
    for words, names in {
        ("parts",): ("xcvu13p", "LFE5U-85F", "GW2AR-18", "AGF014"),
        ("boards",): ("u250", "pynq-z2", "icebreaker"),
        ("links",): ("direct", "ethernet10g", "ethernet25g", "pcie_mmio", "pcie_dma", "xrt_sync"),
        ("models",): ("digits_mlp", "jet_tagger", "50ns"),
        ("--help",): ("budget", "build", "simulate", "synth", "report", "run"),
        ("--version",): ("0.1.0",),
        ("run", "--help"): ("--budget", "--rate", "--part", "--clock", "--link", "--vectors", "--json", "--out"),
    }.items():
        done = fpgaflow(*words)
        assert (done.status, done.err) == (0, "")
        for name in names:
            assert name in done.out
