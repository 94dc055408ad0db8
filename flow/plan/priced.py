"""What given choices cost, by the planner's estimates: nothing is chosen here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flow.device.delays import Delays
from flow.device.parts import Part
from flow.engines.beat import beat_of
from flow.engines.blocks import blocks_of
from flow.engines.dataflow import Traffic, sources_of
from flow.engines.engine import Choice, Unrolled
from flow.engines.estimate import Estimate, estimate
from flow.engines.folded import Folded
from flow.engines.folded_cost import folded_resources
from flow.engines.folded_pipeline import longest_ns
from flow.engines.segments import segments
from flow.engines.streamed_cost import streamed_resources
from flow.graph.graph import Graph
from flow.plan.options import unrolled_resources
from flow.plan.plan import Planned


def priced(graph: Graph, choice: Choice, part: Part, delays: Delays) -> Planned:
    """Return a choice with its resources and its delay, both predicted."""
    if isinstance(choice, Unrolled):
        guess = _guess(graph, choice, part, delays)
        return Planned(choice, unrolled_resources(guess, choice.depth), guess.delay_ns)
    if isinstance(choice, Folded):
        cost, longest = folded_resources(graph, choice, part), longest_ns(graph, choice, part, delays)
        return Planned(choice, cost, longest)
    inner = priced(beat_of(graph, choice), choice.inner, part, delays)
    return Planned(choice, streamed_resources(graph, choice, part, inner.resources), inner.delay_ns)


def worst_of(graph: Graph, choices: tuple[Choice, ...], traffic: Traffic, part: Part, delays: Delays) -> float:
    """Return the longest segment between two registers in ns, nominal, with the registers that the choices have.

    Cones that follow each other are cut evenly, as the build cuts them; a cut may miss its place by half an operation.
    """
    found = [delays.register_ns]
    for choice in choices:
        if isinstance(choice, Folded):
            found.append(longest_ns(graph, choice, part, delays))
        elif not isinstance(choice, Unrolled):
            beat, inner = beat_of(graph, choice), choice.inner
            if isinstance(inner, Folded):
                found.append(longest_ns(beat, inner, part, delays))
            else:
                found.append(_evenly_cut(beat, (inner,), {inner.output: 0}, part, delays))
    for segment in segments(graph, choices, traffic):
        cones = tuple(c for k in segment.numbers if isinstance(c := choices[k], Unrolled))
        ends = dict.fromkeys(segment.leaving, 0) | dict.fromkeys(segment.crossing, 1)
        found.append(_evenly_cut(graph, cones, ends, part, delays))
    return max(found)


def _evenly_cut(graph: Graph, cones: Sequence[Unrolled], ends: Mapping[str, int], part: Part, delays: Delays) -> float:
    """Return the longest segment of cones that feed each other.

    ends: the cones at whose end a register stands, with those that are not of their own: a crossing's.
    """
    passed: dict[str, tuple[float, int]] = {}
    longest = slowest = 0.0
    for cone in cones:
        guess = _guess(graph, cone, part, delays)
        before = [passed[name] for name in sources_of(graph, cone) if name in passed]
        delay_ns = max((ns for ns, _ in before), default=0.0) + guess.delay_ns
        registers = max((count for _, count in before), default=0) + cone.depth - guess.lags
        passed[cone.output] = (delay_ns, registers)
        if cone.output in ends:
            longest = max(longest, delay_ns / max(registers + ends[cone.output], 1))
        slowest = max(slowest, guess.step_ns)
    cut = any(registers + ends.get(name, 0) > 1 for name, (_, registers) in passed.items())
    return delays.register_ns + max(longest + cut * slowest / 2, slowest)


def _guess(graph: Graph, choice: Unrolled, part: Part, delays: Delays) -> Estimate:
    return estimate(graph, choice.nodes, delays, part.family, blocks_of(choice, part))
