"""What a run of nodes will take once it is unrolled, without solving its matrices.

A matrix is judged by its statistics: how many canonical signed digits (CSD) its weights have, per row and column, and
how wide its inputs are. The coefficients were fitted on 188 solved matrices (4 to 64 inputs, 1 to 64 outputs, 2 to 8
bits, 0 to 80 % zeros, trained and random): the bits of all carry chains came out within 17 % for 95 % of them, the
delay within 20 %, within 14 % and 15 % where there were at least 60 adders. What stands behind the matrix, and all
runs without one, is lowered and placed exactly; of a large one a part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isqrt, log, log2

import numpy as np
from numpy.typing import NDArray

from flow.device.delays import Delays
from flow.device.parts import Family
from flow.engines.area import area
from flow.engines.blocks import FABRIC, Blocks
from flow.engines.cone import Add, Cone, Constant, Read
from flow.engines.delay import cell_delay
from flow.engines.engine import Resources
from flow.engines.families import XILINX
from flow.engines.lower import lower
from flow.engines.network import Network, connect
from flow.engines.pipeline import fewest_registers_along, place, shortest_depths
from flow.engines.sampled import part_of, piece_of
from flow.engines.sums import signed_digits
from flow.fixed import FixedType, IntArray
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Conv, Dense, DepthwiseConv, Input, Quantize
from flow.graph.window import Window

SAMPLED_PRODUCTS = 512
"""Products of a layer without adder graph that are lowered to judge all of it."""
SAMPLED_CHANNELS = 16
"""Channels of a depthwise convolution whose kernels are judged for all."""
SAMPLED_ELEMENTS = 8
"""Elements behind a matrix that are lowered to judge all of them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Predict a run's cost.

    delay_ns: from its inputs to its output without registers. step_ns: its slowest single operation, which no
    register can divide. lut: carry cells included. cut_bits: flip-flops of one register stage inside it.
    output_bits: those of a register stage at its output. blocks: DSP blocks and block RAM. lags: registers inside of
    block RAM on the longest way, beside those that cut the delay.
    """

    delay_ns: float
    step_ns: float
    lut: int
    cut_bits: int
    output_bits: int
    blocks: Resources = field(default_factory=Resources)
    lags: int = 0


def estimate(graph: Graph, run: tuple[str, ...], delays: Delays, family: Family, blocks: Blocks = FABRIC) -> Estimate:
    """Predict the cost of the cone of a run in a few milliseconds; blocks: what stands in DSP blocks and block RAM."""
    head = graph.node(run[0])
    output = graph.node(run[-1])
    output_bits = output.size * output.type.width
    match head:
        case Dense():
            (source,), sums, places = graph.feeding(head), head, 1
            is_linear = head.is_linear(source.type)
            matrix = _matrix(head, source.type, delays, family) if is_linear else _products(graph, head, delays, family)
        case Conv() | DepthwiseConv():
            (source,), sums, places = graph.feeding(head), head.columns, head.places
            matrix = _convolution(head, source.type, delays, family)
        case _:
            found = _without_matrix(graph, run, delays, family, blocks)
            return replace(found, output_bits=output_bits)
    cone, elements = _behind(graph, run, sums, source.type, blocks)
    behind = _alone(cone)
    tail = _exact(behind, delays, family)
    merged = _merged_ns(behind, delays)
    return Estimate(
        matrix.delay_ns + max(tail.delay_ns - merged, 0.0),  # what is left of equal fractions may be below zero
        max(matrix.step_ns, tail.step_ns),
        matrix.lut + round(tail.lut * elements * places),
        matrix.cut_bits,
        output_bits,
        tail.blocks.times(elements * places),
        tail.lags,
    )


def registers(graph: Graph, run: tuple[str, ...], delays: Delays, within_ns: float, blocks: Blocks) -> int | None:
    """Return the least registers with which a run without a matrix keeps within a segment, the one at its end included.

    None where there is a matrix, or where a single operation takes longer.
    """
    if isinstance(graph.node(run[0]), Dense | Conv | DepthwiseConv):
        return None
    part = part_of(graph, run)
    cone = lower(graph if part is None else part.graph, run, blocks=blocks)
    depths = shortest_depths(connect((cone,), (run[-1],)), delays, within_ns)
    return None if depths is None else depths[0]


def _convolution(head: Conv | DepthwiseConv, source: FixedType, delays: Delays, family: Family) -> Estimate:
    """Judge a convolution by one place, or by a few where products are shared; cells off the image cost nothing.

    Against 14 small ones that were lowered and placed, the LUTs came within 22 % (8 % in the mean), the delay within
    21 % (5 %). Windows that share multiples of their pixels take less than this says: with one channel and most
    cells off the image up to a third less.
    """
    on_image = float(np.mean(head.window.taps() >= 0))
    if not head.columns.is_linear(source):
        return _few_places(head, on_image, source, delays, family)
    if isinstance(head, Conv):
        parts, times = [head.matrix], head.places * on_image
    else:
        sample = np.unique(np.linspace(0, head.channels - 1, SAMPLED_CHANNELS).astype(int))
        parts = [head.channel(int(index)) for index in sample]
        times = head.places * on_image * head.channels / sample.size
    found = [_matrix(part, source, delays, family) for part in parts]
    return Estimate(
        max(part.delay_ns for part in found),
        max(part.step_ns for part in found),
        round(sum(part.lut for part in found) * times),
        round(sum(part.cut_bits for part in found) * times),
        0,
    )


def _few_places(
    head: Conv | DepthwiseConv, on_image: float, source: FixedType, delays: Delays, family: Family
) -> Estimate:
    """Lower some channels at some neighbouring places: products of a pixel are shared by the windows that see it."""
    window, digits_of = head.window, digits(head.columns.weights).sum(axis=0)
    n_in = head.columns.n_in
    count = max(1, min(head.channels, SAMPLED_PRODUCTS // n_in))
    sample = np.unique(np.append(np.linspace(0, head.channels - 1, count).astype(int), int(digits_of.argmax())))
    room = max(1, SAMPLED_PRODUCTS // (n_in * sample.size))
    rows = min(window.positions[0], isqrt(room))
    columns = min(window.positions[1], room // rows)
    small = replace(
        head,
        inputs=("x",),
        shape=(rows, columns, sample.size),
        type=head.accumulator.exact(),
        weights=head.weights[..., sample],
        bias=head.bias[sample],
        window=Window(
            rows=window.kernel[0] + window.stride[0] * (rows - 1),
            columns=window.kernel[1] + window.stride[1] * (columns - 1),
            channels=window.channels if isinstance(head, Conv) else int(sample.size),
            kernel=window.kernel,
            stride=window.stride,
            pads=(0, 0, 0, 0),
        ),
    )
    shape = (small.window.rows, small.window.columns, small.window.channels)
    port = Input(name="x", label=head.label, inputs=(), shape=shape, type=source)
    part = Graph(head.name, (port, small), ("x",), (small.name,))
    found = _exact(_alone(lower(part, (small.name,))), delays, family)
    times = head.channels / sample.size * head.places * on_image / (rows * columns)
    return replace(found, lut=round(found.lut * times), cut_bits=round(found.cut_bits * times))


def _without_matrix(graph: Graph, run: tuple[str, ...], delays: Delays, family: Family, blocks: Blocks) -> Estimate:
    """Lower a run and place it; a part of it where it is large."""
    part = part_of(graph, run)
    if part is None:
        return _exact(_alone(lower(graph, run, blocks=blocks)), delays, family)
    found = _exact(_alone(lower(part.graph, run, blocks=blocks)), delays, family)
    return replace(
        found,
        lut=round(found.lut * part.times),
        cut_bits=round(found.cut_bits * part.times),
        blocks=found.blocks.times(part.times),
    )


def _alone(cone: Cone) -> Network:
    return connect((cone,), ())


def _exact(network: Network, delays: Delays, family: Family) -> Estimate:
    unclocked = replace(network, lags=(0,) * len(network.lags))
    placement = place(unclocked, (0,), delays)
    (placed,) = placement.cones
    cells = (c for c, live in zip(placed.wiring.cells, placed.wiring.live, strict=True) if live)
    step = max((cell_delay(cell, delays) for cell in cells), default=0.0)
    bits = sum(view.width for view in placed.wiring.outputs)
    found = area(placed, family)
    return Estimate(
        placement.worst_ns - delays.register_ns,
        step,
        found.lut,
        bits,
        bits,
        replace(found, lut=0, ff=0),
        fewest_registers_along(network, delays),
    )


def _behind(graph: Graph, run: tuple[str, ...], head: Dense, source: FixedType, blocks: Blocks) -> tuple[Cone, float]:
    """Return the cone of what follows some of the sums of a matrix product, and how many elements each stands for."""
    sample = np.unique(np.linspace(0, head.n_out - 1, SAMPLED_ELEMENTS).astype(int))
    zeros = max(0, head.accumulator.fraction - source.fraction - head.weight_type.fraction)
    bias = int(np.bitwise_or.reduce(head.start.astype(object), initial=0))
    if bias:
        zeros = min(zeros, (bias & -bias).bit_length() - 1)
    zeros = min(zeros, head.accumulator.width - 1)
    kind = FixedType(head.accumulator.width - zeros, head.accumulator.integer, head.accumulator.signed)
    shape = (sample.size,)
    sums = Input(name=f"{head.name}_sums", label=head.label, inputs=(), shape=shape, type=kind)
    cast = Quantize(name=head.name, label=head.label, inputs=(sums.name,), shape=shape, type=head.type)
    nodes: list[AnyNode] = [sums, cast]
    for node in (graph.node(name) for name in run[1:]):
        nodes.append(piece_of(node, sample, nodes[-1].name))
    lo, hi = kind.lo, kind.hi
    if head.keeps_products(source):
        lowest, highest = head.sum_range(source)
        below, above = int(lowest.min()) >> zeros, int(highest.max()) >> zeros
        if lo <= below and above <= hi:
            lo, hi = below, above
    rest = Graph(graph.name, tuple(nodes), (sums.name,), (run[-1],))
    return lower(rest, run, ranges={sums.name: (lo, hi)}, blocks=blocks), head.n_out / sample.size


def _merged_ns(network: Network, delays: Delays) -> float:
    """Return the delay of a constant that is added to a sum first of all: it joins the matrix's own adders."""
    (wiring,) = network.cones
    found = 0.0
    for cell in wiring.cells:
        op = cell.op
        if isinstance(op, Add):
            kinds = {type(wiring.cone.ops[v]) for v in (op.a, op.b)}
            if kinds == {Read, Constant}:
                found = max(found, cell_delay(cell, delays))
    return found


def digits(weights: IntArray) -> NDArray[np.int64]:
    """Return the canonical signed digits of each weight: those of v are where v and 3v differ."""
    if weights.dtype == object:
        counted = [len(signed_digits(int(v))) for v in weights.flat]
        return np.array(counted, dtype=np.int64).reshape(weights.shape)
    magnitudes = np.abs(weights.astype(np.int64)).astype(np.uint64)
    differing = np.ascontiguousarray(magnitudes ^ (np.uint64(3) * magnitudes))
    bits = np.unpackbits(differing.view(np.uint8).reshape(*differing.shape, 8), axis=-1)
    count: NDArray[np.int64] = bits.sum(axis=-1, dtype=np.int64)
    return count


def _matrix(head: Dense, source: FixedType, delays: Delays, family: Family) -> Estimate:
    """Judge an adder graph by its matrix."""
    found = digits(head.weights)
    columns = found.sum(axis=0)
    columns = columns[columns > 0]
    if not columns.size:
        return Estimate(0.0, 0.0, 0, 0, 0)
    total, weights = int(columns.sum()), int(np.count_nonzero(head.weights))
    biased = int(np.count_nonzero(head.start))
    plain = total - columns.size  # adders without any sharing
    kept = 0.147 - 0.262 * log(total / head.n_in) - 0.118 * log(head.n_in) + 0.171 * log(columns.size)
    kept += 0.063 * log(total / weights)
    adders = plain * min(1.25, float(np.exp(kept))) + biased
    levels = float(np.mean(np.log2(columns)))
    width = 0.3 + 1.034 * source.width + 0.047 * head.weight_type.width + 0.305 * levels + 0.569 * total / weights
    width = max(1.0, width - 0.171 * source.signed)
    longest = log2(int(columns.max()) + bool(biased))
    depth = 0.22 + 1.11 * longest if longest else 0.0
    widest = source.width + head.weight_type.width + longest / 2
    lut = _chain_luts(adders * width, adders, family)
    cut = 1.13 * adders * width * max(depth, 1.0) ** -0.775
    step = delays.carry_ns + widest * delays.carry_bit_ns
    return Estimate(
        depth * (delays.carry_ns + width * delays.carry_bit_ns), step if adders else 0.0, lut, round(cut), 0
    )


def _chain_luts(bits: float, adders: float, family: Family) -> int:
    """Return the LUTs of so many bits in so many carry chains; coefficients as measured by `area`."""
    if family in XILINX:
        return round(max(0.0, 0.942 * bits - 0.59 * adders))
    per_bit, per_chain = {"ecp5": (1.024, 0.301), "ice40": (1.131, -0.084), "gowin": (0.992, 0.07)}[family]
    return round(per_bit * bits + per_chain * adders)


def _products(graph: Graph, head: Dense, delays: Delays, family: Family) -> Estimate:
    """Judge products that are cast and added one by one: lower some columns, the one with most digits among them."""
    columns = digits(head.weights).sum(axis=0)
    count = max(1, min(head.n_out, SAMPLED_PRODUCTS // head.n_in))
    sample = np.unique(np.append(np.linspace(0, head.n_out - 1, count).astype(int), int(columns.argmax())))
    wide = head.accumulator.exact()
    small = replace(head, shape=(sample.size,), weights=head.weights[:, sample], bias=head.bias[sample], type=wide)
    (source,) = graph.feeding(head)
    port = Input(name=source.name, label=source.label, inputs=(), shape=source.shape, type=source.type)
    part = Graph(graph.name, (port, small), (port.name,), (small.name,))
    found = _exact(_alone(lower(part, (small.name,))), delays, family)
    scale = head.n_out / sample.size
    return replace(found, lut=round(found.lut * scale), cut_bits=round(found.cut_bits * scale))
