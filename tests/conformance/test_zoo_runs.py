"""Networks of the zoo through all of the flow, and their synthesized netlists through the same bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow.steps.context import Options
from flow.steps.run import run_to


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_digits_mlp_is_exact_in_hardware_and_as_a_netlist(tmp_path: Path) -> None:
    pytest.importorskip("qkeras")
    asked = Options(model="digits_mlp", part="LFE5U-85F", link="direct", netlist=True, out=tmp_path)
    report = run_to("run", asked)
    assert report.verified, [check for check in report.checks if not check.passed]
    assert report.bit_exact is not None
    assert report.bit_exact.mismatches == 0
    assert report.timeline is not None
    assert (report.timeline.edges, report.timeline.beats_wrong) == (4, 0)
    assert report.latency.cycles_simulated == report.latency.cycles_predicted
    assert report.accuracy is not None
    assert report.accuracy.rtl == report.accuracy.hls4ml
    assert report.accuracy.rtl >= 0.95
    netlist = [check for check in report.checks if check.name.startswith("netlist: ")]
    assert {check.name for check in netlist} >= {f"netlist: {name}" for name in ("stream", "latency", "gaps", "reset")}
    assert all(check.passed for check in netlist)
    assert report.resources.synthesized is not None


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_digits_cnn_is_exact_in_a_stream_and_as_a_netlist(tmp_path: Path) -> None:
    pytest.importorskip("qkeras")
    report = run_to("run", Options(model="digits_cnn", netlist=True, out=tmp_path))
    assert report.verified, [check for check in report.checks if not check.passed]
    assert report.verdict == "met"
    assert report.bit_exact is not None
    assert (report.bit_exact.vectors, report.bit_exact.mismatches) == (500, 0)
    assert report.timeline is not None
    assert report.timeline.beats_wrong == 0
    assert report.latency.cycles_simulated == report.latency.cycles_predicted
    assert report.ii.cycles_simulated == report.ii.cycles_predicted
    (picture,) = report.plan.inputs
    assert picture.beats * picture.lanes == 64
    streams = [engine for engine in report.plan.engines if engine.stream is not None]
    made = [engine.stream.windows * engine.stream.lanes_out for engine in streams[:2] if engine.stream]
    assert made == [8 * 8 * 6, 4 * 4 * 6]
    assert report.accuracy is not None
    assert report.accuracy.rtl == report.accuracy.hls4ml == report.accuracy.framework
    assert report.accuracy.rtl >= 0.97
    netlist = [check for check in report.checks if check.name.startswith("netlist: ")]
    assert {check.name for check in netlist} >= {f"netlist: {name}" for name in ("stream", "latency", "gaps", "reset")}
    assert report.resources.synthesized is not None


@pytest.mark.eda
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["residual_cnn", "anomaly_ae"])
def test_branches_that_meet_are_exact(name: str, tmp_path: Path) -> None:
    pytest.importorskip("qkeras")
    report = run_to("simulate", Options(model=name, vectors="300", out=tmp_path))
    assert report.verified, [check for check in report.checks if not check.passed]
    assert report.verdict == "met"
    assert report.bit_exact is not None
    assert (report.bit_exact.vectors, report.bit_exact.mismatches) == (300, 0)
    assert report.latency.cycles_simulated == report.latency.cycles_predicted
    assert any(between.kind == "fifo" for between in report.plan.converters) == (name == "residual_cnn")
