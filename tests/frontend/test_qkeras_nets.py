"""Whole QKeras networks from Keras 2 files through hls4ml, in both io types: framework, C simulation, evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.frontend.convert import Conversion, convert
from flow.frontend.load import load
from tests.frontend.legacy_files import write_functional

BINARY, BITS = "binary(alpha=1)", "quantized_bits(8,3,alpha=1)"
Layers = list[tuple[str, dict, dict, list[str]]]
_random = np.random.default_rng(11)


def normalization(name: str, channels: int, source: str) -> tuple[str, dict, dict, list[str]]:
    """Return a batch normalization with scales of both signs, and thresholds between the integers."""
    variables = {
        "gamma": _random.choice([-1.0, 1.0], channels) * _random.uniform(0.5, 1.5, channels),
        "beta": _random.normal(0, 0.5, channels),
        "moving_mean": _random.normal(0, 1, channels),
        "moving_variance": _random.uniform(0.5, 2, channels),
    }
    return "BatchNormalization", {"name": name, "axis": [3]}, variables, [source]


def convolution(name: str, source: str, inputs: int, filters: int, **options: Any) -> tuple[str, dict, dict, list[str]]:
    variables = {"kernel": _random.normal(0, 0.7, (3, 2, inputs, filters)), "bias": _random.normal(0, 0.7, filters)}
    return "QConv2D", {"name": name, "filters": filters, "kernel_size": [3, 2]} | options, variables, [source]


def binary_net() -> Layers:
    return [
        convolution("c1", "image", 1, 4, kernel_quantizer=BINARY, bias_quantizer=BINARY),
        normalization("n1", 4, "c1"),
        ("QActivation", {"name": "b1", "activation": "binary(alpha=1)"}, {}, ["n1"]),
        ("MaxPooling2D", {"name": "p1", "pool_size": [2, 2]}, {}, ["b1"]),
        convolution("c2", "p1", 4, 3, kernel_quantizer=BINARY, bias_quantizer=BINARY),
        normalization("n2", 3, "c2"),
        ("QActivation", {"name": "t2", "activation": "ternary(alpha=1,threshold=0.5)"}, {}, ["n2"]),
        ("Flatten", {"name": "flat"}, {}, ["t2"]),
        (
            "QDense",
            {"name": "d", "units": 3, "kernel_quantizer": "ternary(alpha='auto')", "bias_quantizer": BINARY},
            {"kernel": _random.normal(0, 1, (12, 3)), "bias": _random.normal(0, 1, 3)},
            ["flat"],
        ),
    ]


def depthwise_net() -> Layers:
    """Return blocks of hls4ml's issue 1472, and a plain depthwise layer before a batch normalization."""
    depthwise = {"depthwise_kernel": _random.normal(0, 0.7, (3, 2, 5, 1)), "bias": _random.normal(0, 0.7, 5)}
    window = {"kernel_size": [3, 2], "padding": "same"}
    quantizers = {"depthwise_quantizer": BITS, "bias_quantizer": BITS}
    folded = normalization("", 5, "")[2] | {
        "kernel": _random.normal(0, 0.5, (1, 1, 5, 5)),
        "bias": _random.normal(0, 0.5, 5),
    }
    return [
        convolution("c1", "image", 1, 5, kernel_quantizer=BITS, activation="quantized_relu(8,3)"),
        ("QDepthwiseConv2D", {"name": "dw"} | window | quantizers, depthwise, ["c1"]),
        (
            "QConv2DBatchnorm",
            {"name": "pw", "filters": 5, "kernel_size": [1, 1], "kernel_quantizer": BITS, "bias_quantizer": BITS,
             "folding_mode": "ema_stats_folding"},
            folded, ["dw"],
        ),
        ("Add", {"name": "skip"}, {}, ["pw", "c1"]),
        ("QActivation", {"name": "cut", "activation": "quantized_bits(8,4,alpha=1)"}, {}, ["skip"]),
        ("DepthwiseConv2D", {"name": "float"} | window, depthwise, ["cut"]),
        normalization("norm", 5, "float"),
        ("GlobalAveragePooling2D", {"name": "mean"}, {}, ["norm"]),
    ]  # fmt: skip


NETS = {"binary": (binary_net(), [10, 8, 1]), "depthwise": (depthwise_net(), [7, 6, 1])}


def converted(folder: Path, name: str, io_type: str) -> Conversion:
    layers, shape = NETS[name]
    config = {"IOType": io_type, "HLSConfig": {"Model": {"Precision": "fixed<16,6>"}}}
    path = write_functional(folder, name, {"image": shape}, layers, [layers[-1][1]["name"]])
    x = np.rint(np.random.default_rng(2).normal(0, 6, (150, *shape))) / 4
    return convert(load(path, config), (x,), folder / "work")


@pytest.mark.eda
@pytest.mark.parametrize("io_type", ["io_parallel", "io_stream"])
@pytest.mark.parametrize("name", NETS)
def test_a_network_is_the_same_everywhere(name: str, io_type: str, tmp_path: Path) -> None:
    """`convert` compares the evaluator with two C simulations and each layer with this project's float64 function."""
    done = converted(tmp_path, name, io_type)
    assert max(layer.function_error for layer in done.fidelity.layers) < 1e-6
    labels = {layer.label for layer in done.fidelity.layers}
    if name == "binary":
        assert {"c1", "n1", "b1", "c2", "n2", "t2", "d"} <= labels
        values = done.framework["b1"]
        assert set(np.unique(values)) == {-1.0, 1.0}
        assert set(np.unique(done.framework["t2"])) == {-1.0, 0.0, 1.0}
        for layer in done.fidelity.layers:
            if layer.label in ("c1", "b1", "p1", "c2"):
                assert layer.max_abs_error == 0.0
    else:
        assert {"dw", "pw", "skip", "mean"} <= labels
        exact = {layer.label: layer.max_abs_error for layer in done.fidelity.layers}
        assert exact["dw"] == exact["pw"] == exact["skip"] == 0.0
