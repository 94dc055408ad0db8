"""What a plan takes of each die of a part, and of all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flow.device.parts import Kind, Part
from flow.engines.align import Delay, Fifo
from flow.engines.converter import Converter
from flow.engines.crossing import Crossing
from flow.engines.dataflow import Dataflow, Traffic
from flow.engines.engine import Resources
from flow.engines.folded_cost import converter_resources
from flow.engines.streamed_cost import side_resources, waiting_resources
from flow.graph.graph import Graph
from flow.plan.footprint import KINDS, area_weights, counted, usable
from flow.plan.plan import Planned


def used_on_dies(
    graph: Graph, planned: tuple[Planned, ...], flow: Dataflow, traffic: Traffic, part: Part
) -> tuple[Resources, ...]:
    """Return what lies on each die of a part, predicted; flow: that of the planned choices with the traffic.

    Everything lies on one die, but a crossing: its first register on the die that is left, its second on the one that
    is reached. Half blocks are shared within a die, not across. Raises ValueError for a die that the part has not.
    """
    beyond = [die for die in traffic.dies if die >= part.dies]
    if beyond:
        raise ValueError(f"die {beyond[0]} of {part.name}, which has {part.dies}")
    used = list(waiting_on_dies(graph, flow, part))
    for one, die in zip(planned, traffic.dies or (0,) * len(planned), strict=True):
        used[die] += one.resources
    for block in flow.blocks:
        if isinstance(block.what, Converter):
            used[block.die] += converter_resources(graph, block.what, part)
    return tuple(used)


def waiting_on_dies(graph: Graph, flow: Dataflow, part: Part) -> tuple[Resources, ...]:
    """Return what tensors that wait or cross take of each die, predicted."""
    used, dies = [Resources()] * part.dies, flow.dies(graph)
    for block in flow.blocks:
        match block.what:
            case Delay() | Fifo() as what:
                used[block.die] += waiting_resources(what, graph.node(what.node).type.width, part)
            case Crossing() as what:
                for die in (dies[block.inputs[0]], block.die):
                    used[die] += side_resources(what, graph.node(what.node).type.width)
            case _:
                pass
    return tuple(used)


def lacking_on_dies(
    graph: Graph, planned: tuple[Planned, ...], flow: Dataflow, traffic: Traffic, part: Part
) -> tuple[tuple[int, Kind], ...]:
    """Return the dies with the resources of which more is used there than a plan may use."""
    used, rooms = used_on_dies(graph, planned, flow, traffic, part), _rooms(part)
    return tuple(
        (die, kind)
        for die, taken in enumerate(used)
        for kind, count, room in zip(KINDS, counted(taken), rooms[die], strict=True)
        if count > room
    )


def area_with(
    graph: Graph,
    planned: tuple[Planned, ...],
    flow: Dataflow,
    traffic: Traffic,
    part: Part,
    *,
    spare: tuple[str, ...] = (),
) -> float:
    """Return the area of a plan as `footprint.area_of` has it; infinite where the part or a die of it is too small.

    flow: that of the planned choices with the traffic.
    """
    used = np.array([counted(die) for die in used_on_dies(graph, planned, flow, traffic, part)])
    if np.any(used > _rooms(part)) or np.any(used.sum(axis=0) > usable(part)):
        return float("inf")
    return float(used.sum(axis=0) @ area_weights(part, spare))


def on_one_die(graph: Graph, planned: tuple[Planned, ...], flow: Dataflow, traffic: Traffic, part: Part) -> Traffic:
    """Return the traffic of a plan that lies on the first die with room for all of it; as it is where none has.

    flow: that of the planned choices with the traffic, on whichever die.
    """
    together = replace(traffic, dies=())
    used = np.array(counted(sum(used_on_dies(graph, planned, flow, together, part), Resources())))
    die = next((die for die, room in enumerate(_rooms(part)) if np.all(used <= room)), 0)
    return replace(traffic, dies=(die,) * len(planned)) if die else together


def _rooms(part: Part) -> NDArray[np.int64]:
    """Return what may be used of each die, by resource."""
    return np.array([part.on_dies(kind) for kind in KINDS], dtype=np.int64).T
