"""Train wide_mlp to clean pairs of scikit-learn's handwritten digits, each seen twice through noise.

`python -m models.wide_mlp.train` from the project's root; a few minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from models import training

HERE = Path(__file__).parent
SEED = 23
SIZES = (256, 384, 384, 128)
BITS = 8
EPOCHS = 8
BATCH = 128
PAIRS = 20_000
TEST = 400
NOISE = 0.4  # standard deviation; pixels are in [0, 1)
STEP = 1 / 256  # the core's input is ufixed<8,0>


def pictures() -> tuple[np.ndarray, np.ndarray]:
    """Return clean pictures to train with and others to test with: rows of 64 pixels, multiples of 1/16 in [0, 1)."""
    x, y = load_digits(return_X_y=True)
    x = (np.minimum(x, 15) / 16).astype(np.float32)
    train, test = train_test_split(x, test_size=500, random_state=SEED, stratify=y)
    return train, test


def noisy_pairs(rng: np.random.Generator, clean: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x (count, 256), two views of one picture and two of another, and y (count, 128), the two pictures.

    A view is the picture with normal noise, rounded to multiples of 1/256 and clipped to [0, 1).
    """
    pairs = clean[rng.integers(len(clean), size=(count, 2))]
    views = pairs[:, :, None, :] + rng.normal(0, NOISE, size=(count, 2, 2, 64))
    views = (np.rint(views / STEP) * STEP).clip(0, 1 - STEP)
    return views.reshape(count, 256).astype(np.float32), pairs.reshape(count, 128).astype(np.float32)


def error(answer: np.ndarray, y: np.ndarray) -> float:
    """Return the root of the mean squared error of a pixel."""
    return float(np.sqrt(((answer - y) ** 2).mean()))


def main() -> None:
    """Train, round, save; print the error on pictures that training never saw, beside that of averaging the views."""
    training.seed_everything(SEED)
    rng = np.random.default_rng(SEED)
    train, test = pictures()
    x, y = noisy_pairs(rng, train, PAIRS)
    x_test, y_test = noisy_pairs(rng, test, TEST)
    model = training.dense_network("wide_mlp", SIZES, activation_integer=1, l1=0.0, bits=BITS)
    loss = training.keras.losses.MeanSquaredError()
    training.train(model, x, y, loss=loss, rate=1e-3, epochs=EPOCHS, batch=BATCH)
    training.round_weights(model)
    training.save(model, HERE / "wide_mlp.keras")
    np.savez_compressed(HERE / "test.npz", x=x_test, y=y_test)
    print(training.describe(model))
    average = x_test.reshape(-1, 2, 2, 64).mean(axis=2).reshape(-1, 128)
    answer = model.predict(x_test, batch_size=4096, verbose=0)
    print(f"error of a pixel on {TEST} pairs: {error(answer, y_test):.4f}; of averaging {error(average, y_test):.4f}")


if __name__ == "__main__":
    main()
