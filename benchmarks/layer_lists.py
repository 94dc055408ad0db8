"""How far the budget of a layer list lies from that of the trained network of the same shape.

    python benchmarks/layer_lists.py [MODEL …] [--seeds 5]

Each zoo model is converted; a list of the same layers, bits, input type and sparsity per layer becomes a graph with the
same types (which is checked) and random weights. Both are planned for the zoo's request; the list once for each seed,
with the weights that fpgaflow draws and with weights whose codes other than zero are uniform. Predicted figures.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from flow.fixed import FixedType, IntArray
from flow.frontend.border import to_graph
from flow.frontend.load import load
from flow.graph.graph import Graph
from flow.graph.nodes import Conv, Dense
from flow.graph.passes import run_passes
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.sketch import layers, products, weights
from flow.sketch.assemble import to_graph as graph_of_list
from flow.zoo import Subject, find_subject


def chain(*units: int) -> tuple[layers.Layer, ...]:
    """Return dense layers with ReLUs between them."""
    pairs = [(layers.Dense(units=n), layers.Relu()) for n in units]
    return tuple(layer for pair in pairs for layer in pair)[:-1]


SHAPES: dict[str, tuple[layers.Layer, ...]] = {
    "jet_tagger": chain(64, 32, 32, 5),
    "digits_mlp": chain(32, 32, 10),
    "jet_tagger_folded": chain(64, 32, 32, 5),
    "digits_mlp_folded": chain(32, 32, 10),
    "digits_cnn": (
        layers.Conv2D(filters=6, kernel=(3, 3), padding="same"),
        layers.Relu(),
        layers.MaxPool(size=(2, 2)),
        layers.Conv2D(filters=16, kernel=(3, 3)),
        layers.Relu(),
        layers.Flatten(),
        layers.Dense(units=10),
    ),
}


@dataclass(frozen=True, slots=True)
class Budget:
    """Hold what a plan predicts."""

    cycles: int
    lut: int
    dsp: int


def trained(subject: Subject) -> Graph:
    """Return the graph of a zoo model."""
    source = load(subject.path, subject.request.hls)
    with tempfile.TemporaryDirectory() as scratch:
        graph = to_graph(source.convert(Path(scratch)), name=subject.name, label_of=source.label_of)
    return run_passes(replace(graph, io_type=source.io_type))


def listed(graph: Graph, seed: int, shape: tuple[layers.Layer, ...]) -> Graph:
    """Return a list's graph with a trained one's types and its sparsity in each layer."""
    kernels = iter([node for node in graph.nodes if isinstance(node, Dense | Conv)])
    relus = iter([node for node in graph.nodes if node.kind == "relu"])
    described: list[layers.Layer] = []
    for layer in shape:
        match layer:
            case layers.Weighted():
                node = next(kernels)
                sparsity = float((node.weights == 0).mean())
                described.append(replace(layer, bits=node.weight_type.width, sparsity=sparsity))
            case layers.Relu():
                kind = next(relus).type
                described.append(replace(layer, bits=kind.width, integer=kind.integer))
            case _:
                described.append(layer)
    first = graph.nodes[0]
    sketch = layers.Sketch(
        origin=graph.name,
        name=graph.name,
        shape=first.shape,
        type=first.type,
        io_type=graph.io_type,
        bits=6,
        seed=seed,
        layers=tuple(described),
    )
    made = run_passes(graph_of_list(sketch))
    assert [(n.kind, n.shape, n.type) for n in made.nodes] == [(n.kind, n.shape, n.type) for n in graph.nodes]
    return made


def uniform(
    draw: np.random.Generator, shape: tuple[int, ...], kind: FixedType, terms: int, sparsity: float
) -> IntArray:
    """Draw as `random_weights` does, all codes but zero being equally likely."""
    del terms
    size = int(np.prod(shape))
    codes = draw.integers(kind.lo, kind.hi, size)
    codes = np.where(codes >= 0, codes + 1, codes)
    codes[draw.permutation(size)[: weights.zeros_of(size, sparsity)]] = 0
    return codes.reshape(shape)


def budget(graph: Graph, request: Request) -> Budget:
    """Return what the plan of a graph predicts."""
    plan = make_plan(graph, request)
    cycles = timeline_of(graph, plan.choices, plan.traffic).latency
    return Budget(cycles, plan.resources.lut, plan.resources.dsp)


def row(name: str, seeds: int) -> str:
    """Return a table's row."""
    subject = find_subject(name)
    graph = trained(subject)
    real = budget(graph, subject.request)
    cells = [f"{name} | {real.cycles} | {real.lut:,} | {real.dsp:,}"]
    drawn: Callable[..., IntArray]
    for drawn in (weights.random_weights, uniform):
        products.random_weights = drawn
        found = [budget(listed(graph, seed, SHAPES[name]), subject.request) for seed in range(seeds)]
        low, high = (f([b.cycles for b in found]) for f in (min, max))
        luts = [b.lut for b in found]
        off = sum(luts) / len(luts) / real.lut - 1
        cells.append(
            f"{low if low == high else f'{low}–{high}'} | {min(luts):,}–{max(luts):,} | {off:+.0%} | "
            f"{min(b.dsp for b in found):,}–{max(b.dsp for b in found):,}"
        )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(SHAPES))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print("| model | trained: cycles | LUT | DSP | list: cycles | LUT | mean error | DSP |", end="")
    print(" uniform codes: cycles | LUT | mean error | DSP |")
    print("|" + "---|" * 12)
    for name in options.models:
        print(row(name, options.seeds), flush=True)


if __name__ == "__main__":
    main()
