from __future__ import annotations

from itertools import product
from operator import add

import numpy as np
import pytest

from flow.engines.blocks import Blocks
from flow.engines.cone import Add, Cone, ConeBuilder, Port, Read, Select
from flow.engines.delay import cell_delay
from flow.engines.network import connect
from flow.engines.pipeline import (
    Placement,
    depths_of_total,
    edge_stages,
    fewest_registers_along,
    place,
    shortest_depths,
)
from flow.engines.registers import held_bits
from flow.engines.retiming import Stages
from flow.engines.wiring import Bits
from tests.cones import DELAYS, random_cone


def chain(seed: int, count: int, *, size: int = 25, blocks: bool = False) -> tuple[Cone, ...]:
    """Return cones of which each reads one or two before it, or the design's inputs."""
    rng = np.random.default_rng(seed)
    cones: list[Cone] = []
    for k in range(count):
        names = [c for c in cones if rng.random() < 0.7][-2:] or cones[-1:]
        ports = tuple(Port(c.name, len(c.outputs), *output_range(c)) for c in names) or None
        cones.append(random_cone(seed * 97 + k, name=f"c{k}", size=size, ports=ports, blocks=blocks)[0])
    return tuple(cones)


def output_range(cone: Cone) -> tuple[int, int]:
    ranges = [cone.ranges[v] for v in cone.outputs]
    return min(lo for lo, _ in ranges), max(hi for _, hi in ranges)


def need(needed: dict[tuple[int, int], int], view: Bits, made: tuple[int, ...], read: int) -> None:
    """Note the registers that bits wait in from the stages where cells make them to the one where they are read."""
    for bits in view.segments:
        for stage in range(made[bits.source] + 1, read + 1) if bits.source >= 0 else ():
            key = (bits.source, stage)
            needed[key] = needed.get(key, 0) | ((1 << bits.count) - 1) << bits.low


def segments(placement: Placement) -> float:
    """Recompute the longest segment, checking on the way that every value is there when it is read."""
    worst = 0.0
    edges: dict[str, list[tuple[int, float]]] = {}
    departures: dict[str, int] = {}
    for cone in placement.cones:
        held = {(h.cell, h.stage): h.mask for h in held_bits(cone)}
        needed: dict[tuple[int, int], int] = {}
        ready: list[float] = []
        for cell, live, stage in zip(cone.wiring.cells, cone.wiring.live, cone.stages, strict=True):
            start = 0.0
            if isinstance(cell.op, Read):
                edge = cone.wiring.cone.inputs[cell.op.port].edge
                assert stage == departures.get(edge, 0)
                if edge in edges:
                    at, time = edges[edge][cell.op.element]
                    start = time if at == stage else 0.0
            for view in cell.args if live else ():
                need(needed, view, cone.stages, stage - cell.clocked)
                for source in view.sources:
                    assert cone.stages[source] <= stage - cell.clocked
                    if cone.stages[source] == stage:
                        start = max(start, ready[source])
            ready.append(start + cell_delay(cell, DELAYS))
            if live:
                worst = max(worst, ready[-1])
        departures[cone.name] = cone.departure
        edges[cone.name] = []
        for view in cone.wiring.outputs:
            need(needed, view, cone.stages, cone.departure)
            times = [(cone.stages[source], ready[source]) for source in view.sources]
            assert all(at <= cone.departure for at, _ in times)
            here = [time for at, time in times if at == cone.departure]
            edges[cone.name].append((cone.departure, max(here, default=0.0)))
        assert held == needed
    last = placement.cones[-1]
    assert all(time == 0.0 for _, time in edges[last.name]), "the design must be left from registers"
    return worst


def least_depths(cones: tuple[Cone, ...]) -> tuple[int, ...]:
    """Return the registers that block RAM brings along, per cone."""
    return tuple(fewest_registers_along(connect((cone,), (cone.name,)), DELAYS) - 1 for cone in cones)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_segments_stages_and_registers(seed: int, *, blocks: bool) -> None:
    rng = np.random.default_rng(seed)
    cones = chain(seed, int(rng.integers(1, 5)), blocks=blocks)
    drawn = (*(int(d) for d in rng.integers(0, 4, len(cones) - 1)), int(rng.integers(1, 5)))
    depths = tuple(map(add, drawn, least_depths(cones)))
    network = connect(cones, (cones[-1].name,))
    placement = place(network, depths, DELAYS)
    assert placement.worst_ns == pytest.approx(segments(placement) + DELAYS.register_ns)
    for cone, depth in zip(placement.cones, depths, strict=True):
        assert cone.departure == depth + max(placement.stage(port.edge) for port in cone.wiring.cone.inputs)
    assert placement.stage("an input of the design") == 0
    for within_ns in (placement.worst_ns, 1.3 * placement.worst_ns):
        found = shortest_depths(network, DELAYS, within_ns)
        assert found is not None
        assert place(network, found, DELAYS).worst_ns <= within_ns + 2e-3
    roomy = place(network, depths, DELAYS, within_ns=1.3 * placement.worst_ns)
    assert roomy.worst_ns == pytest.approx(segments(roomy) + DELAYS.register_ns)


def test_a_block_reads_a_tensor_when_all_of_it_is_there() -> None:
    first = ConeBuilder("first", (Port("x", 4, 0, 15),))
    elements = [first.read(0, k) for k in range(4)]
    late = first.add(first.add(first.add(elements[0], elements[1]), elements[2]), elements[3])
    cones = [first.finish((elements[0], late))]
    second = ConeBuilder("second", (Port("first", 2, 0, 260),), Blocks(tables=True))
    table = tuple(k * k for k in range(261))
    found = second.lookup(second.read(0, 0), table)
    cones.append(second.finish((second.add(found, second.read(0, 1)),)))
    network = connect(tuple(cones), ("second",))
    within_ns = DELAYS.register_ns + 2.5  # one adder, or the block and nothing else
    depths = shortest_depths(network, DELAYS, within_ns)
    assert depths == (2, 3)
    assert fewest_registers_along(network, DELAYS) == 2
    for tried, fits in ((depths, True), ((2, 2), False)):
        placement = place(network, tried, DELAYS)
        assert segments(placement) + DELAYS.register_ns == pytest.approx(placement.worst_ns)
        assert (placement.worst_ns <= within_ns) is fits


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_no_placement_has_a_shorter_longest_segment(seed: int, *, blocks: bool) -> None:
    rng = np.random.default_rng(seed)
    cones = chain(seed, 2, size=9, blocks=blocks)
    drawn = (int(rng.integers(0, 2)), int(rng.integers(1, 3)))
    depths = tuple(map(add, drawn, least_depths(cones)))
    network = connect(cones, (cones[-1].name,))
    delay = tuple(cell_delay(network.cones[c].cells[k], DELAYS) for c, k in network.owner)
    edges = edge_stages(network, depths)
    floors = tuple(
        max((edges[p] for p in producers), default=0) + lag
        for producers, lag in zip(network.producers, network.lags, strict=True)
    )
    latest = (edges[0], edges[1] - 1)
    best = float("inf")
    logic = [n for n, d in enumerate(delay) if d]
    if (edges[1] + 1) ** len(logic) > 20000:
        pytest.skip("too many placements to try them all")
    for choice in product(range(edges[1] + 1), repeat=len(logic)):
        stage = list(floors)
        for node, at in zip(logic, choice, strict=True):
            stage[node] = at
        legal = all(s >= f for s, f in zip(stage, floors, strict=True))
        legal &= all(stage[r] + network.lags[n] <= stage[n] for n in range(len(stage)) for r in network.reads[n])
        legal &= all(stage[n] <= latest[k] for k in range(2) for n in network.elements[k])
        if legal:
            ends = Stages(network, edges, latest, floors, tuple(stage)).arrivals(delay)
            best = min(best, max(ends, default=0.0))
    assert place(network, depths, DELAYS).worst_ns == pytest.approx(best + DELAYS.register_ns, abs=2e-3)


def adder_tree(leaves: int, width: int) -> Cone:
    """Return a balanced sum of unsigned elements."""
    top = (1 << width) - 1
    ops: list[Add | Read] = [Read(0, k) for k in range(leaves)]
    ranges = [(0, top)] * leaves
    row = list(range(leaves))
    while len(row) > 1:
        pairs = list(zip(row[::2], row[1::2], strict=True))
        row = []
        for a, b in pairs:
            ops.append(Add(a, b))
            ranges.append((0, ranges[a][1] + ranges[b][1]))
            row.append(len(ops) - 1)
    return Cone("sum", (Port("x", leaves, 0, top),), tuple(ops), tuple(ranges), (row[0],))


def test_registers_stand_where_the_tree_is_narrow() -> None:
    network = connect((adder_tree(16, 4),), ("sum",))
    for total, at_most in ((1, 8), (2, 8 + 4 * 6), (3, 8 + 2 * 7 + 8 * 5)):
        placement = place(network, (total,), DELAYS)
        flip_flops = sum(h.mask.bit_count() for h in held_bits(placement.cones[0]))
        assert flip_flops <= at_most, total


def test_room_in_the_period_saves_flip_flops() -> None:
    count = [0, 0]  # over all: the search ends in local optima, so that one cone may lose
    for seed in range(900, 930):
        cones = chain(seed, 2, size=60)
        network = connect(cones, (cones[-1].name,))
        tight = place(network, (1, 2), DELAYS)
        roomy = place(network, (1, 2), DELAYS, within_ns=1.3 * tight.worst_ns)
        assert roomy.worst_ns == pytest.approx(segments(roomy) + DELAYS.register_ns)
        assert roomy.worst_ns <= 1.3 * tight.worst_ns + 1e-6
        for k, placement in enumerate((tight, roomy)):
            count[k] += sum(h.mask.bit_count() for c in placement.cones for h in held_bits(c))
    assert count[1] < 0.9 * count[0]


def test_spare_registers_do_not_widen_the_cut() -> None:
    network = connect((adder_tree(4, 4),), ("sum",))
    placement = place(network, (9,), DELAYS)
    flip_flops = sum(h.mask.bit_count() for h in held_bits(placement.cones[0]))
    assert flip_flops == 2 * 5 + 8 * 6  # one cut between the two levels is needed, the rest delay the sum
    assert placement.worst_ns == pytest.approx(DELAYS.register_ns + DELAYS.carry_ns + 5 * DELAYS.carry_bit_ns, abs=0.1)


@pytest.mark.parametrize("seed", range(8))
def test_total_and_period_agree_with_placement(seed: int) -> None:
    cones = chain(seed + 500, 3, size=30)
    network = connect(cones, (cones[-1].name,))
    before = float("inf")
    for total in (1, 2, 3, 5):
        depths, worst = depths_of_total(network, DELAYS, total)
        assert edge_stages(network, depths)[-1] == total
        assert place(network, depths, DELAYS).worst_ns == pytest.approx(worst, abs=2e-3)
        assert worst <= before + 2e-3
        before = worst
        found = shortest_depths(network, DELAYS, worst)
        assert found is not None
        assert edge_stages(network, found)[-1] <= total
        assert place(network, found, DELAYS).worst_ns <= worst + 2e-3
    if any(reads for reads in network.reads):
        assert shortest_depths(network, DELAYS, DELAYS.register_ns + 0.1) is None


def test_depths_without_room_for_the_last_register() -> None:
    network = connect((adder_tree(4, 4),), ("sum",))
    with pytest.raises(ValueError, match="leave no register"):
        place(network, (0,), DELAYS)
    with pytest.raises(ValueError, match="too few"):
        depths_of_total(network, DELAYS, 0)


def test_an_edge_that_leaves_and_is_read_on_needs_no_register_of_its_own() -> None:
    first = adder_tree(4, 4)
    second = Cone("rectified", (Port("sum", 1, 0, 60),), (Read(0, 0), Select(0, 0, 0)), ((0, 60), (0, 60)), (1,))
    network = connect((first, second), ("sum", "rectified"))
    placement = place(network, (0, 1), DELAYS)
    assert (placement.stage("sum"), placement.stage("rectified")) == (0, 1)


def test_an_edge_that_another_engine_reads_ends_in_a_register_though_it_is_read_on() -> None:
    first = adder_tree(4, 4)
    second = Cone("rectified", (Port("sum", 1, 0, 60),), (Read(0, 0), Select(0, 0, 0)), ((0, 60), (0, 60)), (1,))
    free = connect((first, second), ("sum", "rectified"))
    ending = connect((first, second), ("sum", "rectified"), held=False)
    loose, strict = place(free, (1, 1), DELAYS), place(ending, (1, 1), DELAYS)

    def last_addition(placement: Placement) -> int:
        cone = placement.cones[0]
        cells = [cell.value for cell in cone.wiring.cells]
        return cone.stages[cells.index(first.outputs[0])]

    assert last_addition(loose) == loose.stage("sum") == 1  # it stands behind the register
    assert (last_addition(strict), strict.stage("sum")) == (0, 1)
    assert strict.worst_ns > loose.worst_ns + 0.1
    with pytest.raises(ValueError, match="leave no register"):
        place(ending, (0, 1), DELAYS)
    for total in (1, 2, 3, 5):
        assert max(edge_stages(ending, depths_of_total(ending, DELAYS, total)[0])) == total
    # the second cone only passes bits on: the sum's register ends it too
    assert shortest_depths(ending, DELAYS, strict.worst_ns) == (1, 0)
    assert shortest_depths(ending, DELAYS, loose.worst_ns) == (2, 0)
    assert shortest_depths(free, DELAYS, loose.worst_ns) == (1, 1)
