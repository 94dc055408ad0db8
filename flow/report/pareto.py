"""`pareto.json`: all plans of a network that no other beats in latency and area, as data."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from flow.engines.engine import Streamed
from flow.engines.folded import Folded
from flow.graph.graph import Graph
from flow.latency.budget import Origin, Verdict
from flow.plan.compare_plans import described
from flow.plan.footprint import KINDS
from flow.plan.pareto import Front, Point
from flow.plan.plan import Plan, Planned, timeline_of
from flow.plan.planner import assemble
from flow.plan.request import Request

FORMAT = 1
Closing = Literal["surely", "by_nominal_delays", "perhaps"]
CLOSINGS: tuple[Closing, ...] = ("surely", "by_nominal_delays", "perhaps")
"""Whether a clock closes, by `flow.plan.pareto.Point.tier`."""


@dataclass(frozen=True, slots=True)
class ParetoClock:
    """Give a point's period in ns and what place and route may need; origin: asked or predicted, of the period."""

    period_ns: float
    origin: Origin
    range_ns: tuple[float, float]
    range_origin: Origin
    closes: Closing


@dataclass(frozen=True, slots=True)
class ParetoEngine:
    """Give one run of nodes and what it becomes; reuse_factor: 1 where it is unrolled. text: all of it in a line."""

    nodes: tuple[str, ...]
    engine: str
    reuse_factor: int
    text: str


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """Hold one plan.

    cycles: of the core. ns: at the boundary, the link included. ii: cycles between inferences. area: the sum of used
    over usable. gap: the share of it by which any plan that is as fast and as sure may be below, by the estimates; None
    where registers are pinned. verdict: for the request's budget and rate. request: the options that give this plan.
    """

    cycles: int
    ns: float
    ii: int
    area: float
    lut: int
    ff: int
    dsp: int
    bram: int
    clock: ParetoClock
    gap: float | None
    verdict: Verdict
    request: str
    engines: tuple[ParetoEngine, ...]


@dataclass(frozen=True, slots=True)
class Usable:
    """Count what a plan may use of the part."""

    lut: int
    ff: int
    dsp: int
    bram: int


@dataclass(frozen=True, slots=True)
class Pareto:
    """Hold what was asked, and the points, the fastest first.

    clock: as asked. origin: of all figures of the points but asked periods. unasked: numbers of cycles, over all
    clocks, for which the solver was not asked: at the most so many points are missing. asked: those for which it was.
    """

    format: int
    model: str
    part: str
    link: str
    boundary: str
    fixed_ns: float
    budget_ns: float | None
    rate_hz: float | None
    clock: str
    spare: tuple[str, ...]
    usable: Usable
    origin: Origin
    asked: int
    unasked: int
    points: tuple[ParetoPoint, ...]

    @property
    def holds(self) -> bool:
        """Tell whether a point meets what is asked, be it that its clock has to close."""
        return any(point.verdict is not Verdict.MISSED for point in self.points)


def pareto_report(graph: Graph, request: Request, front: Front) -> Pareto:
    """Return the front of a request as data."""
    part, link = front.target.part, front.target.link
    return Pareto(
        format=FORMAT,
        model=graph.name,
        part=part.device,
        link=link.name,
        boundary=front.target.boundary,
        fixed_ns=front.target.goal.fixed_ns[1],
        budget_ns=request.budget_ns,
        rate_hz=request.rate_hz,
        clock=request.clock,
        spare=request.spare,
        usable=Usable(*(getattr(part, f"usable_{kind}") for kind in KINDS)),
        origin=Origin.PREDICTED,
        asked=front.asked,
        unasked=front.unasked,
        points=tuple(_point(graph, request, front, point) for point in front.points),
    )


def plan_of(graph: Graph, request: Request, front: Front, point: Point) -> Plan:
    """Return the plan of a point, for the request as it is."""
    candidate = point.candidate
    best_ns = min(p.total_ns for p in front.points)
    return assemble(
        graph,
        request,
        front.target,
        planned=candidate.planned,
        solution=candidate.solution,
        best_ns=best_ns,
        traffic=candidate.traffic,
    )


def request_of(request: Request, point: Point) -> Request:
    """Return the request whose plan is the point: the least budget that has room for it, its clock, the least area."""
    period_ns = point.candidate.solution.clock.period_ns
    clock = request.clock if request.period_ns is not None else f"{period_ns:.10g}ns"
    objective = None if request.objective is None else "area"  # what a budget alone means
    return request.overridden(clock=clock, budget=f"{point.total_ns:.10g}ns", objective=objective)


def _options(request: Request) -> str:
    objective = "" if request.objective is None else f" --objective {request.objective}"
    return f"--clock {request.clock} --budget {request.budget}{objective}"


def _point(graph: Graph, request: Request, front: Front, point: Point) -> ParetoPoint:
    plan, again = plan_of(graph, request, front, point), request_of(request, point)
    timeline = timeline_of(graph, plan.choices, plan.traffic)
    counts = plan.resources
    return ParetoPoint(
        cycles=timeline.latency,
        ns=point.total_ns,
        ii=timeline.interval,
        area=point.candidate.area,
        lut=counts.lut,
        ff=counts.ff,
        dsp=counts.dsp,
        bram=counts.bram,
        clock=ParetoClock(
            plan.clock.period_ns,
            plan.clock.origin,
            plan.clock.range_ns,
            plan.clock.range_origin,
            CLOSINGS[point.tier],
        ),
        gap=None if point.proof is None else point.proof.gap,
        verdict=plan.verdict,
        request=_options(again),
        engines=tuple(_engine(planned) for planned in plan.runs),
    )


def _engine(planned: Planned) -> ParetoEngine:
    choice = planned.choice
    inner = choice.inner if isinstance(choice, Streamed) else choice
    reuse = inner.reuse_factor if isinstance(inner, Folded) else 1
    return ParetoEngine(choice.nodes, choice.engine, reuse, described(choice))


@cache
def _adapter() -> TypeAdapter[Pareto]:
    return TypeAdapter(Pareto)


def pareto_to_json(pareto: Pareto) -> bytes:
    """Return the front as JSON."""
    return _adapter().dump_json(pareto, indent=1) + b"\n"


def pareto_from_json(data: bytes) -> Pareto:
    """Read what `pareto_to_json` wrote."""
    return _adapter().validate_json(data)


def pareto_to_csv(pareto: Pareto) -> str:
    """Return one line per point; units stand in the columns' names, what is not known is empty."""
    out = io.StringIO()
    rows = [_flat(pareto, point) for point in pareto.points]
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(pareto: Pareto, point: ParetoPoint) -> dict[str, object]:
    return {
        "model": pareto.model,
        "part": pareto.part,
        "boundary": pareto.boundary,
        "link": pareto.link,
        "budget_ns": pareto.budget_ns,
        "rate_hz": pareto.rate_hz,
        "core_cycles": point.cycles,
        "total_ns": point.ns,
        "ii_cycles": point.ii,
        "area": point.area,
        "lut": point.lut,
        "ff": point.ff,
        "dsp": point.dsp,
        "bram": point.bram,
        "origin": pareto.origin.value,
        "period_ns": point.clock.period_ns,
        "period_min_ns": point.clock.range_ns[0],
        "period_max_ns": point.clock.range_ns[1],
        "period_origin": point.clock.origin.value,
        "clock_closes": point.clock.closes,
        "gap": point.gap,
        "verdict": point.verdict.value,
        "request": point.request,
        "engines": "; ".join(f"{'+'.join(engine.nodes)}: {engine.text}" for engine in point.engines),
    }
