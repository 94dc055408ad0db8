"""QKeras layers in Keras 2 files and as qkeras-v3 makes them: one function, one conversion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flow.errors import UserError
from flow.frontend.keras import KerasSource, import_keras
from flow.frontend.load import load
from tests.frontend.legacy_files import write_functional

pytest.importorskip("qkeras")

BITS = "quantized_bits(4,0,alpha=1)"
BINARY = "binary(alpha=1)"
PO2 = "quantized_po2(4)"
AUTO = "quantized_bits(4,1,alpha='auto')"
INPUTS = {"image": [6, 5, 4], "line": [9, 3], "vector": [7]}
K = {"kernel_size": [3, 2]}
# class, options, input
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("QConv2D", {"filters": 3, "kernel_quantizer": BITS, "bias_quantizer": BITS, "padding": "same"} | K, "image"),
    ("QConv2D", {"filters": 3, "kernel_quantizer": "quantized_bits(4,0)", "strides": [2, 1]} | K, "image"),
    ("QConv2D", {"filters": 5, "kernel_quantizer": AUTO, "bias_quantizer": BITS} | K, "image"),
    ("QConv2D", {"filters": 3, "kernel_quantizer": "ternary(alpha='auto')", "use_bias": False} | K, "image"),
    ("QConv2D", {"filters": 3, "kernel_quantizer": BINARY, "bias_quantizer": BINARY} | K, "image"),
    ("QConv2D", {"filters": 3, "kernel_quantizer": "quantized_bits(6,0,keep_negative=0,alpha=1)"} | K, "image"),
    ("QConv2D", {"filters": 3, "kernel_quantizer": "quantized_bits(4,0,symmetric=1,alpha=1)"} | K, "image"),
    ("QConv2D", {"filters": 3, "kernel_quantizer": "quantized_bits(4,4,alpha=1)"} | K, "image"),
    ("QConv2D", {"filters": 3, "kernel_quantizer": PO2, "bias_quantizer": PO2} | K, "image"),
    ("QConv2D", {"filters": 2, "kernel_quantizer": BITS, "activation": "quantized_relu(4,1)"} | K, "image"),
    ("QConv1D", {"filters": 4, "kernel_size": [3], "kernel_quantizer": BITS, "padding": "same"}, "line"),
    ("QConv1D", {"filters": 4, "kernel_size": [3], "kernel_quantizer": "binary(alpha='auto')"}, "line"),
    ("QDepthwiseConv2D", {"depthwise_quantizer": BITS, "bias_quantizer": BITS} | K, "image"),
    ("QDepthwiseConv2D", {"depthwise_quantizer": AUTO, "padding": "same"} | K, "image"),
    ("QDepthwiseConv2D", {"depthwise_quantizer": AUTO, "depth_multiplier": 2} | K, "image"),
    ("QDepthwiseConv2D", {"depthwise_quantizer": "quantized_bits(4,0)", "strides": [2, 2]} | K, "image"),
    ("QSeparableConv2D", {"filters": 5, "depthwise_quantizer": BITS, "pointwise_quantizer": BITS} | K, "image"),
    (
        "QSeparableConv2D",
        {"filters": 5, "depthwise_quantizer": AUTO, "pointwise_quantizer": AUTO, "bias_quantizer": BITS} | K,
        "image",
    ),
    ("QSeparableConv1D",
     {"filters": 2, "kernel_size": [3], "depthwise_quantizer": BITS, "pointwise_quantizer": BITS}, "line"),
    ("QConv2DBatchnorm", {"filters": 3, "kernel_quantizer": BITS, "bias_quantizer": BITS} | K, "image"),
    ("QConv2DBatchnorm",
     {"filters": 3, "kernel_quantizer": AUTO, "folding_mode": "batch_stats_folding", "ema_freeze_delay": 3,
      "use_bias": False} | K, "image"),
    ("QDepthwiseConv2DBatchnorm", {"depthwise_quantizer": BITS, "bias_quantizer": BITS} | K, "image"),
    ("QDense", {"units": 3, "kernel_quantizer": AUTO, "bias_quantizer": BITS}, "image"),
    ("QDense", {"units": 3, "kernel_quantizer": BINARY, "bias_quantizer": BINARY}, "vector"),
    ("QActivation", {"activation": "quantized_relu(4,1,negative_slope=0.25)"}, "image"),
    ("QActivation", {"activation": "quantized_bits(4,4,alpha=1)"}, "image"),
    ("QActivation", {"activation": "quantized_bits(6,2,keep_negative=0,alpha=1)"}, "image"),
    ("QActivation", {"activation": "quantized_bits(4,0,symmetric=True,alpha=1)"}, "image"),
    ("QActivation", {"activation": "quantized_tanh(4)"}, "image"),
    ("QActivation", {"activation": "quantized_sigmoid(5)"}, "image"),
    ("QActivation", {"activation": "binary(alpha=1)"}, "image"),
    ("QActivation", {"activation": "ternary(alpha=1,threshold=0.5)"}, "image"),
    ("QActivation", {"activation": "ternary()"}, "line"),
]  # fmt: skip
LABELS = [f"{kind}_{number}".lower() for number, (kind, _, _) in enumerate(CASES)]
_random = np.random.default_rng(6)
# exactly on many rounding boundaries
ARRAYS = {name: np.rint(_random.normal(0, 24, (5, *shape))) / 16 for name, shape in INPUTS.items()}


@pytest.fixture(scope="module")
def model() -> Any:
    keras, names = import_keras()
    inputs = {name: keras.layers.Input(shape, name=name) for name, shape in INPUTS.items()}
    outputs = []
    for label, (kind, options, source) in zip(LABELS, CASES, strict=True):
        layer = names[kind](name=label, **options)
        outputs.append(layer(inputs[source]))
        for variable in layer.weights:
            if variable.name != "iteration":
                low = 0.3 if "variance" in variable.name else -1.0
                variable.assign(_random.uniform(low, 1.2, variable.shape))
    return keras.Model(list(inputs.values()), outputs)


@pytest.fixture(scope="module")
def live(model) -> KerasSource:
    return KerasSource(model, "live", None)


@pytest.fixture(scope="module")
def stored(model, tmp_path_factory):
    layers = []
    for label, (kind, options, source) in zip(LABELS, CASES, strict=True):
        variables = {v.name: np.asarray(v) for v in model.get_layer(label).weights if v.name != "iteration"}
        layers.append((kind, {"name": label} | options, variables, [source]))
    return load(write_functional(tmp_path_factory.mktemp("q"), "stored", INPUTS, layers, LABELS))


def test_a_keras_2_file_computes_what_qkeras_computes(live, stored):
    wanted, got = (source.predict(tuple(ARRAYS.values())) for source in (live, stored))
    wrong = [label for label in LABELS if not np.allclose(got[label], wanted[label], rtol=1e-5, atol=2e-5)]
    assert not wrong


def test_both_convert_to_the_same_weights_and_types(live, stored, tmp_path):
    one, two = (source.convert(tmp_path / "hls").graph for source in (live, stored))
    assert list(one) == list(two)
    for name, node in one.items():
        other = two[name]
        assert str(node.get_output_variable().type.precision) == str(other.get_output_variable().type.precision), name
        for variable, weight in node.weights.items():
            assert str(weight.type.precision) == str(other.weights[variable].type.precision)
            difference = np.abs(np.asarray(weight.data, float) - np.asarray(other.weights[variable].data, float))
            assert difference.max(initial=0) <= 2.0**-10, (name, variable)  # a float's last bit in fixed<16,6>


def test_weights_are_exactly_the_quantizers_codes(model, live, tmp_path):
    nodes = live.convert(tmp_path / "hls").graph
    layer = model.get_layer(LABELS[0])
    wanted = np.asarray(layer.kernel_quantizer_internal(layer.kernel))
    assert np.array_equal(np.asarray(nodes[LABELS[0]].weights["weight"].data).reshape(wanted.shape), wanted)
    folded = model.get_layer(LABELS[[kind for kind, _, _ in CASES].index("QConv2DBatchnorm")])
    wanted = np.asarray(folded.bias_quantizer_internal(folded.get_folded_weights()[1]))
    assert np.array_equal(np.asarray(nodes[folded.name].weights["bias"].data), wanted)


def test_a_batch_normalization_is_accepted_without_quantizers_only():
    keras, names = import_keras()
    plain = {f"{name}_quantizer": None for name in ("gamma", "beta", "mean", "variance", "inverse")}
    for options, said in (
        (plain, ""),
        (plain | {"beta_quantizer": "quantized_po2(5)"}, "beta_quantizer=quantized_po2"),
    ):
        model = keras.Sequential([keras.layers.Input((3,)), names["QBatchNormalization"](name="l", **options)])
        if not said:
            assert [record.label for record in KerasSource(model, "m", None)._reference.model.records][-1] == "l"
            continue
        with pytest.raises(UserError, match=said):
            KerasSource(model, "m", None)


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("QConv2D", {"filters": 2, "kernel_quantizer": "quantized_relu_po2(4)"} | K, "quantized_relu_po2"),
        ("QConv2D", {"filters": 2, "kernel_quantizer": "stochastic_ternary()"} | K, "stochastic_ternary"),
        ("QConv2D", {"filters": 2, "bias_quantizer": "quantized_relu(4)"} | K, "quantized_relu on weights"),
        ("QConv2D", {"filters": 2, "activation": "quantized_relu(4,use_sigmoid=1)"} | K, "use_sigmoid=1"),
        ("QDepthwiseConv2D", {"depthwise_quantizer": "quantized_relu_po2(4)"} | K, "depthwise_quantizer"),
        ("QConv2D", {"filters": 2, "bias_quantizer": AUTO} | K, "bias whose scale"),
        ("QConv2D", {"filters": 2, "mask": [[1, 0], [1, 1], [0, 1]]} | K, "mask"),
        ("QActivation", {"activation": "quantized_po2(4)"}, "quantized_po2 on activations"),
        ("QBatchNormalization", {}, "gamma_quantizer of QKeras's choice"),
    ],
)
def test_what_no_convolution_carries_is_refused(tmp_path, kind, options, said):
    variables = {
        "kernel": np.ones((3, 2, 4, 2)),
        "bias": np.array([0.3, 0.7]),
        "depthwise_kernel": np.ones((3, 2, 4, 1)),
    }
    layers = [(kind, {"name": "l"} | options, variables, ["image"])]
    with pytest.raises(UserError) as error:
        load(write_functional(tmp_path, "bad", INPUTS, layers, ["l"]))
    assert said in str(error.value)
    assert "layer 'l'" in str(error.value)
