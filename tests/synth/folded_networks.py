"""Two small networks that are folded in every way between them, with numbers that every family's DSP blocks hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from flow.device.parts import Part
from flow.engines.engine import Choice, Resources, Unrolled
from flow.engines.folded import Folded
from flow.engines.folded_cost import folded_resources
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode, Dense, Input, Relu
from flow.graph.passes import run_passes
from flow.rtl.signature import Signature
from flow.rtl.top import write_rtl
from flow.simulate.vectors import Vectors, expected
from flow.synth.result import SynthesisResult
from tests.conformance.random_designs import RandomDesign
from tests.conformance.random_folds import build
from tests.networks import vectors

HIDDEN = FixedType(4, 0, False, Rounding.RND_CONV, Overflow.SAT)
SCORES = FixedType(7, 1, True, Rounding.RND_CONV, Overflow.SAT)


def _layers(name: str, sizes: tuple[int, int, int], weights: tuple[FixedType, FixedType]) -> Graph:
    rng = np.random.default_rng(3)
    nodes: list[AnyNode] = [Input(name="x", label="x", inputs=(), shape=sizes[:1], type=FixedType(7, 1))]
    for k, kind in enumerate(weights):
        n_in, n_out = sizes[k : k + 2]
        nodes.append(
            Dense(
                name=f"fc{k}",
                label=f"fc{k}",
                inputs=(nodes[-1].name,),
                shape=(n_out,),
                type=(FixedType(18, 6), SCORES)[k],
                weights=rng.integers(kind.lo, kind.hi + 1, (n_in, n_out)),
                bias=rng.integers(kind.lo, kind.hi + 1, n_out),
                weight_type=kind,
                bias_type=kind,
                accumulator=FixedType(18, 6),
            )
        )
        if k == 0:
            nodes.append(Relu(name="relu", label="relu", inputs=("fc0",), shape=(n_out,), type=HIDDEN))
    return run_passes(Graph(name, tuple(nodes), ("x",), ("fc1",)))


@dataclass(frozen=True, slots=True)
class Network:
    """Hold a network, how it is folded, and what must go in and come out."""

    graph: Graph
    design: RandomDesign
    vectors: Vectors

    def write(self, folder: Path) -> Signature:
        """Write the hardware into a folder."""
        return write_rtl(folder, self.design.modules, self.design.signature)


def _network(graph: Graph, choices: tuple[Choice, ...]) -> Network:
    design = build(graph, choices, np.random.default_rng(1))
    raw = vectors(np.random.default_rng(5), graph, 200)
    return Network(graph, design, expected(design.signature, evaluate(graph, raw)))


@cache
def in_blocks() -> Network:
    """Return 7-5-4: weights in block RAM and DSP blocks, then in LUTs and two products in a DSP block.

    Output-serial before input-serial, with beats of 2 regrouped to beats of 3 between them.
    """
    graph = _layers("in_blocks", (7, 5, 4), (FixedType(6, 1), FixedType(5, 1)))
    first = Folded(("fc0", "relu"), "output_serial", 7, 5, 2, 2, "bram", "dsp", read=2, multiply=2, add=1, finish=2)
    second = Folded(("fc1",), "input_serial", 5, 4, 3, 3, "lutrom", "dsp_pair", read=1, multiply=2, add=2, finish=1)
    return _network(graph, (first, second))


@cache
def in_logic() -> Network:
    """Return 5-4-2: input-serial with weights in registers and multipliers in LUTs, then unrolled."""
    graph = _layers("in_logic", (5, 4, 2), (FixedType(4, 1), FixedType(4, 1)))
    first = Folded(("fc0", "relu"), "input_serial", 5, 4, 2, 2, "registers", "lut", read=1, multiply=0, add=2, finish=1)
    return _network(graph, (first, Unrolled(("fc1",), 1)))


def predicted(design: RandomDesign, part: Part) -> dict[str, Resources]:
    """Return what each folded engine is predicted to take, by its output."""
    assert design.flow is not None
    folds = [block.what for block in design.flow.blocks if isinstance(block.what, Folded)]
    assert folds
    return {fold.output: folded_resources(design.graph, fold, part) for fold in folds}


def expect_blocks(engines: Mapping[str, Resources], found: SynthesisResult) -> None:
    """Compare DSP blocks and block RAM: of each engine, of all that stands beside them, and of the whole."""
    rows = {row.instance: row.resources for row in found.instances}
    differing = {}
    for name, counts in engines.items():
        row = rows.pop(f"u_{name}")
        if (counts.dsp, counts.bram) != (row.dsp, row.bram):
            differing[name] = (counts, row)
    assert not differing
    assert all((row.dsp, row.bram) == (0, 0) for row in rows.values())
    total = sum(engines.values(), Resources())
    assert (total.dsp, total.bram) == (found.total.dsp, found.total.bram)
