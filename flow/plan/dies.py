"""What a plan takes of each die of a part."""

from __future__ import annotations

from flow.device.parts import Part
from flow.engines.align import Delay, Fifo
from flow.engines.converter import Converter
from flow.engines.crossing import Crossing
from flow.engines.dataflow import Dataflow, Traffic
from flow.engines.engine import Resources
from flow.engines.folded_cost import converter_resources
from flow.engines.streamed_cost import side_resources, waiting_resources
from flow.graph.graph import Graph
from flow.plan.footprint import KINDS
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
    used = [Resources()] * part.dies
    for one, die in zip(planned, traffic.dies or (0,) * len(planned), strict=True):
        used[die] += one.resources
    dies = flow.dies(graph)
    for block in flow.blocks:
        match block.what:
            case Converter() as what:
                used[block.die] += converter_resources(graph, what, part)
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
) -> tuple[tuple[int, str], ...]:
    """Return the dies with the resources of which more is used there than a plan may use."""
    used = used_on_dies(graph, planned, flow, traffic, part)
    return tuple(
        (die, kind)
        for die, taken in enumerate(used)
        for kind in KINDS
        if getattr(taken, kind) > part.on_dies(kind)[die]
    )
