"""Facet 1 of `folded`: what can be folded, and with which parameters."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from flow.device.delays import delays_of
from flow.device.parts import Part
from flow.engines.folded import Folded, Multiplier, Order, Store
from flow.engines.folded_contents import word_width
from flow.engines.lane import Lane, lane_of
from flow.engines.multiplier import dsp_fits, packs_pair
from flow.fixed import Overflow
from flow.graph.graph import Graph
from flow.graph.nodes import Dense, Quantize, Relu, Reshape

ABSORBED = (Quantize, Relu, Reshape)
"""Nodes behind a matrix product that treat all elements alike, so that each lane does the same."""
REGISTER_BITS = 4096
"""Weights of at most so many bits may lie in flip-flops; beyond, any other store takes less."""
FINER, COARSER = 1.25, 1.7
"""Numbers of groups that differ by less than these factors are as good as one, unless a reuse factor is asked for."""
SOFT_INPUTS = 16
"""Input lanes above which multipliers in LUTs are no choice: more output lanes give the same with shorter sums."""

ORDERS: tuple[Order, ...] = ("output_serial", "input_serial")

Lanes = tuple[int, int]
"""Input and output lanes of a step."""


def foldable(graph: Graph, run: tuple[str, ...]) -> int:
    """Return how many nodes at the head of a run can be folded together, 0 where its first is no matrix product.

    What treats elements differently (an affine node with its channels' scales) ends the folded part.
    """
    if not isinstance(graph.node(run[0]), Dense):
        return 0
    count = 1
    while count < len(run) and isinstance(graph.node(run[count]), ABSORBED):
        count += 1
    return count


def group_counts(n: int) -> tuple[int, ...]:
    """Return into how many groups of equal size (the last may be smaller) n elements can be cut, ascending."""
    return tuple(sorted({-(-n // lanes) for lanes in range(1, n + 1)}))


def spread(n: int, factor: float) -> frozenset[int]:
    """Return group counts of n elements, each at least `factor` times the one before, with the least and the most.

    Neighbours choose from the same counts for the tensor between them, so that their beats can match.
    """
    counts = group_counts(n)
    found = [counts[0]]
    for count in counts:
        if count >= found[-1] * factor:
            found.append(count)
    return frozenset((*found, counts[-1]))


def reuse_factors(graph: Graph, head: Dense) -> tuple[int, ...]:
    """Return every reuse factor that some lanes give, ascending; 1 stands for the unrolled layer."""
    return tuple(sorted({1, *(g * h for g, h in _groups(graph, head))}))


def choices(graph: Graph, nodes: tuple[str, ...], part: Part, *, reuse_factor: int | None = None) -> tuple[Folded, ...]:
    """Return the parameter sets for a foldable run on a part, each with the fewest registers that are legal.

    reuse_factor: exactly that one, with all lanes that give it; None: those that differ enough to matter. There is none
    for a reuse factor of 1, which is the unrolled layer. Raises TypeError where the first node is no matrix product.
    """
    head = graph.node(nodes[0])
    if not isinstance(head, Dense):
        raise TypeError(f"node '{head.name}' ({type(head).__name__}) has no folded form")
    shape = (head.n_in, head.n_out)
    lane = lane_of(graph, Folded.plain(nodes, "output_serial", shape, shape, store="lutrom", multiplier="lut"))
    multipliers = _multipliers(part, lane)
    found = []
    for order in ORDERS:
        for lanes in _lanes(graph, head, order, reuse_factor):
            for multiplier in multipliers:
                for store in _stores(part):
                    choice = Folded.plain(nodes, order, shape, lanes, store=store, multiplier=multiplier)
                    if _is_useful(choice, lane, asked=reuse_factor is not None):
                        found.append(choice)
    return tuple(found)


def _is_useful(choice: Folded, lane: Lane, *, asked: bool) -> bool:
    if choice.multiplier == "dsp_pair" and choice.q == 1:
        return False
    if choice.multiplier == "lut" and choice.p > SOFT_INPUTS and not asked:
        return False
    return choice.store != "registers" or choice.reuse_factor * word_width(lane, choice) <= REGISTER_BITS


def _multipliers(part: Part, lane: Lane) -> tuple[Multiplier, ...]:
    """Return the kinds of multipliers that the part has, with known delays, and that take a lane's numbers."""
    found: list[Multiplier] = ["lut"]
    x, weight = lane.x.width + (not lane.x.signed), lane.weight.width  # operands are signed
    if delays_of(part).dsp_ns is not None:
        if dsp_fits(x, weight, part, product_width=lane.product.width):
            found.append("dsp")
        if packs_pair(lane.x.width, weight, part, signed=lane.x.signed):
            found.append("dsp_pair")
    return tuple(found)


def _stores(part: Part) -> tuple[Store, ...]:
    has_bram = part.bram and delays_of(part).bram_ns is not None
    return ("registers", "lutrom", "bram") if has_bram else ("registers", "lutrom")


def _groups(graph: Graph, head: Dense) -> Iterator[tuple[int, int]]:
    """Return the groups of inputs and of outputs that are legal: more than one step, sums in a legal order."""
    (source,) = graph.feeding(head)
    in_order = not head.is_linear(source.type) and head.accumulator.overflow is not Overflow.WRAP
    inputs = (head.n_in,) if in_order else group_counts(head.n_in)
    for groups_in in inputs:
        for groups_out in group_counts(head.n_out):
            if groups_in * groups_out > 1:
                yield groups_in, groups_out


def _lanes(graph: Graph, head: Dense, order: Order, reuse_factor: int | None) -> tuple[Lanes, ...]:
    """Return the lanes for a reuse factor, or without one a grid of them, finest where beats are narrowest.

    Where a step takes in as much as it can (outputs leave one after the other, or inputs come so), every reuse factor
    can be had, and the beats of neighbours match; elsewhere a coarser grid trades multipliers' sums for accumulators.
    """
    legal = [groups for groups in _groups(graph, head) if order == "output_serial" or groups[0] > 1]
    if reuse_factor is not None:
        chosen = [groups for groups in legal if prod(groups) == reuse_factor]
    else:
        serial, other = (1, 0) if order == "output_serial" else (0, 1)  # which groups cross in beats of their own
        sizes = (head.n_in, head.n_out)
        fine, coarse = ([spread(n, factor) for n in sizes] for factor in (FINER, COARSER))
        chosen = []
        for groups in legal:
            narrow = groups[other] == 1 or groups[serial] == sizes[serial]
            near = all(g in f for g, f in zip(groups, fine, strict=True))
            far = all(g in c for g, c in zip(groups, coarse, strict=True))
            in_order = legal[0][0] == head.n_in and groups[1] in fine[1]
            if (near and narrow) or far or in_order:
                chosen.append(groups)
    return tuple((-(-head.n_in // g), -(-head.n_out // h)) for g, h in chosen)
