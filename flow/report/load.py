"""`load` in report.json: the design under the arrivals that a request states."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.text import Text

from flow.device.links import Link, Way, find_link
from flow.graph.graph import Graph
from flow.latency.arrival_file import read_arrivals
from flow.latency.arrivals import Arrivals, draw, is_file
from flow.latency.budget import Origin
from flow.latency.queue import Overrun, Served, Service, serve
from flow.percentiles import NAMED, bounds, percentile
from flow.plan.plan import Plan
from flow.plan.planner import payload_bytes, payloads
from flow.plan.request import Request
from flow.quantity import time_text
from flow.report.tables import cycles_text, table

CURVE_POINTS = 120
UNENDING = (
    "Inferences come faster than {stage} takes them: the queue grows without end, the wait with it, and no percentile "
    "means anything."
)
_STAGE = {"core": "the core", "wire_in": "the link inward", "wire_out": "the link outward"}
_POLICY = {
    "wait": "the sender keeps what finds it full",
    "drop_new": "what finds it full is lost",
    "drop_old": "where it is full, the oldest is lost",
}


@dataclass(frozen=True, slots=True)
class LoadPercentile:
    """Give one percentile, by nearest rank.

    waiting_ns: of the waits alone. total_ns: of the whole path from the arrival at the boundary to the result there,
    with the link at its typical overhead: less than the truth where the link varies. range_ns: where the truth surely
    lies, however the link's spread depends on the waits; null where nothing published bounds it.
    """

    name: str
    waiting_ns: float
    total_ns: float
    range_ns: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Give what a stream of arrivals makes of the design's latency.

    rate_hz: on average; null where the arrivals end. origin: of interval and latency. utilization: rate × least
    spacing, by core, wire_in, wire_out, while the arrivals last; null where it is not known. stable: whether the queues
    have an end; null where the arrivals have one. percentiles: none where they have none. mean_waiting_ns: before the
    link (sending), for the clock's edge (capture), for the core (queueing), for the link outward (leaving).
    held: arrivals that the sender had to keep. within_budget: share of all arrivals whose result was there in time; a
    lost one was not. curve: (ns, share of results that take longer).
    """

    arrivals: str
    count: int
    rate_hz: float | None
    served: int
    dropped: int
    held: int
    buffer: int | None
    overrun: Overrun
    output_buffer: int | None
    interval_cycles: int
    origin: Origin
    payload_bytes: tuple[int, int]
    utilization: dict[str, float | None]
    stable: bool | None
    percentiles: tuple[LoadPercentile, ...]
    mean_waiting_ns: dict[str, float]
    depth_max: int
    depth_mean: float
    within_budget: float | None
    curve: tuple[tuple[float, float], ...]
    notes: tuple[str, ...]


def load_report(
    request: Request | None, graph: Graph, plan: Plan, *, cycles: int, interval: int, origin: Origin
) -> LoadReport | None:
    """Return the design under its load, None where the request states none.

    cycles, interval: latency and II of the core, of that origin. Raises UserError for a file of arrivals that cannot be
    read.
    """
    if request is None or request.arrivals is None:
        return None
    arrivals = read_arrivals(request.arrivals) if is_file(request.arrivals) else draw(request.arrivals)
    link, sizes = find_link(plan.link), payloads(graph, request)
    service = _service(
        request, plan, ((link.inward, sizes[0]), (link.outward, sizes[1])), cycles=cycles, interval=interval
    )
    served = serve(arrivals, service)
    loads = _utilization(arrivals, service)
    unstable = _unstable(arrivals, service, loads)
    waiting = served.ns(served.waiting)
    fixed_ns = cycles * plan.clock.period_ns + plan.fixed_ns[1]
    ascending = np.sort(waiting)
    spread = link.spread(*sizes)
    core_ns = cycles * plan.clock.period_ns
    percentiles = tuple(
        LoadPercentile(
            name,
            percentile(ascending, share),
            percentile(ascending + fixed_ns, share),
            bounds(ascending + core_ns, share, spread),
        )
        for name, share in NAMED
    )
    ended = unstable is None or arrivals.rate_hz is None
    budget = request.budget_ns
    return LoadReport(
        arrivals=arrivals.described,
        count=arrivals.count,
        rate_hz=None if arrivals.rate_hz is None else float(arrivals.rate_hz),
        served=int(waiting.size),
        dropped=served.dropped,
        held=served.held,
        buffer=request.buffer,
        overrun=request.overrun,
        output_buffer=request.output_buffer,
        interval_cycles=interval,
        origin=origin,
        payload_bytes=sizes,
        utilization={stage: None if load is None else float(load) for stage, load in loads.items()},
        stable=None if arrivals.rate_hz is None else unstable is None,
        percentiles=percentiles if ended else (),
        mean_waiting_ns=_means(served),
        depth_max=served.depth_max,
        depth_mean=served.depth_mean,
        within_budget=None
        if budget is None or not ended
        else int((waiting + fixed_ns <= budget * (1 + 1e-9)).sum()) / arrivals.count,
        curve=_curve(ascending + fixed_ns) if ended else (),
        notes=_notes(arrivals, service, link, unstable, known=spread.known),
    )


def _service(
    request: Request, plan: Plan, ways: tuple[tuple[Way | None, int], ...], *, cycles: int, interval: int
) -> Service:
    spacing = [None if way is None else way.spacing_ns(size) for way, size in ways]
    wire_in, wire_out = (0 if ns is None else round(ns * 1000) for ns in spacing)
    return Service(
        interval,
        cycles,
        plan.clock.period_ns,
        wire_in,
        wire_out,
        request.buffer,
        request.overrun,
        request.output_buffer,
    )


def _utilization(arrivals: Arrivals, service: Service) -> dict[str, Fraction | None]:
    """Return rate × least spacing of every stage; what a full stage lets through is what the next one gets."""
    rate = arrivals.rate_hz
    if rate is None and arrivals.span_ps:
        rate = Fraction((arrivals.count - 1) * 10**12, arrivals.span_ps)
    loads: dict[str, Fraction | None] = {}
    for stage, spacing in (
        ("wire_in", Fraction(service.wire_in_ps)),
        ("core", service.core_ps),
        ("wire_out", Fraction(service.wire_out_ps)),
    ):
        loads[stage] = None if rate is None or not spacing else rate * spacing / 10**12
        rate = rate if rate is None or not spacing else min(rate, 10**12 / spacing)
    return loads


def _unstable(arrivals: Arrivals, service: Service, loads: dict[str, Fraction | None]) -> str | None:
    """Return the first stage before which a queue grows without end."""
    for stage, load in loads.items():
        full = load is not None and (load > 1 or (load == 1 and not arrivals.regular))
        if full and not (stage == "core" and service.drops):
            return stage
    return None


def _means(served: Served) -> dict[str, float]:
    parts = {
        "sending": served.sending,
        "capture": served.capture,
        "queueing": served.queueing,
        "leaving": served.leaving,
    }
    return {name: float(served.ns(ticks).mean()) for name, ticks in parts.items()}


def _curve(ascending: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """Return points of the share that takes longer, closer together towards the tail."""
    count = ascending.size
    ranks = np.unique(np.rint(count * (1 - np.geomspace(1, 1 / count, CURVE_POINTS))).astype(int))
    points = [(float(ascending[rank]), 1 - (rank + 1) / count) for rank in ranks if rank < count]
    return ((float(ascending[0]), 1.0), *points)


def _notes(arrivals: Arrivals, service: Service, link: Link, unstable: str | None, *, known: bool) -> tuple[str, ...]:
    notes = []
    if unstable is not None and arrivals.rate_hz is not None:
        notes.append(UNENDING.format(stage=_STAGE[unstable]))
    elif unstable is not None:
        notes.append(f"While they last, they come faster than {_STAGE[unstable]} takes them; the queue empties after.")
    if service.wire_in_ps:
        notes.append(
            f"One input keeps link {link.name} for {time_text(service.wire_in_ps / 1000)}: what comes sooner waits "
            "before it."
        )
    if link.round_trip is not None and not service.wire_in_ps:
        notes.append(f"How many inferences link {link.name} can have under way is not known: taken as any number.")
    if not known:
        notes.append(
            f"How the overhead of link {link.name} varies is not published: percentiles have it at its typical."
        )
    if service.buffer is None and service.interval > 1:
        notes.append("The buffer before the core is taken to hold any number; the design has none of its own.")
    return tuple(notes)


def payload_notes(request: Request | None, graph: Graph) -> tuple[str, ...]:
    """Say where the link carries other than the packed tensors."""
    if request is None:
        return ()
    packed = payload_bytes(graph, graph.inputs), payload_bytes(graph, graph.outputs)
    sizes = payloads(graph, request)
    if sizes == packed:
        return ()
    said = f"{sizes[0]:,} bytes in and {sizes[1]:,} bytes out, as asked"
    return (f"The link carries {said}; the packed tensors take {packed[0]:,} and {packed[1]:,}.",)


def frame_notes(request: Request | None, graph: Graph, link: Link) -> tuple[str, ...]:
    """Say where a message is larger than one frame of the link, as which it is counted."""
    if request is None:
        return ()
    notes = []
    sent = zip(("in", "out"), payloads(graph, request), strict=True)
    for (side, size), way in zip(sent, (link.inward or link.round_trip, link.outward or link.round_trip), strict=True):
        if way is not None and 0 < way.max_payload < size:
            notes.append(
                f"The {size:,} bytes {side} are counted as one frame of link {link.name}, which carries "
                f"{way.max_payload:,} at most: headers and gaps of further frames come on top."
            )
    return tuple(notes)


def render_load(load: LoadReport) -> Group:
    """Return the load as a person reads it."""
    rows = table(
        "percentile",
        "waiting",
        "total, link at its typical",
        "total, surely",
        title=f"Under load: {load.arrivals}",
        right=(1, 2),
        whole=(0, 3),
    )
    for row in load.percentiles:
        rows.add_row(row.name, time_text(row.waiting_ns), time_text(row.total_ns), _between(row.range_ns))
    means = ", ".join(f"{name} {time_text(ns)}" for name, ns in load.mean_waiting_ns.items() if ns)
    used = ", ".join(f"{_STAGE[stage]} {use:.4g}" for stage, use in load.utilization.items() if use is not None)
    buffer = "any number" if load.buffer is None else f"{load.buffer:,}; {_POLICY[load.overrun]}"
    held = f", {load.held:,} kept by the sender" if load.held else ""
    lines: list[RenderableType] = [
        Text(
            f"{load.origin}: initiation interval {cycles_text(load.interval_cycles)}. From arrival to result at the "
            f"boundary; of {load.count:,} arrivals {load.served:,} served, {load.dropped:,} dropped{held}."
        ),
        Text(f"Utilization (rate × least spacing): {used or 'unknown: one arrival has no rate'}."),
    ]
    if load.percentiles:
        lines.append(Text(f"Mean wait: {means or 'none'}. Buffer: {buffer}."))
        lines.append(Text(f"Waiting before the core: at most {load.depth_max:,}, {load.depth_mean:.4g} on average."))
    if load.within_budget is not None:
        lines.append(Text(f"Within the budget: {100 * load.within_budget:.6g} % of all arrivals."))
    lines += [Text(note, "bold red" if note.startswith("Inferences come faster") else "") for note in load.notes]
    return Group(*([rows] if load.percentiles else [Text(f"Under load: {load.arrivals}", "bold")]), *lines, Text())


def _between(span: tuple[float | None, float | None]) -> str:
    low, high = span
    if low is None and high is None:
        return "unknown"
    if low == high and low is not None:
        return time_text(low)
    return f"{'unknown' if low is None else time_text(low)} – {'unknown' if high is None else time_text(high)}"
