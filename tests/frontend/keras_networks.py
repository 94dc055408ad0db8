"""Keras 3 models with every feed-forward layer, on small asymmetric tensors, each layer on an input of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IMAGE, SERIES = (6, 5, 3), (7, 3)


class Inputs:
    """Make input layers and remember them; an io_stream tensor has few readers."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.made: list[Any] = []

    def __call__(self) -> Any:
        import keras

        # the declared order is neither the alphabet's nor the layers'
        self.made.append(keras.Input(self.shape, name=f"of{len(self.shape)}_{99 - len(self.made)}"))
        return self.made[-1]


def images(*, stream: bool) -> Any:
    """Return convolutions of images, and what hls4ml merges with them."""
    from keras import layers

    del stream
    x = Inputs(IMAGE)
    shared = layers.Conv2D(2, 2, name="shared")(x())
    outputs = [
        layers.Conv2D(4, (3, 2), padding="same", strides=(2, 3), use_bias=False, name="same")(x()),
        layers.Conv2D(2, 1, strides=3, name="strided")(x()),
        layers.Conv2D(2, (6, 5), activation="tanh", name="whole")(x()),
        layers.Conv2D(6, 2, groups=3, name="grouped")(x()),
        layers.Conv2D(2, 2, dilation_rate=2, padding="same", name="dilated")(x()),
        layers.DepthwiseConv2D(2, depth_multiplier=2, name="multiplied")(x()),
        layers.BatchNormalization(name="norm")(layers.DepthwiseConv2D((3, 2), padding="same", name="depth")(x())),
        layers.SeparableConv2D(4, (2, 3), activation="relu", name="separable")(x()),
        layers.Dense(4, name="dense")(x()),
        shared,
        layers.BatchNormalization(name="shared_norm")(shared),
    ]
    return model_of(x.made, outputs)


def sequences(*, stream: bool) -> Any:
    """Return convolutions of sequences, an embedding and a layer normalization."""
    import keras
    from keras import layers

    s, words = Inputs(SERIES), keras.Input((5,), name="words")
    outputs = [
        layers.Conv1D(4, 3, padding="causal", dilation_rate=2, name="causal")(s()),
        layers.Conv1D(3, 3, groups=3, strides=2, name="depth_by_groups")(s()),
        layers.SeparableConv1D(5, 3, padding="same", name="separable")(s()),
        layers.AveragePooling1D(3, name="mean")(s()),
        layers.Conv1D(2, 2, name="read")(layers.Embedding(11, 3, name="rows")(words)),
    ]
    if not stream:
        outputs.append(layers.LayerNormalization(name="layer_norm")(layers.Activation("tanh", name="small")(s())))
    return model_of([words, *s.made], outputs)


def moving(*, stream: bool) -> Any:
    """Return pooling, merging and what moves elements."""
    from keras import layers

    x = Inputs(IMAGE)

    def flat(name: str) -> Any:
        return layers.Flatten(name=name)(x())

    outputs = [
        layers.MaxPooling2D(2, name="largest")(x()),
        layers.AveragePooling2D((3, 2), name="mean")(x()),
        layers.GlobalAveragePooling2D(name="global_mean")(x()),
        layers.Conv2D(2, 1, name="behind")(layers.GlobalMaxPooling2D(keepdims=True, name="kept")(x())),
        layers.ZeroPadding2D(((1, 2), (0, 3)), name="padded")(x()),
        layers.Cropping2D(((1, 2), (0, 1)), name="cropped")(x()),
        layers.UpSampling2D((2, 3), name="larger")(x()),
        layers.Permute((3, 1, 2), name="turned")(x()),
        layers.Conv2D(2, 2, name="reshaped")(layers.Reshape((5, 9, 2), name="other")(x())),
        layers.RepeatVector(2, name="repeated")(flat("f1")),
        layers.Activation("relu", name="flat_relu")(flat("f2")),
        layers.Add(name="sum")([x(), x(), x()]),
        layers.Average(name="average")([x(), x(), x(), x()]),
        layers.Subtract(name="difference")([x(), x()]),
        layers.Multiply(name="product")([x(), x()]),
        layers.Maximum(name="maximum")([x(), x(), x()]),
        *(layers.Concatenate(axis=axis, name=f"beside{axis % 4}")([x(), x()]) for axis in (1, -2, 3)),
        layers.Dense(2, name="of_both")(layers.Concatenate(name="flat_beside")([flat("f3"), flat("f4")])),
    ]
    if not stream:
        outputs += [
            layers.MaxPooling2D(3, strides=2, padding="same", name="padded_largest")(x()),
            layers.AveragePooling2D(3, strides=2, padding="same", name="padded_mean")(x()),
            layers.Multiply(name="scaled")([x(), layers.GlobalAveragePooling2D(keepdims=True, name="scales")(x())]),
            layers.Dot(1, name="dot")([layers.Dense(3, name="a")(flat("f5")), layers.Dense(3, name="b")(flat("f6"))]),
        ]
    return model_of(x.made, outputs)


def activated(*, stream: bool) -> Any:
    """Return activations; io types make no difference."""
    from keras import layers

    del stream
    s = Inputs(SERIES)
    names = ("elu", "selu", "softplus", "softsign", "sigmoid", "hard_sigmoid", "hard_tanh", "relu6", "leaky_relu")
    outputs = [
        *(layers.Activation(name, name=f"own_{name}")(s()) for name in names),
        layers.ReLU(max_value=1.5, negative_slope=0.25, name="limited")(s()),
        layers.ReLU(threshold=0.5, name="thresholded")(s()),
        layers.ReLU(name="plain")(s()),
        layers.PReLU(shared_axes=[1], name="sloped")(s()),
        layers.ELU(alpha=0.5, name="half")(s()),
        layers.Dense(4, activation="softmax", name="rows")(s()),
        layers.Softmax(name="last")(layers.Dense(3, name="scores")(layers.Flatten(name="flat")(s()))),
    ]
    return model_of(s.made, outputs)


def model_of(inputs: list[Any], outputs: list[Any]) -> Any:
    """Return the model with weights that no initializer would give."""
    import keras

    rng = np.random.default_rng(3)
    model = keras.Model(inputs, outputs)
    for layer in model.layers:
        is_norm = "Normalization" in type(layer).__name__
        layer.set_weights(
            [
                (rng.uniform(0.5, 1.5, w.shape) if is_norm else rng.normal(0, 0.4, w.shape)).astype(w.dtype)
                for w in layer.get_weights()
            ]
        )
    return model


def vectors_for(model: Any, count: int) -> tuple[NDArray[np.float64], ...]:
    """Return float vectors for every input, different for each, in steps that every type here holds."""
    rng = np.random.default_rng(5)
    return tuple(
        rng.integers(0, 11, (count, *tensor.shape[1:])).astype(float)
        if tensor.name == "words"
        else np.rint(rng.normal(0, 1.0, (count, *tensor.shape[1:])) * 256) / 256
        for tensor in model.inputs
    )
