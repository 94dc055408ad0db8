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

    cycles: when the beats of an inference are due, counted from its first input beat. tensors: what a beat holds.
    expected: for each vector the word of each beat. mask: the bits of the signal that carry them.
    """

    name: str
    valid: str
    data: str
    cycles: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    expected: tuple[tuple[int, ...], ...]
    mask: int

    def difference(self, beat: int, expected: int, got: int) -> str:
        """Describe the first element in which two words differ."""
        wrong = expected ^ got
        bit = (wrong & -wrong).bit_length() - 1
        tensor = next(t for t in self.tensors if t.offset <= bit < t.offset + t.bits)
        per_beat = prod(tensor.shape) // len(self.cycles)
        return tensor.difference(bit, expected, got, beat * per_beat)


@dataclass(frozen=True, slots=True)
class Design:
    """Describe the top module and the vectors.

    inputs: `data_i` of each vector. watches: the output port, then the edges.
    """

    latency: int
    interval: int
    input_bits: int
    inputs: tuple[int, ...]
    watches: tuple[Watch, ...]

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


def _edge(edge: dict[str, Any], words: np.ndarray) -> Watch:
    tensor, cycles = _tensor(edge["tensor"]), tuple(edge["cycles"])
    beat_bits = tensor.bits // len(cycles)
    mask = (1 << beat_bits) - 1
    expected = tuple(
        tuple(((number >> (beat * beat_bits)) & mask) << tensor.offset for beat in range(len(cycles)))
        for number in _numbers(words)
    )
    name = f"{tensor.label} ({edge['name']})" if tensor.label != edge["name"] else tensor.label
    return Watch(name, edge["valid"], edge["data"], cycles, (tensor,), expected, mask << tensor.offset)


def load_design(signature: Path, vectors: Path, *, edges: bool) -> Design:
    """Read both files; without `edges` only the ports are watched, as fits a netlist."""
    described = json.loads(signature.read_text())
    outputs = tuple(_tensor(port) for port in described["outputs"])
    mask = sum(((1 << t.bits) - 1) << t.offset for t in outputs)
    latency = described["latency_cycles"]
    with np.load(vectors, allow_pickle=False) as arrays:
        inputs = tuple(_numbers(arrays["words_in"]))
        results = tuple((number,) for number in _numbers(arrays["words_out"]))
        watches = [Watch("output", "valid_o", "data_o", (latency,), outputs, results, mask)]
        if edges:
            watches += [_edge(edge, arrays[f"edge{k}"]) for k, edge in enumerate(described["edges"])]
    input_bits = max(t.offset + t.bits for t in map(_tensor, described["inputs"]))
    return Design(latency, described["interval_cycles"], input_bits, inputs, tuple(watches))
