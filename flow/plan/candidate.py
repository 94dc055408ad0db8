"""A plan with a clock, worked out exactly: what the planner compares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flow.device.parts import Part
from flow.engines.align import Delay, Fifo
from flow.engines.converter import Converter
from flow.engines.crossing import Crossing
from flow.engines.dataflow import Block, Traffic
from flow.engines.engine import Unrolled
from flow.engines.folded_cost import converter_resources
from flow.engines.streamed_cost import waiting_resources
from flow.graph.graph import Graph
from flow.latency.budget import Verdict
from flow.plan.plan import Planned, PlannedConverter
from flow.plan.solve import Solution


@dataclass(frozen=True, slots=True)
class Candidate:
    """Hold a plan with a clock, worked out exactly.

    area: as `footprint.area_of` has it, infinite where the part has no room. traffic: None for whole tensors.
    """

    planned: tuple[Planned, ...]
    solution: Solution
    area: float
    traffic: Traffic | None = None

    @property
    def folds(self) -> bool:
        """Tell whether any run is folded or streamed."""
        return any(not isinstance(p.choice, Unrolled) for p in self.planned)

    @property
    def reachable_ns(self) -> float:
        """Return the total latency, infinite where the clock does not close, the rate is not sustained, or no room."""
        solution = self.solution
        there = solution.clock.may_close and solution.sustains and self.area < float("inf")
        return solution.latency.total_ns if there else float("inf")

    def rank(self, *, frugal: bool) -> tuple[float, ...]:
        """Order candidates, the best first.

        frugal: a budget or a rate is asked for: of all that meet it, the least area wins, then the fewest cycles; of
        those whose clock only may close, the one that likeliest does. Otherwise the least latency wins. Among misses
        the order is as in `Solution.rank`.
        """
        solution = self.solution
        if self.area == float("inf"):
            return (9, *solution.rank)
        if solution.verdict is Verdict.MET and frugal:
            return (0, self.area, solution.depths.cycles, solution.latency.total_ns)
        if solution.verdict is Verdict.MET:
            return (0, solution.latency.total_ns, self.area)
        if solution.verdict is Verdict.MET_IF_CLOCK_CLOSES and frugal:
            beyond = max(solution.depths.worst_ns / solution.clock.period_ns, 1.0)
            return (1, beyond, self.area, solution.depths.cycles)
        return (*solution.rank, self.area)


def planned_converters(graph: Graph, blocks: Iterable[Block], part: Part) -> tuple[PlannedConverter, ...]:
    """Return what stands between engines, and what it takes: width converters, crossings, what waits for a branch."""
    found = []
    for block in blocks:
        match block.what:
            case Converter() as what:
                found.append(PlannedConverter(block.output, what, converter_resources(graph, what, part)))
            case Delay() | Fifo() | Crossing() as what:
                width = graph.node(what.node).type.width
                found.append(PlannedConverter(block.output, what, waiting_resources(what, width, part)))
            case _:
                pass
    return tuple(found)
