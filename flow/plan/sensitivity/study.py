"""Compute a plan's sensitivity: path, variations, limiter, and the rooflines beside it."""

from __future__ import annotations

from dataclasses import replace

from flow.engines.engine import Resources
from flow.graph.graph import Graph
from flow.plan.footprint import area_of
from flow.plan.onchip import on_chip
from flow.plan.plan import Plan, timeline_of
from flow.plan.planner import make_plan
from flow.plan.rebits import activations_of, weights_of
from flow.plan.request import Request
from flow.plan.sensitivity.figures import Figures, Sensitivity, figures_of
from flow.plan.sensitivity.limits import cheapest_of, limiter_of, number, path_of, sentence_of
from flow.plan.sensitivity.rebuild import Rebuild
from flow.plan.sensitivity.variations import Tell, Varied

MOST_LAYERS = 8
"""Layers that are varied; each takes up to eight plans."""


def study(graph: Graph, request: Request, plan: Plan, tell: Tell = lambda *_: None) -> Sensitivity:
    """Return what a plan's latency and area depend on; the plan may be fresh or built.

    tell: told of each variation before it is computed. Raises UserError for a request that cannot be planned.
    """
    base = figures_of(graph, plan)
    free = replace(request, latency_exact=None)
    fresh = figures_of(graph, make_plan(graph, free))
    layers, left_out = _ranked(graph, plan)
    varied = Varied(graph, request, plan, layers)
    variations = tuple(varied.computed(base, fresh, tell))
    part = Rebuild.of(graph, request, plan).target.part

    def area(figures: Figures) -> float:
        return area_of(Resources(figures.lut, figures.ff, figures.dsp, figures.bram), part, request.spare)

    path = path_of(graph, plan)
    limiter = limiter_of(plan, base, path)
    cheapest, unchanged = (
        cheapest_of(plan, base, fresh, variations, area, retrain=retrain) for retrain in (True, False)
    )
    roof = on_chip(graph, part, base.period_ns, cycles=base.cycles, interval=base.interval, fixed_ns=plan.fixed_ns[1])
    sentence = sentence_of(plan, limiter, variations, cheapest, unchanged)
    notes = _notes(request, base, fresh)
    return Sensitivity(base, fresh, path, limiter, sentence, cheapest, unchanged, variations, left_out, roof, notes)


def _ranked(graph: Graph, plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels of the layers to vary, those with most cycles and area first, and of those left out."""
    varied = {graph.node(name).label for name in (*weights_of(graph), *activations_of(graph))}
    timeline = timeline_of(graph, plan.choices, plan.traffic)
    cycles = {hop.node: hop.cycles for hop in timeline.critical_path}
    weight: dict[str, tuple[int, int]] = {}
    for planned in plan.runs:
        rank = (cycles.get(planned.choice.output, 0), planned.resources.lut)
        for name in planned.choice.nodes:
            weight[graph.node(name).label] = max(rank, weight.get(graph.node(name).label, (0, 0)))
    place = {node.label: k for k, node in enumerate(graph.nodes)}
    order = sorted(varied, key=lambda label: ([-n for n in weight.get(label, (0, 0))], place[label]))
    return tuple(order[:MOST_LAYERS]), tuple(sorted(order[MOST_LAYERS:], key=place.__getitem__))


def _notes(request: Request, base: Figures, fresh: Figures) -> tuple[str, ...]:
    notes = []
    if base != fresh:
        notes.append(
            f"Planned anew, the request gives {fresh.cycles:,} cycles, {number(fresh.total_ns)} ns and {fresh.lut:,} "
            "LUTs; what is replanned is compared with that, what is kept as built with the plan itself."
        )
    if request.latency_exact is not None:
        notes.append(f"Variations are free of the contract of {request.latency_exact:,} cycles.")
    return tuple(notes)
