"""Tensors as the packed words that ports carry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flow.fixed import IntArray
from flow.rtl.signature import TensorPort

WORD_BYTES = 8


def word_count(ports: tuple[TensorPort, ...]) -> int:
    """Return the 64-bit words that hold a port of these tensors."""
    bits = max((port.offset + port.bits for port in ports), default=0)
    return -(-bits // (8 * WORD_BYTES))


def pack(ports: tuple[TensorPort, ...], tensors: dict[str, IntArray]) -> NDArray[np.uint64]:
    """Return words of shape (batch, word_count), least significant first, from raw integers by tensor name."""
    batch = tensors[ports[0].name].shape[0]
    bits = np.zeros((batch, word_count(ports) * 8 * WORD_BYTES), dtype=np.uint8)
    for port in ports:
        raw = tensors[port.name].reshape(batch, port.size)
        for k in range(port.type.width):
            plane = ((raw >> k) & 1).astype(np.uint8)
            bits[:, port.offset + k : port.offset + port.bits : port.type.width] = plane
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def unpack(ports: tuple[TensorPort, ...], words: NDArray[np.uint64]) -> dict[str, IntArray]:
    """Return raw integers of shape (batch, *shape) by tensor name; the inverse of `pack`."""
    batch = words.shape[0]
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    tensors: dict[str, IntArray] = {}
    for port in ports:
        width = port.type.width
        kind: type = np.int64 if width < 64 else object
        raw: IntArray = np.zeros((batch, port.size), dtype=kind)
        for k in range(width):
            plane: IntArray = bits[:, port.offset + k : port.offset + port.bits : width].astype(kind)
            weight = -(1 << k) if port.type.signed and k == width - 1 else 1 << k
            raw = raw + plane * weight
        tensors[port.name] = raw.reshape(batch, *port.shape)
    return tensors
