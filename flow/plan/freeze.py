"""A frozen timeline: the same choices for new weights, so that every beat keeps its cycle, or what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import cast

import numpy as np

from flow.device.links import Boundary, find_link
from flow.device.parts import find_part
from flow.engines.beat import beat_of
from flow.engines.dataflow import dataflow
from flow.engines.engine import Choice, Streamed
from flow.engines.folded import Folded
from flow.engines.folded_choices import choices as folded_choices
from flow.engines.folded_choices import foldable
from flow.errors import Missed, UserError
from flow.files import digest
from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.graph.store import load_graph
from flow.latency.timeline import Timeline, load_timeline, timeline_to_json
from flow.plan.dies import lacking_on_dies
from flow.plan.exact import held
from flow.plan.footprint import KINDS, area_of
from flow.plan.plan import Plan, Planned, load_plan, timeline_of
from flow.plan.planner import Target, assemble, make_plan, target_of
from flow.plan.priced import priced, worst_of
from flow.plan.request import Request, parse_clock
from flow.plan.solve import Depths, judged

UNSEEN = frozenset({"label"})
"""Fields of a node that no hardware depends on."""


@dataclass(frozen=True, slots=True, eq=False)
class Frozen:
    """Hold a run that is to be kept: its plan and timeline, and its network where that lies beside them.

    path: of the timeline, as the user wrote it.
    """

    path: Path
    plan: Plan
    timeline: Timeline
    graph: Graph | None

    @property
    def digest(self) -> str:
        """Return what of it decides on the hardware: not its costs, which are those of the former weights."""
        plan = self.plan
        kept = (plan.part, plan.link, plan.boundary, plan.clock.period_ns, plan.latency_exact)
        return digest(repr(kept), repr(plan.choices), repr(plan.traffic), timeline_to_json(self.timeline))


def load_frozen(path: Path) -> Frozen:
    """Read a timeline with the plan, and the network if it is there, that lie beside it; a run's folder will do."""
    path = path / "timeline.json" if path.is_dir() else path
    beside = path.parent / "plan.json"
    if path.is_file() and not beside.is_file():
        raise UserError(f"{path} is frozen, but there is no plan.json beside it: the plan says what its engines are")
    timeline, plan = load_timeline(path), load_plan(beside)
    model = path.parent / "model.json"
    return Frozen(path, plan, timeline, load_graph(model) if model.is_file() else None)


def kept(request: Request, frozen: Frozen, **options: str | None) -> Request:
    """Return a request with part, clock, link and boundary of the frozen run.

    options: what the command line asks of these; raises UserError where that is something else.
    """
    plan = frozen.plan
    ours: dict[str, Callable[[str], bool]] = {
        "part": lambda text: find_part(text).device == plan.part,
        "clock": lambda text: abs((parse_clock(text) or 0.0) - plan.clock.period_ns) < 1e-9 * plan.clock.period_ns,
        "link": lambda text: find_link(text).name == plan.link,
        "boundary": lambda text: text == plan.boundary,
    }
    has = {"part": plan.part, "clock": f"{plan.clock.period_ns:.6g}ns", "link": plan.link, "boundary": plan.boundary}
    for name, same in ours.items():
        text = options.get(name)
        if text is not None and not same(text):
            raise UserError(
                f"--{name} {text}: {frozen.path} is frozen with {has[name]}; leave --{name} or --freeze out"
            )
    if request.latency_exact not in {None, frozen.timeline.latency}:
        raise Missed(
            f"exactly {request.latency_exact:,} cycles cannot be had: {frozen.path} is frozen with "
            f"{frozen.timeline.latency:,}"
        )
    same_link = (find_link(request.link).name, request.boundary or plan.boundary) == (plan.link, plan.boundary)
    return replace(
        request,
        part=request.part if ours["part"](request.part) else plan.part,
        clock=f"{plan.clock.period_ns!r}ns",
        freeze=None,
        link=plan.link,
        boundary=cast("Boundary", plan.boundary),
        latency_exact=None,
        must_beat=request.must_beat if same_link else (),
    )


def frozen_plan(graph: Graph, request: Request, frozen: Frozen) -> Plan:
    """Return the frozen plan for another network, with that one's costs.

    Raises UserError where more than weights differs, Missed where the new weights break the plan; both name the node.
    """
    differs = () if frozen.graph is None else tuple(differences(frozen.graph, graph))
    if differs:
        more = f" (and {len(differs) - 1} more differences)" if len(differs) > 1 else ""
        raise UserError(f"{frozen.path} is frozen for another network, not for other weights: {differs[0]}{more}")
    target, plan = target_of(graph, request), frozen.plan
    _check_nodes(graph, frozen)
    for choice in plan.choices:
        _check_foldable(graph, choice, target)
    traffic = replace(plan.traffic, held=0)
    runs = tuple(priced(graph, choice, target.part, target.delays) for choice in plan.choices)
    timeline = dataflow(graph, plan.choices, traffic).timeline
    worst_ns = worst_of(graph, plan.choices, traffic, target.part, target.delays)
    goal = replace(target.goal, interval=timeline.interval)
    solution = judged(goal, Depths((), timeline.latency, worst_ns), plan.clock.period_ns, target.delays)
    made = assemble(graph, request, target, planned=runs, solution=solution, best_ns=float("inf"), traffic=traffic)
    made = held(graph, replace(made, latency_exact=plan.latency_exact), target)
    _check_edges(timeline_of(graph, made.choices, made.traffic), frozen)
    _check_room(graph, made, frozen)
    return made


def plan_for(graph: Graph, request: Request, frozen: Frozen | None) -> Plan:
    """Return the plan for a request; frozen: a run to keep, None to plan anew."""
    return make_plan(graph, request) if frozen is None else frozen_plan(graph, request, frozen)


def check_built(graph: Graph, plan: Plan, timeline: Timeline, slowest: str, frozen: Frozen) -> None:
    """Raise Missed where hardware with its matrices solved is not what was frozen, naming the node.

    slowest: the node at which the longest segment between two registers ends.
    """
    _check_edges(timeline, frozen)
    _check_room(graph, plan, frozen)
    new, old = plan.clock, frozen.plan.clock
    if (old.closes and not new.closes) or (old.may_close and not new.may_close):
        end = 1 if old.closes else 0
        likely = "may be" if end else "is at least"
        raise Missed(
            f"node {slowest}: its longest segment between two registers {likely} {new.range_ns[end]:.3g} ns of "
            f"{new.period_ns:.4g} ns now (predicted with its matrix solved; {old.range_ns[end]:.3g} ns in "
            f"{frozen.path}); with the frozen registers that clock {'is not sure to close' if end else 'cannot close'}"
        )


def differences(old: Graph, new: Graph) -> Iterator[str]:
    """Say what differs between two networks but the values of weights and tables, node by node."""
    theirs = {node.name: node for node in new.nodes}
    for node in old.nodes:
        other = theirs.pop(node.name, None)
        if other is None:
            yield f"node {node.name} is missing"
        elif type(other) is not type(node):
            yield f"node {node.name} is {other.kind}, no longer {node.kind}"
        else:
            yield from (f"node {node.name}: {text}" for text in _changed(node, other))
    yield from (f"node {name} is new" for name in theirs)
    for what in ("inputs", "outputs", "io_type"):
        if getattr(old, what) != getattr(new, what):
            yield f"the network's {what}: {getattr(new, what)}, no longer {getattr(old, what)}"


def _changed(old: Node, new: Node) -> Iterator[str]:
    for name in (f.name for f in fields(old) if f.name not in UNSEEN):
        before, now = getattr(old, name), getattr(new, name)
        if isinstance(before, np.ndarray):
            if before.shape != now.shape:
                yield f"{name} of shape {now.shape}, no longer {before.shape}"
        elif before != now:
            yield f"{name} {now}, no longer {before}"


def _check_nodes(graph: Graph, frozen: Frozen) -> None:
    """Raise UserError unless the plan builds every node of the network; without a frozen network only that tells."""
    planned = [name for choice in frozen.plan.choices for name in choice.nodes]
    known = {node.name for node in graph.nodes}
    for name in planned:
        if name not in known:
            raise UserError(f"{frozen.path} is frozen for another network: node {name} is missing")
    for node in graph.nodes:
        if node.kind != "input" and node.name not in planned:
            raise UserError(f"{frozen.path} is frozen for another network: node {node.name} is new")


def _check_foldable(graph: Graph, choice: Choice, target: Target) -> None:
    """Raise where shared multipliers cannot take the new weights, or no longer add up in their order."""
    if isinstance(choice, Streamed):
        if isinstance(choice.inner, Folded):
            _check_foldable(beat_of(graph, choice), choice.inner, target)
        return
    if not isinstance(choice, Folded):
        return
    node = graph.node(choice.nodes[0])
    if foldable(graph, choice.nodes) < len(choice.nodes):
        raise UserError(f"node {node.name}: its run {choice.nodes} is none that can be folded")
    if (choice.n_in, choice.n_out) != (graph.feeding(node)[0].size, node.size):
        raise UserError(f"node {node.name}: the frozen engine is for a {choice.n_in} x {choice.n_out} matrix")
    legal = folded_choices(graph, choice.nodes, target.part, reuse_factor=choice.reuse_factor)
    alike = [other for other in legal if _steps(other) == _steps(choice)]
    if not alike:
        raise Missed(
            f"node {node.name}: its sums may saturate now, so that their order counts, and reuse factor "
            f"{choice.reuse_factor} in {choice.p} x {choice.q} lanes would change it"
        )
    if choice.multiplier not in {other.multiplier for other in alike}:
        raise Missed(f"node {node.name}: its weights are too wide now for {choice.multiplier} multipliers")


def _steps(choice: Folded) -> tuple[str, int, int]:
    return choice.order, choice.p, choice.q


def _check_edges(timeline: Timeline, frozen: Frozen) -> None:
    """Raise Missed at the first edge whose beats come in other cycles than frozen."""
    ours = {edge.name: edge for edge in timeline.edges}
    for old in frozen.timeline.edges:
        new = ours.get(old.name)
        if new is None:
            raise Missed(f"edge {old.name} (node {old.node}) of {frozen.path} is not there now")
        if new.lanes != old.lanes or len(new.schedule.cycles) != len(old.schedule.cycles):
            raise Missed(
                f"node {old.node}: edge {old.name} crosses in {len(new.schedule.cycles):,} beats of {new.lanes:,} now, "
                f"in {len(old.schedule.cycles):,} of {old.lanes:,} in {frozen.path}"
            )
        pairs = zip(new.schedule.cycles, old.schedule.cycles, strict=True)
        for beat, (now, before) in enumerate(pairs):
            if now != before:
                raise Missed(
                    f"node {old.node}: beat {beat} of edge {old.name} comes in cycle {now:,} now, in cycle {before:,} "
                    f"in {frozen.path}"
                )
    if timeline.interval != frozen.timeline.interval:
        raise Missed(
            f"an inference may follow after {timeline.interval:,} cycles now, after {frozen.timeline.interval:,} in "
            f"{frozen.path}"
        )


def _check_room(graph: Graph, plan: Plan, frozen: Frozen) -> None:
    """Raise Missed where the part, or a die of it, has no room for what the choices take now."""
    part = find_part(plan.part)
    if area_of(plan.resources, part) < float("inf"):
        flow = dataflow(graph, plan.choices, plan.traffic)
        for die, kind in lacking_on_dies(graph, plan.runs, flow, plan.traffic, part):
            raise Missed(
                f"die {die} of {plan.part} has {part.on_dies(kind)[die]:,} usable {kind.upper()}; what lies there in "
                f"{frozen.path} takes more now (predicted)"
            )
        return
    kind = next(k for k in KINDS if getattr(plan.resources, k) > getattr(part, f"usable_{k}"))

    def grown(pair: tuple[Planned, Planned]) -> int:
        return int(getattr(pair[0].resources, kind) - getattr(pair[1].resources, kind))

    new, old = max(zip(plan.runs, frozen.plan.runs, strict=True), key=grown)
    raise Missed(
        f"node {new.choice.output}: takes {getattr(new.resources, kind):,} {kind.upper()} now, "
        f"{getattr(old.resources, kind):,} in {frozen.path}; with it {getattr(plan.resources, kind):,} of "
        f"{getattr(part, f'usable_{kind}'):,} usable ones on {plan.part} would be needed (predicted)"
    )
