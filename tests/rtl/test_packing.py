"""Tensors on ports, in beats: where each element stands, and that large tensors take little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from flow.fixed import FixedType, IntArray
from flow.rtl import packing
from flow.rtl.packing import beat_count, meaningful, pack, unpack, word_count
from flow.rtl.signature import TensorPort

PIXELS = TensorPort("x", "pixels", (3, 3, 1), FixedType(7, 3), 0, 4)
SCALE = TensorPort("k", "scale", (2,), FixedType(70, 3, signed=False), 28, 2)


def drawn(port: TensorPort, count: int, seed: int) -> IntArray:
    draw = np.random.default_rng(seed)
    bits = draw.integers(0, 2, (port.type.width, count, *port.shape)).astype(object)
    raw = sum((bits[k] << k for k in range(port.type.width)), start=np.zeros((count, *port.shape), dtype=object))
    return raw + port.type.lo if port.type.signed else raw


def by_hand(ports: tuple[TensorPort, ...], tensors: dict[str, IntArray], vector: int, beat: int) -> int:
    word = 0
    for port in ports:
        flat = tensors[port.name][vector].reshape(-1)
        for lane, element in enumerate(flat[beat * port.lanes : (beat + 1) * port.lanes].tolist()):
            word |= (element & ((1 << port.type.width) - 1)) << (port.offset + lane * port.type.width)
    return word


@pytest.mark.parametrize("room", [1 << 24, 1])
@pytest.mark.parametrize("ports", [(PIXELS,), (SCALE,), (PIXELS, SCALE)], ids=["beats", "wide", "both"])
def test_elements_stand_where_the_signature_says(
    ports: tuple[TensorPort, ...], room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "ROOM", room)
    tensors = {port.name: drawn(port, 6, seed) for seed, port in enumerate(ports)}
    words = pack(ports, tensors)
    assert words.shape == (6, beat_count(ports), word_count(ports))
    for vector in range(6):
        for beat in range(beat_count(ports)):
            packed = int.from_bytes(words[vector, beat].tobytes(), "little")
            assert packed == by_hand(ports, tensors, vector, beat)
    again = unpack(ports, words | ~meaningful(ports))
    for port in ports:
        np.testing.assert_array_equal(again[port.name], tensors[port.name])


def test_beats_and_words_of_a_port_are_counted() -> None:
    assert (beat_count((PIXELS, SCALE)), word_count((PIXELS, SCALE))) == (3, 3)
    other = TensorPort("y", "other", (4,), FixedType(4, 2), 0, 2)
    with pytest.raises(ValueError, match="tensors of 2 and 3 beats"):
        beat_count((PIXELS, other))
    with pytest.raises(ValueError, match=r"shape \(5, 2, 3\) for 3 beats of 3 words"):
        unpack((PIXELS, SCALE), np.zeros((5, 2, 3), np.uint64))


@pytest.mark.parametrize(("shape", "lanes", "count"), [((28, 28, 16), 16, 500), ((64, 64, 3), 3, 500)])
def test_large_tensors_take_little_more_than_themselves(shape: tuple[int, ...], lanes: int, count: int) -> None:
    port = TensorPort("x", "x", shape, FixedType(8, 4), 0, lanes)
    raw = np.random.default_rng(1).integers(-128, 128, (count, *shape))
    tracemalloc.start()
    try:
        words = pack((port,), {"x": raw})
        again = unpack((port,), words)["x"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(again, raw)
    assert peak < raw.nbytes + 3 * words.nbytes + (100 << 20)
