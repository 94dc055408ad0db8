"""Pooling and moving layers of Keras: what hls4ml's converters make of their parameters gives Keras' own numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flow.fixed import from_float
from flow.frontend.border import to_graph
from flow.frontend.silence import silence
from flow.graph.graph import evaluate
from flow.graph.passes import run_passes

IO_TYPES = ("io_parallel", "io_stream")


def network(io_type: str) -> Any:
    """Return a model with inputs and an output of its own for each kind of layer and parameter."""
    import keras
    from keras import layers

    inputs: list[Any] = []

    def image() -> Any:
        inputs.append(keras.Input((7, 6, 3), name=f"x{len(inputs)}"))
        return inputs[-1]

    def line() -> Any:
        inputs.append(keras.Input((9, 2), name=f"x{len(inputs)}"))
        return inputs[-1]

    twice = image()
    found = [
        layers.MaxPooling2D((2, 3))(image()),
        layers.AveragePooling2D((3, 2))(image()),
        layers.MaxPooling1D(2, strides=3)(line()),
        layers.AveragePooling1D(3, strides=2)(line()),
        layers.GlobalAveragePooling2D()(image()),
        layers.GlobalMaxPooling1D()(line()),
        layers.GlobalMaxPooling2D(keepdims=True)(image()),
        layers.ZeroPadding2D(((1, 2), (0, 3)))(image()),
        layers.ZeroPadding2D((1, 2))(image()),
        layers.ZeroPadding1D((2, 1))(line()),
        layers.Cropping2D(((1, 2), (0, 3)))(image()),
        layers.Cropping1D((2, 1))(line()),
        layers.UpSampling2D((2, 3))(image()),
        layers.UpSampling1D(3)(line()),
        layers.Permute((3, 1, 2))(image()),
        layers.Permute((2, 1))(line()),
        layers.Concatenate(axis=1)([twice, twice]),
        layers.Concatenate(axis=2)([twice, layers.Cropping2D(((0, 0), (2, 1)))(image())]),
        layers.Concatenate()(
            [layers.Flatten()(layers.Cropping1D((3, 2))(line())), layers.GlobalMaxPooling2D()(image())]
        ),
    ]
    if io_type == "io_parallel":
        found += [
            layers.MaxPooling2D(3, strides=2)(image()),
            layers.MaxPooling2D((3, 2), strides=(2, 1), padding="same")(image()),
            layers.AveragePooling2D(3, strides=2, padding="same")(image()),
            layers.AveragePooling2D(1, strides=2)(image()),
            layers.AveragePooling1D(4, strides=3, padding="same")(line()),
        ]
    return keras.Model(inputs, found)


@pytest.mark.parametrize("io_type", IO_TYPES)
def test_layers_give_the_numbers_of_keras(io_type: str) -> None:
    from hls4ml.converters import convert_from_keras_model
    from hls4ml.utils import config_from_keras_model

    model = network(io_type)
    with silence():
        kind = "fixed<32,12>"
        config = config_from_keras_model(model, granularity="name", backend="Vitis", default_precision=kind)
        hls = convert_from_keras_model(model, hls_config=config, backend="Vitis", io_type=io_type, output_dir="none")
        hls.apply_flow("vitis:ip")
    graph = to_graph(hls, name="net", label_of={})
    rng = np.random.default_rng(1)
    floats = {name: rng.integers(-64, 64, (5, *graph.node(name).shape)) / 8 for name in graph.inputs}
    raw = {name: from_float(x, graph.node(name).type) for name, x in floats.items()}
    theirs = [np.asarray(y) for y in model([floats[name] for name in graph.inputs])]
    for ours in (graph, run_passes(graph)):
        values = evaluate(ours, raw)
        for name, expected in zip(ours.outputs, theirs, strict=True):
            got = values[name].to_float().reshape(expected.shape)
            assert np.abs(got - expected).max() < 1e-4, name
