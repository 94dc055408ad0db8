"""What the training scripts of the zoo share: a quantized network, pruning while it trains, and a file without dates.

Import-free of the rest of the project: the scripts make the files that the flow later reads.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from qkeras import QActivation, QConv2D, QDense, quantized_bits, quantized_relu

BITS = 6
WEIGHTED = (QDense, QConv2D)


def seed_everything(seed: int) -> None:
    """Make training repeatable on one machine."""
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


def dense(units: int, name: str, *, bits: int = BITS, l1: float = 0.0) -> keras.layers.Layer:
    """Return a dense layer whose weights and biases are fixed<bits,1>; l1: as in `dense_network`."""
    return QDense(
        units,
        name=name,
        kernel_quantizer=quantized_bits(bits, 0, alpha=1),
        bias_quantizer=quantized_bits(bits, 0, alpha=1),
        kernel_initializer="lecun_uniform",
        kernel_regularizer=keras.regularizers.L1(l1),
    )


def convolution(
    filters: int, name: str, *, padding: str = "valid", bits: int = BITS, l1: float = 0.0
) -> keras.layers.Layer:
    """Return a convolution with a window of 3 × 3; bits and l1: as in `dense_network`."""
    return QConv2D(
        filters,
        (3, 3),
        padding=padding,
        name=name,
        kernel_quantizer=quantized_bits(bits, 0, alpha=1),
        bias_quantizer=quantized_bits(bits, 0, alpha=1),
        kernel_initializer="lecun_uniform",
        kernel_regularizer=keras.regularizers.L1(l1),
    )


def relu(name: str, *, bits: int = BITS, integer: int = 1) -> keras.layers.Layer:
    """Return a ReLU whose output is ufixed<bits,integer>."""
    return QActivation(quantized_relu(bits, integer), name=name)


def dense_network(
    name: str, sizes: tuple[int, ...], *, activation_integer: int, l1: float, bits: int = BITS
) -> keras.Model:
    """Return a fully connected network of quantized weights and ReLUs; its last layer has no ReLU.

    sizes: inputs, hidden layers …, outputs. Weights and biases are fixed<bits,1> (`quantized_bits(bits, 0)`),
    activations ufixed<bits,activation_integer>. l1: strength of the pull towards zero on the weights.
    """
    layers: list[Any] = [keras.Input((sizes[0],), name="features")]
    for k, units in enumerate(sizes[1:], start=1):
        layers.append(dense(units, f"dense{k}", bits=bits, l1=l1))
        if k < len(sizes) - 1:
            layers.append(relu(f"relu{k}", bits=bits, integer=activation_integer))
    return keras.Sequential(layers, name=name)


def train(
    model: keras.Model,
    x: np.ndarray,
    y: np.ndarray,
    *,
    loss: keras.losses.Loss,
    rate: float,
    epochs: int,
    batch: int,
    sparsity: float = 0.0,
    prune: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Train with Adam and a cosine learning rate from `rate` to 0, pruning meanwhile.

    sparsity: fraction of each layer's weights that ends as zero; 0: none is pruned. prune: when pruning begins and
    ends, as fractions of the training.
    """
    steps = epochs * -(-len(x) // batch)
    schedule = keras.optimizers.schedules.CosineDecay(rate, steps)
    model.compile(keras.optimizers.Adam(schedule), loss)
    pruning = Pruning(sparsity, begin=int(prune[0] * steps), end=int(prune[1] * steps))
    model.fit(x, y, batch_size=batch, epochs=epochs, verbose=0, callbacks=[pruning] if sparsity else [])


class Pruning(keras.callbacks.Callback):
    """Set the smallest weights of each layer to zero, more of them every step, and keep them there.

    fraction: of all weights of a layer at the end. begin, end: steps between which it rises (cubically, as in
    Zhu & Gupta 2017, arXiv:1710.01878); afterwards the chosen zeros stay zero.
    """

    def __init__(self, fraction: float, *, begin: int, end: int) -> None:
        super().__init__()
        self.fraction, self.begin, self.end = fraction, begin, end
        self.step = 0

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:  # noqa: ARG002
        """Prune after the weights have moved."""
        self.step += 1
        if self.step < self.begin:
            return
        progress = min(1.0, (self.step - self.begin) / (self.end - self.begin))
        fraction = self.fraction * (1 - (1 - progress) ** 3)
        for layer in self.model.layers:
            if isinstance(layer, WEIGHTED):
                kernel = np.array(layer.kernel)
                drop = np.argsort(np.abs(kernel), axis=None, kind="stable")[: int(fraction * kernel.size)]
                kernel.flat[drop] = 0
                layer.kernel.assign(kernel)


def round_weights(model: keras.Model) -> None:
    """Replace the weights by their quantized values, which changes nothing that the model computes."""
    for layer in model.layers:
        if isinstance(layer, WEIGHTED):
            layer.kernel.assign(layer.kernel_quantizer_internal(layer.kernel))
            layer.bias.assign(layer.bias_quantizer_internal(layer.bias))


def save(model: keras.Model, path: Path) -> None:
    """Write a `.keras` file whose bytes depend on the model only."""
    bare = type(model).from_config(model.get_config())  # without the optimizer and its state
    bare.set_weights(model.get_weights())
    bare.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in sorted(archive.namelist())}
    metadata = json.loads(parts["metadata.json"])
    metadata.pop("date_saved", None)
    parts["metadata.json"] = json.dumps(metadata).encode()
    parts["config.json"] = json.dumps(_without_addresses(json.loads(parts["config.json"]))).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    path.write_bytes(buffer.getvalue())


def _without_addresses(config: Any) -> Any:
    """Return a Keras configuration without `shared_object_id`, which holds memory addresses; nothing is shared here."""
    if isinstance(config, dict):
        return {key: _without_addresses(value) for key, value in config.items() if key != "shared_object_id"}
    return [_without_addresses(value) for value in config] if isinstance(config, list) else config


def agreement(model: keras.Model, x: np.ndarray, y: np.ndarray) -> float:
    """Return the fraction of rows of x whose largest output is the one that y names."""
    return float((model.predict(x, batch_size=4096, verbose=0).argmax(axis=1) == y).mean())


def describe(model: keras.Model) -> str:
    """Say how many of the weights are zero."""
    kernels = [np.array(layer.kernel) for layer in model.layers if isinstance(layer, WEIGHTED)]
    total = sum(k.size for k in kernels)
    zero = sum(int((k == 0).sum()) for k in kernels)
    return f"{total} weights, {zero} of them zero ({zero / total:.0%})"
