"""Tensors as the packed words that ports carry, beat by beat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from flow.fixed import IntArray
from flow.rtl.signature import TensorPort

WORD_BYTES = 8
WORD_BITS = 8 * WORD_BYTES
ROOM = 1 << 24  # bits, a byte each, that are spread out at once


def word_count(ports: tuple[TensorPort, ...]) -> int:
    """Return the 64-bit words that hold one beat of a port of these tensors."""
    bits = max((port.offset + port.bits for port in ports), default=0)
    return -(-bits // WORD_BITS)


def beat_count(ports: tuple[TensorPort, ...]) -> int:
    """Return the beats of a port: those of its tensors that come in more than one beat, which must be equally many."""
    counts = {port.beats for port in ports} - {1}
    if len(counts) > 1:
        raise ValueError(f"one port cannot carry tensors of {' and '.join(map(str, sorted(counts)))} beats")
    return max(counts, default=1)


def _parts(batch: int, beats: int, words: int) -> Iterator[slice]:
    step = max(1, ROOM // (beats * words * WORD_BITS))
    return (slice(start, min(start + step, batch)) for start in range(0, batch, step))


def pack(ports: tuple[TensorPort, ...], tensors: dict[str, IntArray]) -> NDArray[np.uint64]:
    """Return words of shape (batch, beat_count, word_count), least significant first, from raw integers by name.

    A tensor of one beat stands in the first; what a beat carries beyond the tensors is 0. Raises ValueError where
    `beat_count` does.
    """
    batch = tensors[ports[0].name].shape[0]
    beats, words = beat_count(ports), word_count(ports)
    packed = np.zeros((batch, beats, words), dtype=np.uint64)
    for part in _parts(batch, beats, words):
        bits = np.zeros((part.stop - part.start, beats, words * WORD_BITS), dtype=np.uint8)
        for port in ports:
            raw = _in_beats(port, tensors[port.name][part])
            inside = bits[:, : port.beats, port.offset : port.offset + port.bits]
            for k in range(port.type.width):
                inside[:, :, k :: port.type.width] = ((raw >> k) & 1).astype(np.uint8)
        packed[part] = np.packbits(bits, axis=2, bitorder="little").view("<u8")
    return packed


def _in_beats(port: TensorPort, tensor: IntArray) -> IntArray:
    """Return a tensor as (batch, beats, lanes), 0 behind its end."""
    raw = tensor.reshape(len(tensor), port.size)
    empty = port.beats * port.lanes - port.size
    if empty:
        raw = np.concatenate([raw, np.zeros((len(raw), empty), dtype=raw.dtype)], axis=1)
    return raw.reshape(len(raw), port.beats, port.lanes)


def meaningful(ports: tuple[TensorPort, ...]) -> NDArray[np.uint64]:
    """Return the bits that carry elements, of shape (beat_count, word_count): the last beat may have empty lanes."""
    ones: dict[str, IntArray] = {port.name: np.full((1, *port.shape), -1, dtype=np.int64) for port in ports}
    words: NDArray[np.uint64] = pack(ports, ones)[0]
    return words


def unpack(ports: tuple[TensorPort, ...], words: NDArray[np.uint64]) -> dict[str, IntArray]:
    """Return raw integers of shape (batch, *shape) by tensor name; the inverse of `pack`.

    Raises ValueError when the words have another shape than `pack` gives.
    """
    if words.ndim != 3 or words.shape[1:] != (beat_count(ports), word_count(ports)):
        raise ValueError(f"words of shape {words.shape} for {beat_count(ports)} beats of {word_count(ports)} words")
    tensors: dict[str, IntArray] = {}
    for port in ports:
        kind: type = np.int64 if port.type.width < WORD_BITS else object
        tensors[port.name] = np.zeros((len(words), *port.shape), dtype=kind)
    for part in _parts(*words.shape):
        octets = np.ascontiguousarray(words[part], dtype="<u8").view(np.uint8)
        bits = np.unpackbits(octets, axis=2, bitorder="little")
        for port in ports:
            inside = bits[:, : port.beats, port.offset : port.offset + port.bits]
            tensors[port.name][part] = _integers(port, inside).reshape(-1, *port.shape)
    return tensors


def _integers(port: TensorPort, bits: NDArray[np.uint8]) -> IntArray:
    width = port.type.width
    kind: type = np.int64 if width < WORD_BITS else object
    raw: IntArray = np.zeros((len(bits), port.beats * port.lanes), dtype=kind)
    for k in range(width):
        plane: IntArray = bits[:, :, k::width].reshape(raw.shape).astype(kind)
        raw = raw + plane * (-(1 << k) if port.type.signed and k == width - 1 else 1 << k)
    return raw[:, : port.size]
