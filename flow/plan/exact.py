"""Latency as a contract: a design of exactly so many cycles, whatever its network was trained to.

The planner looks for the least area with at most as many cycles; what is left over, the outputs are held back in
registers. So engines are the same as without a contract, and a network that takes some cycles more still fits in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import floor
from typing import TYPE_CHECKING

from flow.engines.align import Delay
from flow.engines.dataflow import dataflow
from flow.errors import Missed, UserError
from flow.graph.graph import Graph
from flow.plan.advice import share_of_limiter
from flow.plan.candidate import planned_converters
from flow.plan.dies import area_with
from flow.plan.plan import Plan, timeline_of
from flow.plan.request import Request

if TYPE_CHECKING:
    from flow.plan.planner import Target


def exactly(
    graph: Graph, request: Request, cycles: int, target: Target, plan_of: Callable[[Graph, Request], Plan]
) -> Plan:
    """Return the plan of at most `cycles` that `plan_of` makes, its outputs held back for the rest.

    Raises Missed where that many are too few, or more than the budget has room for.
    """
    total_ns = _total_ns(cycles, target)
    if request.budget_ns is not None and total_ns > request.budget_ns * (1 + 1e-9):
        period_ns = _period_ns(target)
        most = floor((request.budget_ns - target.goal.fixed_ns[1]) / period_ns + 1e-9)
        room = f"it has room for {most:,} cycles" if most > 0 else "the link alone takes it"
        raise Missed(
            f"exactly {cycles:,} cycles of {period_ns:.4g} ns end after {total_ns:.4g} ns at boundary "
            f"{target.boundary}, beyond the budget of {request.budget_ns:.4g} ns: {room}"
        )
    plan = plan_of(graph, replace(request, latency_exact=None, budget=f"{total_ns!r}ns"))
    return held(graph, replace(plan, budget_ns=request.budget_ns, latency_exact=cycles), target)


def limited(target: Target, plan: Plan) -> Target:
    """Return a target whose budget is that of a plan's contract; the target itself where there is none."""
    if plan.latency_exact is None:
        return target
    return replace(target, goal=replace(target.goal, budget_ns=_total_ns(plan.latency_exact, target)))


def released(plan: Plan) -> Plan:
    """Return the plan with nothing held back."""
    return replace(plan, traffic=replace(plan.traffic, held=0))


def held(graph: Graph, plan: Plan, target: Target) -> Plan:
    """Return the plan with outputs held back until its contract's cycle; raise Missed where they come later.

    A plan without a contract is returned as it is.
    """
    if plan.latency_exact is None:
        return plan
    free = released(plan)
    timeline = timeline_of(graph, free.choices, free.traffic)
    rest = plan.latency_exact - timeline.latency
    if rest < 0:
        raise Missed(
            f"exactly {_cycles(plan.latency_exact)} cannot be had: {graph.name} takes at least "
            f"{_cycles(timeline.latency)} of {plan.clock.period_ns:.4g} ns on {plan.part}; "
            f"{share_of_limiter(free, timeline)}. Ask for {timeline.latency:,}, a slower clock, or fewer bits there"
        )
    traffic = replace(free.traffic, held=rest)
    flow, before = dataflow(graph, plan.choices, traffic), dataflow(graph, plan.choices, free.traffic)
    # what is proved counts neither the cycles nor the registers that the outputs wait in
    proof = None if rest else plan.proof
    converters = planned_converters(graph, flow.blocks, target.part)
    found = replace(plan, traffic=traffic, converters=converters, proof=proof)
    room = area_with(graph, plan.runs, before, free.traffic, target.part) < float("inf")
    if room and area_with(graph, plan.runs, flow, traffic, target.part) == float("inf"):
        bits = sum(c.converter.lanes for c in found.converters if isinstance(c.converter, Delay))
        raise Missed(
            f"exactly {_cycles(plan.latency_exact)} cannot be had on {plan.part}: {bits:,} elements held back for "
            f"{_cycles(rest)} need {found.resources.ff - free.resources.ff:,} flip-flops, beyond what is left"
        )
    return found


def _total_ns(cycles: int, target: Target) -> float:
    return cycles * _period_ns(target) + target.goal.fixed_ns[1]


def _period_ns(target: Target) -> float:
    if target.goal.period_ns is None:
        raise UserError(
            "latency_exact counts the cycles of a clock that is asked for, and the clock is 'auto'; "
            "write for example --clock 200MHz beside it"
        )
    return target.goal.period_ns


def _cycles(count: int) -> str:
    return f"{count:,} cycle{'' if count == 1 else 's'}"
