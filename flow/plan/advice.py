"""What limits a plan that does not surely meet its goal, and what would have to change."""

from __future__ import annotations

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.unrolled import Unrolled
from flow.latency.budget import Origin, Verdict, required_interval
from flow.latency.timeline import Timeline
from flow.plan.plan import Plan, Planned
from flow.plan.solve import Solution
from flow.quantity import time_text


def limiter_of(planned: tuple[Planned, ...], timeline: Timeline) -> str:
    """Return the output of the engine that takes most of the time, "" where there is none.

    Where registers may stand anywhere in the logic, that is the one with the longest logic; beside folded engines the
    one with most cycles on the critical path.
    """
    if any(not isinstance(p.choice, Unrolled) for p in planned):
        outputs = {p.choice.output for p in planned}
        hops = [hop for hop in timeline.critical_path if hop.node in outputs]
        return max(hops, key=lambda hop: hop.cycles).node if hops else ""
    slowest = max(planned, key=lambda p: p.delay_ns, default=None)
    return "" if slowest is None else slowest.choice.output


def advice(plan: Plan, solution: Solution, timeline: Timeline) -> str:
    """Say what limits a plan that does not surely meet its goal, and what would have to change."""
    if plan.verdict is Verdict.MET:
        return ""
    limiter = share_of_limiter(plan, timeline)
    if plan.verdict is Verdict.MET_IF_CLOCK_CLOSES:
        return _on_doubt(plan, limiter)
    reasons = (_on_clock(plan, solution), _on_rate(plan, timeline), _on_budget(plan, solution, limiter))
    return " ".join(filter(None, reasons))


def share_of_limiter(plan: Plan, timeline: Timeline) -> str:
    """Say how much of the time the limiter takes."""
    if any(not isinstance(choice, Unrolled) for choice in plan.choices):
        cycles = sum(hop.cycles for hop in timeline.critical_path if hop.node == plan.limiter)
        return f"'{plan.limiter}' has {cycles:,} of the {timeline.latency:,} cycles"
    whole = sum(p.delay_ns for p in plan.runs)
    share = max((p.delay_ns for p in plan.runs), default=0.0) / max(whole, 1e-9)
    return f"'{plan.limiter}' has {share:.0%} of the logic delay"


def _on_doubt(plan: Plan, limiter: str) -> str:
    (low, high), period = plan.clock.range_ns, plan.clock.period_ns
    if plan.budget_ns is None or any(not isinstance(choice, Unrolled) for choice in plan.choices):
        room = "no pipeline surely reaches it"
    else:
        room = "the budget has no room for more registers"
    return (
        f"The clock of {period:.4g} ns may not close: {low:.3g} to {high:.3g} ns are predicted, and {room}; {limiter}. "
        f"A period of {high:.3g} ns would be safe; place and route decides."
    )


def _on_clock(plan: Plan, solution: Solution) -> str:
    if solution.clock.may_close:
        return ""
    (low, high), period = plan.clock.range_ns, plan.clock.period_ns
    free = (
        ""
        if plan.reachable_ns == float("inf")
        else f", or for --clock auto, with which {time_text(plan.reachable_ns)} are reachable"
    )
    buffers_ns = delays_of(find_part(plan.part)).least_period_ns
    if period * (1 + 1e-9) < buffers_ns:
        return (
            f"No design closes a clock of {period:.4g} ns ({1e3 / period:.4g} MHz) on {plan.part}: its clock buffers "
            f"carry at most {1e3 / buffers_ns:.4g} MHz. Ask for a slower clock{free}."
        )
    return (
        f"No pipeline closes a clock of {period:.4g} ns ({1e3 / period:.4g} MHz) on {plan.part}: between two registers "
        f"{low:.3g} to {high:.3g} ns are predicted at the least. Ask for a slower clock{free}."
    )


def _on_rate(plan: Plan, timeline: Timeline) -> str:
    required = required_interval(plan.rate_hz, plan.clock.period_ns)
    if plan.rate_hz is None or required is None or timeline.interval <= required:
        return ""
    needed, period = 1e9 / plan.rate_hz, plan.clock.period_ns
    if required:
        busy = max(timeline.edges, key=lambda edge: edge.busy)
        return (
            f"One inference per {time_text(needed)} leaves {required:,} cycles of {time_text(period)}; '{busy.name}' "
            f"({busy.engine}) is busy for {busy.busy:,} with each. No shorter one was found that "
            f"fits the part: a larger part, fewer bits, or a rate of at most {1e3 / (busy.busy * period):.4g} MHz."
        )
    if plan.clock.origin is Origin.ASKED:
        cure = f"ask for a clock of at most {time_text(needed)} ({1e3 / needed:.4g} MHz), or for a lower rate"
    else:
        shortest = f"the shortest period that was found on {plan.part} is {time_text(period)}"
        cure = f"{shortest}; fewer bits or a faster part help"
    return (
        f"One inference per {time_text(needed)} cannot be sustained with one per clock cycle of {time_text(period)}: "
        f"{cure}."
    )


def _on_budget(plan: Plan, solution: Solution, limiter: str) -> str:
    total, fixed = solution.latency.total_ns, plan.fixed_ns[1]
    if plan.budget_ns is None or total <= plan.budget_ns * (1 + 1e-9):
        return ""
    core = plan.budget_ns - fixed
    if core <= 0:
        return (
            f"Link '{plan.link}' alone takes {time_text(fixed)} of the {time_text(plan.budget_ns)} budget: another "
            f"link or a budget above {time_text(plan.reachable_ns)} is needed."
        )
    if plan.reachable_ns <= plan.budget_ns and not solution.clock.may_close:
        return ""  # a clock that closes is what it takes
    if plan.reachable_ns <= plan.budget_ns:
        return (
            f"With this clock the total is {time_text(total)}, {time_text(total - plan.budget_ns)} above the budget; "
            f"with --clock auto {time_text(plan.reachable_ns)} are reachable."
        )
    best = plan.reachable_ns
    return (
        f"The best reachable total is {time_text(best)}, {time_text(best - plan.budget_ns)} above the budget; "
        f"{limiter}. The core would have to shrink from {time_text(best - fixed)} to {time_text(core)}: fewer bits, a "
        f"smaller or sparser layer, or a {_cure(plan)} part."
    )


def _cure(plan: Plan) -> str:
    return "faster or larger" if any(not isinstance(choice, Unrolled) for choice in plan.choices) else "faster"
