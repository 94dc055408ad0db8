"""A `Source` without a framework: hls4ml's graph from a description, the float function from numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.frontend.source import Knobs
from tests.networks import Branches, to_model

Floats = NDArray[np.float64]
WIDE = "ap_fixed<64,24>"
_FIXED_BY_THE_MODEL = "quantizer"


@dataclass(frozen=True)
class FakeSource:
    """Describe a chain of layers; `function` gives the float output of every layer.

    Layers whose description has a "quantizer" key keep their result type in the generous conversion.
    """

    layers: tuple[dict[str, Any], ...]
    precisions: Mapping[str, Mapping[str, str]]
    function: Callable[[Floats], dict[str, Floats]]
    name: str = "fake"
    notes: tuple[str, ...] = ()
    softmax: str | None = None
    io_type: str = "io_parallel"
    asked: Mapping[str, Knobs] = field(default_factory=dict)
    lost: tuple[str, ...] = ()  # layers of the framework that hls4ml never sees
    outputs: tuple[str, ...] = ()  # the last layer, unless given

    @property
    def labels(self) -> tuple[str, ...]:
        return (*(layer["name"] for layer in self.layers), *self.lost)

    @property
    def label_of(self) -> dict[str, str]:
        return {name: name for name in self.labels}

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        return {self.layers[0]["name"]: tuple(self.layers[0]["input_shape"])}

    def convert(self, folder: Path, *, generous: bool = False, knobs: Mapping[str, Knobs] | None = None) -> Any:
        named = {}
        for layer in self.layers:
            given = dict(self.precisions.get(layer["name"], {}))
            if generous:
                keep = layer.get(_FIXED_BY_THE_MODEL) is not None
                given = {which: text if keep or text == "auto" else WIDE for which, text in given.items()}
                if "accum" in given:
                    given["accum"] = "ap_fixed<128,48>"
            knob = (knobs or {}).get(layer["name"], Knobs(1, "Latency"))
            named[layer["name"]] = {
                "Precision": given,
                "ReuseFactor": knob.reuse_factor,
                "Strategy": knob.strategy,
            }
        clean = tuple({k: v for k, v in layer.items() if k != _FIXED_BY_THE_MODEL} for layer in self.layers)
        ends = (self.layers[0]["name"],), self.outputs or (self.layers[-1]["name"],)
        return to_model(Branches(clean, {"LayerName": named}, *ends), folder)

    def predict(self, inputs: tuple[Floats, ...]) -> dict[str, Floats]:
        return self.function(inputs[0])

    def but(self, **change: Any) -> FakeSource:
        return replace(self, **change)


def dense_layer(name: str, before: str, weights: Floats, bias: Floats, **more: Any) -> dict[str, Any]:
    n_in, n_out = weights.shape
    layer = {"name": name, "class_name": "Dense", "inputs": [before], "n_in": n_in, "n_out": n_out, "use_bias": True}
    return layer | {"weight_data": weights, "bias_data": bias, "weight_quantizer": None, "bias_quantizer": None} | more


def activation_layer(name: str, before: str, n_in: int, function: str = "relu", **more: Any) -> dict[str, Any]:
    return {"name": name, "class_name": "Activation", "inputs": [before], "activation": function, "n_in": n_in} | more


DENSE = {"result": "ap_fixed<16,6>", "weight": "ap_fixed<16,6>", "bias": "ap_fixed<16,6>", "accum": "ap_fixed<32,12>"}


def relu_net(*, rectify: Callable[[Floats], Floats] = lambda x: np.maximum(x, 0.0), seed: int = 0) -> FakeSource:
    """Return dense -> relu -> dense whose framework computes `rectify` instead of hls4ml's relu."""
    rng = np.random.default_rng(seed)
    w1, b1, w2, b2 = rng.normal(size=(6, 5)), rng.normal(size=5), rng.normal(size=(5, 3)), rng.normal(size=3)

    def function(x: Floats) -> dict[str, Floats]:
        first = x @ w1 + b1
        rectified = rectify(first)
        return {"x": x, "first": first, "relu": rectified, "second": rectified @ w2 + b2}

    return FakeSource(
        layers=(
            {"name": "x", "class_name": "InputLayer", "input_shape": [6]},
            dense_layer("first", "x", w1, b1),
            activation_layer("relu", "first", 5),
            dense_layer("second", "relu", w2, b2),
        ),
        precisions={"x": {"result": "ap_fixed<16,6>"}, "first": DENSE, "relu": {"result": "ap_fixed<16,6>"}}
        | {"second": DENSE},
        function=function,
    )
