"""What differs between two plans: what was asked, the clock, each node's engine, cycles, resources, the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flow.engines.engine import Choice, Resources, Streamed, Unrolled
from flow.errors import UserError
from flow.latency.timeline import Timeline, load_timeline
from flow.plan.plan import Plan, Planned, load_plan

Value = str | int | float | None


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Hold one of the two: a plan, and the timeline that lies beside it, None where there is none."""

    path: Path
    plan: Plan
    timeline: Timeline | None


@dataclass(frozen=True, slots=True)
class Figure:
    """Give a value of both plans; unit: "" for a name or a count. origin: of figures, "" for what was asked."""

    name: str
    unit: str
    a: Value
    b: Value
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Built:
    """Say how one plan builds some nodes, in words, and what that takes.

    ready: the cycle in which the last beat leaves, None without a timeline.
    """

    engine: str
    ready: int | None
    lut: int
    ff: int
    dsp: int
    bram: int


@dataclass(frozen=True, slots=True)
class EngineDifference:
    """Give nodes that are built in another way, at another time or at another cost; None: one plan has none of them."""

    nodes: tuple[str, ...]
    a: Built | None
    b: Built | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Hold all that differs between two plans, predicted figures of the plans as they lie there."""

    format: int
    a: str
    b: str
    equal: bool
    figures: tuple[Figure, ...]
    engines: tuple[EngineDifference, ...]


FORMAT = 1


def load_side(path: Path) -> Side:
    """Read a plan.json, or that of a run's folder, with the timeline beside it."""
    file = path / "plan.json" if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise UserError(f"{path} holds no plan.json; give the folder of a run that was built, or a plan.json")
    timeline = file.parent / "timeline.json"
    return Side(path, load_plan(file), load_timeline(timeline) if timeline.is_file() else None)


def compare_plans(a: Side, b: Side) -> Comparison:
    """Return all that differs."""
    figures = tuple(figure for figure in _figures(a, b) if figure.a != figure.b)
    engines = tuple(_engines(a, b))
    return Comparison(FORMAT, str(a.path), str(b.path), not figures and not engines, figures, engines)


def _figures(a: Side, b: Side) -> Iterator[Figure]:
    one, other = _values(a), _values(b)
    for (name, unit, value, origin), (_, _, theirs, _) in zip(one, other, strict=True):
        yield Figure(name, unit, value, theirs, origin)


def _values(side: Side) -> list[tuple[str, str, Value, str]]:
    plan, timeline = side.plan, side.timeline
    period, cycles = plan.clock.period_ns, None if timeline is None else timeline.latency
    core_ns = None if cycles is None else cycles * period
    comes = "; ".join(f"{a.beats} x {a.lanes} every {a.spacing}" for a in plan.traffic.arrivals)
    total = plan.resources
    found: list[tuple[str, str, Value, str]] = [
        ("model", "", plan.model, ""),
        ("part", "", plan.part, ""),
        ("link", "", plan.link, ""),
        ("boundary", "", plan.boundary, ""),
        ("budget", "ns", plan.budget_ns, "asked"),
        ("rate", "Hz", plan.rate_hz, "asked"),
        ("exact latency", "cycles", plan.latency_exact, "asked"),
        ("clock period", "ns", period, str(plan.clock.origin)),
        ("period needed, least", "ns", plan.clock.range_ns[0], str(plan.clock.range_origin)),
        ("period needed, most", "ns", plan.clock.range_ns[1], str(plan.clock.range_origin)),
        ("inputs", "beats x lanes", comes, "predicted"),
        ("held back", "cycles", plan.traffic.held, "predicted"),
        ("dies of the runs", "", "one" if plan.traffic.on_one_die else " ".join(map(str, plan.traffic.dies)), ""),
        ("latency", "cycles", cycles, "predicted"),
        ("core", "ns", core_ns, "predicted"),
        ("link's overhead", "ns", plan.fixed_ns[1], ""),
        ("total", "ns", None if core_ns is None else core_ns + plan.fixed_ns[1], "predicted"),
        ("interval", "cycles", None if timeline is None else timeline.interval, "predicted"),
        ("verdict", "", str(plan.verdict), "predicted"),
        ("limiter", "", plan.limiter, "predicted"),
    ]
    kinds = ("lut", "ff", "dsp", "bram", "uram")
    return found + [(kind.upper(), "", getattr(total, kind), "predicted") for kind in kinds]


def _engines(a: Side, b: Side) -> Iterator[EngineDifference]:
    """Give the nodes whose engines differ, those together that share both."""
    ours, theirs = _by_node(a.plan), _by_node(b.plan)
    groups: dict[tuple[int, int], list[str]] = {}
    for name in dict.fromkeys((*ours, *theirs)):
        groups.setdefault((ours.get(name, -1), theirs.get(name, -1)), []).append(name)
    for (k, m), names in groups.items():
        one = None if k < 0 else _built(a, a.plan.runs[k])
        other = None if m < 0 else _built(b, b.plan.runs[m])
        apart = k >= 0 and m >= 0 and a.plan.runs[k].choice != b.plan.runs[m].choice
        if one != other or apart:
            yield EngineDifference(tuple(names), one, other)
    between_a, between_b = _between(a), _between(b)
    for edge in dict.fromkeys((*between_a, *between_b)):
        if between_a.get(edge) != between_b.get(edge):
            yield EngineDifference((f"→ {edge}",), between_a.get(edge), between_b.get(edge))


def _by_node(plan: Plan) -> dict[str, int]:
    return {name: k for k, planned in enumerate(plan.runs) for name in planned.choice.nodes}


def _built(side: Side, planned: Planned) -> Built:
    return _told(side, described(planned.choice), planned.choice.output, planned.resources)


def _between(side: Side) -> dict[str, Built]:
    return {c.edge: _told(side, c.converter.engine, c.edge, c.resources) for c in side.plan.converters}


def _told(side: Side, engine: str, edge: str, cost: Resources) -> Built:
    ready = None if side.timeline is None else side.timeline.edge(edge).schedule.last
    return Built(engine, ready, cost.lut, cost.ff, cost.dsp, cost.bram)


def described(choice: Choice) -> str:
    """Say in one line what a choice is."""
    match choice:
        case Streamed():
            inner = described(choice.inner)
            kept = "" if choice.buffer is None else f", {type(choice.buffer).__name__.lower()}"
            lanes = "+".join(map(str, choice.lanes_in))
            return f"streamed, {lanes} to {choice.lanes} lanes{kept}: {inner}"
        case Unrolled():
            blocks = "".join(
                f", {what} in {where}"
                for what, where in (("products", choice.products), ("tables", choice.tables))
                if where != "lut"
            )
            return f"unrolled, depth {choice.depth}{blocks}"
        case _:
            registers = f"{choice.read}+{choice.multiply}+{choice.add}+{choice.finish}"
            return (
                f"folded, reuse factor {choice.reuse_factor}, {choice.p} x {choice.q}, "
                f"{choice.order.replace('_', '-')}, {choice.store}, {choice.multiplier}, registers {registers}"
            )
