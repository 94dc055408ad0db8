"""The solver's optimum beside all plans of spaces small enough to try each, worked out exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from flow.device.delays import delays_of
from flow.device.parts import Part, find_part
from flow.engines.align import Fifo
from flow.engines.dataflow import dataflow
from flow.graph.graph import Graph
from flow.plan.footprint import NO_LIMIT
from flow.plan.moves import Moves
from flow.plan.optimum import Built, Optimum
from flow.plan.options import Segment, space_of
from flow.plan.places import Place, from_zero
from flow.plan.plan import timeline_of
from flow.plan.program import Answer
from flow.plan.traffic import traffics
from tests.plan.small_networks import small_network

PART = find_part("xc7a100t")
WITHIN_NS = 6.0
KEPT = 3
"""Ways to build each run that are left, drawn at random."""


def search(graph: Graph, *, interval: int = NO_LIMIT, within_ns: float = WITHIN_NS, part: Part = PART) -> Optimum:
    delays = delays_of(part)
    space = space_of(graph, part, delays)
    segment = Segment.of(within_ns, space.step_ns, delays)
    return Optimum(space, segment, NO_LIMIT, interval, traffics(graph, 24))


def thinned(optimum: Optimum, seed: int) -> Optimum:
    """Leave a few ways to build each run, from wherever tensors come, and the program of these."""
    rng, space = np.random.default_rng(seed), optimum.space
    kept = []
    for run in range(len(space.runs)):
        mine = [move for move in optimum.moves.moves if move.run == run]
        ways = list(dict.fromkeys(move.way for move in mine))
        picked = {ways[k] for k in rng.choice(len(ways), size=min(KEPT, len(ways)), replace=False)}
        kept += [move for move in mine if move.way in picked]
    optimum.moves = replace(optimum.moves, moves=tuple(kept))
    return optimum


def agreeing(
    moves: Moves, runs: tuple[tuple[str, ...], ...], outputs: tuple[str, ...]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Give every way in which inputs may come with every choice of moves whose places agree."""
    handed = [[{(d.comes, d.gives) for d in slot} for slot in slots] for slots in moves.deliveries]

    def extended(places: dict[str, Place], chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        run = len(chosen)
        if run == len(runs):
            if all(any(places[name] == d[0] for d in slot) for name, slot in zip(outputs, handed[-1], strict=True)):
                yield chosen
            return
        for k, move in enumerate(moves.moves):
            if move.run == run and all(
                (places[source], take) in handed[run][slot]
                for slot, (source, take) in enumerate(zip(moves.sources[run], move.takes, strict=True))
            ):
                yield from extended({**places, runs[run][-1]: move.gives}, (*chosen, k))

    for arrival, arriving in enumerate(moves.arrivals):
        for chosen in extended({place.node: place for place in arriving}, ()):
            yield arrival, chosen


def all_built(optimum: Optimum) -> list[Built]:
    """Return every plan worked out; where one tensor is said to lead that does not come last, there is no such plan."""
    space, found = optimum.space, []
    for arrival, chosen in agreeing(optimum.moves, space.runs, space.graph.outputs):
        built = optimum.built(Answer(chosen, arrival, 0.0, 0.0, 0.0))
        timeline = timeline_of(space.graph, tuple(p.choice for p in built.planned), built.traffic)
        edges = {edge.name: edge for edge in timeline.edges}
        moves = [optimum.moves.moves[k] for k in chosen]
        as_said = [from_zero(edges[m.gives.node].schedule) == m.gives.schedule for m in moves]
        if all(as_said):
            found.append(built)
        else:
            assert any(move.leader is not None for move in moves)
    return found


@pytest.mark.parametrize("seed", range(48))
def test_the_least_area_and_the_fewest_cycles_are_those_of_all_plans(seed):
    check(seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_hundreds_of_random_networks(seed):
    check(seed)


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    optimum = thinned(search(small_network(seed), interval=int(rng.choice([12, 30, NO_LIMIT]))), seed)
    plans = [plan for plan in all_built(optimum) if plan.area < float("inf") and plan.interval <= optimum.interval]
    if not plans:
        assert optimum.best("cycles", NO_LIMIT).built is None
        return
    lengths = sorted({plan.cycles for plan in plans})
    fewest = optimum.best("cycles", NO_LIMIT)
    assert fewest.built is not None
    assert fewest.built.cycles == lengths[0]
    assert fewest.proof.gap == 0.0
    if not fifos(optimum, fewest.built):
        assert fewest.built.area == pytest.approx(min(p.area for p in plans if p.cycles == lengths[0]), rel=1e-9)
    for cycles in {lengths[0], lengths[len(lengths) // 2], lengths[-1]}:
        best = optimum.best("area", cycles)
        least = min(plan.area for plan in plans if plan.cycles <= cycles)
        assert best.built is not None
        assert best.proof.gap is not None
        assert best.proof.bound <= least * (1 + 1e-9)
        assert best.built.area * (1 - best.proof.gap) <= least * (1 + 1e-9)
        if best.proof.gap < 1e-8:
            assert best.built.area == pytest.approx(least, rel=1e-9)
            alike = [p.cycles for p in plans if p.area <= least * (1 + 1e-9) and p.cycles <= cycles]
            assert best.built.cycles == min(alike)
        else:  # what waits is bounded from below only: plans with a FIFO may seem better than they are
            assert any(fifos(optimum, plan) for plan in plans if plan.cycles <= cycles)
            assert best.proof.gap < 0.25
    assert optimum.best("area", lengths[0] - 1).built is None


def fifos(optimum: Optimum, built: Built) -> bool:
    """Tell whether some tensor waits in a FIFO."""
    flow = dataflow(optimum.space.graph, tuple(p.choice for p in built.planned), built.traffic)
    return any(isinstance(block.what, Fifo) for block in flow.blocks)
