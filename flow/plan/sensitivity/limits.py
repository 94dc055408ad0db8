"""What limits a plan, and the cheapest variation that gets to the next goal: the sentence above the table."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from flow.engines.unrolled import Unrolled
from flow.graph.graph import Graph
from flow.latency.budget import Verdict, required_interval
from flow.plan.plan import Plan, timeline_of
from flow.plan.sensitivity.figures import Cheapest, Delta, Figures, Limiter, Sense, Share, Variation, outcome

LEVEL = {Verdict.MET: 0, Verdict.MET_IF_CLOCK_CLOSES: 1, Verdict.MISSED: 2}
FASTER = 0.999
"""Share of a total below which another one counts as faster."""
SENSES: tuple[Sense, ...] = ("as_built", "replanned")

Area = Callable[[Figures], float]


def path_of(graph: Graph, plan: Plan) -> tuple[Share, ...]:
    """Return the parts of the total latency: the critical path's engines, and what the link adds.

    Where the logic of cones goes on from one into the next, a register may stand anywhere in it: they share the time
    between them by their logic's delay.
    """
    timeline, period_ns, fixed_ns = (
        timeline_of(graph, plan.choices, plan.traffic),
        plan.clock.period_ns,
        plan.fixed_ns[1],
    )
    total_ns = timeline.latency * period_ns + fixed_ns
    delays = {p.choice.output: p.delay_ns for p in plan.runs if isinstance(p.choice, Unrolled)}
    shares = []
    for is_cone, together in groupby(timeline.critical_path, key=lambda hop: hop.engine == "unrolled"):
        hops = tuple(together)
        whole = sum(hop.cycles for hop in hops) * period_ns
        logic = sum(delays[hop.node] for hop in hops) if is_cone else 0.0
        for hop in hops:
            ns = whole * delays[hop.node] / logic if logic else hop.cycles * period_ns
            if ns:
                shares.append(Share(hop.node, hop.engine, hop.cycles, ns, ns / total_ns))
    if fixed_ns:
        shares.append(Share(plan.link.partition(":")[0], "link", None, fixed_ns, fixed_ns / total_ns))
    return tuple(shares)


def limiter_of(plan: Plan, base: Figures, path: tuple[Share, ...]) -> Limiter:
    """Return what a plan is limited by: a clock or a rate that it misses, else what takes most of its latency."""
    period_ns, low_ns = base.period_ns, plan.clock.range_ns[0]
    required = required_interval(plan.rate_hz, period_ns)
    if not plan.clock.may_close:
        text = f"the clock: segments need {low_ns:.3g} ns at the least, and the period is {period_ns:.4g} ns"
        return Limiter("clock", "clock", None, None, text)
    if required is not None and base.interval > required:
        text = f"the rate: an inference may follow every {base.interval:,} cycles, and {required:,} are asked for"
        return Limiter("rate", "rate", None, None, text)
    longest = max(path, key=lambda share: share.ns, default=None)
    if longest is None:
        return Limiter("engine", "", 0.0, 0.0, "nothing: there is no register on the way")
    share = f"({longest.share:.0%} of {number(base.total_ns)} ns)"
    match longest.kind:
        case "link":
            return Limiter("link", longest.name, longest.ns, longest.share, f"link {longest.name} {share}")
        case "input":
            text = f"the arrival of {longest.name}, beat by beat {share}"
            return Limiter("arrival", longest.name, longest.ns, longest.share, text)
        case _:
            text = f"{longest.name}, {longest.kind} {share}"
            return Limiter("engine", longest.name, longest.ns, longest.share, text)


def cheapest_of(
    plan: Plan, base: Figures, fresh: Figures, variations: tuple[Variation, ...], area: Area, *, retrain: bool
) -> Cheapest | None:
    """Return the cheapest variation that meets a missed goal, or that is faster than a plan without one.

    The target is the budget where that is missed, else the total of the next faster design: of all that reach it the
    one that adds least area wins, of equals the fastest. A faster clock counts where it surely closes. area: of figures
    on the part. retrain: whether the network may change.
    """
    level = LEVEL[base.verdict]
    late = plan.budget_ns is not None and base.total_ns > plan.budget_ns * (1 + 1e-9)
    found: list[tuple[float, float, int, Sense, float]] = []
    for k, variation in enumerate(variations):
        for sense in SENSES:
            figures = outcome(variation, sense).figures
            if figures is None or not figures.fits or (variation.retrain and not retrain) or _hopes(variation, figures):
                continue
            wins = (
                LEVEL[figures.verdict] < level
                if level == LEVEL[Verdict.MISSED]
                else (LEVEL[figures.verdict] <= level and figures.total_ns < base.total_ns * FASTER)
            )
            if wins:
                added = area(figures) - area(base if sense == "as_built" else fresh)
                found.append((added, figures.total_ns, k, sense, figures.total_ns))
    if not found:
        return None
    _, _, k, sense, _ = min(found)
    if level < LEVEL[Verdict.MISSED]:
        target = max(one[4] for one in found)
        return Cheapest(target, f"{number(target)} ns", k, sense)
    if late:
        return Cheapest(plan.budget_ns, f"{number(plan.budget_ns or 0.0)} ns", k, sense)
    return Cheapest(None, "meet what is asked", k, sense)


def _hopes(variation: Variation, figures: Figures) -> bool:
    """Tell whether a variation only asks more of the same logic."""
    return variation.what == "clock" and figures.verdict is not Verdict.MET


def sentence_of(
    plan: Plan,
    limiter: Limiter,
    variations: tuple[Variation, ...],
    cheapest: Cheapest | None,
    unchanged: Cheapest | None,
) -> str:
    """Say in one sentence what limits a plan, and what the cheapest way beyond it is."""
    limited = f"You are limited by {limiter.text}"
    if cheapest is None:
        goal = "meets what is asked" if plan.verdict is Verdict.MISSED else "is faster"
        return f"{limited}; none of the {len(variations)} variations computed here {goal}."
    way = f"the cheapest way to {cheapest.wanted} is {_words(variations, cheapest)}"
    if variations[cheapest.variation].retrain:
        way += " (the network must be trained again)"
        if unchanged is None:
            way += "; none that was computed leaves the network as it is"
        else:
            way += f"; the cheapest that leaves it as it is, is {_words(variations, unchanged)}"
    return f"{limited}; {way}."


def _words(variations: tuple[Variation, ...], cheapest: Cheapest) -> str:
    variation = variations[cheapest.variation]
    found = outcome(variation, cheapest.sense)
    assert found.delta is not None
    assert found.figures is not None
    # to plan for another budget is to plan anew
    how = "" if variation.what == "budget" else ", planned anew" if cheapest.sense == "replanned" else ", all else kept"
    sure = ", if its clock closes" if found.figures.verdict is Verdict.MET_IF_CLOCK_CLOSES else ""
    return f"{variation.words}{how}: {delta_words(found.delta)}{sure}"


def delta_words(delta: Delta) -> str:
    """Write what a design has more: `−5 ns for +120 LUT and −2 DSP`."""
    counts = ((delta.lut, "LUT"), (delta.dsp, "DSP"), (delta.bram, "BRAM"))
    areas = [f"{signed(count)} {kind}" for count, kind in counts if count] or ["no LUT more"]
    return f"{signed(delta.ns)} ns for {' and '.join(areas)}"


def number(value: float) -> str:
    """Write a number with four significant digits, or all before its point."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def signed(value: float) -> str:
    """Write a number with its sign; a true minus stands before negative ones."""
    text = f"{value:,}".lstrip("-") if isinstance(value, int) else number(abs(value))
    return "±0" if text == "0" else f"{'+' if value > 0 else '−'}{text}"
