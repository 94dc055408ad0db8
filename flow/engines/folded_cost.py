"""LUT, FF, DSP and block RAM of a folded engine and of a width converter, without generating them.

Facet 3 of `folded`: DSP blocks, block RAMs and flip-flops are counted, LUTs follow what Yosys makes of each piece (see
`area`). A planner asks for thousands of choices, so that nothing here depends on the weights' values, and everything
is kept by the shapes and types that it does depend on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from flow.device.parts import Family, Part
from flow.engines.area import XILINX
from flow.engines.converter import Converter
from flow.engines.engine import Resources
from flow.engines.folded import Folded
from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.graph.nodes import Dense

BRAM_WIDTHS: dict[str, tuple[tuple[int, int], ...]] = {
    "xcup": ((36, 1024), (72, 512)),
    "xcu": ((36, 1024), (72, 512)),
    "xc7": ((36, 1024), (72, 512)),
    "ecp5": ((18, 1024), (36, 512)),
    "ice40": ((16, 256),),
    "gowin": ((18, 1024), (36, 512)),
}


@dataclass(frozen=True, slots=True)
class Types:
    """Hold the formats along a folded run: input, weights, accumulator, and what each node behind the sums gives."""

    x: FixedType
    weight: FixedType
    accumulator: FixedType
    behind: tuple[FixedType, ...]


def folded_resources(graph: Graph, choice: Folded, part: Part) -> Resources:
    """Predict what the hardware of a folded choice takes on a part, carry cells counted as LUTs."""
    head = graph.node(choice.nodes[0])
    assert isinstance(head, Dense)
    (source,) = graph.feeding(head)
    behind = (head.type, *(graph.node(name).type for name in choice.nodes[1:]))
    types = Types(source.type, head.weight_type, head.accumulator, behind)
    return _folded(_nameless(choice), types, part.family)


def converter_resources(graph: Graph, converter: Converter, part: Part) -> Resources:
    """Predict what a width converter takes on a part."""
    nameless = Converter("", converter.size, converter.lanes_in, converter.lanes_out, converter.spacing)
    return _converter(nameless, graph.node(converter.node).type.width, part.family)


def _nameless(c: Folded) -> Folded:
    """Return a choice that is equal for equal hardware."""
    return Folded(("",), c.order, c.n_in, c.n_out, c.p, c.q, c.store, c.multiplier, c.read, c.multiply, c.add, c.finish)


@cache
def _folded(choice: Folded, types: Types, family: Family) -> Resources:
    return (
        _operands(choice, types)
        + _weights(choice, types, family)
        + _products(choice, types, family)
        + _lanes(choice, types)
        + _control(choice)
    )


def _operands(choice: Folded, types: Types) -> Resources:
    """Count the ring of inputs, or the beat that is held."""
    if choice.order == "output_serial" and choice.groups_in > 1:
        bits = choice.groups_in * choice.p * types.x.width
        return Resources(lut=bits, ff=bits)
    return Resources(ff=choice.p * types.x.width)


def word_bits(choice: Folded, weight: FixedType) -> int:
    """Return the bits of a word of weights: one per multiplier, or pairs for two output lanes."""
    if choice.multiplier == "dsp_pair":
        return choice.p * -(-choice.q // 2) * (2 * weight.width + 1)
    return choice.multipliers * weight.width


def _weights(choice: Folded, types: Types, family: Family) -> Resources:
    words, bits = choice.reuse_factor, word_bits(choice, types.weight)
    match choice.store:
        case "bram":
            return Resources(bram=_block_rams(words, bits, family), ff=(choice.read - 1) * bits)
        case "lutrom":
            return Resources(lut=bits * -(-words // (64 if family in XILINX else 16)), ff=choice.read * bits)
        case "registers":
            return Resources(ff=words * bits, lut=0 if words == 1 else bits)


def _block_rams(words: int, bits: int, family: Family) -> int:
    return min(-(-bits // width) * -(-words // depth) for width, depth in BRAM_WIDTHS[family])


def _products(choice: Folded, types: Types, family: Family) -> Resources:
    bits = types.x.width + types.weight.width
    held = choice.multipliers * bits
    match choice.multiplier:
        case "dsp":
            return Resources(dsp=choice.multipliers, ff=0 if family in XILINX else held * choice.multiply)
        case "dsp_pair":
            pairs = choice.p * -(-choice.q // 2)
            return Resources(dsp=pairs, ff=0 if family in XILINX else held * choice.multiply, lut=pairs * bits)
        case "lut":
            rows = types.weight.width * (types.x.width + 1)
            return Resources(lut=choice.multipliers * rows, ff=held * choice.multiply)


def _lanes(choice: Folded, types: Types) -> Resources:
    """Count the adder trees, accumulators, and what follows them."""
    width, terms = types.x.width + types.weight.width, choice.p
    chains: list[int] = []
    cuts: list[int] = []
    while terms > 1:
        width += 1
        chains.append(terms // 2 * width)
        terms = -(-terms // 2)
        cuts.append(terms * width)
    tree = sum(chains)
    levels = len(cuts)
    held = sum(cuts[min(levels - 1, k * levels // choice.add)] for k in range(1, choice.add)) if cuts else 0
    total = min(types.accumulator.width, width + (choice.groups_in - 1).bit_length() + 1)
    output = types.behind[-1].width
    places = 1 if choice.order == "output_serial" else choice.groups_out
    lut, ff = tree + total + output, held + width
    if choice.accumulates:
        lut += total * (1 if places == 1 else 2)
        ff += total * places + output * choice.finish + (choice.groups_out > 1) * total
    return Resources(lut=choice.q * lut, ff=choice.q * ff)


def _control(choice: Folded) -> Resources:
    counters = sum(
        (limit - 1).bit_length() for limit in (choice.reuse_factor, choice.groups_in, choice.groups_out) if limit > 1
    )
    chains = 2 * choice.fill + (choice.groups_out - 1).bit_length() * (choice.fill - 1)
    return Resources(lut=2 * counters + 4, ff=counters + 1 + chains)


@cache
def _converter(converter: Converter, width: int, family: Family) -> Resources:
    size = converter.size * width
    counters = (converter.beats_in - 1).bit_length() + (converter.beats_out - 1).bit_length()
    counters += (converter.spacing - 1).bit_length()
    match converter.engine:
        case "gather":
            kept = size - (converter.size - (converter.beats_in - 1) * converter.lanes_in) * width
            return Resources(lut=2 * counters, ff=kept + counters)
        case "split":
            return Resources(lut=size + 2 * counters, ff=size + counters + 1)
        case "regroup":
            inputs = 4 if family in XILINX else 2
            mux = converter.lanes_out * width * -(-converter.beats_out // inputs)
            return Resources(lut=mux + 2 * counters, ff=size + converter.lanes_out * width + counters + 1)
