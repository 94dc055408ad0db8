"""The best plan of a network's design space, with a proof: its moves, a program, and the answer worked out exactly.

What is told of a plan comes from the engines' own schedules and counts (`dataflow`), never from the program. Where
tensors wait for each other the program knows only the least that this takes: its answer is a bound, the plan is worked
out, and further answers are asked for until none can be better, or the gap that is left is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from flow.engines.dataflow import Traffic, dataflow
from flow.plan.candidate import Candidate
from flow.plan.dies import area_with, on_one_die, waiting_on_dies
from flow.plan.footprint import KINDS, NO_LIMIT, area_weights, counted, usable
from flow.plan.moves import Explorer
from flow.plan.options import Segment, Space
from flow.plan.plan import Planned
from flow.plan.program import INFINITE, Aim, Answer, Limits, Program
from flow.plan.proof import Proof, Searched
from flow.plan.pruning import bounds
from flow.plan.solve import Depths, Goal, judged, periods
from flow.plan.spread import Dies
from flow.plan.traffic import places_of
from flow.plan.waiting import Waiting

ROUNDS = (4, 32)
"""Answers that are worked out where tensors wait, at the least and at most, before the gap is left as it is."""
ROUND_MOVES = 40_000
"""Moves of all programs together that are solved for it: a small space is asked more often."""
Reserve = tuple[tuple[int, ...], ...]
"""What is kept free of each die, by resource."""
OPEN = 1e-6
"""Share by which the solver's bound lies below its answer where it gave up."""
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
        # a run that cannot be built at all needs no solver
        self.possible = len({move.run for move in self.moves.moves}) == len(space.runs)

    def program(self, *, spread: bool) -> Program:
        """Return the program of the moves; spread: over the dies of the part."""
        graph, part = self.space.graph, self.space.part
        waiting, ends = Waiting(graph, part, self.space.spare), tuple(run[-1] for run in self.space.runs)
        return Program(self.moves, ends, graph.outputs, waiting, Dies.of(graph, part) if spread else None)

    def best(self, aim: Aim, cycles: int, *, roomy: bool = False) -> Best:
        """Return the best plan of at most so many cycles; roomy: as if the part had enough of everything.

        A plan that one die holds is as good as any; only where that which would be best on a single large die is too
        large for one of the part's, runs are spread over them.
        """
        if not self.possible or cycles < 0:
            return Best(None, Proof(aim, INFINITE, INFINITE, (self.searched,), 0.0))
        together = self._best(self.together, aim, cycles, roomy=roomy)
        if together.built is not None or self.space.part.dies == 1 or together.proof.bound == INFINITE:
            return together
        apart = self._best(self.apart, aim, cycles, roomy=False)
        seconds = (together.proof.solve_s or 0.0) + (apart.proof.solve_s or 0.0)
        bound = min(max(together.proof.bound, apart.proof.bound), apart.proof.value)
        return replace(apart, proof=replace(apart.proof, bound=bound, solve_s=seconds))

    @cached_property
    def together(self) -> Program:
        """Return the program for a part of one die."""
        return self.program(spread=False)

    @cached_property
    def apart(self) -> Program:
        """Return the program for a part of several dies."""
        return self.program(spread=True)

    def _best(self, program: Program, aim: Aim, cycles: int, *, roomy: bool) -> Best:
        found: list[tuple[tuple[float, ...], Built]] = []
        known: list[Answer] = []
        bound, seconds = INFINITE, 0.0
        dropped = self._dropped(cycles) if aim == "area" and not roomy else ()
        reserve: Reserve = ()
        for _ in range(min(max(ROUND_MOVES // len(self.moves.moves), ROUNDS[0]), ROUNDS[1])):
            answer = self._answer(program, aim, cycles, known=known, dropped=dropped, reserve=reserve, roomy=roomy)
            seconds += answer.seconds
            if not reserve:
                bound = answer.bound
            if not answer.moves and not reserve:
                break
            if not answer.moves:
                reserve = ()  # it was too much to keep free
                continue
            known.append(answer)
            built = self.built(answer)
            if built.cycles <= cycles and (roomy or built.area < INFINITE) and built.interval <= self.interval:
                found.append(((built.area, built.cycles) if aim == "area" else (built.cycles, built.area), built))
                if roomy or min(key for key, _ in found)[0] <= bound * (1 + EQUAL) + EQUAL:
                    break
                reserve = ()  # a better one may need less room
            elif program.spread is not None:
                reserve = self._waiting(built, reserve)
            elif built.area == INFINITE and self.space.part.dies > 1:
                break  # it is too large for one die; spread it may be the best, so that its bound stays
        best = min(found, key=lambda one: one[0], default=None)
        value = INFINITE if best is None else best[0][0]
        return Best(None if best is None else best[1], Proof(aim, value, min(bound, value), (self.searched,), seconds))

    def _waiting(self, built: Built, reserve: Reserve) -> Reserve:
        """Return what waits and crosses on each die in a plan, or what was kept for it where that is more."""
        graph, part = self.space.graph, self.space.part
        flow = dataflow(graph, tuple(one.choice for one in built.planned), built.traffic)
        used = waiting_on_dies(graph, flow, part)
        kept = reserve or ((0,) * len(KINDS),) * len(used)
        return tuple(tuple(map(max, counted(now), before)) for now, before in zip(used, kept, strict=True))

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

    def _answer(
        self,
        program: Program,
        aim: Aim,
        cycles: int,
        *,
        known: list[Answer],
        dropped: tuple[int, ...],
        reserve: Reserve,
        roomy: bool,
    ) -> Answer:
        """Ask for the aim, then for the least of what else counts."""
        part = self.space.part
        room = (NO_LIMIT,) * len(KINDS) if roomy else usable(part)
        limits = Limits(cycles, INFINITE, room, tuple(area_weights(part, self.space.spare).tolist()))
        first = program.solve(aim, limits, without=known, dropped=dropped, reserve=reserve)
        if not first.moves or first.bound < first.objective * (1 - OPEN):
            return first  # what is not proved itself needs no best of its equals
        if aim == "area":
            narrow = replace(limits, area=first.objective * (1 + EQUAL))
            second = program.solve("cycles", narrow, without=known, dropped=dropped, reserve=reserve)
        else:
            soonest = replace(limits, cycles=round(first.objective))
            second = program.solve("area", soonest, without=known, dropped=dropped, reserve=reserve)
        seconds = first.seconds + second.seconds
        chosen = second if second.moves else first
        return replace(first, seconds=seconds, moves=chosen.moves, arrival=chosen.arrival, dies=chosen.dies)

    def built(self, answer: Answer) -> Built:
        """Work a plan out exactly."""
        graph, space = self.space.graph, self.space
        ways = [self.moves.moves[k].way for k in answer.moves]
        place = {node.name: k for k, node in enumerate(graph.nodes)}
        made = sorted(
            ((one, run) for run, way in enumerate(ways) for one in way.planned),
            key=lambda one: place[one[0].choice.nodes[0]],
        )
        planned = tuple(one for one, _ in made)
        traffic = self.traffics[answer.arrival]
        if answer.dies:
            traffic = replace(traffic, dies=tuple(answer.dies[run] for _, run in made))
        flow = dataflow(graph, tuple(one.choice for one in planned), traffic)
        if not answer.dies:
            traffic = on_one_die(graph, planned, flow, traffic, space.part)
        area = area_with(graph, planned, flow, traffic, space.part, spare=space.spare)
        worst_ns = max(way.worst_ns for way in ways)
        return Built(planned, traffic, flow.timeline.latency, flow.timeline.interval, area, worst_ns)


def with_clocks(space: Space, goal: Goal, built: Built) -> Iterator[Candidate]:
    """Give a plan with the clocks that suit it."""
    depths = Depths((), built.cycles, built.worst_ns)
    for period_ns in periods(goal, built.worst_ns, space.delays):
        solution = judged(replace(goal, interval=built.interval), depths, period_ns, space.delays)
        yield Candidate(built.planned, solution, built.area, built.traffic)
