"""Why a plan's clock is no faster."""

from __future__ import annotations

from flow.device.delays import Delays
from flow.engines.folded import Folded
from flow.engines.streamed import Streamed
from flow.graph.graph import Graph
from flow.latency.budget import Origin
from flow.plan.plan import Plan

ALIKE = 1 + 1e-6


def clock_reason(graph: Graph, plan: Plan, delays: Delays) -> str:
    """Say in words where a plan's period comes from: asked, or the longest segment between two registers."""
    clock = plan.clock
    if clock.origin is Origin.ASKED:
        return "asked"
    longest_ns = clock.range_ns[1] / delays.high
    segment = f"the longest segment between two registers, {_where(graph, plan, delays, longest_ns)}"
    taken = f"is predicted at {longest_ns:.3g} ns"
    if clock.closes:
        return f"{segment}, {taken}; × {delays.high:g} is the slow end of what place and route gives, rounded up"
    return f"{segment}, {taken}, rounded up; place and route gives {delays.low:g} to {delays.high:g} of that"


def _where(graph: Graph, plan: Plan, delays: Delays, longest_ns: float) -> str:
    for planned in plan.runs:
        whole = planned.choice
        choice = whole.inner if isinstance(whole, Streamed) else whole
        if isinstance(choice, Folded) and _equal(planned.delay_ns, longest_ns):
            node = f"folded engine '{graph.node(whole.output).label}'"
            if choice.store == "bram" and _equal(delays.bram_ns, longest_ns):
                return f"out of block RAM, in {node}"
            # a product's segment begins at a register, or at the block RAM of its weights
            for block, begins in ((delays.dsp_ns, delays.register_ns), (delays.dsp_register_ns, delays.register_ns)):
                if choice.multiplier != "lut" and block is not None and _equal(begins + block, longest_ns):
                    return f"through a multiplier, in {node}"
            return f"in {node}"
    return "in logic"


def _equal(figure: float | None, longest_ns: float) -> bool:
    return figure is not None and longest_ns / ALIKE <= figure <= longest_ns * ALIKE
