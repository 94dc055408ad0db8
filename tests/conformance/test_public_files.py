"""Networks that others have published, from their files to hardware, on real jets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.engines.folded import Folded
from flow.engines.streamed import Streamed
from flow.frontend.convert import convert
from flow.frontend.load import load
from flow.latency.budget import Verdict
from flow.plan.plan import load_plan
from flow.steps.context import Options
from flow.steps.run import run_to

SHARED = Path(__file__).parents[3] / "shared"
JETS = SHARED / "data" / "jets_500.npz"
DIGITS = SHARED / "data" / "mnist_500.npz"

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


def test_the_public_digits_cnn_is_exact_in_streams(tmp_path: Path) -> None:
    """Its own configuration asks for io_stream; `convert` raises where the evaluator and the C simulation differ."""
    digits = np.load(DIGITS)
    models = SHARED / "models"
    source = load(models / "qkeras_mnist_cnn.json", models / "qkeras_mnist_cnn_config.yml")
    done = convert(source, (digits["x"].reshape(-1, 28, 28, 1).astype(np.float64),), tmp_path)
    (outputs,) = done.outputs.values()
    assert len(outputs) == 500
    assert np.mean(outputs.argmax(axis=1) == digits["y"]) > 0.98  # 0.992 were measured, in float too
    assert np.array_equal(outputs.argmax(axis=1), done.framework["q_dense"].argmax(axis=1))
    for layer in done.fidelity.layers:
        assert layer.function_error == 0.0
        assert layer.max_abs_error < 0.125


@pytest.mark.parametrize("io_type", ["io_parallel", pytest.param("io_stream", marks=pytest.mark.campaign)])
@pytest.mark.parametrize(
    ("file", "shape", "layers"),
    [
        ("KERAS_conv1d_small.json", (10, 4), 6),
        pytest.param("jetTagger_Conv2D_Small.json", (25, 25, 1), 7, marks=pytest.mark.campaign),
    ],
)
def test_a_public_convolutional_network_is_exact(
    file: str, shape: tuple[int, ...], layers: int, io_type: str, tmp_path: Path
) -> None:
    """On random inputs: no data of these shapes are at hand."""
    x = np.random.default_rng(3).uniform(0, 2, (100, *shape))
    done = convert(load(SHARED / "models" / file, {"IOType": io_type}), (x,), tmp_path)
    assert len(done.fidelity.layers) == layers
    for layer in done.fidelity.layers:
        assert layer.function_error < 1e-9
        assert layer.max_abs_error < 0.5


@pytest.mark.campaign
@pytest.mark.timeout(5400)
@pytest.mark.parametrize(
    ("file", "config", "shape", "budget"),
    [
        ("qkeras_mnist_cnn.json", "qkeras_mnist_cnn_config.yml", (28, 28, 1), "20us"),
        ("KERAS_conv1d_small.json", None, (10, 4), "5us"),
        ("jetTagger_Conv2D_Small.json", None, (25, 25, 1), "20us"),
    ],
)
def test_a_public_convolutional_network_is_exact_in_hardware(
    file: str, config: str | None, shape: tuple[int, ...], budget: str, tmp_path: Path
) -> None:
    """The digits are real, and their accuracy is that of the RTL; no data of the other shapes are at hand."""
    vectors = tmp_path / "vectors.npz"
    if config is None:
        np.savez(vectors, x=np.random.default_rng(3).uniform(0, 2, (100, *shape)))
    else:
        digits = np.load(DIGITS)
        np.savez(vectors, x=digits["x"].reshape(-1, *shape), y=digits["y"])
    asked = Options(
        model=str(SHARED / "models" / file),
        config=SHARED / "models" / config if config else None,
        vectors=str(vectors),
        budget=budget,
        part="xcvu9p",
        clock="4ns",
        link="direct",
        boundary="core",
        out=tmp_path / "run",
    )
    report = run_to("simulate", asked)
    assert report.verified, [check for check in report.checks if not check.passed]
    assert report.verdict is Verdict.MET
    assert report.bit_exact is not None
    assert report.bit_exact.mismatches == report.bit_exact.wrong_bits == 0
    assert report.bit_exact.reference == "hls4ml's C simulation"
    assert report.timeline is not None
    assert report.timeline.beats_checked > 10_000
    assert report.timeline.beats_wrong == 0
    assert report.latency.cycles_simulated == report.latency.cycles_predicted
    assert report.ii.cycles_simulated == report.ii.cycles_predicted
    if config is not None:  # it asks for io_stream
        assert any(isinstance(choice, Streamed) for choice in load_plan(tmp_path / "run" / "plan.json").choices)
        assert report.accuracy is not None
        assert report.accuracy.rtl is not None
        assert report.accuracy.rtl > 0.98  # 0.992 were measured
