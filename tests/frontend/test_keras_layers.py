"""Every feed-forward layer of Keras 3, whole tensors and streams: hls4ml's conversion is the framework's function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.errors import UserError
from flow.fixed import parse_type
from flow.frontend.border import to_graph
from flow.frontend.convert import convert
from flow.frontend.fidelity import check_fidelity
from flow.frontend.load import load
from tests.frontend.keras_networks import activated, images, model_of, moving, sequences, vectors_for

pytest.importorskip("keras")

IO_TYPES = ("io_parallel", "io_stream")
KEPT: dict[str, Any] = {"Precision": "fixed<18,8>", "SkipSoftmax": False}


@pytest.fixture(scope="module", autouse=True)
def framework() -> None:
    from flow.frontend.keras import import_keras

    import_keras()


@pytest.mark.parametrize("io_type", IO_TYPES)
@pytest.mark.parametrize("network", [images, sequences, moving, activated])
def test_every_layer_is_the_frameworks(network: Callable[..., Any], io_type: str, tmp_path: Path) -> None:
    model = network(stream=io_type == "io_stream")
    source = load(model, {"IOType": io_type, "Model": KEPT})
    assert source.io_type == io_type
    graphs = [
        to_graph(source.convert(tmp_path, generous=wide), name="net", label_of=source.label_of)
        for wide in (False, True)
    ]
    inputs = vectors_for(model, 3)
    fidelity = check_fidelity(source, inputs=inputs, reference=graphs[0], generous=graphs[1])
    checked = {layer.label for layer in fidelity.layers}
    outputs = {tensor._keras_history.operation.name for tensor in model.outputs}
    # a normalization is part of the convolution in front of it
    assert outputs - checked <= {"norm"}
    assert [graphs[0].node(name).label for name in graphs[0].inputs] == [tensor.name for tensor in model.inputs]
    for layer in fidelity.layers:
        assert layer.function_error <= layer.bound


@pytest.mark.eda
@pytest.mark.parametrize("io_type", IO_TYPES)
def test_the_c_simulation_agrees(io_type: str, tmp_path: Path) -> None:
    import keras
    from keras import layers

    x, y = keras.Input((6, 5, 3), name="zz"), keras.Input((6, 5, 3), name="aa")
    a = layers.DepthwiseConv2D(3, padding="same", name="depth")(layers.Add(name="sum")([x, y, x]))
    a = layers.ReLU(max_value=2.5, name="limited")(layers.BatchNormalization(name="norm")(a))
    b = layers.Reshape((9, 10), name="other")(layers.ReLU(name="rectified")(a))
    c = layers.Flatten(name="flat")(layers.MaxPooling2D(2, name="pool")(a))
    model = model_of([x, y], [a, b, layers.Softmax(name="classes")(layers.Dense(3, name="scores")(c)), c])
    source = load(model, {"IOType": io_type, "Model": KEPT})
    done = convert(source, vectors_for(model, 8), tmp_path)
    assert done.graph.io_type == io_type
    assert any("classes" in note and "steps of" in note for note in done.notes)


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, list[Any]]:
    """Return a model of activations, its source and both graphs."""
    model, folder = activated(stream=False), tmp_path_factory.mktemp("net")
    source = load(model, {"Model": KEPT})
    graphs = [
        to_graph(source.convert(folder, generous=wide), name="net", label_of=source.label_of) for wide in (False, True)
    ]
    return model, source, graphs


class Changed:
    """Offer a source whose framework computes another function in one layer."""

    def __init__(self, source: Any, label: str, change: Callable[[Any], Any]) -> None:
        self.labels, self.source, self.label, self.change = source.labels, source, label, change

    def predict(self, inputs: Any) -> dict[str, Any]:
        values = self.source.predict(inputs)
        return {**values, self.label: self.change(values[self.label])}


@pytest.mark.parametrize(
    ("label", "change"),
    [
        ("own_sigmoid", lambda v: np.clip(0.2 * v + 0.5, 0, 1)),
        ("own_softplus", lambda v: v + 0.01),
        ("rows", lambda v: v[..., ::-1]),
        ("last", lambda v: v * 1.05),
        ("sloped", lambda v: v * 1.001),
        ("own_hard_sigmoid", lambda v: v + 0.002),
        ("thresholded", lambda v: np.where(v > 0.6, v, 0)),
    ],
)
def test_another_function_is_refused(label: str, change: Callable[[Any], Any], converted: Any) -> None:
    model, source, (reference, generous) = converted
    changed = Changed(source, label, change)
    with pytest.raises(UserError, match=f"layer '{label}'"):
        check_fidelity(changed, inputs=vectors_for(model, 3), reference=reference, generous=generous)


def test_a_linear_activation_changes_no_other_reader(tmp_path: Path) -> None:
    import keras
    from keras import layers

    x = keras.Input((4,), name="x")
    h = layers.Dense(3, name="h")(x)
    q = layers.Activation("linear", name="q")(h)
    model = model_of([x], [layers.Dense(2, name="a")(q), layers.Dense(2, name="b")(h)])
    config = {"LayerName": {"q": {"Precision": {"result": "fixed<4,2>"}}}}
    nodes = load(model, config).convert(tmp_path).graph
    kinds = {name: str(parse_type(str(nodes[name].get_output_variable().type.precision))) for name in ("h", "q")}
    assert kinds["q"] == "fixed<4,2>"
    assert kinds["h"] != "fixed<4,2>"


def test_types_follow_the_input_where_hls4ml_takes_its_default(tmp_path: Path) -> None:
    import keras
    from keras import layers

    x = keras.Input((4, 5, 3), name="x")
    model = model_of([x], [layers.GlobalAveragePooling2D(name="mean")(x), layers.Cropping2D(1, name="cut")(x)])
    config = {"LayerName": {"x": {"Precision": {"result": "fixed<20,9>"}}}}
    nodes = load(model, config).convert(tmp_path).graph
    assert str(parse_type(str(nodes["mean"].types["accum_t"].precision))) == "fixed<30,14>"
    for name in ("mean", "cut"):
        assert str(parse_type(str(nodes[name].get_output_variable().type.precision))) == "fixed<20,9>"
    asked = {"LayerName": {"mean": {"Precision": {"accum": "fixed<9,9>", "result": "fixed<8,8>"}}}}
    node = load(model, asked).convert(tmp_path).graph["mean"]
    assert str(parse_type(str(node.types["accum_t"].precision))) == "fixed<9,9>"


def test_the_types_of_tables_reach_hls4ml(tmp_path: Path) -> None:
    import keras
    from keras import layers

    x = keras.Input((4,), name="x")
    model = model_of([x], [layers.Activation("tanh", name="t")(x)])
    config = {"LayerName": {"t": {"Precision": {"table": "fixed<9,2>"}}}}
    node = load(model, config).convert(tmp_path).graph["t"]
    assert str(parse_type(str(node.types["table_t"].precision))) == "fixed<9,2>"


def test_a_final_softmax_is_kept_when_asked(tmp_path: Path) -> None:
    import keras
    from keras import layers

    x = keras.Input((4,), name="x")
    model = model_of([x], [layers.Dense(3, activation="softmax", name="d")(x)])
    kept, left = load(model, {"Model": {"SkipSoftmax": False}}), load(model)
    assert (kept.softmax, left.softmax) == (None, "d")
    assert "d_softmax" in kept.convert(tmp_path).graph
    assert "d_softmax" not in left.convert(tmp_path).graph
    v = np.ones((2, 4))
    assert np.allclose(kept.predict((v,))["d"].sum(axis=-1), 1)
    for said, config in {
        "not true or false": {"Model": {"SkipSoftmax": "no"}},
        "IOType: 'io_serial'": {"IOType": "io_serial", "Model": {}},
        "only a final softmax": {"Model": {"SkipSoftmax": False}, "LayerName": {"d_softmax": {"Skip": True}}},
    }.items():
        with pytest.raises(UserError, match=said):
            load(model, config)
