"""Random networks of all kinds of nodes in random hardware, whole, folded and in beats, each built and proven alone.

`python -m tests.conformance.random_streams --first 1000 --count 100` proves many and prints what was compared;
`--first SEED --count 1 --keep FOLDER` repeats one and keeps its files; `tests.conformance.shrink_stream` shrinks one.
"""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from flow.engines.beat import beat_graph, computed, reducer_of, streamable, window_of
from flow.engines.dataflow import Arrival, Assembly, Traffic, dataflow, sources_of, whole_tensors
from flow.engines.engine import Choice, Unrolled
from flow.engines.folded import Folded
from flow.engines.folded_choices import foldable
from flow.engines.line_buffer import LineBuffer, RowStore, line_buffer
from flow.engines.lower import runs
from flow.engines.reducer import Reducer
from flow.engines.segments import lower_unrolled, network_of, segments
from flow.engines.streamed import Streamed
from flow.errors import UserError
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode, Input
from flow.graph.passes import run_passes
from flow.graph.verify import verify
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import realize
from flow.simulate.runner import traffic_counts
from tests.conformance.draws import Draws
from tests.conformance.random_designs import Proof, RandomDesign, campaign, prove, random_depths, varying_share
from tests.conformance.random_layers import draw_layer
from tests.conformance.random_site import draw_shape, draw_type
from tests.folding import random_fold
from tests.networks import vectors
from tests.streaming import build

VECTORS = 256
MOST_NODES = 9
TELLING = 0.3
"""Share of output elements that differ between vectors, in networks that are taken."""
ATTEMPTS = 30
STORES: tuple[RowStore, ...] = ("registers", "lutram", "bram")
PARTS = ("LFE5U-85F", "xc7a100t", "xcvu9p")
PLANNED = 35
"""Percent of the designs that the planner makes."""


@dataclass(frozen=True, slots=True)
class Case:
    """Hold a network with its hardware; refusals: what could not be built as it was drawn, in words."""

    design: RandomDesign
    refusals: tuple[str, ...]


class WrongDrawError(Exception):
    """Say what went wrong before anything could be simulated."""


# ---- networks ----


@dataclass(frozen=True, slots=True)
class Network:
    """Hold a drawn network.

    hardware: numbers to draw from how tensors come, or what is asked of the planner. engines: by node, those to draw
    its engine from.
    """

    graph: Graph
    hardware: tuple[int, ...]
    engines: dict[str, tuple[int, ...]]


def draw_network(d: Draws) -> Network:
    """Draw a network with branches, several inputs and outputs, and mixed precisions."""
    hardware, engines = d.ahead(16), dict[str, tuple[int, ...]]()
    turned, through_passes, io_type = d.chance(30), d.chance(50), d.choice(("io_stream", "io_parallel"))
    nodes: list[AnyNode] = [Input(name="x", label="x", inputs=(), shape=draw_shape(d), type=draw_type(d))]
    leaving: set[str] = set()
    more = True
    while more and len(nodes) < MOST_NODES:
        with d.part():
            more = len(nodes) == 1 or d.chance(85)
            if more:
                source = nodes[-1] if not d.chance(25) else d.choice(nodes[::-1])
                layer = draw_layer(d, f"n{len(nodes)}", source, tuple(nodes))
                nodes += layer
                engines |= {node.name: d.ahead(16) for node in layer}
                leaving.update(node.name for node in layer if d.chance(8))
    read = {name for node in nodes for name in node.inputs}
    leaving.update(node.name for node in nodes if node.name not in read and not isinstance(node, Input))
    outputs = tuple(node.name for node in nodes if node.name in leaving)
    inputs = tuple(node.name for node in nodes if isinstance(node, Input))
    if turned:
        inputs, outputs = inputs[::-1], outputs[::-1]
    graph = Graph("drawn", tuple(nodes), inputs, outputs, io_type=io_type)
    verify(graph)
    return Network(_after_passes(graph) if through_passes else graph, hardware, engines)


def _after_passes(graph: Graph) -> Graph:
    """Return what the passes make of a network, which must compute the same."""
    made = run_passes(graph)
    raw = vectors(np.random.default_rng(2), graph, 24)
    before, after = evaluate(graph, raw), evaluate(made, raw)
    for name in graph.outputs:
        if not np.array_equal(before[name].raw, after[name].raw):
            raise WrongDrawError(f"the passes change what '{name}' computes")
    return made


# ---- hardware ----


def draw_traffic(d: Draws, graph: Graph) -> Traffic:
    """Draw how tensors come: whole, or in beats that begin together."""
    if d.chance(20):
        return whole_tensors(graph)
    spacing = d.choice((1, 1, 2, 3, 5, 9))
    first = max((graph.node(name) for name in graph.inputs), key=lambda node: node.size)
    places = first.size // first.shape[-1]
    lanes = d.integer(1, min(4, places)) * first.shape[-1] if d.chance(85) else d.integer(1, first.size)
    beats = -(-first.size // lanes)
    arrivals = []
    for node in (graph.node(name) for name in graph.inputs):
        own = [n for n in range(1, node.size + 1) if -(-node.size // n) == beats]
        if beats == 1 or not own or (node is not first and d.chance(25)):
            arrivals.append(Arrival(node.size, 1, 1))
        else:
            arrivals.append(Arrival(lanes if lanes in own else own[0], beats, spacing))
    return Traffic(tuple(arrivals), beats_out=len(graph.outputs) == 1 and d.chance(60))


def draw_choices(network: Network, traffic: Traffic) -> tuple[tuple[Choice, ...], tuple[str, ...]]:
    """Draw an engine for every run or part of one, and say which could not be had."""
    graph = network.graph
    assembly, chosen, refusals = Assembly(graph, traffic, separate=True), [], []
    for run in runs(graph):
        rest = run
        while rest:
            d = Draws(network.engines.get(rest[0], ()))
            piece = rest if not d.chance(15) else rest[: d.integer(1, len(rest))]
            choice, refusal = _accepted(d, graph, piece, assembly)
            refusals += [refusal] if refusal else []
            chosen.append(choice)
            rest = rest[len(choice.nodes) :]
    return tuple(chosen), tuple(refusals)


def _accepted(d: Draws, graph: Graph, piece: tuple[str, ...], assembly: Assembly) -> tuple[Choice, str]:
    """Draw an engine for the head of a piece that takes its inputs as they come, else a cone of the whole tensors."""
    choice: Choice = Unrolled(piece, 1)
    refusal = ""
    try:
        choice = _draw_choice(d, graph, piece, assembly) or choice
        assembly.copy().add(choice)
    except ValueError as error:
        refusal, choice = clean(error), Unrolled(piece, 1)
    assembly.add(choice)
    return choice, refusal


def clean(error: Exception) -> str:
    """Return the words of a refusal; raise WrongDrawError where it is one by accident."""
    text = str(error)
    if "\n" in text or not text or text.startswith("zip(") or "broadcast" in text:
        raise WrongDrawError(f"no clean refusal: {text}") from error
    return text


def _draw_choice(d: Draws, graph: Graph, piece: tuple[str, ...], assembly: Assembly) -> Choice | None:
    if not d.chance(85):
        return None
    count = streamable(graph, piece)
    if count and d.chance(90):
        return _draw_streamed(d, graph, piece[:count], assembly)
    folded = foldable(graph, piece)
    return random_fold(d.generator(), graph, piece[:folded]) if folded else None


def _draw_streamed(d: Draws, graph: Graph, nodes: tuple[str, ...], assembly: Assembly) -> Streamed | None:
    """Draw beats for nodes: pixels, pace, the store of rows, registers of the cone or lanes of the folded product."""
    source, window = graph.feeding(graph.node(nodes[0]))[0], window_of(graph.node(nodes[0]))
    edge, channels = assembly.edges[source.name], source.shape[-1]
    places = source.size // channels
    coming = max(1, min(edge.lanes, source.size) // channels)
    spacing = edge.schedule.spacing or 1
    possible = [n for n in range(1, places + 1) if places % n == 0 and _fits(graph, nodes[0], n)][:5]
    if window is None and d.chance(10):
        possible = [d.integer(1, places)]
    if not possible:
        return None
    pixels = coming if coming in possible and d.chance(60) else d.choice(possible)
    buffer: LineBuffer | Reducer | None = reducer_of(graph, graph.node(nodes[0]), pixels)
    if window is not None and buffer is None:
        pace = d.choice((max(1, spacing * pixels // coming), 1, d.integer(1, 12)))
        buffer = line_buffer(window, pixels, pace, d.choice(STORES))
    beat = beat_graph(graph, nodes, pixels)
    inner: Unrolled | Folded = Unrolled(computed(beat), d.integer(1, 4))
    if foldable(beat, computed(beat)) and d.chance(50):
        absorbed = computed(beat)[: foldable(beat, computed(beat))]
        nodes = tuple(name for name in nodes if name in absorbed)
        beat = beat_graph(graph, nodes, pixels)
        inner = random_fold(d.generator(), beat, computed(beat))
        if inner.p < inner.n_in or inner.q < inner.n_out:
            inner = replace(inner, order="output_serial")
        if isinstance(buffer, LineBuffer) and inner.reuse_factor > buffer.pace and d.chance(70):
            buffer = replace(buffer, pace=inner.reuse_factor)
    lanes_in = tuple(pixels * graph.node(name).shape[-1] for name in sources_of(graph, Unrolled(nodes, 1)))
    return Streamed(nodes, lanes_in, beat.node(inner.output).size, buffer, inner)


def _fits(graph: Graph, head: str, pixels: int) -> bool:
    """Tell whether beats of so many pixels can be had for a node."""
    node = graph.node(head)
    window = window_of(node)
    if window is None or reducer_of(graph, node, pixels) is not None:
        return True
    return line_buffer(window, pixels, 1, "registers") is not None


def _with_depths(d: Draws, graph: Graph, choices: tuple[Choice, ...], traffic: Traffic) -> tuple[Choice, ...]:
    """Draw registers for the cones of whole tensors, those that feed each other directly together."""
    chosen, cones = list(choices), lower_unrolled(graph, choices)
    for segment in segments(graph, choices, traffic):
        network = network_of(segment, cones)
        for number, depth in zip(segment.numbers, random_depths(network, d.generator()), strict=True):
            chosen[number] = Unrolled(choices[number].nodes, depth)
    return tuple(chosen)


def draw_hardware(network: Network) -> tuple[Traffic, tuple[Choice, ...], tuple[str, ...]] | None:
    """Draw how tensors come, engines, and what was refused; None where the planner is to choose."""
    d = Draws(network.hardware)
    if d.chance(PLANNED):
        return None
    traffic = draw_traffic(d, network.graph)
    choices, refusals = draw_choices(network, traffic)
    return traffic, _with_depths(d, network.graph, choices, traffic), refusals


def draw_case(network: Network) -> Case:
    """Draw the hardware of a network and generate it; raise NoDesignError where the planner finds none."""
    drawn = draw_hardware(network)
    if drawn is None:
        return _planned(network)
    traffic, choices, refusals = drawn
    design = build(network.graph, choices, traffic)
    return Case(replace(design, drawn=f"drawn:\n{design.drawn}\n{traffic}"), refusals)


def _planned(network: Network) -> Case:
    graph, d = network.graph, Draws(network.hardware[1:])
    request = Request(
        part=d.choice(PARTS),
        clock=d.choice(("20ns", "auto", "10ns", "5ns", "3ns")),
        budget=None if not d.chance(70) else f"{d.integer(1, 400) * 10}ns",
        rate=None if not d.chance(40) else f"{d.integer(1, 200) * 100}kHz",
    )
    drawn = f"planned: {request.part}, clock {request.clock}, budget {request.budget}, rate {request.rate}"
    try:
        plan = make_plan(graph, request)
    except UserError as error:
        raise NoDesignError(clean(error), drawn) from error
    design = realize(graph, request, plan)
    flow = dataflow(graph, design.plan.choices, design.plan.traffic)
    told = "\n".join((drawn, *map(str, design.plan.choices), str(design.plan.traffic)))
    return Case(RandomDesign(graph, design.timeline, design.modules, design.signature, told, flow), ())


class NoDesignError(Exception):
    """Say that there is no design at all for what was drawn, in one line."""

    def __init__(self, text: str, drawn: str) -> None:
        super().__init__(text)
        self.drawn = drawn


# ---- proofs ----


@dataclass(frozen=True, slots=True)
class Outcome:
    """Hold what became of a case.

    kind: of the fault, "" for none. told: graph and choices in words. numbers: what it was drawn from.
    """

    proof: Proof
    kind: str
    told: str
    refusals: tuple[str, ...]
    numbers: tuple[int, ...]


def prove_drawn(d: Draws, folder: Path) -> Outcome:
    """Draw a network with its hardware and vectors, and prove it."""
    graph: Graph | None = None
    refusals: tuple[str, ...] = ()
    drawn = ""
    try:
        network = draw_network(d)
        graph = network.graph
        case = draw_case(network)
        drawn, refusals = case.design.drawn, case.refusals
        rng = np.random.default_rng([network.hardware[-1], 22])
        proof = prove(case.design, folder, vectors(rng, graph, VECTORS))
        stream, gaps = traffic_counts(case.design.signature, VECTORS, first=True)
        bits = sum(graph.node(name).size * graph.node(name).type.width for name in graph.outputs)
        proof = replace(proof, bits=(stream + gaps) * bits)
        kind = proof.faults[0].split(":")[0] if proof.faults else ""
    except NoDesignError as refused:
        proof, kind, drawn = Proof((), 0, 0, 0, 0, 0, telling=False), "", refused.drawn
        refusals = (f"no plan: {refused}",)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what this test looks for)
        where = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} at {Path(where.filename).name}:{where.name}"
        proof = Proof((f"{kind}: {error}\n{traceback.format_exc()}",), 0, 0, 0, 0, 0, telling=False)
    return Outcome(proof, kind, describe(graph, drawn), refusals, tuple(d.taken))


def describe(graph: Graph | None, drawn: str) -> str:
    """Say what was drawn, node by node."""
    if graph is None:
        return drawn
    lines = []
    for node in graph.nodes:
        window = window_of(node)
        lines.append(f"  {node.name} {node.kind}({', '.join(node.inputs)}) {node.shape} {node.type} {window or ''}")
    return "\n".join((drawn, *lines, f"  comes: {graph.inputs}, leaves: {graph.outputs}, {graph.io_type}"))


def draws_of(seed: int) -> Draws:
    """Return the first draws of a seed whose network shows something at its outputs."""
    for attempt in range(ATTEMPTS):
        draws = Draws(np.random.default_rng([seed, attempt, 20]))
        try:
            graph = draw_network(draws).graph
        except Exception:  # noqa: BLE001 (it is found again where faults are reported)
            break
        if varying_share(graph) >= TELLING:
            break
    return Draws(np.random.default_rng([seed, attempt, 20]))


def prove_seed(seed: int, folder: Path) -> Proof:
    """Draw everything from one seed and prove it."""
    found = prove_drawn(draws_of(seed), folder)
    again = f"python -m tests.conformance.random_streams --first {seed} --count 1 --keep FOLDER"
    smaller = f"python -m tests.conformance.shrink_stream {seed}"
    told = f"seed {seed}: {found.told}\nagain: {again}\nsmaller: {smaller}"
    return replace(found.proof, faults=tuple(f"{fault}\n{told}" for fault in found.proof.faults))


if __name__ == "__main__":
    sys.exit(campaign(sys.argv[1:], prove_seed, prog="python -m tests.conformance.random_streams"))
