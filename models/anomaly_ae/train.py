"""Train anomaly_ae on the ones of scikit-learn's handwritten digits: every other digit is an anomaly.

`python -m models.anomaly_ae.train` from the project's root; under a minute.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from qkeras import QActivation, quantized_bits
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from models import training

HERE = Path(__file__).parent
SEED = 5
NORMAL = 1
PIXELS = 64
SIZES = (24, 8, 24)
EPOCHS = 300
BATCH = 32
TRAIN = 120
SPARSITY = 0.5


def ones_and_others() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x_train (120 ones), x_test (the other ones and every other digit) and y_test (1: no one).

    Rows of 64 pixels, multiples of 1/16 in [0, 1), as digits_mlp takes them.
    """
    x, y = load_digits(return_X_y=True)
    x = (np.minimum(x, 15) / 16).astype(np.float32)
    seen = np.random.default_rng(SEED).permutation(np.flatnonzero(y == NORMAL))[:TRAIN]
    others = np.setdiff1d(np.arange(len(y)), seen)
    return x[seen], x[others], (y[others] != NORMAL).astype(np.float32)


def network() -> training.keras.Model:
    """Return the network: an autoencoder, and the squared length of what it gets wrong."""
    layers = training.keras.layers
    pixels = training.keras.Input((PIXELS,), name="features")
    x = pixels
    for k, units in enumerate(SIZES, start=1):
        x = training.relu(f"relu{k}", integer=2)(training.dense(units, f"dense{k}")(x))
    x = training.dense(PIXELS, f"dense{len(SIZES) + 1}")(x)
    again = QActivation(quantized_bits(7, 1, alpha=1), name="again")(x)
    wrong = layers.Subtract(name="wrong")([pixels, again])
    return training.keras.Model(pixels, layers.Dot(axes=1, name="score")([wrong, wrong]), name="anomaly_ae")


def main() -> None:
    """Train, round, save; print how well the score tells other digits from ones."""
    training.seed_everything(SEED)
    x_train, x_test, y_test = ones_and_others()
    model = network()
    nothing = np.zeros(len(x_train), np.float32)  # what is normal should score little
    loss = training.keras.losses.MeanAbsoluteError()
    training.train(
        model,
        x_train,
        nothing,
        loss=loss,
        rate=4e-3,
        epochs=EPOCHS,
        batch=BATCH,
        sparsity=SPARSITY,
        prune=(1 / 6, 1 / 2),
    )
    training.round_weights(model)
    training.save(model, HERE / "anomaly_ae.keras")
    np.savez_compressed(HERE / "test.npz", x=x_test, y=y_test)
    print(training.describe(model))
    scores = model.predict(x_test, verbose=0).ravel()
    plain = ((x_test - x_train.mean(axis=0)) ** 2).sum(axis=1)  # without a network
    print(
        f"area under the ROC curve on {len(x_test)} images: {roc_auc_score(y_test, scores):.4f} "
        f"(squared distance from the mean one: {roc_auc_score(y_test, plain):.4f})"
    )


if __name__ == "__main__":
    main()
