"""The float network computed with numpy alone: slow and plain, what the frameworks are checked against."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.baseline.float_network import FloatNetwork, Floats, Step


def run_numpy(network: FloatNetwork, inputs: dict[str, Floats]) -> dict[str, Floats]:
    """Compute every step for inputs of shape (batch, *shape)."""
    values: dict[str, Floats] = {}
    for step in network.steps:
        if step.op == "input":
            values[step.name] = inputs[step.name].astype(np.float32)
        else:
            found = _computed(step, [values[name] for name in step.inputs])
            values[step.name] = found.reshape(len(found), *step.shape).astype(np.float32)
    return values


def _computed(  # noqa: PLR0911 (one per kind of step)
    step: Step, args: list[Floats]
) -> Any:
    x: Any = args[0]
    weights: Any = step.weights
    bias: Any = step.bias
    match step.op:
        case "dense":
            return x.reshape(len(x), -1) @ weights + bias
        case "conv" | "depthwise" | "pool":
            return _windowed(step, x)
        case "clip":
            return np.clip(x, step.low, np.inf if step.high is None else step.high)
        case "prelu":
            return np.maximum(x, 0) + weights * np.minimum(x, 0)
        case "scale":
            return x * weights + bias
        case "gather":
            elements = np.concatenate([*(a.reshape(len(x), -1) for a in args), np.zeros((len(x), 1))], axis=1)
            return elements[:, weights]
        case "merge":
            return _merged(step.detail, *args)
        case "softmax":
            raised = np.exp(x - x.max(axis=-1, keepdims=True))
            return raised / raised.sum(axis=-1, keepdims=True)
        case "table":
            number = np.trunc(x * step.bins[0]).astype(np.int64) + step.bins[1]
            return weights[np.clip(number, 0, len(weights) - 1)]
        case _:
            return x


def _windowed(step: Step, x: Floats) -> NDArray[Any]:
    assert step.window is not None
    window, taps = step.window, step.window.taps()
    outside = -np.inf if step.detail == "max" else 0.0
    pixels = np.concatenate([x.reshape(len(x), -1, window.channels), np.full((len(x), 1, window.channels), outside)], 1)
    under = pixels[:, taps]  # (batch, places, cells, channels); tap -1 is the last pixel
    if step.op == "pool":
        if step.detail == "max":
            return np.asarray(under.max(axis=2))
        cells = taps.shape[1] if step.detail == "average_all" else (taps >= 0).sum(axis=1)[None, :, None]
        return np.asarray(under.sum(axis=2) / cells)
    assert step.weights is not None
    kernel = step.weights.reshape(taps.shape[1], *step.weights.shape[2:])
    how = "bpkc,kco->bpo" if step.op == "conv" else "bpkc,kc->bpc"
    return np.asarray(np.einsum(how, under, kernel) + step.bias)


def _merged(op: str, a: Floats, b: Floats) -> NDArray[Any]:
    match op:
        case "add":
            return a + b
        case "subtract":
            return a - b
        case "multiply":
            return a * b
        case "average":
            return (a + b) / 2
        case "maximum":
            return np.maximum(a, b)
        case _:
            return np.minimum(a, b)
