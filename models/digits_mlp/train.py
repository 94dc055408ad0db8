"""Train digits_mlp on scikit-learn's handwritten digits.

`python -m models.digits_mlp.train` from the project's root; about a minute.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from models import training

HERE = Path(__file__).parent
SEED = 7
SIZES = (64, 32, 32, 10)
EPOCHS = 150
BATCH = 64
SPARSITY = 0.85


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return x_train, x_test (rows of 64 pixels, multiples of 1/16 in [0, 1)) and y_train, y_test.

    The data set counts 0 … 16 set pixels of a 4 × 4 block; the rare 16 is taken as 15, so that four bits hold it.
    """
    x, y = load_digits(return_X_y=True)
    x = (np.minimum(x, 15) / 16).astype(np.float32)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=500, random_state=SEED, stratify=y)
    return x_train, x_test, y_train.astype(np.int64), y_test.astype(np.int64)


def main() -> None:
    """Train, prune, round, save; print the accuracy on images that training never saw."""
    training.seed_everything(SEED)
    x_train, x_test, y_train, y_test = digits()
    model = training.dense_network("digits_mlp", SIZES, activation_integer=1, l1=1e-5)
    loss = training.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    training.train(
        model,
        x_train,
        y_train,
        loss=loss,
        rate=3e-3,
        epochs=EPOCHS,
        batch=BATCH,
        sparsity=SPARSITY,
        prune=(1 / 6, 1 / 2),
    )
    training.round_weights(model)
    training.save(model, HERE / "digits_mlp.keras")
    np.savez_compressed(HERE / "test.npz", x=x_test, y=y_test)
    print(training.describe(model))
    print(f"accuracy on {len(x_test)} held-out images: {training.agreement(model, x_test, y_test):.4f}")


if __name__ == "__main__":
    main()
