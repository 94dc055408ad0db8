"""Random networks of random precision under random plans, each built and proven on its own.

`python -m tests.conformance.random_designs --first 1000 --count 200` proves many and prints what was compared;
`--first SEED --count 1 --keep FOLDER` repeats one and keeps its files.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from flow.device.delays import delays_of, has_delays
from flow.device.parts import Part, parts
from flow.engines.dataflow import Dataflow, dataflow
from flow.engines.engine import Unrolled
from flow.engines.lower import lower_graph, runs
from flow.engines.module import Module
from flow.engines.network import Network, connect
from flow.engines.pipeline import edge_stages, place
from flow.engines.settled import settled_early
from flow.errors import UserError
from flow.fixed import FixedArray, IntArray
from flow.frontend.border import to_graph
from flow.frontend.csim import compile_csim
from flow.graph.graph import Graph, evaluate
from flow.graph.passes import run_passes
from flow.latency.timeline import Timeline
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import realize
from flow.rtl.signature import Signature
from flow.rtl.top import write_rtl
from flow.simulate.result import SimulationResult
from flow.simulate.runner import GAPS, STREAM, simulate
from flow.simulate.vectors import expected
from tests.networks import (
    branching_graph,
    random_branches,
    random_graph,
    saturating_graph,
    to_model,
    unrolled_top,
    vectors,
)

VECTORS = 256
MOST_REGISTERS = 8
DEEPEST = 4  # registers drawn for one run
WIDTHS = ((1, 10), (1, 10), (2, 8), (1, 24), (1, 70))
ROOMY = "xcvu13p"


@dataclass(frozen=True, slots=True)
class RandomDesign:
    """Hold hardware with the schedule that its plan predicts, and words that say how it was drawn.

    flow: of designs with folded engines.
    """

    graph: Graph
    timeline: Timeline
    modules: tuple[Module, ...]
    signature: Signature
    drawn: str
    flow: Dataflow | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """Say what was found on one design.

    faults: everything that was wrong, in words. bits: output bits that were compared, at least. beats: of outputs
    and edges. wrong_bits, wrong_beats: of these. telling: whether the outputs depend on the inputs at all.
    """

    faults: tuple[str, ...]
    vectors: int
    bits: int
    beats: int
    wrong_bits: int
    wrong_beats: int
    telling: bool


def draw_graph(seed: int) -> Graph:
    """Draw a network; nearly always one whose outputs mostly depend on its inputs, since only they can show much."""
    rng = np.random.default_rng([seed, 0])
    constant_is_fine = rng.random() < 0.1
    while True:
        graph = _draw_any_graph(rng)
        if constant_is_fine or varying_share(graph) >= 0.5:
            return replace(graph, name=f"drawn_{seed}")


def _draw_any_graph(rng: np.random.Generator) -> Graph:
    """Draw a chain, a branching network, or a layer whose sums saturate."""
    seed, kind = int(rng.integers(1 << 31)), rng.random()
    if kind < 0.1:
        return run_passes(saturating_graph(seed))
    width = WIDTHS[rng.integers(len(WIDTHS))]
    size, layers = (6, int(rng.integers(2, 9))) if width[1] <= 24 else (3, int(rng.integers(1, 5)))
    draw = branching_graph if kind < 0.6 else random_graph
    return run_passes(draw(seed, layers=layers, size=size, width=width))


def varying_share(graph: Graph) -> float:
    """Return the share of output elements that are not the same for all of some vectors."""
    values = evaluate(graph, vectors(np.random.default_rng(1), graph, 64))
    outputs = np.concatenate([values[name].raw.reshape(64, -1) for name in graph.outputs], axis=1)
    return float(np.any(outputs != outputs[0], axis=0).mean())


def draw_design(graph: Graph, seed: int) -> RandomDesign:
    """Draw a plan, half of the time through the planner and else register by register, and build it."""
    rng = np.random.default_rng([seed, 1])
    families = sorted({part.family for part in parts() if has_delays(part)})
    family = families[rng.integers(len(families))]
    among = [part for part in parts() if part.family == family and has_delays(part)]
    part = among[rng.integers(len(among))]
    return _planned(graph, rng, part) if rng.random() < 0.5 else _scattered(graph, rng, part)


def _planned(graph: Graph, rng: np.random.Generator, part: Part) -> RandomDesign:
    request = Request(
        part=part.name,
        clock="auto" if rng.random() < 0.4 else f"{rng.uniform(0.8, 12):.2f}ns",
        budget=None if rng.random() < 0.3 else f"{rng.uniform(2, 150):.1f}ns",
        rate=None if rng.random() < 0.6 else f"{rng.uniform(20, 500):.0f}MHz",
    )
    try:
        plan = make_plan(graph, request)
    except UserError:  # too large for a small part
        request = replace(request, part=ROOMY)
        plan = make_plan(graph, request)
    design = realize(graph, request, plan)
    choices = design.plan.choices
    drawn = (
        f"planned for {request.part}, clock {request.clock}, budget {request.budget}, rate {request.rate}: {choices}"
    )
    return RandomDesign(graph, design.timeline, design.modules, design.signature, drawn, dataflow(graph, choices))


def _scattered(graph: Graph, rng: np.random.Generator, part: Part) -> RandomDesign:
    network, delays = connect(lower_graph(graph, runs(graph)), graph.outputs), delays_of(part)
    depths = random_depths(network, rng)
    groups = runs(graph)
    within_ns = 0.0 if rng.random() < 0.5 else rng.uniform(1, 20)
    placement = place(network, depths, delays, within_ns=within_ns)
    timeline = timeline_of(graph, tuple(Unrolled(run, n) for run, n in zip(groups, depths, strict=True)))
    modules, signature = unrolled_top(graph, placement)
    drawn = f"scattered for {part.name}, within {within_ns:.3g} ns: depths {depths}"
    return RandomDesign(graph, timeline, modules, signature, drawn)


def random_depths(network: Network, rng: np.random.Generator) -> tuple[int, ...]:
    """Draw registers for each run, many of them none, so that the network's latency is 1 to 8 cycles."""
    depths = [0 if rng.random() < 0.3 else int(rng.integers(1, DEEPEST + 1)) for _ in network.cones]
    while max(edge_stages(network, tuple(depths))) > MOST_REGISTERS:
        k = int(rng.choice(np.flatnonzero(depths)))
        depths[k] -= 1
    while True:
        # what leaves last ends in a register, as does what no register behind the network holds back
        stages = edge_stages(network, tuple(depths))
        last = max((stages[k] for k in network.leaving), default=0)
        bare = [k for k in network.leaving if (stages[k] == last or not network.held) and depths[k] == 0]
        if not bare:
            return tuple(depths)
        for k in bare:
            depths[k] = 1


def prove(
    design: RandomDesign, folder: Path, raw: dict[str, IntArray], *, outputs: dict[str, IntArray] | None = None
) -> Proof:
    """Write a design into a folder, simulate it on raw inputs and compare all that comes out.

    outputs: what hls4ml's C simulation gives, in place of the evaluator's outputs.
    """
    signature = write_rtl(folder, design.modules, design.signature)
    values = evaluate(design.graph, raw)
    for name, theirs in (outputs or {}).items():
        values[name] = FixedArray(theirs.reshape(values[name].raw.shape), values[name].type)
    settled = None if design.flow is None else settled_early(design.graph, design.flow, values)
    words = expected(signature, values, settled)
    result = simulate(folder, vectors=words, seeds=(1,))
    return Proof(
        _faults(design, signature, result),
        words.count,
        (STREAM + GAPS) * signature.output_bits,
        result.beats_checked,
        result.mismatches,
        result.beats_wrong,
        bool(np.any(words.words_out != words.words_out[0])),
    )


def _faults(design: RandomDesign, signature: Signature, result: SimulationResult) -> tuple[str, ...]:
    faults = [f"{check.name}: {check.detail}" for check in result.failures]
    timeline = design.timeline
    if {edge.name: edge.cycles for edge in signature.edges} != {e.name: e.schedule.cycles for e in timeline.edges}:
        faults.append("the signature's edges are not those of the timeline")
    if (result.latency_simulated, result.interval_simulated) != (timeline.latency, timeline.interval):
        faults.append(
            f"latency {result.latency_simulated} and interval {result.interval_simulated}, "
            f"not {timeline.latency} and {timeline.interval}"
        )
    if result.mismatches or result.beats_wrong:
        faults.append(f"{result.mismatches} bits and {result.beats_wrong} beats wrong; {result.first_mismatch}")
    return tuple(faults)


def prove_seed(seed: int, folder: Path) -> Proof:
    """Draw network, precision, plan and vectors from one seed, and prove the design."""
    graph = draw_graph(seed)
    design = draw_design(graph, seed)
    proof = prove(design, folder, vectors(np.random.default_rng([seed, 2]), graph, VECTORS))
    return replace(proof, faults=tuple(f"{fault}\n{describe(design, seed)}" for fault in proof.faults))


def describe(design: RandomDesign, seed: int) -> str:
    """Say what was drawn, node by node, and how to repeat it."""
    lines = [f"  {n.name} {n.kind}({', '.join(n.inputs)}) {n.shape} {n.type}" for n in design.graph.nodes]
    again = f"python -m tests.conformance.random_designs --first {seed} --count 1 --keep FOLDER"
    return "\n".join([f"seed {seed}: {design.drawn}", *lines, f"  leaves: {design.graph.outputs}", f"again: {again}"])


@dataclass(frozen=True, slots=True)
class SimulatedNetwork:
    """Hold a network that hls4ml converted, with raw inputs and the outputs of hls4ml's C simulation."""

    graph: Graph
    raw: dict[str, IntArray]
    outputs: dict[str, IntArray]


def simulated_networks(seed: int, count: int, folder: Path) -> tuple[SimulatedNetwork, ...]:
    """Return `count` random networks after one conversion and one compilation; the last holds all of them at once."""
    model: Any = to_model(random_branches(seed, count), folder)
    whole = to_graph(model, name="together", label_of={})
    raw = vectors(np.random.default_rng([seed, 3]), whole, VECTORS)
    found = compile_csim(model, folder).run_raw(tuple(raw[name] for name in whole.inputs))
    outputs = dict(zip(whole.outputs, found, strict=True))
    parts_of_it = []
    for k, name in enumerate(whole.outputs):
        graph = replace(_alone(whole, name), name=f"part{k}")
        own = {node: raw[node] for node in graph.inputs}
        parts_of_it.append(SimulatedNetwork(graph, own, {name: outputs[name]}))
    return (*parts_of_it, SimulatedNetwork(whole, raw, outputs))


def _alone(graph: Graph, output: str) -> Graph:
    """Return the part of a graph that one output depends on."""
    needed = {output}
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    nodes = tuple(node for node in graph.nodes if node.name in needed)
    inputs = tuple(name for name in graph.inputs if name in needed)
    return run_passes(replace(graph, nodes=nodes, inputs=inputs, outputs=(output,)))


def campaign(arguments: list[str], prove_one: Callable[[int, Path], Proof], *, prog: str) -> int:
    """Prove the asked seeds, print the sum, and return 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog=prog)
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--keep", type=Path, help="folder for the files of each design, by seed")
    asked = parser.parse_args(arguments)
    total, bad = Proof((), 0, 0, 0, 0, 0, telling=False), 0
    telling = 0
    for seed in range(asked.first, asked.first + asked.count):
        with tempfile.TemporaryDirectory() as scratch:
            found = prove_one(seed, asked.keep / str(seed) if asked.keep else Path(scratch))
        bad += bool(found.faults)
        telling += found.telling
        for fault in found.faults:
            print(fault)
        total = Proof(
            (),
            total.vectors + found.vectors,
            total.bits + found.bits,
            total.beats + found.beats,
            total.wrong_bits + found.wrong_bits,
            total.wrong_beats + found.wrong_beats,
            telling=True,
        )
    print(f"{asked.count} networks ({telling} of them with outputs that vary), {bad} with faults")
    print(f"{total.vectors:,} vectors, {total.wrong_bits} of {total.bits:,} output bits wrong")
    print(f"{total.wrong_beats} of {total.beats:,} beats wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(campaign(sys.argv[1:], prove_seed, prog="python -m tests.conformance.random_designs"))
