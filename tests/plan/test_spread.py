"""Plans over several dies: the program beside every plan on every choice of dies, worked out exactly."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil

import numpy as np
import pytest

from flow.device.boards import Shell
from flow.device.delays import delays_of
from flow.device.parts import Part, find_part
from flow.engines.dataflow import dataflow
from flow.engines.engine import Unrolled
from flow.graph.graph import Graph
from flow.plan.dies import area_with, lacking_on_dies
from flow.plan.footprint import KINDS, NO_LIMIT, area_weights, usable
from flow.plan.optimum import Best, Built, Optimum
from flow.plan.options import Segment, space_of
from flow.plan.program import Aim, Answer, Limits
from flow.plan.traffic import traffics
from tests.plan.graphs import dense_network
from tests.plan.small_networks import small_network
from tests.plan.test_optimum import PART, agreeing, search, thinned

BESIDE = 100
"""LUTs of a die beyond those of engines: of what waits or crosses the program knows only that it is there."""


def narrow(dies: int, built: Built, share: float) -> Part:
    """Return a part of which each die may hold so much of the logic that a plan takes, and what waits beside it."""
    each = [p.resources.lut for p in built.planned]
    lut = dies * ceil((max(share * sum(each), 1.1 * max(each)) + BESIDE) / 0.7)
    return replace(PART, slr=dies, lut=lut, ff=8 * lut)


def everywhere(optimum: Optimum) -> list[Built]:
    """Return every plan that has room, on all choices of dies."""
    space, part, found = optimum.space, optimum.space.part, []
    for arrival, chosen in agreeing(optimum.moves, space.runs, space.graph.outputs):
        for dies in product(range(part.dies), repeat=len(space.runs)):
            built = optimum.built(Answer(chosen, arrival, 0.0, 0.0, 0.0, dies))
            if built.area < float("inf") and built.interval <= optimum.interval:
                found.append(built)
    return found


def check(seed: int) -> bool:
    """Compare, and tell whether runs were spread."""
    rng = np.random.default_rng(seed)
    graph, dies = small_network(seed), int(rng.choice([2, 3]))
    wide = thinned(search(graph), seed)
    least = wide.best("area", NO_LIMIT)
    if least.built is None:
        return False
    optimum = thinned(search(graph, part=narrow(dies, least.built, float(rng.choice([0.35, 0.5, 0.7])))), seed)
    plans = everywhere(optimum)
    fewest, smallest = optimum.best("cycles", NO_LIMIT), optimum.best("area", NO_LIMIT)
    if not plans:
        assert fewest.built is None
        assert smallest.built is None
        return False
    cycles = min(plan.cycles for plan in plans)
    assert fewest.built is not None
    assert fewest.proof.bound <= cycles
    assert fewest.proof.gap is not None
    assert fewest.built.cycles * (1 - fewest.proof.gap) <= cycles
    area = min(plan.area for plan in plans)
    assert smallest.built is not None
    assert smallest.proof.bound <= area * (1 + 1e-9)
    assert smallest.proof.gap is not None
    assert smallest.proof.gap < 0.25
    assert smallest.built.area * (1 - smallest.proof.gap) <= area * (1 + 1e-9)
    for best in (fewest.built, smallest.built):
        flow = dataflow(graph, tuple(p.choice for p in best.planned), best.traffic)
        part = optimum.space.part
        assert not lacking_on_dies(graph, best.planned, flow, best.traffic, part)
        assert best.area == area_with(graph, best.planned, flow, best.traffic, part)
        assert best.cycles == flow.timeline.latency
    return not smallest.built.traffic.on_one_die


@pytest.mark.parametrize("seed", [5, 20, 42, 44, 45, 47, 49, 54, 57, 62, 63, 67])
def test_plans_over_dies_are_the_best_of_all(seed):
    assert check(seed)  # each of these is spread


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_a_hundred_networks_over_dies(seed):
    check(seed)


def test_what_one_die_holds_is_not_spread():
    optimum = search(small_network(5), part=replace(PART, slr=3))
    for aim in ("area", "cycles"):
        built = optimum.best(aim, NO_LIMIT).built
        assert built is not None
        assert built.traffic.dies == ()


def test_the_first_die_with_room_is_taken():
    part = find_part("u200")  # the shell leaves the middle die half of what the others keep
    first, middle, last = part.on_dies("lut")
    assert middle < first == last
    assert part.shell is not None
    swapped = replace(
        part, shell=replace(part.shell, dies=(part.shell.dies[1], part.shell.dies[0], part.shell.dies[2]))
    )
    graph = dense_network(64, 192, 64, bits=6)
    delays = delays_of(swapped)
    space = space_of(graph, swapped, delays)
    built = Optimum(space, Segment.of(4.0, space.step_ns, delays), NO_LIMIT, NO_LIMIT, traffics(graph, None)).best(
        "cycles", NO_LIMIT
    )
    assert built.built is not None
    taken = sum(p.resources.lut for p in built.built.planned)
    assert swapped.on_dies("lut")[0] < taken <= swapped.on_dies("lut")[1]
    assert built.built.traffic.dies == (1,) * len(built.built.planned)


def star(between: int = 8) -> Graph:
    """Return a layer that two equal ones read; between: what it hands them."""
    chain = dense_network(5, between, 8, bits=5)
    last, rectified = chain.nodes[-2:]
    beside = (replace(last, name="beside"), replace(rectified, name="beside_r", inputs=("beside",)))
    return replace(chain, nodes=(*chain.nodes, *beside), outputs=(rectified.name, "beside_r"))


def _sums(dies: tuple[tuple[int, int, int, int, int], ...]) -> tuple[int, int, int, int, int]:
    lut, ff, dsp, bram, uram = (sum(counts) for counts in zip(*dies, strict=True))
    return lut, ff, dsp, bram, uram


def with_rooms(*luts: int, ffs: tuple[int, ...] = ()) -> Part:
    """Return a part of which a plan may use so many LUTs of each die, and so many flip-flops."""
    of = PART.usable
    dies = tuple(
        (ceil(lut / of.lut), ceil(ff / of.ff), 0, 0, 0)
        for lut, ff in zip(luts, ffs or [50_000] * len(luts), strict=True)
    )
    part = replace(PART, slr=len(luts), shell=Shell(*_sums(dies), source="none", grade="S", dies=dies))
    assert part.on_dies("lut") == luts
    return part


def of_cones(part: Part, between: int = 8) -> Optimum:
    """Return a search of the star, as `cones_of` has it."""
    return cones_of(star(between), part)


def cones_of(graph: Graph, part: Part) -> Optimum:
    """Return a search in which each run is a cone in LUTs, and nothing else."""
    optimum = search(graph, part=part)
    cones = [m for m in optimum.moves.moves if all(isinstance(p.choice, Unrolled) for p in m.way.planned)]
    optimum.moves = replace(optimum.moves, moves=tuple(cones))
    return optimum


def alone(optimum: Optimum, aim: Aim = "cycles") -> Answer:
    """Return the first answer of the program, which nothing has been worked out of."""
    part = optimum.space.part
    limits = Limits(NO_LIMIT, float("inf"), usable(part), tuple(area_weights(part, ()).tolist()))
    return optimum.apart.solve(aim, limits)


@pytest.fixture(scope="module")
def needed() -> tuple[int, int, int]:
    """Return the LUTs that the first layer of the star takes, those of a reader, and the cycles on one large die."""
    best = of_cones(PART).best("cycles", NO_LIMIT).built
    assert best is not None
    first, reader, beside = (p.resources.lut for p in best.planned)
    assert first < reader == beside
    return first, reader, best.cycles


def test_what_two_read_lies_between_them(needed):
    _, reader, cycles = needed
    optimum = of_cones(with_rooms(reader, reader, reader))
    assert alone(optimum).objective == cycles + 2
    best = optimum.best("cycles", NO_LIMIT)
    assert best.built is not None
    assert best.built.traffic.dies in {(1, 0, 2), (1, 2, 0)}
    assert best.built.cycles == cycles + 2
    assert best.proof.gap == 0.0


def test_a_die_that_lacks_one_lut_is_known_to_by_the_program(needed):
    _, reader, _ = needed
    best = of_cones(with_rooms(reader, reader - 1, reader)).best("cycles", NO_LIMIT)
    assert best.built is not None
    assert best.built.traffic.dies[0] == 1
    optimum = of_cones(with_rooms(reader - 1, reader - 1, reader))
    assert alone(optimum).moves == ()
    best = optimum.best("cycles", NO_LIMIT)
    assert best.built is None
    assert best.proof.bound == float("inf")


@pytest.mark.parametrize("die", [0, 2])
def test_the_first_die_or_the_last_may_be_the_one_to_begin_on(needed, die):
    first, reader, cycles = needed
    rooms = [reader] * 3
    rooms[die] = first
    optimum = of_cones(with_rooms(*rooms))
    assert alone(optimum).objective == cycles + 4
    best = optimum.best("cycles", NO_LIMIT)
    assert best.built is not None
    assert best.built.traffic.dies[0] == die
    assert best.built.cycles == cycles + 4
    assert best.proof.gap == 0.0


def test_what_two_read_beyond_a_border_crosses_it_once():
    wide = of_cones(PART, between=1).best("area", NO_LIMIT).built
    assert wide is not None
    first, reader, _ = (p.resources.lut for p in wide.planned)
    optimum = of_cones(with_rooms(first, 2 * reader), between=1)
    best = optimum.best("area", NO_LIMIT).built
    assert best is not None
    assert best.traffic.dies == (0, 1, 1)
    assert alone(optimum, "area").objective <= best.area * (1 + 1e-9)


def test_an_input_lies_with_its_first_reader():
    """So the longer of two ways from it need not cross."""
    chain = dense_network(5, 8, 8, bits=5)
    dense, rectified = chain.nodes[1:3]
    beside = (replace(dense, name="beside"), replace(rectified, name="beside_r", inputs=("beside",)))
    graph = replace(chain, nodes=(*chain.nodes, *beside), outputs=(chain.outputs[0], "beside_r"))
    best = cones_of(graph, PART).best("cycles", NO_LIMIT).built
    assert best is not None
    first, second, _ = (p.resources.lut for p in best.planned)
    optimum = cones_of(graph, with_rooms(first + second, first))
    assert alone(optimum).objective == best.cycles
    found = optimum.best("cycles", NO_LIMIT).built
    assert found is not None
    assert (found.traffic.dies, found.cycles) == ((0, 0, 1), best.cycles)


def test_what_is_kept_free_of_a_die_is_counted_in_halves_of_a_block():
    program = search(dense_network(16, 16), part=replace(PART, slr=2)).apart
    assert program.spread is not None
    assert {kind for _, kind in program.spread.rooms} == set(range(len(KINDS)))
    before, after = program.rows.upper, list(program.rows.upper)
    program.spread.reserved(after, ((1, 2, 3, 4), (5, 6, 7, 8)))
    less = {key: before[row] - after[row] for key, row in program.spread.rooms.items()}
    assert [less[0, kind] for kind in range(4)] == [1, 2, 6, 8]
    assert [less[1, kind] for kind in range(4)] == [5, 6, 14, 16]


def two_borders(*sizes: int) -> tuple[Built, Best]:
    """Return three cones on one large die, and on two that have just the room for a border behind the second.

    The program prefers the border behind the first, as its numbers are narrow: it counts one of them, and all cross.
    """
    chain = dense_network(*sizes, bits=5)
    narrow = replace(chain.node("r0").type, width=3, integer=1)
    graph = replace(chain, nodes=tuple(replace(n, type=narrow) if n.name == "r0" else n for n in chain.nodes))
    best = search(graph, part=PART.limited({"dsp": 0, "bram": 0})).best("cycles", NO_LIMIT).built
    assert best is not None
    (lut0, ff0), (lut1, ff1), (lut2, ff2) = ((p.resources.lut, p.resources.ff) for p in best.planned)
    wide, thin = sizes[1] * 3 + 1, sizes[2] * 5 + 1
    assert lut0 > lut1 + lut2
    part = with_rooms(lut0 + lut1, lut1 + lut2, ffs=(ff0 + ff1 + thin, ff1 + ff2 + wide - 1))
    optimum = search(graph, part=part)
    chosen = [one.choice for one in best.planned]
    kept = [m for m in optimum.moves.moves if all(p.choice in chosen for p in m.way.planned)]
    optimum.moves = replace(optimum.moves, moves=tuple(kept))
    return best, optimum.best("cycles", NO_LIMIT)


def test_where_what_was_kept_free_is_too_much_another_plan_is_found():
    best, found = two_borders(12, 20, 4, 24)
    assert found.built is not None
    assert found.built.traffic.dies == (0, 0, 1)
    assert found.built.cycles == best.cycles + 2
    assert found.proof.gap == 0.0


def test_a_plan_that_leaves_what_was_kept_free_is_not_the_last_asked_for():
    best, found = two_borders(10, 16, 4, 4)  # here the second run alone has room on the second die, with two borders
    assert found.built is not None
    assert found.built.traffic.dies == (0, 0, 1)
    assert found.built.cycles == best.cycles + 2 == found.proof.bound
