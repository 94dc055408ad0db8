"""Cycles of hls4ml's layers through the vendor's compiler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flow.vendor.constants import Constants, DenseConstants, constants
from flow.vendor.layer import Kind, Layer, Network
from flow.vendor.predict import predict
from tests.vendor.vendor_networks import folded

PLAIN = DenseConstants(depth=4, level=1, turn=10, turn_block=1, uneven=20, uneven_block=2, odd=30)


def plain() -> Constants:
    return replace(constants(), dense=PLAIN)


def one(kind: Kind, io_type: str = "io_parallel", **fields: Any) -> Network:
    return Network((Layer(name="a", label="a", inputs=(), kind=kind, **fields),), io_type, "vitis")


@pytest.mark.parametrize(
    ("factor", "cycles"),
    [
        (4, 4 + 4 + 2),  # a tree of 16 / 4 leaves
        (16, 16 + 4),  # one product per output and cycle
        (32, 32 + 4 + 10 + 4),  # a multiple of the inputs: 128 / 32 = 4 multipliers
        (128, 128 + 4 + 10 + 1),
        (3, 3 + 4 + 2.585 + 20 + 2 * 43),  # no divisor of the inputs
        (20, 20 + 4 + 30),  # above the inputs and no multiple
    ],
)
def test_a_folded_product_takes_its_turns_and_a_tree(factor: int, cycles: float) -> None:
    found = predict(folded(16, 8, factor), plain())
    assert found.exact_cycles == pytest.approx(cycles, abs=1e-3)
    assert found.total.interval.value == factor
    assert found.total.dsp.value == -(-128 // factor)


def test_layers_one_after_another_add_up_and_the_slowest_sets_the_interval() -> None:
    first, second = folded(16, 8, 4).layers[0], folded(8, 4, 8).layers[0]
    network = Network((first, replace(second, name="two", inputs=("fc",))), "io_parallel", "vitis")
    found = predict(network, plain())
    assert found.exact_cycles == (4 + 4 + 2) + (8 + 4)
    assert found.total.interval.value == 8


def test_of_two_branches_the_longer_one_counts() -> None:
    short, long = folded(16, 8, 4).layers[0], replace(folded(16, 8, 16).layers[0], name="two")
    end = Layer(name="end", label="end", inputs=("fc", "two"), kind="rectify")
    assert predict(Network((short, long, end)), plain()).exact_cycles == 16 + 4


def test_a_line_buffer_takes_a_pixel_per_turn() -> None:
    shape = {"n_in": 9, "n_out": 3, "pixels": 100, "columns": 10, "operand_bits": (16, 16)}
    known = plain()
    for factor in (1, 2):
        found = predict(one("depthwise", "io_stream", reuse_factor=factor, **shape), known)
        assert found.exact_cycles == 100 * factor + known.stream_depth
        assert found.total.interval.value == 100 * factor + known.stream_depth + 1


def test_a_convolution_of_a_whole_tensor_takes_its_turns_at_every_place() -> None:
    shape = {"n_in": 32, "n_out": 8, "pixels": 100, "places": 49, "strategy": "Resource", "operand_bits": (16, 16)}
    assert predict(one("conv", reuse_factor=8, **shape), plain()).exact_cycles == 49 * 8 + 4 + 2


def test_a_stream_costs_a_cycle_and_vitis_starts_a_process_anew() -> None:
    whole = predict(one("table", lanes=8), plain()).total
    streamed = predict(one("table", "io_stream", lanes=8), plain()).total
    tool = constants().vitis
    assert (whole.cycles.value, whole.interval.value) == (tool.table, 1)
    assert (streamed.cycles.value, streamed.interval.value) == (tool.streamed_table + 1, tool.streamed_table + 2)


def test_a_product_under_latency_has_a_wide_range() -> None:
    found = predict(one("dense", n_in=16, n_out=8, operand_bits=(16, 16)), plain()).total.cycles
    assert found.value == 4 + 4
    assert found.range == (1, 11)  # a quarter of it was published


@pytest.mark.parametrize(
    ("network", "why"),
    [
        (folded(16, 8, 1), "reuse factor of 1"),
        (replace(folded(16, 8, 4), io_type="io_stream"), "on streams"),
        (one("dense", n_in=16, n_out=8, reuse_factor=2), "reuse factor above 1"),
        (one("dense", n_in=16, n_out=8, strategy="distributed_arithmetic"), "distributed_arithmetic"),
        (one("conv", n_in=9, n_out=8), "whole tensors under Latency"),
        (one("conv", "io_stream", n_in=9, n_out=8, strategy="Resource"), "on streams"),
        (one("conv", "io_stream", n_in=9, n_out=8, columns=33), "more than 32 columns"),
        (one("conv", n_in=9, n_out=8, strategy="Resource", reuse_factor=18), "above its inputs"),
        (one("max", cells=9), "more than 4 cells"),
        (one("max", "io_stream", cells=4), "pooling on streams"),
        (one("rectify", "io_stream", pixels=9), "more than one place"),
        (one("softmax", pixels=9, lanes=3), "more than one place"),
        (one("other", what="layer norm"), "layer norm"),
    ],
)
def test_what_no_report_covers_is_unknown_and_says_why(network: Network, why: str) -> None:
    found = predict(network)
    assert found.total.cycles.value is None
    assert found.total.cycles.range is None
    assert found.exact_cycles is None
    assert any(why in reason for reason in found.layers[0].reasons), found.layers[0].reasons


def test_streams_of_several_layers_have_no_total_cycles() -> None:
    shape = {"n_in": 9, "n_out": 3, "pixels": 100, "columns": 10, "operand_bits": (16, 16)}
    first = one("conv", "io_stream", **shape).layers[0]
    both = Network((first, replace(first, name="b", inputs=("a",))), "io_stream", "vitis")
    found = predict(both)
    assert all(layer.cycles.value for layer in found.layers)
    assert found.total.cycles.value is None
    assert "overlap" in found.total.reasons[0]
