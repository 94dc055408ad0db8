"""Pins against what there is: refused where no choice is as pinned, and registers that are pinned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from flow.engines.beat import beat_graph, computed, streamable, window_of
from flow.engines.dataflow import dataflow, whole_tensors
from flow.engines.engine import Choice, Streamed, Unrolled
from flow.engines.folded_choices import choices as folded_choices
from flow.engines.folded_choices import foldable
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.graph.nodes import Dense
from flow.plan.candidate import Candidate
from flow.plan.dies import area_with
from flow.plan.options import Space
from flow.plan.pins import NO_PINS, Pin
from flow.plan.priced import priced, worst_of
from flow.plan.solve import Depths, Goal, judged

SHOWN = 12
"""Values that a message lists at most."""
Traits = dict[str, Any]
"""What a choice is, by the names of a pin's fields."""


def check_pins(space: Space) -> None:
    """Raise UserError for a pin that no choice is as, naming the node and what there is."""
    for run in space.runs:
        for name, pin in space.pins.on(run).items():
            asked = {k: v for k, v in pin.asked.items() if k != "depth"}
            offered = [traits for traits, nodes in _offered(space, run, pin) if name in nodes]
            if "depth" in pin.asked:
                offered = [traits for traits in offered if "products" in traits]
            if any(all(traits.get(k) == v for k, v in asked.items()) for traits in offered):
                continue
            raise UserError(f"pins.{name}: {_wrong(asked, offered)}")


def check_kept(space: Space, choices: Sequence[Choice]) -> None:
    """Raise UserError where a plan is not as pinned."""
    for choice in choices:
        for name, pin in space.pins.on(choice.nodes).items():
            if not pin.takes(choice):
                raise UserError(
                    f"pins.{name}: no plan was found in which it is {_text(pin.asked)} beside the other engines; "
                    f"leave some of it to the planner"
                )


def with_depths(space: Space, goal: Goal, candidate: Candidate) -> Candidate:
    """Return a plan with the registers that are pinned, its cycles and its longest segment predicted anew."""
    if not space.pins.places_registers():
        return candidate
    graph, traffic = space.graph, candidate.traffic or whole_tensors(space.graph)
    chosen = tuple(_deepened(space, planned.choice) for planned in candidate.planned)
    if chosen == tuple(planned.choice for planned in candidate.planned):
        return candidate
    planned = tuple(priced(graph, choice, space.part, space.delays) for choice in chosen)
    flow = dataflow(graph, chosen, traffic)
    worst_ns = worst_of(graph, chosen, traffic, space.part, space.delays)
    depths = tuple(choice.depth for choice in chosen if isinstance(choice, Unrolled))
    found = Depths(depths, flow.timeline.latency, worst_ns)
    period_ns = candidate.solution.clock.period_ns
    solution = judged(replace(goal, interval=flow.timeline.interval), found, period_ns, space.delays)
    area = area_with(graph, planned, flow, traffic, space.part, spare=space.spare)
    return replace(candidate, planned=planned, solution=solution, area=area)


def _deepened(space: Space, choice: Choice) -> Choice:
    depth = next((pin.depth for pin in space.pins.on(choice.nodes).values() if pin.depth is not None), None)
    if depth is None:
        return choice
    if isinstance(choice, Unrolled):
        return replace(choice, depth=depth)
    if isinstance(choice, Streamed) and isinstance(choice.inner, Unrolled):
        return replace(choice, inner=replace(choice.inner, depth=max(depth, 1)))
    return choice


def _offered(space: Space, run: tuple[str, ...], pin: Pin) -> Iterator[tuple[Traits, tuple[str, ...]]]:
    """Give what a run can become without pins, with the nodes that it concerns."""
    graph, free = space.graph, replace(space, pins=NO_PINS)
    for cone, _ in free.cones(run):
        yield _cone(cone), run
    head = run[: foldable(graph, run)]
    if head:
        wanted = _wanted(graph, run[0], pin)
        for traits in chain(*(_folds(graph, head, free, reuse) for reuse in wanted)):
            yield traits, head
        for cone, _ in free.cones(run[len(head) :]) if len(head) < len(run) else ():
            yield _cone(cone), run[len(head) :]
    (source, *_) = graph.feeding(graph.node(run[0]))
    spatial = len(source.shape) > 1 or window_of(graph.node(run[0])) is not None
    if not spatial or streamable(graph, run) < len(run):
        return
    beat = beat_graph(graph, run, 1)
    inner = computed(beat)
    for cone, _ in replace(free, graph=beat, runs=(inner,)).cones(inner):
        yield {**_cone(cone), "engine": "streamed"}, run
    part = inner[: foldable(beat, inner)]
    if part:
        wanted = _wanted(beat, part[0], pin)
        for traits in chain(*(_folds(beat, part, free, reuse) for reuse in wanted)):
            if traits["order"] == "output_serial":
                yield {**traits, "engine": "streamed"}, run


def _wanted(graph: Graph, name: str, pin: Pin) -> tuple[int | None, ...]:
    """Return reuse factors to look at: those of the planner's grid (None), and the one that a pin asks for."""
    node = graph.node(name)
    lanes = None
    if pin.p is not None and pin.q is not None and isinstance(node, Dense):
        lanes = -(-node.n_in // pin.p) * -(-node.n_out // pin.q)
    return tuple(dict.fromkeys((pin.reuse_factor or lanes, None)))


def _folds(graph: Graph, head: tuple[str, ...], space: Space, reuse: int | None) -> Iterator[Traits]:
    if reuse == 1:
        return
    for choice in folded_choices(graph, head, space.part, reuse_factor=reuse):
        names = ("engine", "reuse_factor", "order", "p", "q", "store", "multiplier")
        yield {name: getattr(choice, name) for name in names}


def _cone(cone: Unrolled) -> Traits:
    return {"engine": "unrolled", "reuse_factor": 1, "products": cone.products, "tables": cone.tables}


def _wrong(asked: Traits, offered: Sequence[Traits]) -> str:
    """Say what of a pin is not there, and what is."""
    for name, value in asked.items():
        known = list(dict.fromkeys(traits[name] for traits in offered if name in traits))
        if value not in known:
            return f"{name} = {value!r} is not there; {_listed(name, value, known)}"
    rest = [traits for traits in offered if all(traits.get(k) == v for k, v in list(asked.items())[:-1])]
    name, value = list(asked.items())[-1]
    known = list(dict.fromkeys(traits[name] for traits in rest if name in traits))
    return f"nothing is {_text(asked)} at once; {_listed(name, value, known)}"


def _listed(name: str, value: Any, known: Sequence[Any]) -> str:
    if not known:
        return f"nothing that it can become has a {name}"
    if isinstance(value, int):
        near = sorted(sorted(known, key=lambda k: abs(k - value))[:SHOWN])
        return f"the nearest: {', '.join(map(str, near))}"
    return f"there is: {', '.join(map(str, known[:SHOWN]))}"


def _text(asked: Traits) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in asked.items())
