"""What each run of nodes can become, for one length of the segments between registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import TypeVar

import numpy as np

from flow.device.delays import Delays
from flow.device.parts import Family, Part
from flow.engines.blocks import FABRIC, Blocks, blocks_of, stores
from flow.engines.engine import Resources, Unrolled
from flow.engines.estimate import Estimate, estimate, registers
from flow.engines.folded import Folded
from flow.engines.folded_choices import choices, foldable
from flow.engines.folded_cost import folded_resources
from flow.engines.folded_pipeline import fitted
from flow.engines.lane import Lane, lane_of
from flow.engines.lower import runs
from flow.graph.graph import Graph
from flow.graph.nodes import Dot, Embedding, LayerNorm, LegacySoftmax, Merge, Softmax, Table
from flow.latency.schedule import Schedule
from flow.plan.footprint import NO_LIMIT
from flow.plan.pins import NO_PINS, Pins
from flow.plan.reuse import Reuse, wishes

IN_BLOCKS = (Dot, Embedding, LayerNorm, LegacySoftmax, Merge, Softmax, Table)
"""Nodes with products of two values, or with tables."""


@dataclass(frozen=True, slots=True)
class Option:
    """Hold a folded choice, its predicted resources, and its longest segment in ns, nominal.

    leaves: when its beats leave where its last input beat comes in cycle 0; nothing else moves them.
    """

    choice: Folded
    resources: Resources
    worst_ns: float
    leaves: Schedule


@dataclass(frozen=True, slots=True)
class Segment:
    """Say how long a segment between two registers may be, in ns, nominal.

    within_ns: as asked. usable_ns: what of it unrolled logic may fill: without the register, and without the half
    operation by which a cut may miss its place. worst_ns: what comes of it in unrolled logic. strict: whether engines
    with longer segments are left out; else those are there of which no shorter ones can be had.
    """

    within_ns: float
    usable_ns: float
    worst_ns: float
    strict: bool = False

    @property
    def most_ns(self) -> float:
        """Return the longest segment that any engine may have."""
        return self.within_ns * (1 + 1e-9) if self.strict else float("inf")

    @classmethod
    def of(cls, within_ns: float, step_ns: float, delays: Delays, *, strict: bool = False) -> Segment:
        """Return the segment for logic whose slowest operation takes step_ns: as long as asked, or as it must be."""
        half = step_ns / 2
        usable = max(within_ns - delays.register_ns - half, half, 1e-3)
        return cls(within_ns, usable, delays.register_ns + usable + half, strict)

    def registers(self, guess: Estimate, delays: Delays) -> int:
        """Return the registers of a cone of its own that ends in one: its own operations may be the slower ones."""
        half = guess.step_ns / 2
        usable = min(self.usable_ns, max(self.within_ns - delays.register_ns - half, half, 1e-3))
        return max(1, ceil(guess.delay_ns / usable - 1e-9)) + guess.lags

    def longest(self, guess: Estimate, delays: Delays) -> float:
        """Return the longest segment of such a cone in ns, nominal; a cut may miss its place by half an operation."""
        registers = self.registers(guess, delays) - guess.lags
        return delays.register_ns + guess.delay_ns / registers + guess.step_ns / 2 * (registers > 1)


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Hold what can be planned, whatever the clock.

    runs: as they would be unrolled. reuse: the reuse factors that are asked for. spare: resources to be sparing with.
    pins: what the user has pinned; nothing else is offered.
    """

    graph: Graph
    part: Part
    delays: Delays
    runs: tuple[tuple[str, ...], ...]
    reuse: tuple[Reuse, ...]
    spare: tuple[str, ...] = ()
    pins: Pins = NO_PINS

    def head(self, run: tuple[str, ...]) -> tuple[str, ...]:
        """Return the nodes of a run that can be folded together."""
        return run[: foldable(self.graph, run)]

    def wish(self, run: tuple[str, ...]) -> int | None:
        """Return the reuse factor that must be used, None where it is free."""
        pinned = self.pins.reuse_factor(self.graph, run)
        if pinned is not None:
            return pinned
        return next((wish.used for wish in self.reuse if wish.node == run[0]), None)

    def may_unroll(self, run: tuple[str, ...]) -> bool:
        """Tell whether a run may be unrolled."""
        return self.wish(run) in {None, 1} and (not self.pins.on(run) or any(True for _ in self.cones(run)))

    def estimate(self, nodes: tuple[str, ...], blocks: Blocks = FABRIC) -> Estimate:
        """Return the cost of nodes as one unrolled cone."""
        return _estimate(self.graph, nodes, self.delays, self.part.family, blocks)

    def cones(self, nodes: tuple[str, ...]) -> Iterator[tuple[Unrolled, Estimate]]:
        """Give unrolled choices for nodes with their cost, their depth left open.

        The first has everything in LUTs, the others products in DSP blocks, tables in block RAM, or both, where the
        part has blocks with known delays and the nodes would use them.
        """
        plain = Unrolled(nodes, 0)
        if self.pins.allows(plain):
            yield plain, self.estimate(nodes)
        if not any(isinstance(self.graph.node(name), IN_BLOCKS) for name in nodes):
            return
        for choice in stores(plain, self.part, self.delays)[1:]:
            guess = self.estimate(nodes, blocks_of(choice, self.part))
            dsp, bram = guess.blocks.dsp > 0, guess.blocks.bram > 0
            if (dsp, bram) == (choice.products == "dsp", choice.tables == "bram") and self.pins.allows(choice):
                yield choice, guess

    @property
    def step_ns(self) -> float:
        """Return the slowest single operation of all that may be unrolled."""
        cones = [run if self.may_unroll(run) else run[len(self.head(run)) :] for run in self.runs]
        return max((self.estimate(nodes).step_ns for nodes in cones if nodes), default=0.0)


def space_of(graph: Graph, part: Part, delays: Delays, spare: tuple[str, ...] = (), pins: Pins = NO_PINS) -> Space:
    """Return what can be planned for a graph on a part; spare: resources to be sparing with; pins: as asked."""
    groups = runs(graph)
    return Space(graph, part, delays, groups, wishes(graph, groups), spare, pins)


@lru_cache(maxsize=1024)
def _estimate(graph: Graph, nodes: tuple[str, ...], delays: Delays, family: Family, blocks: Blocks) -> Estimate:
    return estimate(graph, nodes, delays, family, blocks)


@lru_cache(maxsize=1024)
def _registers(graph: Graph, choice: Unrolled, part: Part, delays: Delays, within_ns: float) -> int | None:
    return registers(graph, choice.nodes, delays, within_ns, blocks_of(choice, part))


def cone_ways(space: Space, nodes: tuple[str, ...], segment: Segment) -> Iterator[tuple[Unrolled, Estimate, float]]:
    """Give unrolled choices for nodes that end in a register, with their cost and their longest segment in ns.

    Those with blocks are left out where a block alone takes longer than a segment.
    """
    for choice, guess in space.cones(nodes):
        depth, longest = segment.registers(guess, space.delays), segment.longest(guess, space.delays)
        if choice != Unrolled(nodes, 0):
            if space.delays.register_ns + guess.step_ns > segment.within_ns:
                continue
            exact = _registers(space.graph, choice, space.part, space.delays, segment.within_ns)
            depth, longest = (depth, longest) if exact is None else (exact, segment.within_ns)
        yield replace(choice, depth=depth), guess, longest


@lru_cache(maxsize=256)
def _choices(graph: Graph, nodes: tuple[str, ...], part: Part, wish: int | None) -> tuple[Folded, ...]:
    return choices(graph, nodes, part, reuse_factor=wish)


class Options:
    """Find folded choices with pipelines for one segment length; those that stay longer only where all do."""

    def __init__(self, space: Space, within_ns: float) -> None:
        self.space, self.within_ns = space, within_ns
        self.known: dict[tuple[Lane, str, str, int], tuple[Folded, float]] = {}
        self.priced: dict[Folded, Option] = {}

    def of(self, run: tuple[str, ...], interval: int, cycles: int = NO_LIMIT) -> tuple[Option, ...]:
        """Return the options for the head of a run that take up to `cycles` and can begin anew after `interval`."""
        nodes, wish = self.space.head(run), self.space.wish(run)
        if not nodes or wish == 1:
            return ()
        chosen = _choices(self.space.graph, nodes, self.space.part, wish)
        chosen = tuple(choice for choice in chosen if self.space.pins.allows(choice))
        found = [
            self.priced.get(choice) or self._pipelined(choice)
            for choice in chosen
            if choice.reuse_factor <= interval and _least_cycles(choice) <= cycles
        ]
        found = [option for option in found if option.worst_ns <= self.within_ns * (1 + 1e-9)] or found
        return _undominated(found)

    def _pipelined(self, choice: Folded) -> Option:
        """Give a choice its registers; all with the same lanes, memory and multipliers have the same."""
        space = self.space
        steps = (choice.reuse_factor - 1).bit_length()
        key = (lane_of(space.graph, choice), choice.store, choice.multiplier, steps)
        if key not in self.known:
            self.known[key] = fitted(space.graph, choice, space.part, space.delays, self.within_ns)
        like, worst_ns = self.known[key]
        found = replace(choice, read=like.read, multiply=like.multiply, add=like.add, finish=like.finish)
        leaves = found.schedule((Schedule((0,)),))
        option = Option(found, folded_resources(space.graph, found, space.part), worst_ns, leaves)
        self.priced[choice] = option
        return option


@lru_cache(maxsize=16)
def options_of(space: Space, within_ns: float) -> Options:
    """Return the options for segments of one length; a front asks for the same with one limit after another."""
    return Options(space, within_ns)


def _least_cycles(choice: Folded) -> int:
    """Return what a choice adds at the least, with the fewest registers and its inputs in time."""
    steps = choice.groups_out if choice.order == "input_serial" else choice.reuse_factor
    return steps + choice.fill - 1


def _undominated(options: list[Option]) -> tuple[Option, ...]:
    """Return the options that no other beats in every resource, of those with the same beats in the same cycles."""
    alike: dict[tuple[str, int, int, int], list[Option]] = {}
    for option in options:
        c = option.choice
        alike.setdefault((c.order, c.p, c.q, c.fill), []).append(option)
    return tuple(option for some in alike.values() for option in front(some, [halves(o.resources) for o in some]))


T = TypeVar("T")


def front(of: Sequence[T], costs: Sequence[tuple[int, ...]]) -> list[T]:
    """Return, in their order, those whose costs no other has in all respects as low; of equals the first."""
    table = np.array(costs, dtype=np.int64)
    kept: list[int] = []
    for k in np.lexsort(table.T[::-1]).tolist():
        if not kept or not np.any(np.all(table[kept] <= table[k], axis=1)):
            kept.append(k)
    return [of[k] for k in sorted(kept)]


def halves(resources: Resources) -> tuple[int, int, int, int]:
    """Return LUT, FF and half blocks of DSP and BRAM: unlike whole blocks these add up."""
    return (
        resources.lut,
        resources.ff,
        2 * resources.dsp - resources.half_dsp,
        2 * resources.bram - resources.half_bram,
    )


def unrolled_resources(guess: Estimate, depth: int) -> Resources:
    """Return what a cone takes: its logic, registers at cuts through its middle, and those where it ends."""
    cuts = max(0, depth - 1 - guess.lags)
    return guess.blocks + Resources(lut=guess.lut, ff=guess.cut_bits * cuts + guess.output_bits if depth else 0)
