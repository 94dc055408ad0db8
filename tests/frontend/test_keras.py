"""Keras 3 and qkeras-v3 models: conversion, the framework's outputs, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.errors import UserError
from flow.fixed import parse_type
from flow.frontend.load import load

pytest.importorskip("keras")
SHARED = Path(__file__).parents[2] / ".." / "shared"
X = np.random.default_rng(4).normal(0, 1.5, (64, 6)).round(3)


@pytest.fixture(scope="module", autouse=True)
def framework():
    from flow.frontend.keras import import_keras

    import_keras()[0].utils.set_random_seed(7)


def net(*layers, inputs: int = 6):
    import keras

    keras.utils.set_random_seed(7)
    return keras.Sequential([keras.layers.Input((inputs,), name="x"), *layers])


def rich():
    """Return a model with every quantizer option that a type can carry."""
    from keras.layers import BatchNormalization, Dense, Dropout, LeakyReLU
    from qkeras import QActivation, QDense, quantized_bits, quantized_linear, quantized_po2, quantized_relu, ternary

    bits = quantized_bits(6, 0, alpha=1)
    model = net(
        QActivation(quantized_bits(10, 2, symmetric=1, alpha=1), name="in-q"),
        QDense(8, kernel_quantizer=bits, bias_quantizer=bits, name="fc-1.a"),
        QActivation(quantized_relu(8, 1, negative_slope=0.25), name="1st_layer"),
        QDense(
            8, kernel_quantizer=quantized_bits(5, 0), bias_quantizer=bits, name="po2", activation=quantized_relu(6, 2)
        ),
        Dropout(0.3, name="drop"),
        QDense(8, kernel_quantizer=ternary(alpha="auto"), bias_quantizer=bits, name="auto"),
        QActivation(quantized_bits(6, 2, keep_negative=0, alpha=1), name="unsigned"),
        QDense(8, kernel_quantizer=quantized_po2(4), name="int"),
        QActivation(quantized_bits(4, 4, symmetric=1, alpha=1), name="module"),
        QDense(6, kernel_quantizer=quantized_bits(6, 0, keep_negative=0, alpha=1), bias_quantizer=bits, name="pos"),
        BatchNormalization(name="bn"),
        QActivation(quantized_linear(8, 4, alpha=1), name="lin"),
        Dense(5, activation="relu", name="plain"),
        LeakyReLU(negative_slope=0.125, name="leaky"),
        Dense(4, activation="softmax", name="out"),
    )
    random = np.random.default_rng(11)
    model.set_weights(
        [
            w + np.float32(random.normal(0, 0.2, w.shape) if w.ndim > 1 else np.abs(random.normal(0, 0.3, w.shape)))
            for w in model.get_weights()
        ]
    )
    return model


def kind(node) -> str:
    return str(parse_type(str(node.get_output_variable().type.precision)))


def test_framework_outputs_without_the_final_softmax():
    import keras

    model = net(
        keras.layers.Dense(5, activation="relu", name="a"), keras.layers.Dense(3, activation="softmax", name="b")
    )
    source = load(model)
    got = source.predict((X,))
    assert source.softmax == "b"
    e = np.exp(got["b"])
    assert np.allclose(e / e.sum(axis=1, keepdims=True), model.predict(X, verbose=0), atol=1e-6)
    assert model.layers[-1].activation is keras.activations.softmax  # the user's model is as it was


@pytest.mark.parametrize("kind_of_softmax", ["Softmax", "Activation"])
def test_a_softmax_layer_of_its_own_is_left_out(kind_of_softmax, tmp_path):
    from keras import layers

    last = layers.Softmax(name="s") if kind_of_softmax == "Softmax" else layers.Activation("softmax", name="s")
    source = load(net(layers.Dense(3, name="a"), last))
    got = source.predict((X,))
    assert np.array_equal(got["s"], got["a"])
    assert list(source.convert(tmp_path).graph) == ["x", "a"]


def test_saved_and_live_models_agree(tmp_path):
    model = rich()
    model.save(tmp_path / "rich.keras")
    model.save(tmp_path / "rich.h5")
    live = load(model).predict((X,))
    for name in ("rich.keras", "rich.h5"):
        loaded = load(tmp_path / name)
        assert loaded.name == "rich"
        got = loaded.predict((X,))
        assert got.keys() == live.keys()
        assert all(np.array_equal(got[label], live[label]) for label in live)


def test_types_are_the_quantizers_own(tmp_path):
    source = load(rich())
    clean = {label: name for name, label in source.label_of.items()}
    nodes = source.convert(tmp_path).graph
    assert kind(nodes[clean["1st_layer"]]) == "fixed<8,2,RND_CONV,SAT>"
    assert kind(nodes["po2_quantized_relu"]) == "ufixed<6,2,RND_CONV,SAT>"
    assert kind(nodes["n_auto_alpha"]).startswith("ufixed<6,2")
    assert kind(nodes[clean["int"]]) == "fixed<4,5,RND_CONV,SAT_SYM>"
    assert "drop" not in nodes
    assert str(parse_type(str(nodes["pos"].weights["weight"].type.precision))) == "ufixed<6,0>"


def on_a_grid() -> np.ndarray:
    """Return inputs far out, so that every range is left, on a grid that float32 carries exactly."""
    return np.rint(np.concatenate([X, 6 * X]) * 256) / 256


def test_with_generous_widths_every_layer_equals_the_framework(tmp_path):
    from flow.fixed import from_float
    from flow.frontend.border import to_graph
    from flow.graph.graph import evaluate

    source = load(rich())
    graph = to_graph(source.convert(tmp_path, generous=True), name="rich", label_of=source.label_of)
    x = on_a_grid()
    inlet = next(node for node in graph.nodes if node.name == "x")
    values = evaluate(graph, {"x": from_float(x, inlet.type)})
    wanted = source.predict((x,))
    # hls4ml merges a linear activation into the layer before it
    nodes = {"in-q": "in_q", "1st_layer": "n_1st_layer", "po2": "po2_quantized_relu"}
    nodes |= {"unsigned": "n_auto_alpha", "module": "n_int", "pos": "pos", "lin": "bn", "leaky": "leaky", "out": "out"}
    for label, name in nodes.items():
        assert np.max(np.abs(values[name].to_float() - wanted[label])) < 1e-5, label


@pytest.mark.eda
def test_generous_widths_leave_float_error_only(tmp_path):
    from flow.frontend.csim import compile_csim

    source = load(rich())
    x = on_a_grid()
    wanted = source.predict((x,))["out"]
    (got,) = compile_csim(source.convert(tmp_path / "g", generous=True), tmp_path / "g").run((x,))
    assert np.max(np.abs(got - wanted)) < 1e-4


def test_alpha_none_of_a_kernel_is_a_power_of_two(tmp_path):
    from qkeras import QDense, quantized_bits

    layer = QDense(5, kernel_quantizer=quantized_bits(4, 0), bias_quantizer=quantized_bits(4, 0), name="fc")
    model = net(layer)
    node = load(model).convert(tmp_path).graph["fc"]
    wanted = np.asarray(layer.kernel_quantizer_internal(layer.kernel))
    assert np.allclose(node.weights["weight"].data, wanted, atol=1e-7)
    assert "fc_alpha" not in load(model).convert(tmp_path).graph


def test_live_options_that_files_do_not_hold_are_seen():
    from qkeras import QActivation, quantized_relu

    with pytest.raises(UserError, match="is_quantized_clip=False"):
        load(net(QActivation(quantized_relu(4, 1, is_quantized_clip=False, relu_upper_bound=1.2), name="q")))


def test_several_inputs_keep_their_declared_order(tmp_path):
    import keras

    a, b = keras.Input((2,), name="zz"), keras.Input((3,), name="aa")
    y = keras.layers.Concatenate(name="cat")([keras.layers.Dense(2, name="d")(a), b])
    source = load(keras.Model([a, b], keras.layers.Dense(2, name="o")(y)))
    assert source.input_shapes == {"zz": (2,), "aa": (3,)}
    got = source.predict((np.ones((4, 2)), np.zeros((4, 3))))
    assert got["cat"].shape == (4, 5)
    assert [variable.name for variable in source.convert(tmp_path).get_input_variables()] == ["zz", "aa"]


def test_objects_that_are_no_models_are_refused():
    import keras

    for thing, said in [(3, "type int is not a model"), (keras.Sequential([keras.layers.Dense(2)]), "only built")]:
        with pytest.raises(UserError, match=said):
            load(thing)


@pytest.mark.skipif(not SHARED.exists(), reason="the public models are not here")
def test_the_public_file_equals_its_legacy_twin():
    x = np.load(SHARED / "data" / "jets_500.npz")["x"].astype(float)
    new = load(SHARED / "models" / "qkeras-v3_3layer.keras").predict((x,))
    old = load(SHARED / "models" / "qkeras_3layer.json").predict((x,))
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(new.values(), old.values(), strict=True))
