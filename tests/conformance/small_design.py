"""A small network as training leaves it, built through planner and build: what the deliberate faults are made in."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Dense, Input, Relu
from flow.graph.passes import run_passes
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import Design, realize
from flow.rtl.signature import Signature
from flow.rtl.top import write_rtl
from flow.simulate.vectors import Vectors, expected
from tests.networks import vectors

WEIGHT = FixedType(6, 1)
HIDDEN = FixedType(6, 0, False, Rounding.RND_CONV, Overflow.SAT)
SCORES = FixedType(7, 0, True, Rounding.RND_CONV, Overflow.SAT)
REQUEST = Request(part="LFE5U-25F", clock="12ns")


def _dense(rng: np.random.Generator, name: str, source: str, sizes: tuple[int, ...], kind: FixedType) -> Dense:
    def codes(*shape: int) -> IntArray:
        return np.clip(np.rint(rng.normal(size=shape) * 12), WEIGHT.lo, WEIGHT.hi).astype(np.int64)

    return Dense(
        name=name,
        label=f"layer {name}",
        inputs=(source,),
        shape=(sizes[1],),
        type=kind,
        weights=codes(*sizes),
        bias=codes(sizes[1]),
        weight_type=WEIGHT,
        bias_type=WEIGHT,
        accumulator=FixedType(18, 6),
    )


def small_graph() -> Graph:
    """Return 8-6-4 with a quantized ReLU and 6-bit weights; hidden and output values round and saturate."""
    return _two_layers("small", (8, 6, 4), seed=1)


def tiny_graph() -> Graph:
    """Return 3-2-2 of the same kind: its netlists compile fast."""
    return _two_layers("tiny", (3, 2, 2), seed=2)


def _two_layers(name: str, sizes: tuple[int, int, int], *, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    nodes = (
        Input(name="x", label="x", inputs=(), shape=sizes[:1], type=FixedType(6, 1)),
        _dense(rng, "fc1", "x", sizes[:2], FixedType(18, 6)),
        Relu(name="relu", label="relu", inputs=("fc1",), shape=sizes[1:2], type=HIDDEN),
        _dense(rng, "fc2", "relu", sizes[1:], SCORES),
    )
    return run_passes(Graph(name, nodes, ("x",), ("fc2",)))


def changed(graph: Graph, name: str, **fields: object) -> Graph:
    """Return the graph with other fields in one node."""
    return replace(graph, nodes=tuple(replace(n, **fields) if n.name == name else n for n in graph.nodes))


def with_flipped_weight(graph: Graph, name: str, at: tuple[int, int]) -> Graph:
    """Return the graph with the lowest bit of one weight of a dense layer flipped."""
    node = graph.node(name)
    assert isinstance(node, Dense)
    weights = node.weights.copy()
    weights[at] ^= 1
    return changed(graph, name, weights=weights)


@cache
def small_design() -> Design:
    """Return the network's hardware, planned for an ECP5 at 12 ns: 2 and 3 registers deep."""
    graph = small_graph()
    design = realize(graph, REQUEST, make_plan(graph, REQUEST))
    assert [choice.depth for choice in design.plan.choices] == [2, 3]
    return design


@cache
def small_vectors() -> Vectors:
    """Return what must go into it and come out."""
    return vectors_of(small_graph(), small_design().signature)


def vectors_of(graph: Graph, signature: Signature) -> Vectors:
    """Return vectors for a graph's hardware, as the evaluator computes them."""
    return expected(signature, evaluate(graph, vectors(np.random.default_rng(5), graph, 200)))


def write_small(folder: Path, *, edits: dict[str, dict[str, str]] | None = None) -> Signature:
    """Write the design; `edits` are made in the named files of the RTL, which must hold each text once."""
    design = small_design()
    signature = write_rtl(folder, design.modules, design.signature)
    for name, changes in (edits or {}).items():
        path = folder / "rtl" / name
        text = path.read_text()
        for old, new in changes.items():
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
            text = text.replace(old, new)
        path.write_text(text)
    return signature


def last_registers(name: str) -> tuple[str, str]:
    """Return the last block of registers in a file of the RTL, and the same as logic without registers."""
    from flow.rtl.printer import print_module

    module = next(m for m in small_design().modules if f"{m.name}.sv" == name)
    text = print_module(module)
    start = text.rindex("  always_ff @(posedge clk_i) begin\n")
    block = text[start : text.index("  end\n", start)]
    return block, block.replace("always_ff @(posedge clk_i)", "always_comb").replace(" <= ", " = ")
