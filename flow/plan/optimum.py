"""The best plan of a network's design space, with a proof: its moves, a program, and the answer worked out exactly.

What is told of a plan comes from the engines' own schedules and counts (`dataflow`), never from the program. Where
tensors wait for each other the program knows only the least that this takes: its answer is a bound, the plan is worked
out, and further answers are asked for until none can be better, or the gap that is left is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flow.engines.dataflow import Traffic, dataflow
from flow.plan.candidate import Candidate, resources_of
from flow.plan.footprint import KINDS, NO_LIMIT, area_of, area_weights, usable
from flow.plan.moves import Explorer
from flow.plan.options import Segment, Space
from flow.plan.plan import Planned
from flow.plan.program import INFINITE, Aim, Answer, Limits, Program
from flow.plan.proof import Proof, Searched
from flow.plan.pruning import bounds
from flow.plan.solve import Depths, Goal, judged, periods
from flow.plan.traffic import places_of
from flow.plan.waiting import Waiting

ROUNDS = (4, 32)
"""Answers that are worked out where tensors wait, at the least and at most, before the gap is left as it is."""
ROUND_MOVES = 40_000
"""Moves of all programs together that are solved for it: a small space is asked more often."""
EQUAL = 1e-9
"""Share by which areas may differ and still count as equal."""


@dataclass(frozen=True, slots=True)
class Built:
    """Hold a plan as it was worked out: its latency and interval in cycles, its area, its longest segment in ns."""

    planned: tuple[Planned, ...]
    traffic: Traffic
    cycles: int
    interval: int
    area: float
    worst_ns: float


@dataclass(frozen=True, slots=True)
class Best:
    """Hold what a search has found: the plan, None where there is none, and what is proved of it."""

    built: Built | None
    proof: Proof


class Optimum:
    """Search the design space for one segment length: it is explored once, and then asked for one aim or another."""

    def __init__(
        self, space: Space, segment: Segment, cycles: int, interval: int, traffics: tuple[Traffic, ...]
    ) -> None:
        """cycles, interval: the most that latency and the distance of inferences may be. traffics: how inputs come."""
        graph = space.graph
        self.space, self.traffics, self.interval = space, traffics, interval
        arrivals = tuple(places_of(graph, traffic) for traffic in traffics)
        explorer = Explorer(space, segment, cycles, interval, arrivals)
        self.moves = explorer.explored(beats_out=traffics[0].beats_out)
        self.searched = Searched(
            within_ns=segment.within_ns,
            arrivals=len(arrivals),
            places=len({move.gives for move in self.moves.moves}),
            dropped=self.moves.dropped,
            moves=len(self.moves.moves),
            offered=self.moves.offered,
        )
        built = {move.run for move in self.moves.moves}
        waiting = Waiting(graph, space.part, space.spare)
        ends = tuple(run[-1] for run in space.runs)
        # a run that cannot be built at all needs no solver
        self.program = Program(self.moves, ends, graph.outputs, waiting) if len(built) == len(ends) else None

    def best(self, aim: Aim, cycles: int, *, roomy: bool = False) -> Best:
        """Return the best plan of at most so many cycles; roomy: as if the part had enough of everything."""
        found: list[tuple[tuple[float, ...], Built]] = []
        known: list[Answer] = []
        bound, seconds = INFINITE, 0.0
        dropped = self._dropped(cycles) if aim == "area" and self.program is not None and not roomy else ()
        rounds = min(max(ROUND_MOVES // max(len(self.moves.moves), 1), ROUNDS[0]), ROUNDS[1])
        for _ in range(rounds if self.program is not None and cycles >= 0 else 0):
            answer = self._answer(aim, cycles, known, dropped, roomy=roomy)
            bound, seconds = answer.bound, seconds + answer.seconds
            if not answer.moves:
                break
            known.append(answer)
            built = self.built(answer)
            if built.cycles <= cycles and (roomy or built.area < INFINITE) and built.interval <= self.interval:
                found.append(((built.area, built.cycles) if aim == "area" else (built.cycles, built.area), built))
            if roomy or (found and min(key for key, _ in found)[0] <= bound * (1 + EQUAL) + EQUAL):
                break
        best = min(found, key=lambda one: one[0], default=None)
        value = INFINITE if best is None else best[0][0]
        return Best(None if best is None else best[1], Proof(aim, value, min(bound, value), (self.searched,), seconds))

    def _dropped(self, cycles: int) -> tuple[int, ...]:
        """Return the moves of which no plan takes as little area as one that has room."""
        nodes, weights = tuple(run[-1] for run in self.space.runs), area_weights(self.space.part, self.space.spare)
        known = bounds(self.moves, nodes, self.space.graph.outputs, weights, cycles)
        if known is None:
            return ()
        plan = self.built(Answer(known.best, known.arrival, 0.0, 0.0, 0.0))
        if plan.area == INFINITE or plan.cycles > cycles or plan.interval > self.interval:
            return ()
        return tuple(np.flatnonzero(known.through > plan.area * (1 + EQUAL)).tolist())

    def _answer(self, aim: Aim, cycles: int, known: list[Answer], dropped: tuple[int, ...], *, roomy: bool) -> Answer:
        """Ask for the aim, then for the least of what else counts."""
        assert self.program is not None
        part = self.space.part
        room = (NO_LIMIT,) * len(KINDS) if roomy else usable(part)
        limits = Limits(cycles, INFINITE, room, tuple(area_weights(part, self.space.spare).tolist()))
        first = self.program.solve(aim, limits, without=known, dropped=dropped)
        if not first.moves:
            return first
        if aim == "area":
            narrow = replace(limits, area=first.objective * (1 + EQUAL))
            second = self.program.solve("cycles", narrow, without=known, dropped=dropped)
        else:
            second = self.program.solve(
                "area", replace(limits, cycles=round(first.objective)), without=known, dropped=dropped
            )
        seconds = first.seconds + second.seconds
        chosen = second if second.moves else first
        return replace(first, seconds=seconds, moves=chosen.moves, arrival=chosen.arrival)

    def built(self, answer: Answer) -> Built:
        """Work a plan out exactly."""
        graph, space = self.space.graph, self.space
        ways = [self.moves.moves[k].way for k in answer.moves]
        place = {node.name: k for k, node in enumerate(graph.nodes)}
        made = sorted((one for way in ways for one in way.planned), key=lambda one: place[one.choice.nodes[0]])
        traffic = self.traffics[answer.arrival]
        flow = dataflow(graph, tuple(one.choice for one in made), traffic)
        area = area_of(resources_of(space, tuple(made), flow.blocks), space.part, space.spare)
        worst_ns = max(way.worst_ns for way in ways)
        return Built(tuple(made), traffic, flow.timeline.latency, flow.timeline.interval, area, worst_ns)


def with_clocks(space: Space, goal: Goal, built: Built) -> Iterator[Candidate]:
    """Give a plan with the clocks that suit it."""
    depths = Depths((), built.cycles, built.worst_ns)
    for period_ns in periods(goal, built.worst_ns, space.delays):
        solution = judged(replace(goal, interval=built.interval), depths, period_ns, space.delays)
        yield Candidate(built.planned, solution, built.area, built.traffic)
