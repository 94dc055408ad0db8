"""Train residual_cnn on scikit-learn's handwritten digits.

`python -m models.residual_cnn.train` from the project's root; about three minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from models import training
from models.digits_cnn.train import CLASSES, SIDE, pictures

HERE = Path(__file__).parent
SEED = 13
CHANNELS = 4
EPOCHS = 150
BATCH = 64
SPARSITY = 0.5


def network() -> training.keras.Model:
    """Return the network: a convolution, two more with a way past them, a pooling, and a dense layer."""
    layers = training.keras.layers
    picture = training.keras.Input((SIDE, SIDE, 1), name="picture")
    stem = training.relu("stem_relu")(training.convolution(CHANNELS, "stem", padding="same")(picture))
    inside = training.relu("relu1")(training.convolution(CHANNELS, "conv1", padding="same")(stem))
    inside = training.convolution(CHANNELS, "conv2", padding="same")(inside)
    both = training.relu("relu2", integer=2)(layers.Add(name="add")([stem, inside]))
    flat = layers.Flatten(name="flat")(layers.MaxPooling2D(2, name="pool")(both))
    return training.keras.Model(picture, training.dense(CLASSES, "dense")(flat), name="residual_cnn")


def main() -> None:
    """Train, prune, round, save; print the accuracy on pictures that training never saw."""
    training.seed_everything(SEED)
    x_train, x_test, y_train, y_test = pictures()
    model = network()
    training.train(
        model,
        x_train,
        y_train,
        loss=training.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        rate=3e-3,
        epochs=EPOCHS,
        batch=BATCH,
        sparsity=SPARSITY,
        prune=(1 / 6, 1 / 2),
    )
    training.round_weights(model)
    training.save(model, HERE / "residual_cnn.keras")
    np.savez_compressed(HERE / "test.npz", x=x_test, y=y_test)
    print(training.describe(model))
    print(f"accuracy on {len(x_test)} held-out pictures: {training.agreement(model, x_test, y_test):.4f}")


if __name__ == "__main__":
    main()
