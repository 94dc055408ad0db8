"""What a plan says of one part, as a row of the market."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from flow.device.boards import Board
from flow.device.delays import Delays, delays_of
from flow.device.links import Link
from flow.device.parts import LISTED_ONLY, Part
from flow.engines.engine import Resources
from flow.engines.families import XILINX
from flow.graph.graph import Graph
from flow.latency.budget import Clock, Origin, Verdict, required_interval
from flow.latency.timeline import Timeline
from flow.plan.plan import Plan
from flow.quantity import time_text
from flow.report.clock_reason import clock_reason
from flow.report.market import (
    KINDS,
    MarketClock,
    MarketInterval,
    MarketLatency,
    Offer,
    Standing,
    Use,
    Utilization,
)
from flow.report.wire import fixed_origin

STANDINGS = {
    Verdict.MET: Standing.MET,
    Verdict.MET_IF_CLOCK_CLOSES: Standing.MET_IF_CLOCK_CLOSES,
    Verdict.MISSED: Standing.MISSED,
}
NOT_ROUTED = "no open place and route for AMD parts: the period is a range until Vivado has run"
UNTIMED = {
    "gowin": "nextpnr knows no delays of Gowin's multipliers and block RAM",
    "ice40": "nextpnr knows no delays of the iCE40 UltraPlus' multipliers",
}
BESIDE_SHELL = "that it fits and closes beside the vendor's shell"
SEVERAL_DIES = "paths between the package's dies are not timed"
UNSTATED_LINK = "no source states link {} for this board"
UNSTATED_PROCESSOR = "no source tells of a processor beside the fabric, which link {} serves"
ANOTHERS_FIGURE = "the figures of link {} are those of {}"
UNSTATED_TRANSCEIVERS = "no source tells whether the part has transceivers that link {} can use"


def unchecked(part: Part, board: Board | None, link: Link) -> tuple[str, ...]:
    """Return what cannot be checked here for a part: what no open tool covers, and what no source states."""
    said = []
    if part.family in XILINX:
        said.append(NOT_ROUTED)
    if part.family in LISTED_ONLY:
        said.append(f"nothing can be synthesized or timed: {LISTED_ONLY[part.family]}")
    if part.family in UNTIMED and part.dsp:
        said.append(UNTIMED[part.family])
    if part.dies > 1:
        said.append(SEVERAL_DIES)
    if part.shell is not None:
        said.append(BESIDE_SHELL)
    if link.needs_transceivers and part.transceivers is None:
        said.append(UNSTATED_TRANSCEIVERS.format(link.name))
    if link.needs_processor and not part.processor:
        said.append(UNSTATED_PROCESSOR.format(link.name))
    if link.only_of:
        said.append(ANOTHERS_FIGURE.format(link.name, link.only_of))
    if link.needs_transceivers and board is not None and link.name not in board.links:
        said.append(UNSTATED_LINK.format(link.name))
    return tuple(said)


def planned_offer(offer: Offer, graph: Graph, outcome: tuple[Plan, Timeline], link: Link, part: Part) -> Offer:
    """Return the offer with what its plan says."""
    plan, timeline = outcome
    clock, cycles, delays = plan.clock, timeline.latency, delays_of(part)
    core_ns = cycles * clock.period_ns
    fastest, slowest = _periods(clock, delays)
    core_range = (cycles * fastest, cycles * slowest)
    least, fixed_ns, most = plan.fixed_ns
    required = required_interval(plan.rate_hz, clock.period_ns)
    interval = MarketInterval(
        timeline.interval, required, 1e9 / (timeline.interval * clock.period_ns), Origin.PREDICTED
    )
    latency = MarketLatency(
        boundary=plan.boundary,
        cycles=cycles,
        core_ns=core_ns,
        core_range_ns=core_range,
        origin=Origin.PREDICTED,
        fixed_ns=fixed_ns,
        fixed_range_ns=(least, most),
        fixed_origin=fixed_origin(link),
        total_ns=core_ns + fixed_ns,
        total_range_ns=(core_range[0] + least, core_range[1] + most),
        best_ns=plan.best_ns,
    )
    verdict = Standing.MISSED if _too_fast(clock, delays) else STANDINGS[plan.verdict]
    return replace(
        offer,
        verdict=verdict,
        reason="" if verdict is Standing.MET else _missed_because(plan, latency, interval, delays),
        latency=latency,
        ii=interval,
        utilization=_utilization("plan", plan.resources, part),
        clock=_clock(graph, plan, delays),
    )


def _too_fast(clock: Clock, delays: Delays) -> bool:
    return clock.period_ns * (1 + 1e-9) < delays.least_period_ns


def _periods(clock: Clock, delays: Delays) -> tuple[float, float]:
    """Return the fastest and the slowest period that a build may end with; an asked one is not undercut."""
    fastest, slowest = (max(end, delays.least_period_ns) for end in clock.range_ns)
    if clock.origin is Origin.ASKED:
        return clock.period_ns, max(clock.period_ns, slowest)
    return min(fastest, clock.period_ns), max(slowest, clock.period_ns)


def _missed_because(plan: Plan, latency: MarketLatency, interval: MarketInterval, delays: Delays) -> str:
    """Say what stands against a plan: latency, rate or clock."""
    said = []
    fastest, slowest = plan.clock.range_ns
    if plan.budget_ns is not None and latency.total_ns > plan.budget_ns * (1 + 1e-9):
        said.append(f"{time_text(latency.total_ns)} of a budget of {time_text(plan.budget_ns)}")
    if interval.required is not None and interval.cycles > interval.required:
        said.append(f"an inference every {interval.cycles:,} cycles, the rate asks for one every {interval.required:,}")
    if _too_fast(plan.clock, delays):
        said.append(
            f"a clock of {1e3 / plan.clock.period_ns:,.4g} MHz, where the part's clock buffers carry at most "
            f"{delays.clock_mhz:,.4g} MHz"
        )
    if not plan.clock.closes:
        needs = f"{fastest:.3g} to {slowest:.3g} ns"
        said.append(f"the period of {plan.clock.period_ns:.3g} ns may not be reached (predicted {needs})")
    return "; ".join(said)


def smallest_use(least: Resources, part: Part) -> Utilization:
    """Return what the smallest plan that was found would take of a part that it does not fit."""
    return _utilization("smallest", least, part)


def _utilization(of: Literal["plan", "smallest"], taken: Resources, part: Part) -> Utilization:
    uses: dict[str, Use] = {}
    for kind in KINDS:
        used, usable = getattr(taken, kind), getattr(part, f"usable_{kind}")
        uses[kind] = Use(used, usable, used / usable if usable else (None if used else 0.0))
    return Utilization(of, Origin.PREDICTED, **uses)


def _clock(graph: Graph, plan: Plan, delays: Delays) -> MarketClock:
    return MarketClock(
        period_ns=plan.clock.period_ns,
        range_ns=plan.clock.range_ns,
        origin=plan.clock.origin,
        range_origin=plan.clock.range_origin,
        why=clock_reason(graph, plan, delays),
        grade=delays.grade,
        source=" ".join(delays.source.split()),
        limit_mhz=delays.clock_mhz,
        limit_source=delays.clock_source.strip(),
    )
