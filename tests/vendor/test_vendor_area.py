"""DSPs and block RAMs of hls4ml's layers through the vendor's compiler."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.vendor.area import area, needs_multiplier
from flow.vendor.constants import constants
from flow.vendor.layer import Layer, Network
from tests.vendor.vendor_networks import folded

DENSE = folded(16, 8, 4).layers[0]


def found(layer: Layer) -> tuple[float | None, int | None]:
    counts = area(layer, Network((layer,)), constants())
    return counts.dsp, counts.bram


def test_constants_of_two_powers_need_no_multiplier() -> None:
    powers = [0, *(1 << k for k in range(12))]
    cheap = {abs(a + sign * b) for a in powers for b in powers for sign in (1, -1)}
    for value in range(1 << 11):
        assert needs_multiplier(np.array([value])) == (value not in cheap), value
        assert needs_multiplier(np.array([-value])) == (value not in cheap), value


def test_equal_constants_count_each() -> None:
    assert needs_multiplier(np.array([[11, 11], [11, 8]])) == 3


@pytest.mark.parametrize(
    ("bits", "dsp"),
    [((16, 16), 32), ((12, 12), 32), ((18, 25), 32), ((11, 16), None), ((19, 19), None), ((18, 26), None)],
)
def test_operands_that_no_report_covers_have_no_count(bits: tuple[int, int], dsp: int | None) -> None:
    assert found(replace(DENSE, operand_bits=bits))[0] == dsp
    assert found(replace(DENSE, operand_bits=bits[::-1]))[0] == dsp


def test_without_folding_the_constants_count() -> None:
    latency = replace(DENSE, strategy="Latency", reuse_factor=1, products=100)
    assert found(latency) == (100, 0)
    assert found(replace(latency, products=0, operand_bits=(4, 4))) == (0, 0)
    assert found(replace(latency, reuse_factor=2))[0] is None


def test_a_block_ram_serves_two_lookups() -> None:
    table = Layer(name="t", label="t", inputs=(), kind="table", lookups=(5,), entries=1024, entry_bits=18)
    assert found(table) == (0, 3)
    assert found(replace(table, entry_bits=19)) == (0, 6)
    assert found(replace(table, entries=512))[1] is None
    legacy = replace(table, kind="softmax", lookups=(20, 5))
    assert found(legacy) == (0, 13)  # as KERAS_3layer reports it
    assert found(replace(legacy, lookups=(5, 1), products=5)) == (None, 4)


def test_folded_weights_may_lie_anywhere() -> None:
    counts = area(DENSE, Network((DENSE,)), constants())
    assert counts.bram is None
    assert "at most about 15" in counts.reasons[0]  # 32 × 16 bits, 36 bits wide each
