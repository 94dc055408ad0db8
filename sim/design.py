"""What the bench knows of the design: its ports, the signals to watch, and the data due on them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.words import PackedWords, Words


@dataclass(frozen=True, slots=True)
class Tensor:
    """Describe a tensor on a packed signal, which carries `lanes` of its elements in a beat.

    Element k comes in beat k // lanes, in bits [offset + j·width, offset + (j+1)·width) with j = k % lanes.
    """

    label: str
    shape: tuple[int, ...]
    width: int
    fraction: int
    signed: bool
    offset: int
    lanes: int

    @property
    def bits(self) -> int:
        """Return the bits that the tensor takes of a beat."""
        return self.lanes * self.width

    @property
    def beats(self) -> int:
        """Return the beats in which the tensor comes."""
        return -(-prod(self.shape) // self.lanes)

    def mask(self, beat: int) -> int:
        """Return the bits that carry elements in a beat; none in a beat that comes after the tensor's last."""
        elements = min(self.lanes, max(0, prod(self.shape) - beat * self.lanes))
        return ((1 << elements * self.width) - 1) << self.offset

    def element(self, word: int, lane: int) -> int:
        """Return the raw element in a lane of a packed word."""
        raw = (word >> (self.offset + lane * self.width)) & ((1 << self.width) - 1)
        return raw - (1 << self.width) if self.signed and raw >> (self.width - 1) else raw

    def difference(self, bit: int, expected: int, got: int, beat: int) -> str:
        """Describe the element that holds `bit` of the words of a beat."""
        lane = (bit - self.offset) // self.width
        place = np.unravel_index(beat * self.lanes + lane, self.shape) if self.shape else ()
        index = f"[{', '.join(str(int(p)) for p in place)}]"
        want, have = self.element(expected, lane), self.element(got, lane)
        step = 2.0**-self.fraction
        return f"'{self.label}'{index}: expected {want * step:g} (raw {want}), got {have * step:g} (raw {have})"


@dataclass(frozen=True, slots=True)
class Watch:
    """Describe a pair of signals on which beats are due.

    cycles: when the beats of an inference are due, counted from its first input beat. tensors: what the beats hold.
    expected: the word of each vector and beat. masks: for each beat the bits of the signal that carry it; others have
    no meaning. early: for each vector and beat whether the data stand there a cycle early by nature; None for none.
    """

    name: str
    valid: str
    data: str
    cycles: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    expected: Words
    masks: tuple[int, ...]
    early: NDArray[np.bool_] | None = None

    def difference(self, beat: int, expected: int, got: int) -> str:
        """Describe the first element in which two words differ."""
        wrong = expected ^ got
        bit = (wrong & -wrong).bit_length() - 1
        tensor = next(t for t in self.tensors if t.offset <= bit < t.offset + t.bits)
        return tensor.difference(bit, expected, got, beat)


@dataclass(frozen=True, slots=True)
class Input:
    """Describe `data_i`.

    cycles: of an inference's beats, counted from the first. bits: of the port. words: of each vector and beat. masks:
    for each beat the bits that carry elements.
    """

    cycles: tuple[int, ...]
    bits: int
    words: Words
    masks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """Give the words that a memory must hold, and the names that lead to it from the top module."""

    file: str
    path: tuple[str, ...]
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Design:
    """Describe the top module and the vectors.

    watches: the output port, then the edges. memories: those whose contents lie in files.
    """

    interval: int
    input: Input
    watches: tuple[Watch, ...]
    memories: tuple[Memory, ...]

    @property
    def output(self) -> Watch:
        """Return the output port."""
        return self.watches[0]

    @property
    def latency(self) -> int:
        """Return the cycles from the first input beat to the last output beat."""
        return self.output.cycles[-1]

    @property
    def vectors(self) -> int:
        """Return the number of vectors."""
        return len(self.input.words)

    @property
    def depth(self) -> int:
        """Return the last cycle at which anything comes or is due."""
        return max(self.input.cycles[-1], *(watch.cycles[-1] for watch in self.watches))


def _tensor(port: dict[str, Any]) -> Tensor:
    kind = port["type"]
    fraction = kind["width"] - kind["integer"]
    shape = tuple(port["shape"])
    return Tensor(port["label"], shape, kind["width"], fraction, kind["signed"], port["offset"], port["lanes"])


def _masks(tensors: tuple[Tensor, ...], cycles: tuple[int, ...], what: str) -> tuple[int, ...]:
    """Return the bits of each beat that carry elements; beats that carry the same share one integer."""
    beats = max(tensor.beats for tensor in tensors)
    if beats != len(cycles):
        raise ValueError(f"{what}: {beats} beats need other than {len(cycles)} cycles")
    known: dict[int, int] = {}
    masks = (sum(tensor.mask(beat) for tensor in tensors) for beat in range(beats))
    return tuple(known.setdefault(mask, mask) for mask in masks)


def _beats(words: NDArray[np.uint64], masks: tuple[int, ...]) -> PackedWords:
    """Take words of shape (n, beats, words of a beat)."""
    return PackedWords(words, 64 * words.shape[2], masks)


def _edge(edge: dict[str, Any], words: NDArray[np.uint64], early: NDArray[np.bool_] | None) -> Watch:
    tensor, cycles = _tensor(edge["tensor"]), tuple(edge["cycles"])
    masks = _masks((tensor,), cycles, f"edge {edge['name']}")
    name = f"{tensor.label} ({edge['name']})" if tensor.label != edge["name"] else tensor.label
    expected = PackedWords(words, tensor.bits, masks)
    return Watch(name, edge["valid"], edge["data"], cycles, (tensor,), expected, masks, early)


def _memory(memory: dict[str, Any], folder: Path) -> Memory:
    words = tuple(int(line, 16) for line in (folder / memory["file"]).read_text().split())
    return Memory(memory["file"], tuple(memory["path"].split(".")), words)


def load_design(signature: Path, vectors: Path, *, edges: bool) -> Design:
    """Read both files, and those of memories; without `edges` only the ports are known, as fits a netlist.

    Of the vectors, the words of ports have shape (n, beats, words of a beat); those of an edge hold its whole tensor
    from bit 0 on, as its beats stand on the edge's signals.
    """
    described = json.loads(signature.read_text())
    inputs, outputs = (tuple(map(_tensor, described[name])) for name in ("inputs", "outputs"))
    come, leave = (tuple(described[name]) for name in ("input_cycles", "output_cycles"))
    masks_in, masks_out = _masks(inputs, come, "data_i"), _masks(outputs, leave, "data_o")
    with np.load(vectors, allow_pickle=False) as arrays:
        words, results = _beats(arrays["words_in"], masks_in), _beats(arrays["words_out"], masks_out)
        watches = [Watch("output", "valid_o", "data_o", leave, outputs, results, masks_out, arrays.get("early_out"))]
        if edges:
            watches += [
                _edge(edge, arrays[f"edge{k}"], arrays.get(f"early{k}")) for k, edge in enumerate(described["edges"])
            ]
    port = Input(come, max(t.offset + t.bits for t in inputs), words, masks_in)
    memories = tuple(_memory(entry, signature.parent) for entry in described["memories"]) if edges else ()
    return Design(described["interval_cycles"], port, tuple(watches), memories)
