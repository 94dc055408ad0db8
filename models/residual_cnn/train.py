"""Train residual_cnn on scikit-learn's handwritten digits.

`python -m models.residual_cnn.train` from the project's root; about 30 seconds.
"""

from __future__ import annotations

from pathlib import Path

from models import training
from models.digits_cnn.train import CLASSES, SIDE, train_on_pictures

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
    """Train the network."""
    training.seed_everything(SEED)
    train_on_pictures(network(), HERE, epochs=EPOCHS, batch=BATCH, sparsity=SPARSITY)


if __name__ == "__main__":
    main()
