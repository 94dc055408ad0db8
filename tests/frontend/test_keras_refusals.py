"""What hls4ml computes as another function, or does not compile, is refused by layer, kind and parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flow.errors import UserError
from flow.frontend.load import load

pytest.importorskip("keras")

STREAM = {"IOType": "io_stream"}
Case = tuple[str, Any, tuple[int, ...] | list[tuple[int, ...]], str]


@pytest.fixture(scope="module", autouse=True)
def framework() -> None:
    from flow.frontend.keras import import_keras

    import_keras()


def model_of(make: Any, shapes: Any) -> Any:
    import keras

    shapes = shapes if isinstance(shapes, list) else [shapes]
    inputs = [keras.Input(shape) for shape in shapes]
    return keras.Model(inputs, make(inputs if len(inputs) > 1 else inputs[0]))


def everywhere() -> Iterator[Case]:
    """Yield (name, layer, input shapes, what the message says) of what no io type can have."""
    import keras
    from keras import layers

    flat, series, image = (6,), (5, 3), (4, 5, 3)
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(2)], name="inner")
    shared = layers.Dense(6, name="twice")
    yield "batch axis", layers.BatchNormalization(axis=1, name="l"), image, "layer 'l' (BatchNormalization): axis=1"
    yield "softmax axis", layers.Softmax(axis=1, name="l"), series, "layer 'l' (Softmax): axis=1"
    yield "bilinear", layers.UpSampling2D(2, interpolation="bilinear", name="l"), image, "interpolation='bilinear'"
    yield "channels first", layers.Conv2D(2, 2, data_format="channels_first", name="l"), image, "channels_last is"
    yield "slope and threshold", layers.ReLU(negative_slope=0.5, threshold=1, name="l"), flat, "threshold=1"
    yield "transposed", layers.Conv2DTranspose(2, 2, name="l"), image, "use UpSampling2D and Conv2D"
    yield "rescaling", layers.Rescaling(0.5, name="l"), flat, "layer 'l' (Rescaling)"
    yield "gelu", layers.Dense(2, activation="gelu", name="l"), flat, "layer 'l' (Dense), activation: 'gelu'"
    yield "swish", layers.Activation("swish", name="l"), flat, "layer 'l' (Activation): activation 'silu'"
    yield (
        "conv activation",
        layers.Conv1D(2, 2, activation="mish", name="l"),
        series,
        "layer 'l' (Conv1D), activation: 'mish'",
    )
    yield "lambda", layers.Lambda(lambda v: v * 2, name="l", output_shape=(6,)), flat, "a Lambda holds"
    yield "nested", inner, flat, "layer 'inner' (Sequential): flatten the nested model"
    yield "time", layers.TimeDistributed(layers.Dense(2), name="l"), series, "flatten the nested model"
    yield "shared", lambda x: shared(shared(x)), flat, "'twice' of"
    for recurrent in (layers.LSTM(2, name="l"), layers.GRU(2, name="l"), layers.SimpleRNN(2, name="l")):
        yield type(recurrent).__name__, recurrent, series, "recurrent layers are not supported yet"
    both = layers.Bidirectional(layers.GRU(2), name="l")
    yield "both ways", both, series, "recurrent layers are not supported yet"
    yield "add", lambda x: x[0] + x[1], [flat, flat], "write keras.layers.Add"
    yield "slice", lambda x: x[:, :3], flat, "operations on tensors are not supported"
    yield "average of 3", layers.Average(name="l"), [flat] * 3, "the average of 3 tensors"
    yield "middle axis", layers.Add(name="l"), [image, (4, 5, 1)], "broadcasting (4, 5, 1) to (4, 5, 3)"
    yield "normalized dot", layers.Dot(1, normalize=True, name="l"), [flat, flat], "normalize=True"
    yield "dot of images", layers.Dot(2, name="l"), [series, series], "two vectors are"
    yield "layer norm axis", layers.LayerNormalization(axis=1, name="l"), series, "the last axis of a tensor"
    yield "layer norm epsilon", layers.LayerNormalization(epsilon=3e-3, name="l"), series, "epsilon=0.003"
    yield "layer norm rank", layers.LayerNormalization(name="l"), image, "a tensor of two axes"
    yield "embedded values", lambda x: layers.Embedding(4, 2, name="l")(layers.ReLU()(x)), flat, "an input of its own"
    yield "input as output", layers.Dropout(0.5), flat, "is the input"
    yield "four axes", layers.Dense(2, name="l"), (2, 2, 2, 3), "tensors of up to three axes are"


def streamed() -> Iterator[Case]:
    """Yield what io_stream cannot have."""
    from keras import layers

    image, flat = (4, 5, 3), (4,)
    yield "padding", layers.MaxPooling2D(3, padding="same", name="l"), image, "padding='same' in io_stream"
    yield "stride", layers.AveragePooling1D(3, strides=2, name="l"), (7, 2), "strides=(2,) with pool_size=(3,)"
    yield "broadcast", layers.Multiply(name="l"), [image, (1, 1, 3)], "equal shapes are"
    yield "layer norm", layers.LayerNormalization(name="l"), (5, 3), "io_parallel is"
    yield "dot", layers.Dot(1, name="l"), [flat, flat], "io_parallel is"
    yield "readers", lambda x: [layers.ReLU(name=f"r{k}")(x) for k in range(8)], image, "8 readers"


def refusal(model: Any, config: Any) -> str:
    """Return the message with which a model is refused, "" when it is not."""
    try:
        load(model, config)
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("cases", "config"), [(everywhere, None), (streamed, STREAM)])
def test_each_is_refused_in_one_line(cases: Callable[[], Iterator[Case]], config: Any) -> None:
    for name, make, shapes, said in cases():
        model = model_of(make, shapes)
        message = refusal(model, config)
        assert said in message, name
        assert "\n" not in message, name


def test_what_only_io_stream_cannot_have_is_taken_whole() -> None:
    for _, make, shapes, _ in streamed():
        load(model_of(make, shapes))


def test_quantized_layers_of_qkeras_without_an_exact_form_are_named() -> None:
    qkeras = pytest.importorskip("qkeras")
    bits = qkeras.quantized_bits(4, 0, alpha=1)
    layers = {
        "quantized_relu_po2": qkeras.QDense(2, kernel_quantizer=qkeras.quantized_relu_po2(4), name="l"),
        "gamma_quantizer": qkeras.QBatchNormalization(name="l"),
        "use_sigmoid": qkeras.QDense(
            2, kernel_quantizer=bits, activation=qkeras.quantized_relu(4, 1, use_sigmoid=1), name="l"
        ),
    }
    for said, layer in layers.items():
        with pytest.raises(UserError, match=said) as error:
            load(model_of(layer, (6,)))
        assert "layer 'l'" in str(error.value)


def test_custom_code_is_refused() -> None:
    import keras

    class Own(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x

    with pytest.raises(UserError, match="custom code"):
        load(model_of(Own(name="l"), (3,)))
