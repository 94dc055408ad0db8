"""Networks that others have published, from their files to hardware, on real jets."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow.engines.folded import Folded
from flow.latency.budget import Verdict
from flow.plan.plan import load_plan
from flow.steps.context import Options
from flow.steps.run import run_to

SHARED = Path(__file__).parents[3] / "shared"
JETS = SHARED / "data" / "jets_500.npz"

pytestmark = [pytest.mark.eda, pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared with the public models")]


@pytest.mark.parametrize(
    ("file", "least_accuracy"),
    [
        ("qkeras_3layer.json", 0.785),
        pytest.param("qkeras-v3_3layer.keras", 0.785, marks=pytest.mark.campaign),
        # its classes stand in another order than these labels: what counts is that nothing differs
        pytest.param("KERAS_3layer_70pruned_retrained_weights.h5", 0.3, marks=pytest.mark.campaign),
    ],
)
def test_a_public_network_is_exact_in_hardware(file: str, least_accuracy: float, tmp_path: Path) -> None:
    if file.endswith(".keras"):
        pytest.importorskip("qkeras")
    asked = Options(model=str(SHARED / "models" / file), vectors=str(JETS), rate="50MHz", out=tmp_path)
    report = run_to("simulate", asked)
    assert report.verified, [check for check in report.checks if not check.passed]
    assert report.bit_exact is not None
    assert (report.bit_exact.vectors, report.bit_exact.mismatches) == (500, 0)
    assert report.bit_exact.reference == "hls4ml's C simulation"
    assert report.timeline is not None
    assert report.timeline.edges == 5
    assert report.timeline.beats_checked > 10_000
    assert report.timeline.beats_wrong == 0
    assert report.latency.cycles_simulated == report.latency.cycles_predicted > 1
    assert report.ii.cycles_simulated == report.ii.cycles_predicted == 1
    assert report.accuracy is not None
    assert report.accuracy.rtl == report.accuracy.hls4ml
    assert report.accuracy.framework == pytest.approx(report.accuracy.rtl, abs=1 / 500)
    assert report.accuracy.rtl >= least_accuracy


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("file", "part", "clock", "edges"),
    [
        ("KERAS_3layer.json", "xc7a100t", "100MHz", 5),
        ("KERAS_dense_16x100x100x100x100x100x5.json", "xc7k325t", "125MHz", 7),
    ],
)
def test_a_public_16_bit_network_is_folded_and_exact(
    file: str, part: str, clock: str, edges: int, tmp_path: Path
) -> None:
    """Default precision, fixed<16,6>: neither fits its part unrolled, both fit folded and answer within 5 µs."""
    asked = Options(
        model=str(SHARED / "models" / file),
        vectors=str(JETS),
        budget="5us",
        part=part,
        clock=clock,
        link="direct",
        boundary="core",
        out=tmp_path,
    )
    report = run_to("simulate", asked)
    assert report.verified, [check for check in report.checks if not check.passed]
    assert report.verdict is Verdict.MET
    assert report.bit_exact is not None
    assert (report.bit_exact.vectors, report.bit_exact.mismatches) == (500, 0)
    assert report.bit_exact.reference == "hls4ml's C simulation"
    assert report.timeline is not None
    assert report.timeline.edges >= edges  # and what stands between engines of different beats
    assert report.timeline.beats_wrong == 0
    assert report.latency.cycles_simulated == report.latency.cycles_predicted
    assert report.ii.cycles_simulated == report.ii.cycles_predicted > 1
    folded = [choice for choice in load_plan(tmp_path / "plan.json").choices if isinstance(choice, Folded)]
    assert folded
    # hls/ has the plan's knobs
    parameters = (tmp_path / "hls" / "firmware" / "parameters.h").read_text()
    assert parameters.count("nnet::resource;") == len(folded)
