"""Train jet_tagger by distilling a published network on synthetic inputs.

`python -m models.jet_tagger.train path/to/qkeras_3layer.json` from the project's root; about two minutes. The teacher's
weights lie beside its description as `qkeras_3layer_weights.h5`. No jet is read: the student sees random numbers and
the teacher's answers to them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import h5py
import numpy as np

from models import training

HERE = Path(__file__).parent
SEED = 11
SIZES = (16, 64, 32, 32, 5)
EPOCHS = 10
BATCH = 1024
SAMPLES = 400_000
TEST = 2_000
SPARSITY = 0.5
TEMPERATURE = 1.0
STEP = 1 / 64  # the core's input is fixed<12,6>
LIMIT = 32.0


class Teacher:
    """Evaluate the published 6-bit network: fixed<6,1> weights, 6-bit ReLUs in [0, 1), logits before the softmax."""

    def __init__(self, description: Path) -> None:
        layers = json.loads(description.read_text())["config"]["layers"]
        dense = [layer["config"] for layer in layers if layer["class_name"] == "QDense"]
        if any(
            (c["kernel_quantizer"]["config"]["bits"], c["kernel_quantizer"]["config"]["integer"]) != (6, 0)
            for c in dense
        ):
            raise ValueError(f"{description} is not the 6-bit network")
        with h5py.File(description.with_name(description.stem + "_weights.h5")) as file:
            read = {c["name"]: file[c["name"]][c["name"]] for c in dense}
            self.weights = [
                (quantized_bits(np.array(group["kernel:0"])), quantized_bits(np.array(group["bias:0"])))
                for group in read.values()
            ]

    def logits(self, x: np.ndarray) -> np.ndarray:
        """Return rows of 5 logits for rows of 16 features."""
        for k, (kernel, bias) in enumerate(self.weights):
            x = x @ kernel + bias
            if k < len(self.weights) - 1:
                x = np.clip(np.rint(x * 64), 0, 63) / 64
        return x


def quantized_bits(values: np.ndarray) -> np.ndarray:
    """Round to fixed<6,1>, half to even, and saturate: what QKeras calls `quantized_bits(6, 0)`."""
    return np.clip(np.rint(values.astype(np.float64) * 32), -32, 31) / 32


def synthetic_features(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return rows of 16 numbers that resemble standardized measurements in kind, and no data set in particular.

    Blocks of 500 rows share a random law: independent or correlated through a few common factors, of random means and
    spreads, symmetric or skewed, with normal or heavier tails.
    """
    block = 500
    rows = []
    for _ in range(count // block):
        factors = int(rng.integers(1, 7))
        shared = rng.normal(size=(block, factors)) @ rng.normal(size=(factors, 16)) / np.sqrt(factors)
        own = rng.normal(size=(block, 16))
        weight = rng.beta(0.7, 0.7)
        x = np.sqrt(weight) * shared + np.sqrt(1 - weight) * own
        if rng.random() < 0.5:
            x /= np.sqrt(rng.chisquare(4, size=(block, 1)) / 4)
        skewed = rng.random(16) < 0.4
        x[:, skewed] = np.exp(0.7 * x[:, skewed].clip(-4, 4)) - 1.28
        x[:, rng.random(16) < 0.3] *= -1
        x = x * rng.lognormal(-0.2, 0.5, size=16) + rng.normal(0, 0.7, size=16)
        rows.append(x)
    x = rng.permutation(np.concatenate(rows))
    return (np.floor(x.clip(-LIMIT, LIMIT - STEP) / STEP) * STEP).astype(np.float32)


def balanced(rng: np.random.Generator, teacher: Teacher, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `count` rows of features and the teacher's logits, each answer of the teacher equally often."""
    rows: list[list[np.ndarray]] = [[] for _ in range(SIZES[-1])]
    wanted = count // SIZES[-1]
    while min(sum(map(len, found)) for found in rows) < wanted:
        x = synthetic_features(rng, 50_000)
        answer = teacher.logits(x).argmax(axis=1)
        for k, found in enumerate(rows):
            if sum(map(len, found)) < wanted:
                found.append(x[answer == k])
    x = rng.permutation(np.concatenate([np.concatenate(found)[:wanted] for found in rows]))
    return x, teacher.logits(x)


def soft_labels(logits: np.ndarray) -> np.ndarray:
    """Return the teacher's probabilities at the distillation temperature."""
    z = np.exp((logits - logits.max(axis=1, keepdims=True)) / TEMPERATURE)
    return (z / z.sum(axis=1, keepdims=True)).astype(np.float32)


def main() -> None:
    """Distil, prune, round, save; print how often the student agrees with its teacher on fresh synthetic inputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("teacher", type=Path, help="qkeras_3layer.json, its weights beside it")
    teacher = Teacher(parser.parse_args().teacher)
    training.seed_everything(SEED)
    rng = np.random.default_rng(SEED)
    x, logits = balanced(rng, teacher, SAMPLES)
    x_test, logits_test = balanced(rng, teacher, TEST)
    y_test = logits_test.argmax(axis=1).astype(np.int64)
    model = training.dense_network("jet_tagger", SIZES, activation_integer=0, l1=1e-6)
    loss = training.keras.losses.CategoricalCrossentropy(from_logits=True)
    training.train(
        model,
        x,
        soft_labels(logits),
        loss=loss,
        rate=4e-3,
        epochs=EPOCHS,
        batch=BATCH,
        sparsity=SPARSITY,
        prune=(1 / 4, 1 / 2),
    )
    training.round_weights(model)
    training.save(model, HERE / "jet_tagger.keras")
    np.savez_compressed(HERE / "test.npz", x=x_test, y=y_test)
    print(training.describe(model))
    print(f"agreement with the teacher on {TEST} synthetic inputs: {training.agreement(model, x_test, y_test):.4f}")


if __name__ == "__main__":
    main()
