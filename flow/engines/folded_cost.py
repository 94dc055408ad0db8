"""LUT, FF, DSP and block RAM of a folded engine and of a width converter, without generating them.

Facet 3 of `folded`. The engine is counted module by module, as Yosys keeps modules apart: DSP blocks, block RAMs and
registers exactly, LUTs by what Yosys was seen to make of each module (benchmarks/folded_resources.py compares). A
planner asks for thousands of choices, so that everything is kept by the shapes and types that it depends on; of weights
and biases it matters which bits are the same in all steps, as synthesis drops those.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from flow.device.delays import Delays, delays_of
from flow.device.parts import Family, Part
from flow.engines.area import area
from flow.engines.converter import Converter
from flow.engines.engine import Resources
from flow.engines.families import XILINX
from flow.engines.folded import Folded
from flow.engines.folded_contents import word_width
from flow.engines.folded_pipeline import placed_lane
from flow.engines.lane import Lane, dense_of, lane_of
from flow.engines.memory import rom_luts, rom_resources
from flow.engines.multiplier import dsp_halves, pair_width, product_flip_flops
from flow.engines.widths import signed_width
from flow.fixed import IntArray
from flow.graph.graph import Graph
from flow.graph.nodes import Dense

CHAIN_BITS = 4
"""Bits from which a counter becomes a carry chain where LUTs have four inputs."""
SHORT_MEMORY = 62
"""Words beyond which columns of a memory are taken to differ from each other."""
MANY_COLUMNS = 1 << 15
"""Columns beyond which they are taken to differ, too: to sort them takes longer than a planner has."""


def folded_resources(graph: Graph, choice: Folded, part: Part) -> Resources:
    """Predict what the hardware of a folded choice takes on a part, carry cells counted as LUTs.

    Raises UserError where the part has no delays to place the registers by, TypeError for nodes that have no folded
    form, ValueError where a product does not fit the part's DSP blocks.
    """
    lane, node = lane_of(graph, choice), dense_of(graph, choice)
    biases = _bias_columns(node, choice.q) if lane.bias is not None and choice.groups_out > 1 else 0
    weights = 0
    if choice.store != "registers":
        pairs, merged = choice.multiplier == "dsp_pair", choice.store == "lutrom"
        weights = _weight_columns(node, choice.p, choice.q, pairs=pairs, merged=merged)
    alike = replace(choice, nodes=())  # layers of one kind cost the same
    rest = _folded(alike, lane, weights, biases, delays=_delays(part), family=part.family)
    return _products(choice, lane, part) + rest


def converter_resources(graph: Graph, converter: Converter, part: Part) -> Resources:
    """Predict what a width converter takes on a part."""
    return _converter(replace(converter, node=""), graph.node(converter.node).type.width, part.family)


@lru_cache(maxsize=64)
def _delays(part: Part) -> Delays:
    return delays_of(part)


@cache
def _folded(choice: Folded, lane: Lane, weights: int, biases: int, *, delays: Delays, family: Family) -> Resources:
    return (
        _sequencer(choice, family)
        + _operands(choice, lane, family)
        + _weights(choice, lane, weights, family)
        + _bias(choice, lane, biases, family)
        + _lanes(choice, lane, delays, family)
        + _accumulators(choice, lane)
        + _valid(choice)
    )


def _sequencer(choice: Folded, family: Family) -> Resources:
    """Count flow_sequencer; LUTs fitted to 40 sizes of it, 4 × 4 to 17 × 17 steps within a third."""
    inner, outer = choice.groups_in, choice.groups_out
    serial = choice.order == "input_serial"
    if serial:
        inner, outer = outer, inner
    bits = sum((n - 1).bit_length() for n in (inner, outer, choice.reuse_factor))
    idle = (inner == 1) + (outer == 1)
    if family in XILINX:
        # counters that end at no power of two compare and clear
        odd = sum(n & (n - 1) > 0 for n in (inner, outer))
        return Resources(lut=bits + 1 + 3 * odd, ff=bits + (1 if inner > 1 or not serial else 0))
    # where a counter has but one step, its only bit stays
    ff = bits + 1 + idle
    return Resources(lut=round(2.7 * bits) + 3 + 6 * idle if family == "ecp5" else 2 * bits + 2, ff=ff)


def _operands(choice: Folded, lane: Lane, family: Family) -> Resources:
    """Count flow_operands: a ring with a choice before each bit, or the beat that is held."""
    bits = choice.p * lane.x.width
    if choice.order == "input_serial" or choice.groups_in == 1:
        return Resources(ff=bits)
    bits *= choice.groups_in
    return Resources(lut=bits + (family not in XILINX), ff=bits)


def _weights(choice: Folded, lane: Lane, columns: int, family: Family) -> Resources:
    """Count the memory of weights; synthesis drops columns that are constant and, in LUTs, merges equal ones."""
    words = choice.reuse_factor
    match choice.store:
        case "bram":
            return rom_resources(words, columns, family) + Resources(ff=(choice.read - 1) * columns)
        case "lutrom":
            return Resources(lut=rom_luts(columns, words, family), ff=choice.read * columns)
        case "registers":
            bits = words * word_width(lane, choice)
            # loads, moves or stays: Xilinx decides in the LUT, the others by the clock enable
            return Resources(ff=bits, lut=bits + (family not in XILINX) if words > 1 else 0)


@lru_cache(maxsize=4096)
def _weight_columns(node: Dense, p: int, q: int, *, pairs: bool, merged: bool) -> int:
    """Return how many columns of the memory of weights are not constant; merged: of equal ones only one counts.

    The order of the steps does not matter to that.
    """
    groups_in, groups_out = -(-node.n_in // p), -(-node.n_out // q)
    bits = signed_width(int(node.weights.min()), int(node.weights.max()))
    kind = np.dtype(np.int16) if bits < np.iinfo(np.int16).bits else node.weights.dtype  # narrow is faster
    rows = np.zeros((groups_in * p, groups_out * q), dtype=kind)
    padded = np.zeros((groups_in, p, groups_out, q + q % 2 if pairs else q), dtype=kind)
    rows[: node.n_in, : node.n_out] = node.weights
    padded[..., :q] = rows.reshape(groups_in, p, groups_out, q)
    words = padded.transpose(0, 2, 1, 3).reshape(groups_in * groups_out, -1)
    stored = [(words, bits)]
    if pairs:
        low, high = words[:, 0::2], words[:, 1::2]
        stored = [(low, bits), (high - (low < 0), bits + 1)]
    if merged and len(words) <= SHORT_MEMORY and sum(part.shape[1] * width for part, width in stored) <= MANY_COLUMNS:
        weights = 1 << np.arange(len(words), dtype=np.int64)
        found = np.unique(
            np.concatenate([weights @ (part >> bit & 1) for part, width in stored for bit in range(width)])
        )
        return int(np.count_nonzero((found != 0) & (found != (1 << len(words)) - 1)))
    changing = [(np.bitwise_or.reduce(part) ^ np.bitwise_and.reduce(part), width) for part, width in stored]
    return sum(int((change >> bit & 1).sum()) for change, width in changing for bit in range(width))


@lru_cache(maxsize=1024)
def _bias_columns(node: Dense, q: int) -> int:
    """Return the columns of the memory of biases that differ and are not constant."""
    groups = -(-node.n_out // q)
    start: IntArray = np.zeros(groups * q, dtype=object)
    start[: node.n_out] = node.start
    found = set()
    for column in start.reshape(groups, q).T.tolist():
        for bit in range(signed_width(min(column), max(column))):
            found.add(sum((value >> bit & 1) << k for k, value in enumerate(column)))
    return len(found - {0, (1 << groups) - 1})


def _bias(choice: Folded, lane: Lane, columns: int, family: Family) -> Resources:
    """Count the memory of biases and the delayed number of the group that addresses it."""
    if lane.bias is None or choice.groups_out == 1:
        return Resources()
    late = choice.multiply + (choice.add if choice.accumulates else 0)
    index = (choice.groups_out - 1).bit_length()
    return Resources(lut=rom_luts(columns, choice.groups_out, family), ff=columns + late * index)


def _dsp(choice: Folded, lane: Lane, part: Part) -> Resources:
    """Count the DSP blocks of an engine; raise ValueError where a product does not fit one."""
    x, weight = lane.x.width + (not lane.x.signed), lane.weight.width
    match choice.multiplier:
        case "lut":
            return Resources()
        case "dsp":
            halves = choice.multipliers * dsp_halves(x, weight, part, product_width=lane.product.width)
        case "dsp_pair":
            packed, both = pair_width(lane.x.width, weight), 2 * lane.product.width
            halves = choice.p * _pairs(choice) * dsp_halves(packed, x, part, product_width=both)
    return Resources(dsp=-(-halves // 2), half_dsp=halves % 2 == 1)


def _pairs(choice: Folded) -> int:
    return -(-choice.q // 2)


def _products(choice: Folded, lane: Lane, part: Part) -> Resources:
    """Count the multipliers and their registers; in LUTs they belong to the lanes."""
    width = lane.product.width
    dsp = _dsp(choice, lane, part)
    match choice.multiplier:
        case "lut":
            return Resources()
        case "dsp":
            each = product_flip_flops(width, 1, part, dsp=True) + width * (choice.multiply - 1)
            return dsp + Resources(ff=choice.multipliers * each)
        case "dsp_pair":
            pairs = choice.p * _pairs(choice)
            # up to two registers beside the multiplier, one behind the correction, others behind both
            inside = min(choice.multiply, 3)
            each = product_flip_flops(2 * width, inside - 1, part, dsp=True) + 2 * width
            behind = choice.multipliers * width * (choice.multiply - inside)
            return dsp + Resources(ff=pairs * each + behind, lut=pairs * _correction_luts(width, part.family))


def _correction_luts(width: int, family: Family) -> int:
    """Return the LUTs that add one bit to a product: Xilinx leads the product past them, but for its lowest bit."""
    if family in XILINX:
        return 1
    return width + width % 2 if family == "ecp5" else width


@cache
def _lane(lane: Lane, add: int, finish: int, delays: Delays, family: Family) -> Resources:
    """Count one output lane's cones."""
    placed = placed_lane(lane, add, finish, delays)
    cones = (cone for cone in (placed.sums, placed.accumulate, placed.finish) if cone is not None)
    return sum((area(cone, family) for cone in cones), Resources())


def _lanes(choice: Folded, lane: Lane, delays: Delays, family: Family) -> Resources:
    one = _lane(lane, choice.add, choice.finish, delays, family)
    return Resources(lut=choice.q * one.lut, ff=choice.q * one.ff)


def _accumulators(choice: Folded, lane: Lane) -> Resources:
    """Count the accumulators, the choice between bias and sum before each, and the bits that tell when."""
    if not choice.accumulates:
        return Resources()
    bits = choice.q * lane.register.width
    depth = 1 if choice.order == "output_serial" else choice.groups_out
    return Resources(lut=bits, ff=depth * bits + 2 * (1 + choice.multiply + choice.add))


def _valid(choice: Folded) -> Resources:
    return Resources(lut=1, ff=choice.fill)


@cache
def _converter(converter: Converter, width: int, family: Family) -> Resources:
    """Count flow_gather, flow_split or flow_regroup; LUTs of their control fitted to twenty sizes."""
    beats_in, beats_out = converter.beats_in, converter.beats_out
    entering, leaving = (beats_in - 1).bit_length(), (beats_out - 1).bit_length()
    waiting = (converter.spacing - 1).bit_length()
    match converter.engine:
        case "gather":
            kept = (beats_in - 1) * converter.lanes_in * width
            lut = entering + 1
            if family in XILINX and beats_in & (beats_in - 1) == 0:
                lut = 2  # a carry chain counts and wraps by itself
            elif family not in XILINX and entering >= CHAIN_BITS:
                lut = 2 * entering + 1
            return Resources(lut=lut, ff=kept + entering)
        case "split":
            beat = converter.lanes_out * width
            held = converter.unit * width - beat
            return Resources(lut=max(held, beat) + 2 * leaving + round(2.3 * waiting), ff=held + leaving + waiting)
        case "regroup":
            counted = entering + leaving + 2 * converter.size.bit_length() + waiting
            choices, per_bit = (4, 3.0) if family in XILINX else (2, 4.5)
            chosen = converter.lanes_out * width * -(-beats_out // choices)
            return Resources(lut=chosen + beats_in + round(per_bit * counted), ff=converter.size * width + counted)
