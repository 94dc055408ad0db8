"""The search beside an exhaustive one, on spaces small enough for it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.engine import Unrolled
from flow.engines.folded_choices import choices
from flow.plan import options
from flow.plan.frontier import KINDS, NO_LIMIT, Points, Room, area_of, best, counted
from flow.plan.mixed import planned_converters, resources_of, worked_out
from flow.plan.options import Options, Segment, space_of
from flow.plan.search import Found, Search
from tests.plan.graphs import dense_network

PART = find_part("xc7a100t")
WITHIN_NS = 6.0
GAP = 1.08
"""What the search may miss: it counts the way of logic since a register in eighths of a segment, and gives serial beats
to input-serial engines of the same width only. Of these networks all but three come out exactly."""


def thinned(monkeypatch, rng: np.random.Generator, count: int) -> None:
    """Leave the planner `count` choices of each run, drawn at random."""
    whole = choices

    def some(*args, **kwargs):
        found = whole(*args, **kwargs)
        picked = rng.choice(len(found), size=min(count, len(found)), replace=False)
        return tuple(found[k] for k in sorted(picked.tolist()))

    monkeypatch.setattr(options, "choices", some)


def exhaustive(space, segment: Segment, cycles: int, interval: int) -> float:
    """Return the least area of all combinations within some cycles."""
    cache = Options(space, segment.within_ns)
    ways = []
    for run in space.runs:
        chosen = options._choices(space.graph, space.head(run), space.part, None)
        ways.append([(run, None), *((run, cache._pipelined(choice)) for choice in chosen)])
    least = float("inf")
    for parts in product(*ways):
        found = Found(0, 0.0, (), parts)
        planned, depths, flow = worked_out(space, found, segment)
        if depths.cycles <= cycles and flow.timeline.interval <= interval:
            least = min(least, area_of(resources_of(space, planned, flow.blocks), PART))
    return least


@pytest.mark.parametrize("seed", range(24))
def test_the_least_area_is_that_of_an_exhaustive_search(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    thinned(monkeypatch, rng, 10)
    sizes = rng.integers(3, 13, size=3).tolist()
    graph = dense_network(*sizes, bits=int(rng.integers(3, 7)), seed=seed)
    delays = delays_of(PART)
    space = space_of(graph, PART, delays)
    segment = Segment.of(WITHIN_NS, space.step_ns, delays)
    cycles, interval = int(rng.integers(8, 120)), int(rng.choice([4, 20, NO_LIMIT]))
    found = Search(space, segment, Options(space, WITHIN_NS), Room.on(PART, cycles, interval)).found()
    expected = exhaustive(space, segment, cycles, interval)
    if expected == float("inf"):
        assert found == ()
        return
    areas = []
    for one in found:
        planned, depths, flow = worked_out(space, one, segment)
        assert depths.cycles <= one.cycles <= cycles  # exact cycles are never more than searched
        assert flow.timeline.interval <= interval
        areas.append(area_of(resources_of(space, planned, flow.blocks), PART))
    assert expected - 1e-12 <= min(areas) <= expected * GAP


def test_only_what_no_other_beats_is_kept():
    room = Room(100, 100, np.full(len(KINDS), 1000), np.ones((1, len(KINDS))))
    cycles = np.array([5, 5, 7, 9, 101, 3])
    counts = np.zeros((6, len(KINDS)), np.int64)
    counts[:, 0] = [10, 9, 9, 4, 1, 2000]
    origin = np.stack([np.arange(6), np.zeros(6, np.int64)], axis=1)
    kept = best([Points(cycles, counts, origin)], room)
    assert kept.origin[:, 0].tolist() == [1, 3]


def test_a_dear_resource_keeps_plans_that_spare_it():
    room = Room.on(PART, 100, 100, scarce=("dsp",))
    counts = np.zeros((2, len(KINDS)), np.int64)
    counts[0, KINDS.index("dsp")] = 10
    counts[1, KINDS.index("lut")] = 8000
    points = Points(np.array([5, 5]), counts, np.array([(0, 0), (1, 0)]))
    assert best([points], room).size == 2
    assert best([points], room.unbounded()).origin[:, 0].tolist() == [0]


def test_searched_resources_are_those_of_the_plan():
    graph = dense_network(24, 20, 12)
    delays = delays_of(PART)
    space = space_of(graph, PART, delays)
    segment = Segment.of(WITHIN_NS, space.step_ns, delays)
    found = Search(space, segment, Options(space, WITHIN_NS), Room.on(PART, NO_LIMIT, NO_LIMIT)).found()
    assert len(found) > 10
    for one in found:
        planned, depths, flow = worked_out(space, one, segment)
        assert depths.cycles == flow.timeline.latency
        if not any(isinstance(p.choice, Unrolled) for p in planned):
            assert one.cycles == depths.cycles
            # the search takes each half block for a whole one; the plan lets two pieces share one
            pieces = [p.resources for p in planned]
            pieces += [c.resources for c in planned_converters(graph, flow.blocks, PART)]
            assert one.counts == tuple(np.sum([counted(piece) for piece in pieces], axis=0))
            assert all(np.array(one.counts) >= counted(resources_of(space, planned, flow.blocks)))
