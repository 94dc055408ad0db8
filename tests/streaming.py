"""Streamed designs put together by hand, shared by tests."""

from __future__ import annotations

from flow.device.delays import delays_of
from flow.device.parts import find_part
from flow.engines.beat import beat_graph, beat_of, computed, reducer_of, window_of
from flow.engines.blocks import blocks_of
from flow.engines.dataflow import Arrival, Traffic, dataflow
from flow.engines.engine import Choice
from flow.engines.folded import Folded
from flow.engines.folded_hardware import folded_hardware
from flow.engines.line_buffer import LineBuffer, RowStore, in_beats, line_buffer
from flow.engines.lower import lower
from flow.engines.network import connect
from flow.engines.pipeline import PlacedCone, place
from flow.engines.reducer import Reducer
from flow.engines.segments import lower_unrolled, network_of, segments
from flow.engines.streamed import Streamed
from flow.engines.streamed_hardware import streamed_hardware
from flow.engines.unrolled import Unrolled
from flow.graph.graph import Graph
from flow.rtl.top import Engine, build_top
from tests.conformance.random_designs import RandomDesign

PART = "LFE5U-85F"


def streamed(
    graph: Graph,
    nodes: tuple[str, ...],
    pixels: int,
    *,
    pace: int = 1,
    store: RowStore = "registers",
    depth: int = 1,
    fold: tuple[int, int] | None = None,
) -> Streamed:
    """Return a streamed choice; fold: input and output lanes of a folded beat, in place of a cone of `depth`."""
    head = graph.node(nodes[0])
    beat = beat_graph(graph, nodes, pixels)
    inner: Unrolled | Folded = Unrolled(computed(beat), depth)
    if fold is not None:
        matrix = beat.node(computed(beat)[0])
        shape = (beat.feeding(matrix)[0].size, matrix.size)
        inner = Folded.plain(computed(beat), "output_serial", shape, fold, store="lutrom", multiplier="lut")
    window = window_of(head)
    buffer: LineBuffer | Reducer | None = reducer_of(graph, head, pixels)
    made = pixels if buffer is None else 1
    if window is not None and buffer is None:
        buffer = line_buffer(window, pixels, pace, store)
        beats = in_beats(window, pixels)
        assert buffer is not None
        assert beats is not None
        made = beats.pixels_out
    lanes_in = tuple(pixels * node.shape[-1] for node in dict.fromkeys(graph.feeding(head)))
    return Streamed(nodes, lanes_in, made * head.shape[-1], buffer, inner)


def by_pixels(graph: Graph, pixels: int, spacing: int = 1, *, beats_out: bool = False) -> Traffic:
    """Return traffic in which every input with more than one axis comes in beats of so many pixels."""
    arrivals = []
    for node in (graph.node(name) for name in graph.inputs):
        lanes = pixels * node.shape[-1] if len(node.shape) > 1 else node.size
        beats = -(-node.size // lanes)
        arrivals.append(Arrival(lanes, beats, spacing if beats > 1 else 1))
    return Traffic(tuple(arrivals), beats_out)


def build(graph: Graph, choices: tuple[Choice, ...], traffic: Traffic) -> RandomDesign:
    """Generate the hardware of choices, whose cones have the depths that they say."""
    part = find_part(PART)
    delays = delays_of(part)
    engines: dict[str, Engine] = {}
    cones = lower_unrolled(graph, choices, part)
    for segment in segments(graph, choices, traffic):
        network = network_of(segment, cones)
        depths = tuple(c.depth for k in segment.numbers if isinstance(c := choices[k], Unrolled))
        engines.update((cone.name, cone) for cone in place(network, depths, delays).cones)
    for choice in choices:
        if isinstance(choice, Folded):
            engines[choice.output] = folded_hardware(graph, choice, delays)
        elif isinstance(choice, Streamed):
            cone: PlacedCone | None = None
            if isinstance(choice.inner, Unrolled):
                lowered = lower(beat_of(graph, choice), choice.inner.nodes, blocks=blocks_of(choice.inner, part))
                network = connect((lowered,), (choice.output,))
                cone = place(network, (choice.inner.depth,), delays).cones[0]
            engines[choice.output] = streamed_hardware(graph, choice, delays, cone)
    flow = dataflow(graph, choices, traffic)
    modules, signature = build_top(graph, flow, engines)
    return RandomDesign(graph, flow.timeline, modules, signature, "\n".join(map(str, choices)), flow)
