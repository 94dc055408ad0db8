"""Test vectors: the words that go into a design and those that must come out, and vectors that a user brings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.engines.settled import Flags, Settled
from flow.errors import UserError, VerificationError
from flow.files import read_arrays, write_npz
from flow.fixed import FixedArray, FixedType, IntArray, from_float
from flow.graph.nodes.input import Input
from flow.rtl.packing import pack
from flow.rtl.signature import Signature, TensorPort

WIDER = 64  # bits of headroom in which a value's rounding is computed without overflow


@dataclass(frozen=True, slots=True)
class Vectors:
    """Hold the packed words of n inferences.

    words_in, words_out: shape (n, beats, words of a beat) uint64, as `data_i` and `data_o` carry them (see
    flow.rtl.packing).
    words_edges: for each edge of the signature, in its order, shape (n, words): its whole tensor from bit 0 on, however
    many beats it takes; beats may be so narrow that a word for each would waste most of it.
    early_out, early_edges: flags of shape (n, beats) of data that stand there a cycle early by nature, None for none.
    """

    words_in: NDArray[np.uint64]
    words_out: NDArray[np.uint64]
    words_edges: tuple[NDArray[np.uint64], ...]
    early_out: Flags | None
    early_edges: tuple[Flags | None, ...]

    @property
    def count(self) -> int:
        """Return the number of inferences."""
        return int(self.words_in.shape[0])

    def first(self, count: int) -> Vectors:
        """Return the first `count` inferences."""
        early = tuple(None if flags is None else flags[:count] for flags in (self.early_out, *self.early_edges))
        edges = tuple(words[:count] for words in self.words_edges)
        return Vectors(self.words_in[:count], self.words_out[:count], edges, early[0], early[1:])


def _raw(port: TensorPort, values: dict[str, FixedArray]) -> IntArray:
    if port.name not in values:
        raise VerificationError(
            f"the evaluator gave no values for '{port.label}' ({port.name}), which the design shows"
        )
    array = values[port.name]
    if array.type.fraction != port.type.fraction:
        raise VerificationError(f"'{port.label}' is {array.type} in the evaluator but {port.type} in the signature")
    outside = (array.raw < port.type.lo) | (array.raw > port.type.hi)
    if np.any(outside):
        raise VerificationError(
            f"'{port.label}': {int(np.sum(outside))} evaluated values are outside {port.type} of the signature"
        )
    return array.raw.reshape(array.raw.shape[0], *port.shape)


def expected(signature: Signature, values: dict[str, FixedArray], settled: Settled | None = None) -> Vectors:
    """Return the vectors of a design from the evaluator's values, which are given by node name.

    settled: what is early by nature in this design, None for nothing.

    Raises VerificationError when the signature describes tensors that these values do not fill, or ports that no bench
    can follow.
    """

    def words(ports: tuple[TensorPort, ...]) -> NDArray[np.uint64]:
        return pack(ports, {port.name: _raw(port, values) for port in ports})

    _check_ports(signature)
    tensors = (replace(edge.tensor, name=edge.node, offset=0, lanes=edge.tensor.size) for edge in signature.edges)
    edges = tuple(words((tensor,))[:, 0] for tensor in tensors)
    known = Settled() if settled is None else settled
    early = tuple(known.edges.get(edge.name) for edge in signature.edges)
    return Vectors(words(signature.inputs), words(signature.outputs), edges, known.output, early)


def _check_ports(signature: Signature) -> None:
    for port, tensors, cycles in (
        ("data_i", signature.inputs, signature.input_cycles),
        ("data_o", signature.outputs, signature.output_cycles),
    ):
        counts = {tensor.beats for tensor in tensors} - ({1} if port == "data_i" else set())
        if len(counts) > 1 or max(counts, default=1) != len(cycles):
            beats = ", ".join(f"'{tensor.label}' {tensor.beats}" for tensor in tensors)
            raise VerificationError(f"{port} has beats in {len(cycles)} cycles, but its tensors take: {beats}")
    if signature.input_cycles[0] != 0 or signature.output_cycles[-1] != signature.latency_cycles:
        raise VerificationError("the first input beat must come in cycle 0 and the last output beat after the latency")
    if signature.input_cycles[-1] >= signature.interval_cycles:
        raise VerificationError("an inference's input beats must all come before the next inference may start")


def save_vectors(path: Path, vectors: Vectors) -> None:
    """Write vectors as `.npz`; same vectors, same bytes."""
    arrays: dict[str, NDArray[Any]] = {"words_in": vectors.words_in, "words_out": vectors.words_out}
    arrays.update({f"edge{k}": words for k, words in enumerate(vectors.words_edges)})
    early = {"early_out": vectors.early_out, **{f"early{k}": flags for k, flags in enumerate(vectors.early_edges)}}
    arrays.update({name: flags for name, flags in early.items() if flags is not None})
    write_npz(path, arrays)


def load_vectors(path: Path) -> Vectors:
    """Read vectors that `save_vectors` wrote; raise UserError when the file is not such."""
    arrays = _arrays(path)
    edges = sum(name.startswith("edge") for name in arrays)
    if not {"words_in", "words_out"} <= arrays.keys():
        raise UserError(f"{path} holds no vectors of a design; simulate the run again")
    return Vectors(
        arrays["words_in"],
        arrays["words_out"],
        tuple(arrays[f"edge{k}"] for k in range(edges)),
        arrays.get("early_out"),
        tuple(arrays.get(f"early{k}") for k in range(edges)),
    )


@dataclass(frozen=True, slots=True)
class UserVectors:
    """Hold vectors that a user brought.

    inputs: float64 values of shape (n, *shape), one array per network input. labels: `y` of shape (n, …) or None.
    clipped: the number of values that were brought into the input types' ranges.
    """

    inputs: tuple[NDArray[np.float64], ...]
    labels: NDArray[Any] | None
    clipped: int


def user_vectors(path: Path, inputs: tuple[Input, ...], *, clip: bool) -> UserVectors:
    """Read a `.npy` of x, or a `.npz` of x and optional y, for these network inputs.

    A network with several inputs takes a `.npz` with one array per input, named by its label or name. Values that
    the input's type cannot hold are counted and refused, or clipped when asked. Raises UserError for whatever is
    not so.
    """
    arrays = _arrays(path)
    labels = arrays.pop("y", None)
    found = [_only_x(path, arrays)] if len(inputs) == 1 else [_named(path, arrays, node) for node in inputs]
    values, clipped = [], 0
    for node, array in zip(inputs, found, strict=True):
        floats, outside = _checked(path, node, array, clip=clip)
        values.append(floats)
        clipped += outside
    counts = sorted({array.shape[0] for array in values})
    if len(counts) > 1:
        raise UserError(f"{path}: the inputs have {' and '.join(map(str, counts))} vectors; they need equal numbers")
    if labels is not None and (labels.ndim == 0 or labels.shape[0] != counts[0]):
        entries = labels.shape[0] if labels.ndim else 0
        raise UserError(f"{path}: y has {entries} entries for {counts[0]} vectors; it needs one for each")
    return UserVectors(tuple(values), labels, clipped)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    wanted = "give a .npy file with x, or a .npz file with x and optional y"
    if path.suffix not in {".npy", ".npz"}:
        raise UserError(f"{path}: cannot read vectors from a '{path.suffix}' file; {wanted}")
    try:
        return read_arrays(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {wanted}") from None
    except (ValueError, OSError) as error:
        if "pickle" in str(error).lower() and "Object" in str(error):
            raise UserError(f"{path} holds Python objects, which are never loaded; store plain numbers") from None
        raise UserError(f"{path} cannot be read as numpy arrays; {wanted}") from None


def _only_x(path: Path, arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    if "x" not in arrays:
        found = ", ".join(sorted(arrays)) or "nothing"
        raise UserError(f"{path} has no array x (it holds {found}); name the vectors x and the labels y")
    return arrays["x"]


def _named(path: Path, arrays: dict[str, NDArray[Any]], node: Input) -> NDArray[Any]:
    for name in (node.label, node.name):
        if name in arrays:
            return arrays[name]
    found = ", ".join(sorted(arrays)) or "nothing"
    raise UserError(f"{path} has no array for input '{node.label}' (it holds {found}); name each array by its input")


def _checked(path: Path, node: Input, array: NDArray[Any], *, clip: bool) -> tuple[NDArray[np.float64], int]:
    if array.dtype.kind not in "biuf":
        raise UserError(f"{path}: input '{node.label}' holds {array.dtype} values; it needs real numbers")
    floats = array.astype(np.float64)
    count = floats.shape[0] if floats.ndim else 0
    if count == 0 or floats.shape not in {(count, *node.shape), (count, prod(node.shape))}:
        raise UserError(
            f"{path}: vectors of shape {_shape(floats.shape)} do not fit input '{node.label}'; "
            f"it takes (n, {', '.join(map(str, node.shape))}) with n at least 1"
        )
    bad = int(np.sum(~np.isfinite(floats)))
    if bad:
        raise UserError(f"{path}: {bad} of {floats.size} values of x for input '{node.label}' are NaN or infinite")
    floats = floats.reshape(count, *node.shape)
    return _in_range(path, node, floats, clip=clip)


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _in_range(path: Path, node: Input, floats: NDArray[np.float64], *, clip: bool) -> tuple[NDArray[np.float64], int]:
    low, high = node.type.lo * node.type.step, node.type.hi * node.type.step
    suspect = (floats < low) | (floats > high)
    outside = np.zeros(floats.shape, dtype=bool)
    # rounding may still bring a value just beyond the last step into the range
    outside[suspect] = ~_fits(floats[suspect], node.type)
    count = int(np.sum(outside))
    if count and not clip:
        where = np.argwhere(outside)[0]
        value = floats[tuple(where)]
        place = f"vector {where[0]}, element {_shape(tuple(int(k) for k in where[1:]))}"
        raise UserError(
            f"{path}: {count} of {floats.size} values do not fit input '{node.label}' of type {node.type}, which holds "
            f"{low:g} to {high:g}; the first is {value:g} ({place}); scale them, widen the type, or ask for clipping"
        )
    return (np.where(outside, np.clip(floats, low, high), floats) if count else floats), count


def _fits(values: NDArray[np.float64], target: FixedType) -> NDArray[np.bool_]:
    # anything this far out is outside however it is rounded; inside, the exact rounding decides
    near = (values > 2 * (target.lo - 1) * target.step) & (values < 2 * (target.hi + 1) * target.step)
    wide = replace(target, width=target.width + WIDER, integer=target.integer + WIDER, signed=True)
    raw = from_float(np.where(near, values, 0.0), wide)
    return np.asarray(near & (raw >= target.lo) & (raw <= target.hi), dtype=bool)
