"""Places: how a node's tensor can come; and what turns one into another between engines.

All schedules are counted from their own first beat. The engines' functions are max-plus, so that a schedule which comes
later as a whole leads to the same beats, as much later: a place says all that an engine needs to know of the past.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from flow.device.parts import Part
from flow.engines.converter import Converter, converter
from flow.engines.dataflow import timing
from flow.engines.engine import Resources
from flow.engines.folded_cost import converter_resources
from flow.engines.wants import Wants
from flow.graph.graph import Graph
from flow.hashed import Hashed
from flow.latency.schedule import Schedule, evenly

ONCE = evenly(0, 1, 1)


@dataclass(frozen=True, slots=True)
class Place(Hashed):
    """Say how a node's tensor comes: elements of a beat, and its beats from the first on.

    offset: parts of a segment (`moves.OFFSETS` make one) that unrolled logic has used up since the last register.
    asked: for a reader's place, the cycles between beats that it asks for: two readers whose beats come alike still
    differ in what would be converted for them.
    """

    node: str
    lanes: int
    schedule: Schedule
    offset: int = 0
    asked: int = 0

    __hash__ = Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Delivery:
    """Hand a tensor from one place to the reader that wants it in another.

    what: None where it comes as it is wanted. cycles: from the last beat that comes to the last that leaves. busy:
    cycles before what delivers can begin anew.
    """

    comes: Place
    gives: Place
    what: Converter | None
    cycles: int
    resources: Resources
    busy: int


def from_zero(schedule: Schedule) -> Schedule:
    """Return a schedule counted from its first beat."""
    return schedule if schedule.first == 0 else schedule.delayed(-schedule.first)


class Deliveries:
    """Find what must stand between a place and a reader, as `dataflow` puts it there; each is worked out once."""

    def __init__(self, graph: Graph, part: Part) -> None:
        self.graph, self.part = graph, part
        self.known: dict[Place, dict[Wants, Delivery | None]] = {}

    def of(self, comes: Place, wants: Wants) -> Delivery | None:
        """Return the delivery to a reader; None where beats come too fast to be converted."""
        known = self.known.get(comes)
        if known is None:
            known = self.known[comes] = {}
        if wants not in known:
            known[wants] = self._of(comes, wants)
        return known[wants]

    def _of(self, comes: Place, wants: Wants) -> Delivery | None:
        size, arrival = self.graph.node(comes.node).size, comes.schedule
        lanes = size if wants.lanes is None else min(wants.lanes, size)
        if comes.lanes == lanes and (arrival.spacing is None or arrival.spacing >= wants.spacing):
            return Delivery(comes, replace(comes, asked=wants.spacing), None, 0, Resources(), 1)
        try:
            what = converter(comes.node, size, (comes.lanes, lanes), 1 if lanes == size else wants.spacing, arrival)
            schedule, interval = timing(what)
            leaves, busy = schedule((arrival,)), interval((arrival,))
        except ValueError:
            return None
        gives = Place(comes.node, lanes, from_zero(leaves), comes.offset, wants.spacing)
        cost = converter_resources(self.graph, what, self.part)
        return Delivery(comes, gives, what, leaves.last - arrival.last, cost, busy)


@lru_cache(maxsize=4)
def deliveries_of(graph: Graph, part: Part) -> Deliveries:
    """Return the deliveries of a graph, as they were worked out so far."""
    return Deliveries(graph, part)
