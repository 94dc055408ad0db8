"""What a network takes at the least, and what to say where a part does not hold it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flow.device.delays import delays_of, has_delays
from flow.device.parts import Kind, Part, parts
from flow.engines.engine import Resources
from flow.engines.folded_choices import choices
from flow.engines.folded_cost import folded_resources
from flow.engines.multiplier import dsp_shapes
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.plan.footprint import KINDS, area_weights, counted, lacking
from flow.plan.options import Space, space_of, unrolled_resources
from flow.plan.plan import Planned


class TooLarge(UserError):  # noqa: N818 — what is wrong, as the user reads it
    """Report a network that does not fit its part; least: what the smallest plan found takes, None where none was."""

    def __init__(self, message: str, least: Resources | None = None) -> None:
        super().__init__(message)
        self.least = least


LEAN = 32
"""Folded choices of a run, those with the fewest multipliers, among which the leanest is looked for."""


Ways = list[list[Resources]]
"""For each run, what every way to build it takes."""


def smallest(space: Space, per_run: Ways) -> tuple[tuple[Resources, str], ...]:
    """Return each run's least resources on the space's part with the run's output, converters not counted.

    The least area, unless only a plan that spares one resource has room on the part.
    """
    weights = _weights(space.part)
    costs = [np.array([counted(way) for way in ways]) @ weights.T for ways in per_run]
    found = []
    for k in range(len(weights)):
        picks = [ways[int(cost[:, k].argmin())] for ways, cost in zip(per_run, costs, strict=True)]
        found.append(tuple(zip(picks, (run[-1] for run in space.runs), strict=True)))
    return next((plan for plan in found if not lacking(total(plan), space.part)), found[0])


def _weights(part: Part) -> NDArray[np.float64]:
    """Return the weights of an area, and of those in which one resource is dear."""
    plain = area_weights(part, ())
    return np.array([plain, *(area_weights(part, (kind,)) for kind in KINDS)])


def total(plan: tuple[tuple[Resources, str], ...]) -> Resources:
    """Return the sum over runs."""
    return sum((resources for resources, _ in plan), Resources())


def _ways(space: Space, run: tuple[str, ...]) -> list[Resources]:
    """Return what each choice for a run takes with the fewest registers."""
    ways = [unrolled_resources(space.estimate(run), 1)] if space.may_unroll(run) else []
    head, wish = space.head(run), space.wish(run)
    if head and wish != 1:
        rest = run[len(head) :]
        behind = unrolled_resources(space.estimate(rest), 1) if rest else Resources()
        chosen = sorted(choices(space.graph, head, space.part, reuse_factor=wish), key=lambda c: c.multipliers)[:LEAN]
        ways += [folded_resources(space.graph, choice, space.part) + behind for choice in chosen]
    return ways


def too_large(space: Space) -> UserError:
    """Return the error for a network that does not fit its part: the smallest footprint, and the parts that hold it."""
    graph, part = space.graph, space.part
    known: dict[object, Ways] = {}
    least = smallest(space, _ways_on(space, known))
    if part.most and _holds(graph, replace(part, most=()), known):
        return _refusal(space, least, f"without limits ({', '.join(kind for kind, _ in part.most)}) it would fit")
    roomy = [p.name for p in parts() if p.name != part.name and has_delays(p) and _holds(graph, p, known)]
    beyond = " without limits" if part.most else ""
    offer = f"it would fit {', '.join(roomy)}{beyond}" if roomy else "no part of the catalogue holds it"
    return _refusal(space, least, offer)


def streams_too_large(space: Space, plans: tuple[tuple[Planned, ...], ...]) -> UserError:
    """Return the error for a network of which no plan in beats fits its part; plans: those found, none that fits."""
    if not plans:
        return TooLarge(
            f"{space.graph.name}: no plan was found for {space.part.name}; some layer takes its whole input at once, "
            "and its tensors are too large for that"
        )
    weights = area_weights(space.part, ())
    least = min(plans, key=lambda plan: float(np.array(counted(_sum(plan))) @ weights))
    named = tuple((planned.resources, planned.choice.output) for planned in least)
    return _refusal(space, named, "take a larger part, or fewer channels and bits")


def _sum(plan: tuple[Planned, ...]) -> Resources:
    return sum((planned.resources for planned in plan), Resources())


def _refusal(space: Space, least: tuple[tuple[Resources, str], ...], offer: str) -> UserError:
    graph, part = space.graph, space.part
    sizes = []
    for kind in KINDS:
        needed, usable = getattr(total(least), kind), getattr(part, f"usable_{kind}")
        each = "" if part.dies == 1 else f", {_on_dies(part, kind)}"
        if needed:
            sizes.append(f"{needed:,} {kind.upper()} ({usable:,} may be used{each})")
    largest, name = max(least, key=lambda pair: pair[0].lut)
    wishes = " with the reuse factors that are asked for" if space.reuse else ""
    return TooLarge(
        f"{graph.name} is too large for {part.name}, however it is built: the smallest plan found{wishes} needs about "
        f"{', '.join(sizes)} (predicted); the largest run ends in '{name}' with {largest.lut:,} LUT; {offer}",
        total(least),
    )


def _on_dies(part: Part, kind: Kind) -> str:
    rooms = [f"{room:,}" for room in part.on_dies(kind)]
    if len(set(rooms)) == 1:
        return f"{rooms[0]} on each of its {part.dies} dies"
    return f"{', '.join(rooms)} on its dies"


def _holds(graph: Graph, part: Part, known: dict[object, Ways]) -> bool:
    space = space_of(graph, part, delays_of(part))
    return not lacking(total(smallest(space, _ways_on(space, known))), part)


def _ways_on(space: Space, known: dict[object, Ways]) -> Ways:
    """Return all ways, once for parts that differ in nothing but their counts."""
    part = space.part
    alike = (part.family, space.delays, dsp_shapes(part), part.bram is None or part.bram > 0)
    if alike not in known:
        known[alike] = [_ways(space, run) for run in space.runs]
    return known[alike]
