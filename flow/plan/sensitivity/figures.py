"""What a sensitivity consists of: figures of designs, variations between them, and the path that sets the latency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flow.graph.graph import Graph
from flow.latency.budget import Origin, Verdict, latency_of
from flow.plan.onchip import OnChip
from flow.plan.plan import Plan, timeline_of

What = Literal["weight_bits", "activation_bits", "reuse", "store", "clock", "link", "budget"]
"""What a variation changes."""
Sense = Literal["as_built", "replanned"]
"""as_built: the other choices stay. replanned: the planner chooses anew, for the same request."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Give a design's latency, interval and area, all predicted; fits: whether the part has room for it."""

    cycles: int
    period_ns: float
    total_ns: float
    interval: int
    lut: int
    ff: int
    dsp: int
    bram: int
    verdict: Verdict
    fits: bool = True


@dataclass(frozen=True, slots=True)
class Delta:
    """Give what one design has more than another; ns: of the total."""

    cycles: int
    ns: float
    interval: int
    lut: int
    ff: int
    dsp: int
    bram: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Give a varied design and what it has more than the one it is compared with.

    why: where there is none, the reason.
    """

    figures: Figures | None = None
    delta: Delta | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Variation:
    """Give one change and what comes of it in both senses.

    where: the node, the link or the clock. change: in short. words: what is to be done, as a sentence has it. retrain:
    whether the network becomes another, whose accuracy is not known here.
    """

    what: What
    where: str
    change: str
    words: str
    retrain: bool
    as_built: Outcome
    replanned: Outcome


@dataclass(frozen=True, slots=True)
class Share:
    """Give one part of the latency: an engine of the critical path, the input's arrival, or the link.

    cycles: its registers; None for a link. ns: cycles × period, but cones that follow each other share theirs by the
    delay of their logic. share: of the total, a fraction.
    """

    name: str
    kind: str
    cycles: int | None
    ns: float
    share: float


@dataclass(frozen=True, slots=True)
class Limiter:
    """Name what limits a design: an engine, the input's arrival, the link, the rate or the clock.

    ns, share: of the total, what it takes; None for the rate and the clock.
    """

    kind: Literal["engine", "arrival", "link", "rate", "clock"]
    name: str
    ns: float | None
    share: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Cheapest:
    """Name the cheapest variation that reaches a target.

    target_ns: None where the target is no latency. variation: its number in the list. wanted: the target in words.
    """

    target_ns: float | None
    wanted: str
    variation: int
    sense: Sense


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Hold what a plan's latency and area depend on, each figure from a design that was planned.

    base: the plan. fresh: what the planner chooses for the request today, which the replanned variations are compared
    with; the base unless the plan was built, and its registers placed. path: shares of the total. cheapest: the
    cheapest way to the target; unchanged: the cheapest that leaves the network as it is. left_out: layers that were not
    varied. on_chip: what the part could do at most.
    """

    base: Figures
    fresh: Figures
    path: tuple[Share, ...]
    limiter: Limiter
    sentence: str
    cheapest: Cheapest | None
    unchanged: Cheapest | None
    variations: tuple[Variation, ...]
    left_out: tuple[str, ...]
    on_chip: OnChip
    notes: tuple[str, ...] = ()
    origin: Origin = Origin.PREDICTED


def figures_of(graph: Graph, plan: Plan) -> Figures:
    """Return a plan's figures; cycles and interval come from its timeline."""
    timeline, used = timeline_of(graph, plan.choices, plan.traffic), plan.resources
    period_ns = plan.clock.period_ns
    total_ns = latency_of(timeline.latency, period_ns, plan.fixed_ns).total_ns
    counts = (used.lut, used.ff, used.dsp, used.bram)
    return Figures(timeline.latency, period_ns, total_ns, timeline.interval, *counts, plan.verdict)


def delta(figures: Figures, base: Figures) -> Delta:
    """Return what one design has more than another."""
    return Delta(
        figures.cycles - base.cycles,
        figures.total_ns - base.total_ns,
        figures.interval - base.interval,
        figures.lut - base.lut,
        figures.ff - base.ff,
        figures.dsp - base.dsp,
        figures.bram - base.bram,
    )


def found(figures: Figures, base: Figures) -> Outcome:
    """Return the outcome that figures are, beside those they are compared with."""
    return Outcome(figures, delta(figures, base))


def outcome(variation: Variation, sense: Sense) -> Outcome:
    """Return a variation's outcome in one sense."""
    return variation.as_built if sense == "as_built" else variation.replanned
