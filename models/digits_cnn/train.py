"""Train digits_cnn on scikit-learn's handwritten digits.

`python -m models.digits_cnn.train` from the project's root; about 20 seconds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from models import training
from models.digits_mlp.train import digits

HERE = Path(__file__).parent
SEED = 11
SIDE = 8
FILTERS = (6, 16)
CLASSES = 10
EPOCHS = 100
BATCH = 64
SPARSITY = 0.5


def pictures() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the digits of digits_mlp as pictures of 8 × 8 × 1: x_train, x_test, y_train, y_test."""
    x_train, x_test, y_train, y_test = digits()
    return x_train.reshape(-1, SIDE, SIDE, 1), x_test.reshape(-1, SIDE, SIDE, 1), y_train, y_test


def network() -> training.keras.Model:
    """Return the network: two convolutions with a pooling between them, and a dense layer."""
    layers = training.keras.layers
    return training.keras.Sequential(
        [
            training.keras.Input((SIDE, SIDE, 1), name="picture"),
            training.convolution(FILTERS[0], "conv1", padding="same"),
            training.relu("relu1"),
            layers.MaxPooling2D(2, name="pool1"),
            training.convolution(FILTERS[1], "conv2"),
            training.relu("relu2"),
            layers.Flatten(name="flat"),
            training.dense(CLASSES, "dense"),
        ],
        name="digits_cnn",
    )


def train_on_pictures(model: training.keras.Model, folder: Path, *, epochs: int, batch: int, sparsity: float) -> None:
    """Train, prune, round, save; print the accuracy on pictures that training never saw."""
    x_train, x_test, y_train, y_test = pictures()
    training.train(
        model,
        x_train,
        y_train,
        loss=training.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        rate=3e-3,
        epochs=epochs,
        batch=batch,
        sparsity=sparsity,
        prune=(1 / 6, 1 / 2),
    )
    training.round_weights(model)
    training.save(model, folder / f"{model.name}.keras")
    np.savez_compressed(folder / "test.npz", x=x_test, y=y_test)
    print(training.describe(model))
    print(f"accuracy on {len(x_test)} held-out pictures: {training.agreement(model, x_test, y_test):.4f}")


def main() -> None:
    """Train the network."""
    training.seed_everything(SEED)
    train_on_pictures(network(), HERE, epochs=EPOCHS, batch=BATCH, sparsity=SPARSITY)


if __name__ == "__main__":
    main()
