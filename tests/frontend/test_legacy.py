"""Keras 2 and QKeras files: float evaluation, conversion, refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flow.errors import UserError
from flow.fixed import parse_type
from flow.frontend.load import load
from tests.frontend.legacy_files import dense, inlet, quantizer, write_legacy, write_whole

SHARED = Path(__file__).parents[2] / ".." / "shared"
BITS = {"bits": 6, "integer": 0, "symmetric": 0, "alpha": 1, "keep_negative": True}
Q = quantizer("quantized_bits", **BITS)


def batch_norm(n: int, **options) -> tuple:
    random = np.random.default_rng(5)
    variables = {
        "gamma": random.uniform(0.5, 2, n),
        "beta": random.normal(0, 1, n),
        "moving_mean": random.normal(0, 1, n),
        "moving_variance": random.uniform(0.3, 2, n),
    }
    return "BatchNormalization", {"name": "bn", "axis": [1], "epsilon": 1e-3} | options, variables


def test_every_layer_is_evaluated(tmp_path):
    layers = [
        inlet(4),
        dense("fc1", 4, 6, activation="tanh"),
        batch_norm(6),
        ("Dropout", {"name": "drop", "rate": 0.5}, {}),
        ("LeakyReLU", {"name": "leaky", "alpha": 0.25}, {}),
        ("Reshape", {"name": "shape", "target_shape": [2, -1]}, {}),
        ("Flatten", {"name": "flat"}, {}),
        dense("fc2", 6, 3, use_bias=False),
        ("Softmax", {"name": "inner", "axis": -1}, {}),
        dense("fc3", 3, 2, activation="hard_sigmoid"),
    ]
    source = load(write_legacy(tmp_path, "all", layers))
    x = np.random.default_rng(1).normal(0, 2, (7, 4))
    got = source.predict((x,))
    assert tuple(got) == source.labels == ("x", "fc1", "bn", "drop", "leaky", "shape", "flat", "fc2", "inner", "fc3")
    w = {name: {k: np.float32(v).astype(float) for k, v in var.items()} for _, c, var in layers for name in [c["name"]]}
    y = np.tanh(x @ w["fc1"]["kernel"] + w["fc1"]["bias"])
    y = w["bn"]["gamma"] * (y - w["bn"]["moving_mean"]) / np.sqrt(w["bn"]["moving_variance"] + 1e-3) + w["bn"]["beta"]
    assert np.allclose(got["drop"], y)
    y = np.where(y > 0, y, y / 4)
    assert got["shape"].shape == (7, 2, 3)
    y = y @ w["fc2"]["kernel"]
    y = np.exp(y) / np.exp(y).sum(axis=1, keepdims=True)
    assert np.allclose(got["inner"], y)
    assert np.allclose(got["fc3"], np.clip(0.2 * (y @ w["fc3"]["kernel"] + w["fc3"]["bias"]) + 0.5, 0, 1))


def test_activation_quantizers_reach_the_graph(tmp_path):
    layers = [
        inlet(4),
        dense("fc1", 4, 6, kind="QDense", kernel_quantizer=Q, bias_quantizer=Q),
        ("QActivation", {"name": "relu", "activation": "quantized_relu(6,0)"}, {}),
        dense(
            "fc2", 6, 3, kind="QDense", kernel_quantizer=Q, activation=quantizer("quantized_relu", bits=4, integer=1)
        ),
        ("QActivation", {"name": "out", "activation": quantizer("quantized_bits", bits=4, integer=4, symmetric=1)}, {}),
    ]
    source = load(write_legacy(tmp_path, "q", layers))
    for generous in (False, True):
        nodes = source.convert(tmp_path / "hls", generous=generous).graph
        assert kind(nodes["relu"]) == "ufixed<6,0,RND_CONV,SAT>"
        assert kind(nodes["fc2_quantized_relu"]) == "ufixed<4,1,RND_CONV,SAT>"
        assert kind(nodes["out"]) == "fixed<4,5,RND_CONV,SAT_SYM>"
        assert str(parse_type(str(nodes["fc1"].weights["weight"].type.precision))) == "fixed<6,1>"


def kind(node) -> str:
    return str(parse_type(str(node.get_output_variable().type.precision)))


def test_a_linear_quantizer_behind_a_dense_layer_is_kept(tmp_path):
    """hls4ml alone removes such an activation, its type with it."""
    layers = [
        inlet(4),
        dense("fc1", 4, 3, kind="QDense", kernel_quantizer=Q),
        ("QActivation", {"name": "cut", "activation": "quantized_bits(4,0,alpha=1)"}, {}),
        dense("fc2", 3, 2),
    ]
    nodes = load(write_legacy(tmp_path, "lin", layers)).convert(tmp_path / "hls").graph
    assert kind(nodes["fc1"]) == "fixed<4,1,RND_CONV,SAT>"


def test_weights_keep_their_type_in_front_of_batch_normalization(tmp_path):
    layers = [inlet(4), dense("fc1", 4, 6, kind="QDense", kernel_quantizer=Q, bias_quantizer=Q), batch_norm(6)]
    nodes = load(write_legacy(tmp_path, "bn", layers)).convert(tmp_path / "hls").graph
    weight = nodes["fc1"].weights["weight"]
    assert str(parse_type(str(weight.type.precision))) == "fixed<6,1>"
    assert "bn" in nodes
    assert np.array_equal(np.rint(weight.data * 32), weight.data * 32)


def test_a_leaky_range_is_cut_only_where_it_can_be_left(tmp_path):
    act = ("QActivation", {"name": "act", "activation": "quantized_relu(8,2,negative_slope=0.25)"}, {})
    layers = [inlet(4), dense("fc1", 4, 3, kind="QDense", kernel_quantizer=Q, use_bias=False), act]
    path = write_legacy(tmp_path, "leaky", layers)
    wide = load(path).convert(tmp_path / "a").graph
    assert kind(wide["fc1"]).endswith(",3,TRN,SAT>")  # the cut, merged into the dense layer by hls4ml
    narrow = {"LayerName": {"x": {"Precision": {"result": "fixed<6,-1>"}}}}
    assert "SAT" not in kind(load(path, narrow).convert(tmp_path / "b").graph["fc1"])


def test_automatic_scales_are_folded_or_become_a_stage(tmp_path):
    power = dense(
        "fc1", 4, 6, kind="QDense", kernel_quantizer=quantizer("quantized_bits", bits=4, integer=0, alpha=None)
    )
    free = dense("fc2", 6, 3, kind="QDense", kernel_quantizer=quantizer("ternary", alpha="auto"), bias_quantizer=Q)
    source = load(write_legacy(tmp_path, "alpha", [inlet(4), power, free]))
    nodes = source.convert(tmp_path / "hls").graph
    assert "fc1_alpha" not in nodes
    assert nodes["fc2_alpha"].class_name == "ApplyAlpha"
    assert set(np.unique(nodes["fc2"].weights["weight"].data)) <= {-1.0, 0.0, 1.0}
    x = np.random.default_rng(2).normal(0, 1, (5, 4))
    got = source.predict((x,))
    inner = x @ nodes["fc1"].weights["weight"].data + nodes["fc1"].weights["bias"].data
    assert np.allclose(got["fc1"], inner, atol=5e-3)  # the plain bias is rounded to fixed<16,6>
    scale = nodes["fc2_alpha"].weights
    outer = got["fc1"] @ nodes["fc2"].weights["weight"].data * scale["scale"].data + scale["bias"].data
    assert np.allclose(got["fc2"], outer, atol=1e-4)


def test_odd_names_are_cleaned_and_labels_stay(tmp_path):
    labels = ["fc-1.a", "1st_layer", "module", "reg", "int", "fc 1 a", "FC_1_A", "strategy", "layer2", "é"]
    layers = [inlet(3, "input"), *(dense(label, 3, 3, activation="relu") for label in labels)]
    source = load(write_legacy(tmp_path, "odd", layers))
    assert source.labels == ("input", *labels)
    nodes = source.convert(tmp_path / "hls").graph
    clean = {label: name for name, label in source.label_of.items()}
    assert set(source.label_of) <= set(nodes)
    assert len({name.lower() for name in nodes}) == len(nodes) == 2 * len(labels) + 1
    assert all(name.isidentifier() and name.isascii() for name in nodes)
    assert not {"int", "reg", "module", "strategy", "input", "layer2"} & set(nodes)
    assert clean["FC_1_A"] == "FC_1_A"  # a fine name stays
    config = {
        "LayerName": {"fc-1.a": {"Precision": {"weight": "fixed<7,2>"}}, "fc-1.a_relu": {"Precision": "fixed<9,3>"}}
    }
    nodes = load(tmp_path / "odd.json", config).convert(tmp_path / "hls").graph
    assert kind(nodes[clean["fc-1.a"] + "_relu"]) == "fixed<9,3>"


def test_weights_that_do_not_fit_their_type_are_noted(tmp_path):
    layer = dense("fc", 1, 1)
    layer[2]["bias"] = np.array([275.149])
    source = load(write_legacy(tmp_path, "bias", [inlet(1), layer]))
    node = source.convert(tmp_path / "hls").graph["fc"]
    assert node.weights["bias"].data[0] == 19608 / 1024  # 275.149 modulo 64
    assert any("bias 275.149 does not fit fixed<16,6>" in note for note in source.notes)


def refuse(tmp_path, layers, said):
    with pytest.raises(UserError) as error:
        load(write_legacy(tmp_path, "bad", layers))
    assert said in str(error.value)
    assert "bad.json" in str(error.value)


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (("Conv3D", {"name": "c"}, {}), "layer 'c' (Conv3D): this kind of layer is not supported"),
        (("Lambda", {"name": "c"}, {}), "arbitrary code"),
        (("TimeDistributed", {"name": "c"}, {}), "flatten the nested model"),
        (("Sequential", {"name": "c", "layers": []}, {}), "flatten the nested model"),
        (("Softmax", {"name": "c", "axis": 0}, {}), "axis=0"),
        (("Activation", {"name": "c", "activation": "gelu"}, {}), "'gelu' is not supported"),
        (("QActivation", {"name": "c", "activation": "quantized_hswish(4)"}, {}), "quantized_hswish"),
        (("QActivation", {"name": "c", "activation": quantizer("quantized_relu", use_sigmoid=1)}, {}), "use_sigmoid=1"),
        (("Reshape", {"name": "c", "target_shape": [5]}, {}), "does not hold the 4 values"),
        (batch_norm(4, axis=[2]), "axis=[2]"),
        (dense("c", 5, 3), "'kernel' in"),
        (dense("c", 4, 3, kind="QDense", kernel_quantizer=quantizer("quantized_relu_po2", bits=4)), "kernel_quantizer"),
        (
            dense("c", 4, 3, kind="QDense", kernel_quantizer=quantizer("quantized_po2", bits=4, log2_rounding="floor")),
            "floor",
        ),
        (("Dense", {"name": "c", "units": 3}, {}), "holds no 'kernel'"),
        (("Dense", {"name": "c", "units": "3"}, {}), "units='3'"),
    ],
)
def test_unsupported_layers_are_named(tmp_path, layer, said):
    refuse(tmp_path, [inlet(4), layer], said)


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    layer = dense("fc", 4, 2)
    layer[2]["kernel"][0, 0] = np.nan
    refuse(tmp_path, [inlet(4), layer], "NaN")


def test_open_shapes_and_double_names_are_refused(tmp_path):
    refuse(tmp_path, [("InputLayer", {"name": "x", "batch_input_shape": [None, None]}, {})], "open shape")
    refuse(tmp_path, [inlet(4), ("Flatten", {"name": "x"}, {})], "two layers are named 'x'")


def test_a_whole_model_h5_is_read(tmp_path):
    source = load(write_whole(tmp_path / "whole.h5", [inlet(3), dense("fc", 3, 2)]))
    assert source.name == "whole"
    assert source.predict((np.ones((1, 3)),))["fc"].shape == (1, 2)


@pytest.mark.skipif(not SHARED.exists(), reason="the public models are not here")
class TestPublicFiles:
    x = np.load(SHARED / "data" / "jets_500.npz")["x"].astype(float) if SHARED.exists() else None
    y = np.load(SHARED / "data" / "jets_500.npz")["y"] if SHARED.exists() else None

    def test_the_quantized_jet_net_scores(self):
        source = load(SHARED / "models" / "qkeras_3layer.json")
        assert source.softmax == "softmax"
        assert (source.predict((self.x,))["output"].argmax(axis=1) == self.y).mean() == pytest.approx(0.79, abs=0.011)

    def test_a_weights_file_finds_its_json(self):
        source = load(SHARED / "models" / "KERAS_3layer_70pruned_retrained_weights.h5")
        assert source.name == "KERAS_3layer_70pruned_retrained"
        assert source.softmax == "output_softmax"
        assert "final softmax 'output_softmax'" in source.notes[0]

    def test_tensorflow_stays_out(self, tmp_path):
        code = (
            "import sys, numpy as np; from pathlib import Path; from flow.frontend.load import load\n"
            f"s = load({str(SHARED / 'models' / 'qkeras_3layer.json')!r}); s.predict((np.zeros((1, 16)),))\n"
            f"s.convert(Path({str(tmp_path)!r}), generous=True)\n"
            "print([m for m in ('tensorflow', 'keras', 'qkeras', 'torch') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"
        assert done.stderr == ""

    def test_the_quantized_cnn_scores(self):
        digits = np.load(SHARED / "data" / "mnist_500.npz")
        source = load(SHARED / "models" / "qkeras_mnist_cnn.json", SHARED / "models" / "qkeras_mnist_cnn_config.yml")
        assert source.io_type == "io_stream"
        outputs = source.predict((digits["x"].reshape(-1, 28, 28, 1).astype(float),))
        assert outputs["q_activation"].min() >= 0
        assert outputs["q_activation"].max() < 1
        assert (outputs["q_dense"].argmax(axis=1) == digits["y"]).mean() > 0.92
