"""Random dense networks folded and unrolled at random, each built and proven on its own.

`python -m tests.conformance.random_folds --first 1000 --count 100` proves many and prints what was compared;
`--first SEED --count 1 --keep FOLDER` repeats one and keeps its files.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.dataflow import dataflow, whole_tensors
from flow.engines.engine import Choice, Unrolled
from flow.engines.folded_choices import foldable
from flow.engines.folded_hardware import Hardware, folded_hardware
from flow.engines.lower import runs
from flow.engines.pipeline import PlacedCone, place
from flow.engines.segments import lower_unrolled, network_of, segments
from flow.graph.graph import Graph
from flow.graph.nodes import Affine, AnyNode, Input
from flow.rtl.top import build_top
from tests.conformance.random_designs import Proof, RandomDesign, campaign, prove, random_depths, varying_share
from tests.folding import random_dense, random_fold, random_tail
from tests.networks import random_raw, random_type, vectors

VECTORS = 256
MOST_ELEMENTS = 12
WIDTHS = ((1, 8), (2, 6), (4, 12))
PART = "xcvu9p"  # whose delays place registers; cycles come from the drawn depths
AGAIN = "python -m tests.conformance.random_folds --first {} --count 1 --keep FOLDER"


def draw_graph(seed: int) -> Graph:
    """Draw a network of dense layers whose outputs mostly depend on its inputs."""
    rng = np.random.default_rng([seed, 10])
    while True:
        graph = _draw_any_graph(rng)
        if varying_share(graph) >= 0.5:
            return replace(graph, name=f"folded_{seed}")


def _draw_any_graph(rng: np.random.Generator) -> Graph:
    widths = WIDTHS[rng.integers(len(WIDTHS))]
    size = int(rng.integers(1, MOST_ELEMENTS + 1))
    nodes: list[AnyNode] = [
        Input(name="x", label="x", inputs=(), shape=(size,), type=random_type(rng, width=widths, odd=0.1))
    ]
    outputs: list[str] = []
    for k in range(int(rng.integers(1, 4))):
        source = nodes[-1] if rng.random() < 0.85 else nodes[int(rng.integers(len(nodes)))]
        nodes.append(random_dense(rng, f"d{k}", source, int(rng.integers(1, MOST_ELEMENTS + 1)), widths))
        nodes += random_tail(rng, nodes[-1], widths)
        if rng.random() < 0.15:
            nodes.append(_affine(rng, f"scale{k}", nodes[-1], widths))
        if rng.random() < 0.2:
            outputs.append(nodes[-1].name)
    return _without_unread(Graph("drawn", tuple(nodes), ("x",), tuple(dict.fromkeys((*outputs, nodes[-1].name)))))


def _without_unread(graph: Graph) -> Graph:
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    return replace(graph, nodes=tuple(node for node in graph.nodes if node.name in needed or node.name == "x"))


def _affine(rng: np.random.Generator, name: str, source: AnyNode, widths: tuple[int, int]) -> Affine:
    scale, bias = (random_type(rng, width=widths) for _ in range(2))
    return Affine(
        name=name,
        label=name,
        inputs=(source.name,),
        shape=source.shape,
        type=random_type(rng, width=widths),
        scale=random_raw(rng, scale, source.shape),
        bias=random_raw(rng, bias, source.shape),
        scale_type=scale,
        bias_type=bias,
    )


def draw_choices(graph: Graph, rng: np.random.Generator) -> tuple[Choice, ...]:
    """Draw a choice for every run; the depths of unrolled ones are drawn later, a segment at a time."""
    choices: list[Choice] = []
    for run in runs(graph):
        folded = foldable(graph, run) if rng.random() < 0.75 else 0
        if folded:
            choices.append(random_fold(rng, graph, run[:folded]))
        if run[folded:]:
            choices.append(Unrolled(run[folded:], 1))
    return tuple(choices)


def build(graph: Graph, choices: tuple[Choice, ...], rng: np.random.Generator) -> RandomDesign:
    """Generate the hardware of choices, unrolled ones with registers drawn at random."""
    delays = delays_of(find_part(PART))
    chosen = list(choices)
    engines: dict[str, PlacedCone | Hardware] = {}
    cones = lower_unrolled(graph, choices)
    for segment in segments(graph, choices, whole_tensors(graph)):
        network = network_of(segment, cones)
        placement = place(network, random_depths(network, rng), delays)
        for number, cone in zip(segment.numbers, placement.cones, strict=True):
            engines[cone.name] = cone
            chosen[number] = Unrolled(choices[number].nodes, cone.departure - cone.arrival)
    for choice in chosen:
        if not isinstance(choice, Unrolled):
            engines[choice.output] = folded_hardware(graph, choice, delays)
    flow = dataflow(graph, tuple(chosen))
    modules, signature = build_top(graph, flow, engines)
    drawn = "\n".join(f"  {choice}" for choice in chosen)
    return RandomDesign(graph, flow.timeline, modules, signature, drawn, flow)


def draw_design(seed: int) -> RandomDesign:
    """Draw network, precisions, folds and registers from one seed, and build the design."""
    rng = np.random.default_rng([seed, 11])
    graph = draw_graph(seed)
    return build(graph, draw_choices(graph, rng), rng)


def prove_seed(seed: int, folder: Path) -> Proof:
    """Draw a design and vectors from one seed and prove it."""
    design = draw_design(seed)
    proof = prove(design, folder, vectors(np.random.default_rng([seed, 12]), design.graph, VECTORS))
    lines = [f"  {n.name} {n.kind}({', '.join(n.inputs)}) {n.shape} {n.type}" for n in design.graph.nodes]
    told = "\n".join((f"seed {seed}:", design.drawn, *lines, f"again: {AGAIN.format(seed)}"))
    return replace(proof, faults=tuple(f"{fault}\n{told}" for fault in proof.faults))


if __name__ == "__main__":
    sys.exit(campaign(sys.argv[1:], prove_seed, prog="python -m tests.conformance.random_folds"))
