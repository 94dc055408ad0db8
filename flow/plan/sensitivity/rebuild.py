"""A plan with one thing changed and all other choices kept: registers, area and timeline are computed anew.

What a change touches is given its registers again, so that its segments are no longer than the plan's longest, or than
what surely closes the clock; where that cannot be, the clock needs a longer period, and the verdict tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor

from flow.device.delays import Delays
from flow.device.parts import Part
from flow.engines.beat import beat_graph
from flow.engines.blocks import Blocks, blocks_of
from flow.engines.dataflow import dataflow, sources_of
from flow.engines.engine import Choice, Resources, Streamed, Unrolled
from flow.engines.estimate import Estimate, estimate
from flow.engines.folded import Folded
from flow.engines.folded_choices import choices
from flow.engines.folded_cost import folded_resources
from flow.engines.folded_pipeline import fitted
from flow.engines.streamed_cost import streamed_resources
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.latency.budget import Clock, Origin, Verdict, judge, latency_of, required_interval
from flow.plan.candidate import planned_converters
from flow.plan.dies import area_with
from flow.plan.options import unrolled_resources
from flow.plan.plan import Plan, Planned
from flow.plan.planner import Target, target_of
from flow.plan.request import Request
from flow.plan.sensitivity.figures import Figures


class CannotBuildError(ValueError):
    """Say why a plan's other choices cannot stay as they are."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Hold a plan that others are made of."""

    graph: Graph
    request: Request
    plan: Plan
    target: Target

    @classmethod
    def of(cls, graph: Graph, request: Request, plan: Plan) -> Rebuild:
        """Return the plan with all that its choices depend on."""
        return cls(graph, request, plan, target_of(graph, request))

    @property
    def worst_ns(self) -> float:
        """Return the plan's longest segment in ns, nominal."""
        return self.plan.clock.range_ns[0] / self.target.delays.low

    @property
    def within_ns(self) -> float:
        """Return how long segments may be made anew, in ns, nominal."""
        return max(self.worst_ns, self.plan.clock.period_ns / self.target.delays.high)

    def figures(
        self,
        *,
        graph: Graph | None = None,
        swaps: Mapping[int, Choice] | None = None,
        period_ns: float | None = None,
        link: str | None = None,
    ) -> Figures:
        """Return the figures with another graph of the same nodes, other choices by number, another clock or link.

        Raises CannotBuildError where some choice is not possible then.
        """
        graph, period_ns = graph or self.graph, period_ns or self.plan.clock.period_ns
        request = self.request
        if link is not None:
            request = request.overridden(link=link, boundary=self.plan.boundary)
        target = target_of(graph, request)
        planned, longest = [], self.worst_ns
        was, now = self._crossed(self.graph), self._crossed(graph)
        crossed = {output: now[output] - was[output] for output in was}
        for k, old in enumerate(self.plan.runs):
            choice = (swaps or {}).get(k)
            moved = crossed.get(old.choice.output, 0) != 0
            if choice is None and not moved and not self._touched(graph, old.choice):
                planned.append(old)
                continue
            made, worst_ns = self._made(graph, choice or old.choice, crossed)
            planned.append(made)
            longest = max(longest, worst_ns)
        try:
            flow = dataflow(graph, tuple(p.choice for p in planned), self.plan.traffic)
        except ValueError as error:
            raise CannotBuildError(str(error)) from None
        between = planned_converters(graph, flow.blocks, target.part)
        used = sum((c.resources for c in between), sum((p.resources for p in planned), Resources()))
        timeline, delays = flow.timeline, target.delays
        clock = Clock(period_ns, (longest * delays.low, longest * delays.high), Origin.PREDICTED, Origin.PREDICTED)
        latency = latency_of(timeline.latency, period_ns, target.goal.fixed_ns)
        verdict = judge(
            latency,
            clock,
            budget_ns=request.budget_ns,
            interval=timeline.interval,
            required=required_interval(request.rate_hz, period_ns),
        )
        fits = area_with(graph, tuple(planned), flow, self.plan.traffic, target.part) < float("inf")
        counts = (used.lut, used.ff, used.dsp, used.bram)
        verdict = verdict if fits else Verdict.MISSED
        return Figures(timeline.latency, period_ns, latency.total_ns, timeline.interval, *counts, verdict, fits)

    def _touched(self, graph: Graph, choice: Choice) -> bool:
        """Tell whether a graph has other nodes in a choice, or other types in front of it."""
        if graph is self.graph:
            return False
        sources = sources_of(graph, choice)
        types = any(graph.node(name).type != self.graph.node(name).type for name in sources)
        return types or any(graph.node(name) is not self.graph.node(name) for name in choice.nodes)

    def _made(self, graph: Graph, choice: Choice, crossed: Mapping[str, int]) -> tuple[Planned, float]:
        """Return a choice with its registers and cost, and its longest segment in ns.

        crossed: by the output of each cone, the segments that its logic goes through more than before.
        """
        if isinstance(choice, Folded):
            folded, cost, worst_ns = self._folded(graph, choice)
            return Planned(folded, cost, worst_ns), worst_ns
        if isinstance(choice, Streamed):
            return self._streamed(graph, choice)
        guess = self._estimate(graph, choice)
        cone = replace(choice, depth=max(choice.depth + crossed[choice.output], min(choice.depth, 1)))
        return Planned(cone, unrolled_resources(guess, cone.depth), guess.delay_ns), self._longest(guess.step_ns)

    def _estimate(self, graph: Graph, choice: Unrolled) -> Estimate:
        part = self.target.part
        return _estimate(graph, choice.nodes, self.target.delays, part, blocks_of(choice, part))

    def _usable(self, step_ns: float) -> float:
        """Return what of a segment logic may fill whose slowest operation takes step_ns."""
        return max(self.within_ns - self.target.delays.register_ns - step_ns / 2, step_ns / 2, 1e-3)

    def _longest(self, step_ns: float) -> float:
        """Return the longest segment: as long as it may be, unless a single operation takes longer."""
        return self.target.delays.register_ns + self._usable(step_ns) + step_ns / 2

    def _crossed(self, graph: Graph) -> dict[str, int]:
        """Return through how many segments the logic of each cone goes, by its output.

        Logic goes on across the border of two cones within a segment, and ends in a register everywhere else.
        """
        cones = {c.output: c for c in self.plan.choices if isinstance(c, Unrolled)}
        others = [c for c in self.plan.choices if c.output not in cones]
        ends = {*self.graph.outputs, *(name for other in others for name in sources_of(self.graph, other))}
        guesses = {
            output: self._estimate(graph if self._touched(graph, cone) else self.graph, cone)
            for output, cone in cones.items()
        }
        usable = self._usable(max((guess.step_ns for guess in guesses.values()), default=0.0))
        stage: dict[str, int] = {}
        passed: dict[str, float] = {}
        for output, cone in cones.items():
            before = max(passed.get(name, 0.0) for name in sources_of(self.graph, cone))
            whole = before + guesses[output].delay_ns
            count = floor(whole / usable + 1e-9)
            left = whole - count * usable
            if output in ends:
                count, left = max(1, ceil(whole / usable - 1e-9)), 0.0
            stage[output], passed[output] = count + guesses[output].lags, left
        return stage

    def _folded(self, graph: Graph, choice: Folded) -> tuple[Folded, Resources, float]:
        part = self.target.part
        like = (choice.order, choice.p, choice.q, choice.store, choice.multiplier)
        legal = choices(graph, choice.nodes, part, reuse_factor=choice.reuse_factor)
        plain = next((c for c in legal if (c.order, c.p, c.q, c.store, c.multiplier) == like), None)
        if plain is None:
            raise CannotBuildError(
                f"'{choice.output}' cannot have {choice.p} × {choice.q} {choice.multiplier} multipliers of such widths"
            )
        try:
            found, worst_ns = fitted(graph, plain, part, self.target.delays, self.within_ns)
            return found, folded_resources(graph, found, part), worst_ns
        except (UserError, ValueError) as error:
            raise CannotBuildError(str(error)) from None

    def _streamed(self, graph: Graph, choice: Streamed) -> tuple[Planned, float]:
        channels = self.graph.node(sources_of(graph, choice)[0]).shape[-1]
        pixels = choice.lanes_in[0] // channels
        beat = beat_graph(graph, choice.nodes, pixels)
        inner: Unrolled | Folded
        if isinstance(choice.inner, Folded):
            inner, cost, worst_ns = self._folded(beat, choice.inner)
            delay_ns = worst_ns
        else:
            was, now = (self._estimate(g, choice.inner) for g in (beat_graph(self.graph, choice.nodes, pixels), beat))
            more = self._alone(now) - self._alone(was)
            inner = replace(choice.inner, depth=max(choice.inner.depth + more, 1))
            cost, delay_ns = unrolled_resources(now, inner.depth), now.delay_ns
            worst_ns = self._longest(now.step_ns)
        made = replace(choice, inner=inner)
        return Planned(made, streamed_resources(graph, made, self.target.part, cost), delay_ns), worst_ns

    def _alone(self, guess: Estimate) -> int:
        """Return the registers that a cone needs that ends in one."""
        return max(1, ceil(guess.delay_ns / self._usable(guess.step_ns) - 1e-9)) + guess.lags


@lru_cache(maxsize=512)
def _estimate(graph: Graph, nodes: tuple[str, ...], delays: Delays, part: Part, blocks: Blocks) -> Estimate:
    return estimate(graph, nodes, delays, part.family, blocks)
