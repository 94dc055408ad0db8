"""The baselines beside a design: published and measured times of one inference, comparable only at one boundary."""

from __future__ import annotations

from dataclasses import dataclass

from flow.baseline.catalogue import Cost, Published, catalogue, row_names
from flow.baseline.measured import Measured, Measurement
from flow.baseline.work import Work, least_ns
from flow.device.links import Boundary, Range
from flow.errors import UserError, nearest
from flow.latency.budget import Origin

MEASURED = "measured: "


@dataclass(frozen=True, slots=True)
class Part:
    """Give one summand of a row; origin: published, measured, or predicted for the bound of the network's work."""

    what: str
    ns: float
    range_ns: tuple[float, float]
    origin: Origin
    statistic: str


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """Give one row beside a design.

    ns: typical, or the statistic named in the note; None where nobody has published it. range_ns: min and max where
    known, else the same value. parts: what adds up to ns. p99_ns: of the same measurement. load: under which.
    comparable: whether boundary and network are the design's, so that a factor means something. typical: the form that
    most programs have. detail: whether only the long list shows it.
    """

    name: str
    ns: float | None
    range_ns: tuple[float, float] | None
    boundary: Boundary | None
    origin: Origin
    source: str
    note: str
    comparable: bool
    parts: tuple[Part, ...] = ()
    p99_ns: float | None = None
    load: str = "not stated"
    typical: bool = False
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Headline:
    """Give the strongest and the typical comparable row with their factors over a design."""

    strongest: BaselineRow
    strongest_factor: float
    typical: BaselineRow | None
    typical_factor: float | None


def rows(
    work: Work, boundary: str, measured: tuple[Measurement, ...] = (), network: str | None = None
) -> tuple[BaselineRow, ...]:
    """Return all rows for a network: comparable ones first, the strongest (least ns) before the others.

    boundary: what the design's latency spans. network: the design's fingerprint, which measurements are compared with.
    """
    found = [_row(row, work, boundary) for row in catalogue().rows]
    taken = {row.name for row in found}
    for measurement in measured:
        for one in measurement.results:
            name = _free(f"{MEASURED}{one.name}", measurement.device, taken)
            found.append(_measured_row(name, one, measurement, boundary, network))

    def rank(row: BaselineRow) -> tuple[bool, bool, float]:
        return (not row.comparable, row.comparable and row.ns is None, (row.ns or 0.0) if row.comparable else 0.0)

    return tuple(sorted(found, key=rank))


def _free(name: str, device: str, taken: set[str]) -> str:
    """Return a name that no row has yet: two machines may have measured the same thing."""
    wanted, count = name, 1
    while wanted in taken:
        wanted = f"{name} on {device}" if count == 1 else f"{name} on {device} ({count})"
        count += 1
    taken.add(wanted)
    return wanted


def _row(row: Published, work: Work, boundary: str) -> BaselineRow:
    costs = catalogue().costs_of(row)
    kernels = work.kernels if row.kernels == "layers" else 1
    parts = [_part(cost, kernels) for cost in costs if cost.times(kernels)]
    said = [row.note, *(f"{_counted(cost, kernels)}; {cost.conditions}" for cost in costs)]
    if row.weights is not None and costs:
        parts.append(_work_part(row, work))
        said.append(_work_note(row, work))
    reason = row.no_factor or ("" if row.boundary == boundary else f"it spans {row.boundary}, the design {boundary}")
    if reason:
        said.append(f"no factor: {reason}")
    span = Range(0.0, 0.0, 0.0)
    for part in parts:
        span += Range(part.range_ns[0], part.ns, part.range_ns[1])
    alone = costs[0] if len(costs) == 1 else None
    return BaselineRow(
        name=row.name,
        ns=span.typical if costs else None,
        range_ns=(span.min, span.max) if costs else None,
        boundary=row.boundary,
        origin=Origin.PUBLISHED,
        source="; ".join(dict.fromkeys(f"{c.source} ({c.date}) [{c.grade}]" for c in costs))
        or "nobody has published it",
        note="; ".join(said),
        comparable=not reason,
        parts=tuple(parts),
        p99_ns=None if alone is None else alone.p99_ns,
        load="not stated" if alone is None else alone.load,
        typical=row.typical,
        detail=row.detail,
    )


def _part(cost: Cost, kernels: int) -> Part:
    times, span = cost.times(kernels), cost.ns.range
    what = cost.what if times == 1 else f"{cost.what}, {times} times"
    return Part(what, times * span.typical, (times * span.min, times * span.max), Origin.PUBLISHED, cost.statistic)


def _counted(cost: Cost, kernels: int) -> str:
    times = cost.times(kernels)
    often = "" if cost.per == "inference" else f", {times} times"
    return f"{cost.what} {cost.ns.typical:,.0f} ns{often} ({cost.statistic})"


def _work_part(row: Published, work: Work) -> Part:
    assert row.weights is not None
    ns = least_ns(work, catalogue().gpu, row.weights)
    return Part("the network's own work", ns, (ns, ns), Origin.PREDICTED, "lower bound")


def _work_note(row: Published, work: Work) -> str:
    assert row.weights is not None
    gpu = catalogue().gpu
    ns = least_ns(work, gpu, row.weights)
    where = "registers and shared memory" if row.weights == "chip" else "the L2 cache"
    return (
        f"the network's own {work.multiplications:,} multiplications and {work.weight_bytes:,} bytes of weights in "
        f"{where} take at least {ns:,.3g} ns on {gpu.device} (predicted from its peaks, a lower bound: "
        f"{gpu.conditions}; {gpu.source} ({gpu.date}) [{gpu.grade}])"
    )


def _measured_row(
    name: str, one: Measured, measurement: Measurement, boundary: str, network: str | None
) -> BaselineRow:
    timing = one.timing
    if one.boundary is None:
        reason = "it is only a part of an inference"
    elif measurement.network is None or measurement.network != network:
        reason = "another network"
    elif one.boundary != boundary:
        reason = f"it spans {one.boundary}, the design {boundary}"
    else:
        reason = ""
    percentiles = [
        f"{of} {ns:,.0f} ns"
        for of, ns in (("90th", timing.p90_ns), ("99th", timing.p99_ns), ("99.9th", timing.p999_ns))
        if ns is not None
    ]
    said = [
        one.what,
        f"median of {timing.count:,} calls after {timing.warmup:,} others, one at a time, "
        + ("pinned to one core" if measurement.pinned else "not pinned"),
        f"least {timing.min_ns:,.0f} ns" + "".join(f", {text}" for text in percentiles),
        *([f"no factor: {reason}"] if reason else []),
    ]
    machine = measurement.device if measurement.kind == "cpu" else f"{measurement.device}, {measurement.host}"
    return BaselineRow(
        name=name,
        ns=timing.p50_ns,
        range_ns=(timing.min_ns, timing.p50_ns if timing.p90_ns is None else timing.p90_ns),
        boundary=one.boundary,
        origin=Origin.MEASURED,
        source=f"measured on {machine}, with {measurement.software}, {measurement.date}",
        note="; ".join(said),
        comparable=not reason,
        parts=(Part(one.name, timing.p50_ns, (timing.min_ns, timing.p50_ns), Origin.MEASURED, "median"),),
        p99_ns=timing.p99_ns,
        load="one call at a time",
    )


def factor(row: BaselineRow, total_ns: float) -> float | None:
    """Return how many times faster than the row a design of `total_ns` is; None where they must not be compared."""
    # a time of 0 is below what the clock that measured it can tell
    return row.ns / total_ns if row.comparable and row.ns and total_ns > 0 else None


def headline(found: tuple[BaselineRow, ...], total_ns: float) -> Headline | None:
    """Return the factors against the strongest comparable row and the typical one; None where none is comparable."""
    factors = [(row, of) for row in found if (of := factor(row, total_ns)) is not None]
    if not factors:
        return None
    strongest, most = min(factors, key=lambda pair: pair[1])
    typical = next((pair for pair in factors if pair[0].typical), (None, None))
    return Headline(strongest, most, typical[0], typical[1])


def check_must_beat(names: tuple[str, ...], boundary: str) -> None:
    """Raise UserError for a `must_beat` entry that is no row, or a row that must not be compared at the boundary."""
    known = {row.name: row for row in rows(Work(0, 0), boundary)}
    for name in names:
        if name not in known:
            raise UserError(f"must_beat: there is no baseline row '{name}'; {nearest(name, row_names())}")
        row = known[name]
        legal = [row.name for row in known.values() if row.comparable and row.ns is not None]
        if not row.comparable:
            raise UserError(
                f"must_beat: '{name}' must not be compared with a design at boundary {boundary} "
                f"({row.note.rpartition('no factor: ')[2]}); rows that may be: {', '.join(legal) or 'none'}"
            )
        if row.ns is None:
            raise UserError(
                f"must_beat: the time of '{name}' is unknown ({row.note.split(';')[0]}); "
                f"rows that may be named: {', '.join(legal)}"
            )
