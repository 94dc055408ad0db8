"""All cones of a design as one graph of cells, across the edges between them."""

from __future__ import annotations

from dataclasses import dataclass

from flow.engines.cone import Cone, Read
from flow.engines.wiring import Wiring, wire


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Hold cells, of all cones in topological order, and what reads what.

    A node is a cell with delay or an element of the design's input; cells that read a cone's output depend on the cells
    that drive it. cones: where nodes of each cone stand among all (cell index to node; cells that are not built or that
    read another cone have none). readers: nodes that read each node. producers: per node, the cones whose edges it
    reads. elements: per cone, the nodes that drive its output edge. sources: per cone, the producing cones, None for
    inputs of the design. leaving: cones whose edge leaves the network. bits: live bits per node. lags: per node, 1
    where a register of its own stands behind what it reads, else 0. held: whether what leaves before the last is held
    back for it, in registers behind the network; else each edge that leaves ends in a register here.
    """

    cones: tuple[Wiring, ...]
    nodes: tuple[dict[int, int], ...]
    owner: tuple[tuple[int, int], ...]
    reads: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[int, ...], ...]
    producers: tuple[tuple[int, ...], ...]
    elements: tuple[tuple[int, ...], ...]
    sources: tuple[tuple[int | None, ...], ...]
    leaving: frozenset[int]
    bits: tuple[int, ...]
    lags: tuple[int, ...]
    held: bool = True

    @property
    def read_on(self) -> frozenset[int]:
        """Return the cones whose edge another cone reads."""
        return frozenset(s for sources in self.sources for s in sources if s is not None)


def connect(cones: tuple[Cone, ...], outputs: tuple[str, ...], *, held: bool = True) -> Network:
    """Return the network of cones in topological order.

    An input edge is named by the cone that produces it, or else is an input of the design. outputs: edges that leave
    the network. held: as `Network` has it.
    """
    wirings = tuple(wire(cone) for cone in cones)
    index = {cone.name: k for k, cone in enumerate(cones)}
    building = _Building()
    for k, wiring in enumerate(wirings):
        building.add(k, wiring, index)
    readers: list[list[int]] = [[] for _ in building.reads]
    for node, reads in enumerate(building.reads):
        for read in reads:
            readers[read].append(node)
    return Network(
        wirings,
        tuple(building.nodes),
        tuple(building.owner),
        tuple(building.reads),
        tuple(tuple(r) for r in readers),
        tuple(building.producers),
        tuple(building.elements),
        tuple(tuple(index.get(port.edge) for port in cone.inputs) for cone in cones),
        frozenset(index[name] for name in outputs if name in index),
        tuple(building.bits),
        tuple(int(wirings[cone].cells[cell].clocked) for cone, cell in building.owner),
        held,
    )


class _Building:
    def __init__(self) -> None:
        self.nodes: list[dict[int, int]] = []
        self.owner: list[tuple[int, int]] = []
        self.reads: list[tuple[int, ...]] = []
        self.producers: list[tuple[int, ...]] = []
        self.bits: list[int] = []
        self.elements: list[tuple[int, ...]] = []
        self._drivers: list[list[tuple[int, ...]]] = []  # per cone and output element

    def add(self, k: int, wiring: Wiring, index: dict[str, int]) -> None:
        nodes: dict[int, int] = {}
        drivers: list[tuple[int, ...]] = []
        edges: list[tuple[int, ...]] = []
        for cell, (what, live) in enumerate(zip(wiring.cells, wiring.live, strict=True)):
            producer = index.get(wiring.cone.inputs[what.op.port].edge) if isinstance(what.op, Read) else None
            if isinstance(what.op, Read) and producer is not None:
                drivers.append(self._drivers[producer][what.op.element] if live else ())
                edges.append((producer,))
                continue
            edges.append(())
            if not live:
                drivers.append(())
                continue
            nodes[cell] = len(self.reads)
            drivers.append((nodes[cell],))
            sources = what.sources
            self.owner.append((k, cell))
            self.reads.append(_union(drivers, sources))
            self.producers.append(_union(edges, sources))
            self.bits.append(live.bit_count())
        outputs = [_union(drivers, view.sources) for view in wiring.outputs]
        self.nodes.append(nodes)
        self._drivers.append(outputs)
        self.elements.append(tuple(dict.fromkeys(node for element in outputs for node in element)))


def _union(table: list[tuple[int, ...]], keys: set[int]) -> tuple[int, ...]:
    if len(keys) == 1:
        return table[next(iter(keys))]
    return tuple(sorted({item for key in keys for item in table[key]}))
