"""How many registers a folded engine needs for a period."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from flow.device.delays import Delays
from flow.device.parts import Part
from flow.engines.cone import Cone
from flow.engines.folded import Folded
from flow.engines.lane import Lane, build_lane, lane_of
from flow.engines.network import Network, connect
from flow.engines.pipeline import PlacedCone, place, shortest_depths
from flow.errors import UserError
from flow.graph.graph import Graph

INDEX_LEVELS = 2  # of logic around a counter: is it at its end, does it advance
TABLE_BITS = {"xcup": 6, "xcu": 6, "xc7": 6}  # address bits of one LUT, 4 elsewhere
MUX_BITS = 2  # address bits that each further level of a LUT ROM decides on


@dataclass(frozen=True, slots=True)
class PlacedLane:
    """Hold a lane's cones with their registers, and its longest segment in ns, nominal."""

    sums: PlacedCone
    accumulate: PlacedCone | None
    finish: PlacedCone | None
    worst_ns: float


def fitted(graph: Graph, choice: Folded, part: Part, delays: Delays, within_ns: float) -> tuple[Folded, float]:
    """Return the choice with the fewest registers whose segments take at most `within_ns`, or else the shortest.

    Returns the longest segment in ns beside it, nominal, the register's own delay included. Raises UserError where
    the part's memories or multipliers have no known delay.
    """
    lane = lane_of(graph, choice)
    read, multiply = _stages_before(lane, choice, part, delays, within_ns)
    add = _fewest(lane, "sums", delays, within_ns)
    finish = _fewest(lane, "finish", delays, within_ns) if choice.accumulates else 0
    found = replace(choice, read=read, multiply=multiply, add=add, finish=finish)
    return found, longest_ns(graph, found, part, delays)


def longest_ns(graph: Graph, choice: Folded, part: Part, delays: Delays) -> float:
    """Return the longest segment of a choice in ns, nominal."""
    lane = lane_of(graph, choice)
    placed = placed_lane(lane, choice.add, choice.finish, delays)
    segments = _before(lane, choice, part, delays, (choice.read, choice.multiply))
    return max(placed.worst_ns, *segments)


def _stages_before(lane: Lane, choice: Folded, part: Part, delays: Delays, within_ns: float) -> tuple[int, int]:
    """Return the registers of the weight memory and behind the multipliers."""
    soft, paired = choice.multiplier == "lut", choice.multiplier == "dsp_pair"
    reads = (1,) if choice.store != "bram" else (2,) if soft else (1, 2)
    # a second register lets the first move into the block; that of a pair's correction comes on top
    most = 1 + paired + (delays.dsp_register_ns is not None)
    multiplies = (0,) if soft else tuple(range(1, most + 1))
    options = [(read, multiply) for multiply in multiplies for read in reads]
    worst = {option: max(_before(lane, choice, part, delays, option)) for option in options}
    return next((o for o in options if worst[o] <= within_ns + 1e-9), min(options, key=worst.__getitem__))


def _before(lane: Lane, choice: Folded, part: Part, delays: Delays, registers: tuple[int, int]) -> tuple[float, ...]:
    """Return the segments up to the products: counters, weight memory, multipliers; registers: `read`, `multiply`."""
    read, multiply = registers
    steps = max(choice.reuse_factor - 1, 1).bit_length()
    counter = INDEX_LEVELS * delays.level_ns + delays.carry_ns + steps * delays.carry_bit_ns
    fetch, word = delays.register_ns + delays.level_ns, delays.register_ns
    if choice.store == "bram":
        memory = _known(delays.bram_ns, "block RAM", part)
        fetch, word = (0.0, memory) if read == 1 else (memory, delays.register_ns)
    elif choice.store == "lutrom":
        beyond = max(0, steps - TABLE_BITS.get(part.family, 4))
        fetch = delays.register_ns + (1 - (-beyond // MUX_BITS)) * delays.level_ns
    product = behind = 0.0
    if choice.multiplier != "lut":
        beside = multiply - (choice.multiplier == "dsp_pair" and multiply > 1)
        product = _known(delays.dsp_ns if beside == 1 else delays.dsp_register_ns, "multiplier", part)
    if choice.multiplier == "dsp_pair":
        behind = delays.carry_ns + lane.product.width * delays.carry_bit_ns
        if multiply == 1:
            product += behind
    return delays.register_ns + counter, fetch, word + product, delays.register_ns + behind


def _known(figure: float | None, what: str, part: Part) -> float:
    if figure is None:
        raise UserError(
            f"part {part.name}: the delay of its {what} is not known, so nothing folded can be planned for it"
        )
    return figure


def placed_lane(lane: Lane, add: int, finish: int, delays: Delays) -> PlacedLane:
    """Place the registers of a lane: `add` in the cone of sums, `finish` behind the accumulators."""
    sums, worst = _placed(lane, "sums", add, delays)
    if not lane.accumulates:
        return PlacedLane(sums, None, None, worst)
    accumulate, loop = _placed(lane, "accumulate", 0, delays)
    last, behind = _placed(lane, "finish", finish, delays)
    # choosing between bias and sum costs a level before the accumulator's adder
    return PlacedLane(sums, accumulate, last, max(worst, loop + delays.level_ns, behind))


def _cone(lane: Lane, which: str) -> Cone:
    cone: Cone | None = getattr(build_lane(lane), which)
    assert cone is not None
    return cone


@cache
def _network(lane: Lane, which: str, *, leaves: bool) -> Network:
    cone = _cone(lane, which)
    return connect((cone,), (cone.name,) if leaves else ())


@cache
def _placed(lane: Lane, which: str, depth: int, delays: Delays) -> tuple[PlacedCone, float]:
    placement = place(_network(lane, which, leaves=depth > 0), (depth,), delays)
    return placement.cones[0], placement.worst_ns


@cache
def _fewest(lane: Lane, which: str, delays: Delays, within_ns: float) -> int:
    """Return the fewest registers of a cone, at least one, with which its segments keep within a period."""
    network = _network(lane, which, leaves=True)
    found = shortest_depths(network, delays, within_ns)
    if found is not None:
        return max(found[0], 1)
    depth, worst = 1, _placed(lane, which, 1, delays)[1]
    while True:
        deeper = _placed(lane, which, depth + 1, delays)[1]
        if deeper > worst - 1e-6:
            return depth
        depth, worst = depth + 1, deeper
