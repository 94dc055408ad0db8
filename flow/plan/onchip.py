"""The roofline of a network's work on its own part: what multipliers and memories could do if nothing else counted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flow.device.delays import Delays, delays_of
from flow.device.parts import Part
from flow.engines.area import area
from flow.engines.folded import Folded
from flow.engines.folded_pipeline import placed_lane
from flow.engines.lane import Lane, lane_of
from flow.engines.memory import BLOCKS
from flow.engines.multiplier import dsp_fits, packs_pair
from flow.graph.graph import Graph
from flow.graph.nodes import Conv, Dense, DepthwiseConv, Input

SOFT_LANES = 8
"""Products of a sum by which a multiplier in LUTs is judged, its share of the adder tree with it."""


@dataclass(frozen=True, slots=True)
class OnChip:
    """Give the bound of one inference on a part at the plan's clock, and why a design lies above it, or below.

    multiplications: of one inference, zero weights included. weight_bits: read once each. per_cycle: multiplications
    of all DSP blocks and LUTs together, in the mean over the network. bits_per_cycle: that all block RAMs give.
    compute_ns, memory_ns: the two sides; None where the part has none of what they count. busy: multiplications per
    cycle that the plan does from the first input beat to the last output beat, over per_cycle.
    """

    part: str
    period_ns: float
    multiplications: int
    weight_bits: int
    per_cycle: float
    bits_per_cycle: int
    compute_ns: float
    memory_ns: float | None
    busy: float
    why: str

    @property
    def bound_ns(self) -> float:
        """Return the larger of the two sides."""
        return max(self.compute_ns, self.memory_ns or 0.0)


def on_chip(graph: Graph, part: Part, period_ns: float, *, cycles: int, interval: int, fixed_ns: float) -> OnChip:
    """Return the roofline on a part.

    cycles, interval: of the plan. fixed_ns: the link's. All DSP blocks and LUTs count as multipliers, the blocks at two
    products where they pack them, and every block RAM as one that gives its widest word in each cycle (two ports of
    half the width give as much), whatever a plan may use of them. Raises UserError for a part without delays.
    """
    lut, _, dsp, bram, _ = part.available
    delays = delays_of(part)
    multiplications, weight_bits, least = 0, 0, 0.0
    for node in graph.nodes:
        if not isinstance(node, Dense | Conv | DepthwiseConv):
            continue
        (source,) = graph.feeding(node)
        matrix = node if isinstance(node, Dense) else node.columns
        rate = _rate(_lane(graph, source.name, matrix), part, delays, lut=lut, dsp=dsp)
        multiplications += node.multiplications
        weight_bits += int(node.weights.size) * node.weight_type.width
        least += node.multiplications / rate
    bits = bram * max(2 * block.lanes[-1] // block.halves for block in BLOCKS[part.family])
    return OnChip(
        part.name,
        period_ns,
        multiplications,
        weight_bits,
        multiplications / least if least else 0.0,
        bits,
        least * period_ns,
        weight_bits / bits * period_ns if bits else None,
        least / cycles if cycles else 0.0,
        _why(multiplications, least, period_ns, cycles=cycles, interval=interval, fixed_ns=fixed_ns),
    )


def _lane(graph: Graph, source: str, matrix: Dense) -> Lane:
    """Return a lane that multiplies in LUTs the numbers of a layer."""
    kind = graph.node(source).type
    before = Input(name="x", label="x", inputs=(), shape=(matrix.n_in,), type=kind)
    alone = Graph("alone", (before, _reading(matrix)), ("x",), (matrix.name,))
    lanes = (min(SOFT_LANES, matrix.n_in), 1)
    shape = (matrix.n_in, matrix.n_out)
    choice = Folded.plain((matrix.name,), "output_serial", shape, lanes, store="lutrom", multiplier="lut")
    return lane_of(alone, choice)


def _reading(matrix: Dense) -> Dense:
    return replace(matrix, inputs=("x",))


def _rate(lane: Lane, part: Part, delays: Delays, *, lut: int, dsp: int) -> float:
    """Return the multiplications of a lane's numbers that all DSP blocks and LUTs of a part do in a cycle."""
    x, weight = lane.x.width + (not lane.x.signed), lane.weight.width
    each = 0
    if packs_pair(lane.x.width, weight, part, signed=lane.x.signed):
        each = 2
    elif dsp_fits(x, weight, part, product_width=lane.product.width):
        each = 1
    luts = area(placed_lane(lane, 1, int(lane.accumulates), delays).sums, part.family).lut / lane.p
    return dsp * each + lut / max(luts, 1.0)


def _why(work: int, least: float, period_ns: float, *, cycles: int, interval: int, fixed_ns: float) -> str:
    """Say why a latency does not follow from the bound."""
    bound_ns, core_ns = least * period_ns, cycles * period_ns
    if bound_ns < core_ns:
        beside = f"The core takes {core_ns / max(bound_ns, 1e-9):,.0f} times as long. "
    else:
        beside = "The core is faster: a constant product in wiring takes fewer LUTs than a multiplier, a zero none. "
    every = "every cycle" if interval == 1 else f"every {interval:,} cycles"
    return (
        f"{beside}The bound wants all multipliers busy in every cycle, but the layers of one inference wait for each "
        f"other: alone it keeps {least / max(cycles, 1):.2%} of them busy. The next inference may follow {every}; that "
        f"raises the rate and shortens no latency. At batch 1 each of the {work:,} products reads a weight of its own: "
        "there is no reuse that a memory's bandwidth could be saved by, so weights lie beside their multipliers. And "
        f"no roofline has fixed costs in it: {fixed_ns:,.0f} ns of link, and the registers that every sum passes."
    )
