"""The same networks twice: as qkeras models and as layer lists."""

from __future__ import annotations

from typing import Any


def images(*, stream: bool) -> tuple[Any, str]:
    """Return a residual network of images with every kind of two-dimensional layer."""
    import keras
    from keras import layers
    from qkeras import QConv2D, QDense

    picture = keras.Input((9, 8, 3), name="picture")
    x = relu("relu1")(QConv2D(4, 3, padding="same", strides=2, name="conv1", **quantizers(6))(picture))
    y = relu("relu2", 5, 1)(QConv2D(4, 3, padding="same", name="conv2", **quantizers(4))(x))
    y = relu("relu3")(layers.Add(name="add1")([y, x]))
    y = layers.MaxPooling2D(2, name="pool1")(y)
    y = layers.AveragePooling2D((2, 1), strides=None if stream else 1, name="pool2")(y)
    kernel = quantizers(6)["kernel_quantizer"]
    y = QConv2D(5, (1, 2), use_bias=False, kernel_quantizer=kernel, name="conv3")(y)
    y = layers.Activation("tanh", name="tanh1")(y)
    y = layers.Flatten(name="flatten1")(y)
    y = layers.Activation("sigmoid", name="sigmoid1")(QDense(3, name="dense1", **quantizers(6))(y))
    listed = f"""
input: {{shape: [9, 8, 3], name: picture}}
io_type: {"io_stream" if stream else "io_parallel"}
bits: 6
layers:
  - conv2d: {{filters: 4, kernel: 3, padding: same, stride: 2}}
  - relu
  - conv2d: {{filters: 4, kernel: 3, padding: same, bits: 4}}
  - relu: {{bits: 5, integer: 1}}
  - add: {{to: relu1}}
  - relu
  - max_pool: 2
  - average_pool: {{size: [2, 1], stride: {"[2, 1]" if stream else "1"}}}
  - conv2d: {{filters: 5, kernel: [1, 2], bias: false}}
  - tanh
  - flatten
  - dense: 3
  - sigmoid
"""
    return keras.Model(picture, y), listed


def sequences(*, stream: bool) -> tuple[Any, str]:
    """Return a network of sequences; pools with padding where hls4ml has them."""
    import keras
    from keras import layers
    from qkeras import QConv1D, QDense

    padding = "valid" if stream else "same"
    series = keras.Input((21, 3), name="series")
    x = relu("relu1")(QConv1D(4, 5, strides=2, name="conv1", **quantizers(6))(series))
    x = layers.AveragePooling1D(2, padding=padding, name="pool1")(x)
    x = QConv1D(6, 3, padding="same", name="conv2", **quantizers(6))(x)
    x = layers.GlobalAveragePooling1D(name="pool2")(relu("relu2")(x))
    x = QDense(3, name="dense1", **quantizers(6))(x)
    listed = f"""
input: {{shape: [21, 3], name: series}}
io_type: {"io_stream" if stream else "io_parallel"}
bits: 6
layers:
  - conv1d: {{filters: 4, kernel: 5, stride: 2}}
  - relu
  - average_pool: {{size: 2, padding: {padding}}}
  - conv1d: {{filters: 6, kernel: 3, padding: same}}
  - relu
  - global_average_pool
  - dense: {{units: 3}}
"""
    return keras.Model(series, x), listed


def largest(*, stream: bool) -> tuple[Any, str]:
    """Return a network whose pools take the largest of signed sums, and whose activations stand in their layers."""
    import keras
    from keras import layers
    from qkeras import QConv2D, QDense

    padding = "valid" if stream else "same"
    picture = keras.Input((7, 6, 2), name="picture")
    x = QConv2D(4, 2, name="conv1", **quantizers(5))(picture)
    x = layers.MaxPooling2D(2, padding=padding, name="pool1")(x)
    x = layers.GlobalMaxPooling2D(name="pool2")(x)
    x = QDense(7, name="dense1", activation="tanh", **quantizers(5))(x)
    listed = f"""
input: {{shape: [7, 6, 2], name: picture}}
io_type: {"io_stream" if stream else "io_parallel"}
bits: 5
layers:
  - conv2d: {{filters: 4, kernel: 2}}
  - max_pool: {{size: 2, padding: {padding}}}
  - global_max_pool
  - dense: {{units: 7, activation: tanh}}
"""
    return keras.Model(picture, x), listed


def chain() -> Any:
    """Return 16-8-8-5 with 6, 4 and 3 bits."""
    import keras
    from qkeras import QDense

    x = features = keras.Input((16,), name="features")
    for k, (units, bits) in enumerate(((8, 6), (8, 4), (5, 3)), start=1):
        x = QDense(units, name=f"dense{k}", **quantizers(bits))(x)
        if k < 3:
            x = relu(f"relu{k}", bits)(x)
    return keras.Model(features, x)


def quantizers(bits: int) -> dict[str, Any]:
    """Return those of weights and biases in fixed<bits,1>."""
    from qkeras import quantized_bits

    return {name: quantized_bits(bits, 0, alpha=1) for name in ("kernel_quantizer", "bias_quantizer")}


def relu(name: str, bits: int = 6, integer: int = 0) -> Any:
    """Return a ReLU that gives ufixed<bits,integer>."""
    from qkeras import QActivation, quantized_relu

    return QActivation(quantized_relu(bits, integer), name=name)
