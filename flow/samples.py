"""The vectors of a run: raw inputs, the outputs that they must give, and labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError
from flow.files import read_arrays, write_npz
from flow.fixed import FixedType, IntArray
from flow.graph.graph import Graph, evaluate
from flow.rtl.packing import pack, unpack
from flow.rtl.top import tensor_ports

DEFAULT_COUNT = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Hold raw integers by node name, shape (n, *shape); labels of shape (n,) or None."""

    inputs: dict[str, IntArray]
    outputs: dict[str, IntArray]
    labels: NDArray[np.int64] | None


def save_samples(path: Path, graph: Graph, samples: Samples) -> None:
    """Write the samples as packed words, whole tensors side by side; same samples, same bytes."""
    arrays: dict[str, NDArray[Any]] = {
        "inputs": pack(tensor_ports(graph, graph.inputs), samples.inputs)[:, 0],
        "outputs": pack(tensor_ports(graph, graph.outputs), samples.outputs)[:, 0],
    }
    if samples.labels is not None:
        arrays["labels"] = samples.labels
    write_npz(path, arrays)


def load_samples(path: Path, graph: Graph) -> Samples:
    """Read the samples of a graph; raise UserError when the file is not theirs."""
    try:
        arrays = read_arrays(path)
        return Samples(
            unpack(tensor_ports(graph, graph.inputs), arrays["inputs"][:, None]),
            unpack(tensor_ports(graph, graph.outputs), arrays["outputs"][:, None]),
            arrays.get("labels"),
        )
    except (OSError, ValueError, KeyError, IndexError):
        raise UserError(f"{path} holds no vectors of {graph.name}; delete it and run again") from None


def random_inputs(graph: Graph, count: int, seed: int = 1) -> dict[str, IntArray]:
    """Draw inputs over their types' whole ranges; the first two vectors are the extremes."""
    draw = np.random.default_rng(seed)
    return {name: _random(graph.node(name).type, (count, *graph.node(name).shape), draw) for name in graph.inputs}


def _random(kind: FixedType, shape: tuple[int, ...], draw: np.random.Generator) -> IntArray:
    if kind.width < 63:
        raw: IntArray = draw.integers(kind.lo, kind.hi, shape, endpoint=True)
    else:
        bits = draw.integers(0, 2, (kind.width, *shape)).astype(object)
        raw = sum((bits[k] << k for k in range(kind.width)), start=np.zeros(shape, dtype=object)) + kind.lo
        raw = np.minimum(raw, kind.hi)
    raw[0] = kind.lo
    if shape[0] > 1:
        raw[1] = kind.hi
    return raw


def evaluated(graph: Graph, inputs: dict[str, IntArray]) -> Samples:
    """Return samples whose outputs the integer evaluator gives."""
    values = evaluate(graph, inputs)
    return Samples(inputs, {name: values[name].raw for name in graph.outputs}, None)


def accuracy(scores: IntArray, labels: NDArray[np.int64] | None) -> float | None:
    """Return the fraction of vectors whose label is the largest score; a single score is compared with 0."""
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "iu":
        return None
    flat = scores.reshape(len(labels), -1)
    chosen = (flat[:, 0] > 0).astype(np.int64) if flat.shape[1] == 1 else np.argmax(flat, axis=1)
    return float(np.mean(chosen == labels))
