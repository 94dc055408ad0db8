"""What other machines need for the same inference, in `report.json`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from pydantic import TypeAdapter

from flow.baseline.gpu import BaselineRow, Headline, factor, headline, rows
from flow.baseline.measured import Measurement
from flow.baseline.work import Work, fingerprint, work_of
from flow.graph.graph import Graph
from flow.latency.budget import Origin
from flow.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class BaselinePart:
    """Give one summand of a row's time."""

    what: str
    ns: float
    range_ns: tuple[float, float]
    origin: Origin
    statistic: str


@dataclass(frozen=True, slots=True)
class BaselineReport:
    """Give one baseline row; `factor` is baseline / total, null across boundaries; `ns` is null where unknown.

    parts: what adds up to ns. p99_ns: of the same measurement, where known. load: under which it was measured.
    boundary: null where only a part of an inference was measured. detail: whether only the long list shows it.
    """

    name: str
    ns: float | None
    range_ns: tuple[float, float] | None
    boundary: str | None
    origin: Origin
    source: str
    factor: float | None
    must_beat: bool
    beaten: bool | None
    note: str
    parts: tuple[BaselinePart, ...] = ()
    p99_ns: float | None = None
    load: str = "not stated"
    detail: bool = False


@dataclass(frozen=True, slots=True)
class HeadlineReport:
    """Give the factor over the strongest row at the design's boundary, and over the form that most programs have."""

    boundary: str
    strongest: str
    strongest_ns: float
    strongest_origin: Origin
    factor: float
    typical: str | None
    typical_ns: float | None
    typical_factor: float | None


@dataclass(frozen=True, slots=True)
class Baselines:
    """Hold the rows and the headline of a report."""

    baseline: tuple[BaselineReport, ...]
    headline: HeadlineReport | None


def baselines(graph: Graph, plan: Plan, total_ns: float, measured: tuple[Measurement, ...] = ()) -> Baselines:
    """Return what stands beside a design of `total_ns` at the plan's boundary."""
    found = rows(work_of(graph), plan.boundary, measured, fingerprint(graph) if measured else None)
    reports = tuple(_reported(row, factor(row, total_ns), must=row.name in plan.must_beat) for row in found)
    return Baselines(reports, _headline(headline(found, total_ns), plan.boundary))


def published() -> Baselines:
    """Return the published rows for a network that does nothing: the fixed costs."""
    found = (replace(row, comparable=False) for row in rows(Work(0, 0), "host_to_host"))
    return Baselines(tuple(_reported(row, None, must=False) for row in found), None)


@cache
def _adapter() -> TypeAdapter[Baselines]:
    return TypeAdapter(Baselines)


def baselines_to_json(found: Baselines) -> bytes:
    """Return rows and headline as JSON, named as in `report.json`."""
    return _adapter().dump_json(found, indent=1) + b"\n"


def _reported(row: BaselineRow, ratio: float | None, *, must: bool) -> BaselineReport:
    return BaselineReport(
        name=row.name,
        ns=row.ns,
        range_ns=row.range_ns,
        boundary=row.boundary,
        origin=row.origin,
        source=row.source,
        factor=ratio,
        must_beat=must,
        beaten=ratio > 1 if must and ratio is not None else None,
        note=row.note,
        parts=tuple(BaselinePart(p.what, p.ns, p.range_ns, p.origin, p.statistic) for p in row.parts),
        p99_ns=row.p99_ns,
        load=row.load,
        detail=row.detail,
    )


def _headline(found: Headline | None, boundary: str) -> HeadlineReport | None:
    if found is None:
        return None
    assert found.strongest.ns is not None
    return HeadlineReport(
        boundary=boundary,
        strongest=found.strongest.name,
        strongest_ns=found.strongest.ns,
        strongest_origin=found.strongest.origin,
        factor=found.strongest_factor,
        typical=None if found.typical is None else found.typical.name,
        typical_ns=None if found.typical is None else found.typical.ns,
        typical_factor=found.typical_factor,
    )
