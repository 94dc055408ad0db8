"""Where the registers of unrolled hardware stand: stages by a delay model.

Time runs on across the edges between cones: nothing forces a register at a border. What arrives at the design's
inputs comes from registers outside, what leaves it comes from registers inside. An edge has one stage, the cycle of
its beat, at which all its elements stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from flow.device.delays import Delays
from flow.engines.delay import cell_delay
from flow.engines.network import Network
from flow.engines.retiming import Stages, fewest_registers
from flow.engines.wiring import Wiring

RESOLUTION_NS = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class PlacedCone:
    """Give the stages of one cone's cells, counted from the design's inputs.

    arrivals: the stage of each input tensor. departure: the stage of the output tensor. stages: per cell of
    `wiring`; bits are registered from there to wherever they are read.
    """

    wiring: Wiring
    arrivals: tuple[int, ...]
    departure: int
    stages: tuple[int, ...]

    @property
    def name(self) -> str:
        """Return the cone's name, which is its output edge."""
        return self.wiring.cone.name

    @property
    def arrival(self) -> int:
        """Return the stage of the input tensor that arrives last."""
        return max(self.arrivals)


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Hold all cones with their stages.

    worst_ns: the longest segment between two registers, their own delay included. limiter: the cone and the
    operation at which it ends.
    """

    cones: tuple[PlacedCone, ...]
    worst_ns: float
    limiter: tuple[str, int] | None

    def stage(self, edge: str) -> int:
        """Return the stage of an edge; inputs of the design have 0."""
        return next((cone.departure for cone in self.cones if cone.name == edge), 0)


def place(network: Network, depths: tuple[int, ...], delays: Delays, *, within_ns: float = 0.0) -> Placement:
    """Place the registers so that the longest segment is shortest, then with few flip-flops.

    depths: registers of each cone between its latest input tensor and its output tensor. The last register of what
    leaves the design counts as one of them: raises ValueError where depths leave no room for it. within_ns: segments
    that are no longer than this are short enough; the room that it leaves saves flip-flops (often half of them for
    a tenth more time).
    """
    edges = edge_stages(network, depths)
    delay = _delays(network, delays)
    usable = max(_shortest(network, delay, edges), within_ns - delays.register_ns)
    stages = fewest_registers(delay, _plan(network, edges), usable)
    ends = stages.arrivals(delay)
    worst = max(range(len(ends)), key=ends.__getitem__, default=None)
    placed = []
    for k, wiring in enumerate(network.cones):
        arrivals = tuple(0 if source is None else edges[source] for source in network.sources[k])
        nodes = network.nodes[k]
        own = tuple(
            stages.stage[nodes[cell]] if cell in nodes else arrivals[port] if port is not None else max(arrivals)
            for cell, port in enumerate(wiring.ports)
        )
        placed.append(PlacedCone(wiring, arrivals, edges[k], own))
    limiter = None
    if worst is not None and ends[worst]:
        cone, cell = network.owner[worst]
        limiter = (network.cones[cone].cone.name, network.cones[cone].cells[cell].value)
    return Placement(tuple(placed), delays.register_ns + max(ends, default=0.0), limiter)


def edge_stages(network: Network, depths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the stage of every cone's output edge: the sum of depths along the longest way to it."""
    stages: list[int] = []
    for depth, sources in zip(depths, network.sources, strict=True):
        stages.append(depth + max((0 if source is None else stages[source] for source in sources), default=0))
    return tuple(stages)


def _plan(network: Network, edges: tuple[int, ...]) -> Stages:
    """Return bounds for stages: every edge at its stage, everything else open."""
    last = max((edges[k] for k in network.leaving), default=0)
    ending = {k for k in network.leaving if edges[k] == last or not network.held}
    latest = tuple(edge - (k in ending) for k, edge in enumerate(edges))
    floors = tuple(
        max((edges[p] for p in producers), default=0) + lag
        for producers, lag in zip(network.producers, network.lags, strict=True)
    )
    return Stages(network, edges, latest, floors)


def _delays(network: Network, delays: Delays) -> tuple[float, ...]:
    return tuple(cell_delay(network.cones[cone].cells[cell], delays) for cone, cell in network.owner)


def _shortest(network: Network, delay: tuple[float, ...], edges: tuple[int, ...]) -> float:
    """Return the shortest time for logic in a stage with which edges keep their stages, in ns."""
    bounds = _plan(network, edges)
    stages = bounds.earliest(delay, float("inf"))
    if stages is None:
        raise ValueError("the depths leave no register for what leaves the design")
    high = max(stages.arrivals(delay), default=0.0)
    low = max(delay, default=0.0)
    while high - low > RESOLUTION_NS:
        middle = (low + high) / 2
        stages = bounds.earliest(delay, middle)
        if stages is None:
            low = middle
        else:
            high = max(stages.arrivals(delay), default=0.0)
    return high


def shortest_depths(network: Network, delays: Delays, period_ns: float) -> tuple[int, ...] | None:
    """Return the depths with the fewest registers whose segments keep within a period; None where none do."""
    return _free_depths(network, _delays(network, delays), period_ns - delays.register_ns + 1e-9, None)


def depths_of_total(network: Network, delays: Delays, total: int) -> tuple[tuple[int, ...], float]:
    """Return the depths that give the shortest segments with `total` registers along the design, and those in ns.

    total: from the inputs to what leaves last, at least 1 and as many as `fewest_registers_along`.
    """
    delay = _delays(network, delays)
    high = sum(delay) + 1.0
    low = max(delay, default=0.0)
    best = _free_depths(network, delay, high, total)
    if best is None:
        raise ValueError(f"{total} registers are too few: one stands where the design is left")
    while high - low > RESOLUTION_NS / 2:
        middle = (low + high) / 2
        found = _free_depths(network, delay, middle, total)
        if found is None:
            low = middle
        else:
            high, best = middle, found
    at_low = _free_depths(network, delay, low, total)
    if at_low is not None:
        best = at_low
    return best, delays.register_ns + _shortest(network, delay, edge_stages(network, best))


def fewest_registers_along(network: Network, delays: Delays) -> int:
    """Return the least registers along a network: those inside of block RAM, and one where it is left."""
    delay = _delays(network, delays)
    depths = _free_depths(network, delay, sum(delay) + 1.0, None)
    assert depths is not None
    return max(edge_stages(network, depths), default=0)


def _free_depths(
    network: Network, delay: tuple[float, ...], usable_ns: float, total: int | None
) -> tuple[int, ...] | None:
    """Return depths for segments of at most usable_ns, every edge as early as can be, padded to `total`."""
    if max(delay, default=0.0) > usable_ns:
        return None
    stage = [0] * len(delay)
    offset = [0.0] * len(delay)
    edges: list[int] = []
    for k, sources in enumerate(network.sources):
        start = max((0 if s is None else edges[s] for s in sources), default=0)
        for node in network.nodes[k].values():
            at = max((edges[p] for p in network.producers[node]), default=0) + network.lags[node]
            for read in network.reads[node]:
                at = max(at, stage[read] + network.lags[node])
            ready = max((offset[r] for r in network.reads[node] if stage[r] == at), default=0.0) + delay[node]
            if ready > usable_ns:
                at, ready = at + 1, delay[node]
            stage[node], offset[node] = at, ready
        ends = not network.held and k in network.leaving
        edges.append(max([start, *(stage[n] + ends for n in network.elements[k])]))
    needed = max((edges[k] + network.held for k in network.leaving), default=0)
    if total is not None and needed > total:
        return None
    last = needed if total is None else total
    for k in network.leaving - network.read_on:
        if edges[k] + network.held == needed:
            edges[k] = last
    starts = [max((0 if s is None else edges[s] for s in sources), default=0) for sources in network.sources]
    return tuple(edge - start for edge, start in zip(edges, starts, strict=True))
