"""What the bench knows of the design: its ports, the signals to watch, and the data due on them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Tensor:
    """Describe a tensor on a packed signal: element k is bits [offset + k·width, offset + (k+1)·width)."""

    label: str
    shape: tuple[int, ...]
    width: int
    fraction: int
    signed: bool
    offset: int

    @property
    def bits(self) -> int:
        """Return the bits that the tensor takes."""
        return prod(self.shape) * self.width

    def element(self, word: int, k: int) -> int:
        """Return raw element k of a packed word."""
        raw = (word >> (self.offset + k * self.width)) & ((1 << self.width) - 1)
        return raw - (1 << self.width) if self.signed and raw >> (self.width - 1) else raw

    def difference(self, bit: int, expected: int, got: int, first: int) -> str:
        """Describe the element that holds `bit`; `first` is the index of the word's first element."""
        k = (bit - self.offset) // self.width
        place = np.unravel_index(first + k, self.shape) if self.shape else ()
        index = f"[{', '.join(str(int(p)) for p in place)}]"
        want, have = self.element(expected, k), self.element(got, k)
        step = 2.0**-self.fraction
        return f"'{self.label}'{index}: expected {want * step:g} (raw {want}), got {have * step:g} (raw {have})"


@dataclass(frozen=True, slots=True)
class Watch:
    """Describe a pair of signals on which beats are due.

    cycles: when the beats of an inference are due, counted from its first input beat. tensors: what the beats hold.
    lanes: elements of one beat of a tensor that comes in several. expected: for each vector the word of each beat.
    masks: for each beat the bits of the signal that carry it; others have no meaning. early: for each vector and beat
    whether the data stand there a cycle early by nature; None where none do.
    """

    name: str
    valid: str
    data: str
    cycles: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    lanes: int
    expected: tuple[tuple[int, ...], ...]
    masks: tuple[int, ...]
    early: np.ndarray | None = None

    def difference(self, beat: int, expected: int, got: int) -> str:
        """Describe the first element in which two words differ."""
        wrong = expected ^ got
        bit = (wrong & -wrong).bit_length() - 1
        tensor = next(t for t in self.tensors if t.offset <= bit < t.offset + t.bits)
        return tensor.difference(bit, expected, got, beat * self.lanes)


@dataclass(frozen=True, slots=True)
class Memory:
    """Give the words that a memory must hold, and the names that lead to it from the top module."""

    file: str
    path: tuple[str, ...]
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Design:
    """Describe the top module and the vectors.

    inputs: `data_i` of each vector. watches: the output port, then the edges. memories: those whose contents lie in
    files.
    """

    latency: int
    interval: int
    input_bits: int
    inputs: tuple[int, ...]
    watches: tuple[Watch, ...]
    memories: tuple[Memory, ...]

    @property
    def output(self) -> Watch:
        """Return the output port."""
        return self.watches[0]

    @property
    def depth(self) -> int:
        """Return the last cycle at which anything is due."""
        return max(max(watch.cycles) for watch in self.watches)


def _tensor(port: dict[str, Any]) -> Tensor:
    kind = port["type"]
    fraction = kind["width"] - kind["integer"]
    return Tensor(port["label"], tuple(port["shape"]), kind["width"], fraction, kind["signed"], port["offset"])


def _numbers(words: np.ndarray) -> list[int]:
    rows = np.ascontiguousarray(words, dtype="<u8")
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def _edge(edge: dict[str, Any], words: np.ndarray, early: np.ndarray | None) -> Watch:
    tensor, cycles, lanes = _tensor(edge["tensor"]), tuple(edge["cycles"]), edge["lanes"]
    size, beat_bits = prod(tensor.shape), lanes * tensor.width
    if -(-size // lanes) != len(cycles):
        raise ValueError(
            f"edge {edge['name']}: {size} elements in beats of {lanes} need other than {len(cycles)} cycles"
        )
    masks = tuple((1 << min(lanes, size - beat * lanes) * tensor.width) - 1 for beat in range(len(cycles)))
    expected = tuple(
        tuple((number >> (beat * beat_bits)) & mask for beat, mask in enumerate(masks)) for number in _numbers(words)
    )
    name = f"{tensor.label} ({edge['name']})" if tensor.label != edge["name"] else tensor.label
    return Watch(name, edge["valid"], edge["data"], cycles, (tensor,), lanes, expected, masks, early)


def _memory(memory: dict[str, Any], folder: Path) -> Memory:
    words = tuple(int(line, 16) for line in (folder / memory["file"]).read_text().split())
    return Memory(memory["file"], tuple(memory["path"].split(".")), words)


def load_design(signature: Path, vectors: Path, *, edges: bool) -> Design:
    """Read both files, and those of memories; without `edges` only the ports are known, as fits a netlist.

    The word of an edge's tensor, of the vectors, begins with its first element at bit 0, and so do the edge's signals.
    """
    described = json.loads(signature.read_text())
    outputs = tuple(_tensor(port) for port in described["outputs"])
    mask = sum(((1 << t.bits) - 1) << t.offset for t in outputs)
    latency = described["latency_cycles"]
    with np.load(vectors, allow_pickle=False) as arrays:
        inputs = tuple(_numbers(arrays["words_in"]))
        results = tuple((number,) for number in _numbers(arrays["words_out"]))
        whole = max(prod(t.shape) for t in outputs)
        watches = [
            Watch("output", "valid_o", "data_o", (latency,), outputs, whole, results, (mask,), arrays.get("early_out"))
        ]
        if edges:
            described_edges = enumerate(described["edges"])
            watches += [_edge(edge, arrays[f"edge{k}"], arrays.get(f"early{k}")) for k, edge in described_edges]
    input_bits = max(t.offset + t.bits for t in map(_tensor, described["inputs"]))
    memories = tuple(_memory(entry, signature.parent) for entry in described["memories"]) if edges else ()
    return Design(latency, described["interval_cycles"], input_bits, inputs, tuple(watches), memories)
