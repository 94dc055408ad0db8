"""What folded engines and width converters are predicted to take, against Yosys and against what must hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.converter import Converter
from flow.engines.dataflow import dataflow
from flow.engines.engine import Resources
from flow.engines.folded import Folded
from flow.engines.folded_cost import converter_resources, folded_resources
from flow.engines.folded_hardware import folded_hardware
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Dense, Input, Relu
from flow.rtl.top import build_top, write_rtl
from flow.synth.yosys import synthesize

LUT_BAND = 0.08
FF_BAND = 0.02
CONVERTER_BAND = 0.4
SMALL = 12  # LUTs and flip-flops below which a relative error says nothing


def layer(n_in: int = 10, n_out: int = 6, *, bias: bool = True) -> Graph:
    """Return a dense layer of 6-bit weights with a saturating rectifier."""
    rng = np.random.default_rng(5)
    wide = FixedType(18, 8)
    weight = FixedType(6, 1)
    dense = Dense(
        name="a",
        label="a",
        inputs=("x",),
        shape=(n_out,),
        type=wide,
        weights=rng.integers(-32, 32, (n_in, n_out)),
        bias=rng.integers(-32, 32, n_out) if bias else np.zeros(n_out, dtype=np.int64),
        weight_type=weight,
        bias_type=weight,
        accumulator=wide,
    )
    rectified = FixedType(5, 2, False, Rounding.RND, Overflow.SAT)
    source = Input(name="x", label="x", inputs=(), shape=(n_in,), type=FixedType(7, 2))
    relu = Relu(name="y", label="y", inputs=("a",), shape=(n_out,), type=rectified)
    return Graph("layer", (source, dense, relu), ("x",), ("y",))


def choice(**changes: Any) -> Folded:
    """Return 3 x 2 lanes for that layer, with some fields changed."""
    base = Folded.plain(("a", "y"), "output_serial", (10, 6), (3, 2), store="bram", multiplier="dsp")
    return replace(base, **changes)


def taken(part: str = "LFE5U-25F", *, bias: bool = True, **changes: Any) -> Resources:
    """Return what a choice is predicted to take."""
    return folded_resources(layer(bias=bias), choice(**changes), find_part(part))


def test_each_dsp_multiplies_once_or_twice() -> None:
    assert taken().dsp == 6
    assert taken("xcvu13p", multiplier="dsp_pair", q=3).dsp == 3 * 2
    assert taken(multiplier="lut", multiply=0).dsp == 0


def test_halves_of_a_block_share_one() -> None:
    one = taken("xcvu13p")
    assert (one.bram, one.half_bram) == (1, True)
    assert [(one + one).bram, (one + one + one).bram] == [1, 2]
    assert [(one + one).half_bram, (one + one + one).half_bram] == [False, True]
    assert (one + taken()).bram == 2  # an ECP5's block is whole
    nine = taken("GW2AR-18", p=1, q=1)
    assert [nine.dsp, (nine + nine).dsp, (nine + nine + nine).dsp] == [1, 1, 2]


def test_a_product_too_wide_for_a_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="does not become one DSP block of LFE5U-25F"):
        taken("LFE5U-25F", multiplier="dsp_pair")


def test_only_the_store_that_asks_for_it_takes_block_ram() -> None:
    assert taken().bram == 1
    assert taken(store="lutrom").bram == taken(store="registers").bram == 0


def test_weights_in_flip_flops_are_all_there() -> None:
    weights = 12 * 6 * 6  # steps, multipliers, bits
    in_registers, in_block = taken(store="registers"), taken(store="bram")
    assert in_registers.ff - in_block.ff == weights
    assert weights <= in_registers.lut - in_block.lut <= weights + 1


def test_each_stage_of_registers_costs_its_bits() -> None:
    first = taken()
    products = 6 * 13
    # the number of the group for the biases (2 bits) and two bits for the accumulators come along
    assert taken(multiply=2).ff - first.ff == products + 2 + 2 + 1
    assert taken(read=2).ff - first.ff == 6 * 6


def test_the_first_register_of_a_product_lies_in_the_dsp_of_7_series_only() -> None:
    kept = {part: taken(part, multiply=2).ff - taken(part).ff for part in ("xc7a100t", "xcvu13p", "LFE5U-25F")}
    assert len(set(kept.values())) == 1
    assert taken("LFE5U-25F").ff - taken("xc7a100t").ff == pytest.approx(6 * 13, abs=2)


def test_input_serial_keeps_an_accumulator_for_each_output() -> None:
    serial, resident = taken(), taken(order="input_serial")
    ring, beat = 12 * 7, 3 * 7
    accumulators = (resident.ff - beat) - (serial.ff - ring)
    assert accumulators % (2 * 2) == 0  # two more places for each of two lanes
    assert accumulators > 0
    assert serial.lut - resident.lut >= ring


def test_biases_take_a_memory_and_its_address() -> None:
    with_bias, without = taken(), taken(bias=False)
    assert with_bias.ff > without.ff
    assert with_bias.lut >= without.lut


def test_a_choice_of_equal_shape_costs_the_same() -> None:
    graph = layer()
    other = replace(graph, nodes=tuple(replace(n, label=n.label + "2") for n in graph.nodes))
    part = find_part("xcvu13p")
    assert folded_resources(graph, choice(), part) == folded_resources(other, choice(), part)


@pytest.mark.parametrize(
    ("lanes_in", "lanes_out", "spacing", "ff"),
    [(3, 10, 1, 3 * 3 * 7 + 2), (10, 3, 1, 7 * 7 + 2), (10, 3, 5, 7 * 7 + 2 + 3), (4, 3, 1, 10 * 7 + 2 + 2 + 4 + 4)],
)
def test_registers_of_width_converters(lanes_in: int, lanes_out: int, spacing: int, ff: int) -> None:
    converter = Converter("x", 10, lanes_in, lanes_out, spacing)
    assert converter_resources(layer(), converter, find_part("LFE5U-25F")).ff == ff


@pytest.mark.eda
@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("LFE5U-25F", {"order": "input_serial", "multiply": 2}),
        ("xcvu13p", {"store": "lutrom", "add": 2}),
        pytest.param("xc7a100t", {"multiplier": "dsp_pair", "multiply": 2, "read": 2}, marks=pytest.mark.campaign),
        pytest.param(
            "LFE5U-25F", {"store": "registers", "multiplier": "lut", "multiply": 0}, marks=pytest.mark.campaign
        ),
    ],
)
def test_yosys_finds_what_was_predicted(tmp_path: Path, part: str, changes: dict[str, Any]) -> None:
    graph, folded, target = layer(), choice(**changes), find_part(part)
    flow = dataflow(graph, (folded,))
    write_rtl(tmp_path, *build_top(graph, flow, {"y": folded_hardware(graph, folded, delays_of(target))}))
    found = {row.instance: row.resources for row in synthesize(tmp_path, target).instances}
    predicted = folded_resources(graph, folded, target)
    engine = found["u_y"]
    assert (predicted.dsp, predicted.bram) == (engine.dsp, engine.bram)
    assert predicted.lut == pytest.approx(engine.lut, rel=LUT_BAND, abs=SMALL)
    assert predicted.ff == pytest.approx(engine.ff, rel=FF_BAND)
    converters = [block for block in flow.blocks if isinstance(block.what, Converter)]
    assert converters
    for block in converters:
        assert isinstance(block.what, Converter)
        guess, real = converter_resources(graph, block.what, target), found[f"u_{block.output}"]
        assert guess.lut == pytest.approx(real.lut, rel=CONVERTER_BAND, abs=SMALL)
        assert guess.ff == real.ff
