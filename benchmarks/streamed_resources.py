"""Compare what streamed engines, and what makes branches meet, are predicted to take with what Yosys makes of them.

    python benchmarks/streamed_resources.py [PART …] [--cases N] [--first N] [--fit] [--out FOLDER]

Draws small networks that take an image pixel by pixel: convolutions, depthwise convolutions, pools, pools over the
whole image, sums of two branches, tables; with one to four pixels in a beat, odd sizes, strides and pads, every store
of rows, and the beat as one cone or folded. Synthesizes each design on each part and prints what was predicted beside
what was found for each engine, FIFO, delay, converter and for the guard of the interval; then errors per quantity. The
cone of a beat is counted as it was placed, as in a report. The model was corrected with cases of even number; those of
odd number judge it, and only they are used unless --fit asks for the others. Answers are kept in FOLDER.
"""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from flow.device.delays import delays_of
from flow.device.parts import Part, find_part
from flow.engines.align import Delay, Fifo
from flow.engines.area import area
from flow.engines.beat import beat_graph, beat_of, computed, reducer_of, window_of
from flow.engines.converter import Converter
from flow.engines.dataflow import Arrival, Block, Traffic, dataflow
from flow.engines.engine import Resources
from flow.engines.folded import Folded, Store
from flow.engines.folded_cost import converter_resources, folded_resources
from flow.engines.line_buffer import LineBuffer, RowStore, line_buffer
from flow.engines.lower import lower
from flow.engines.network import connect
from flow.engines.pipeline import PlacedCone, place
from flow.engines.reducer import Reducer
from flow.engines.streamed import Streamed
from flow.engines.streamed_cost import guard_resources, streamed_resources, waiting_resources
from flow.engines.streamed_hardware import streamed_hardware
from flow.engines.unrolled import Unrolled
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Conv, DepthwiseConv, Input, Merge, Pool, Relu, Table
from flow.graph.store import to_json
from flow.graph.window import Window
from flow.rtl.top import build_top, write_rtl
from flow.synth.result import load_synthesis
from flow.synth.yosys import synthesize

PARTS = ("LFE5U-25F", "xc7a100t", "xcvu13p", "GW2AR-18", "iCE40UP5K")
STORES: tuple[RowStore, ...] = ("bram", "lutram", "registers")
KERNELS = (1, 2, 3, 3)
LONG_ROWS = 0.25
"""Share of images whose rows have 60 beats and more, so that FIFOs beside a window are deep."""
LARGE = 100
"""LUTs from which an engine's error is judged."""


@dataclass(frozen=True, slots=True)
class Row:
    """Hold what one engine was predicted to take and what was found."""

    number: int
    what: str
    predicted: Resources
    found: Resources


@dataclass(frozen=True, slots=True)
class Case:
    """Hold a network, an engine for each of its runs and how tensors come."""

    graph: Graph
    choices: tuple[Streamed, ...]
    traffic: Traffic


class Drawing:
    """Draw a network node by node, with an engine for each run."""

    def __init__(self, number: int, part: Part) -> None:
        self.rng = rng = np.random.default_rng(number)
        self.number = number
        self.memory = part.family != "ice40"
        flat = rng.random() < 0.2
        pixels = int(rng.choice((1, 1, 2, 4)))
        columns = int(rng.integers(60, 80) if rng.random() < LONG_ROWS else rng.integers(3, 14))
        shape = (1 if flat else int(rng.integers(5, 15)), pixels * columns, int(rng.integers(1, 4)))
        self.x = Input(name="x", label="x", inputs=(), shape=shape, type=FixedType(int(rng.integers(4, 10)), 2))
        self.nodes: list[AnyNode] = [self.x]
        self.choices: list[Streamed] = []
        self.pixels = pixels
        self.spacing = int(rng.choice((1, 1, 6, 12)))

    def case(self) -> Case:
        """Draw all of it: two layers with windows, a sum with the image where it fits, a table, a pool."""
        self.windowed()
        if self.nodes[-1].shape == self.x.shape:
            self.merge()
        else:
            self.windowed()
        if self.rng.random() < 0.4:
            self.table()
        if self.rng.random() < 0.4:
            self.pool_over_all()
        graph = self.graph
        lanes = self.choices[0].lanes_in[0]
        return Case(
            graph, tuple(self.choices), Traffic((Arrival(lanes, self.x.size // lanes, self.spacing),), beats_out=True)
        )

    @property
    def graph(self) -> Graph:
        """Return the network so far."""
        return Graph("drawn", tuple(self.nodes), ("x",), (self.nodes[-1].name,))

    def windowed(self) -> None:
        """Draw a convolution, a depthwise one or a pool that its source's beats can be streamed through."""
        source = self.nodes[-1]
        rows, columns, channels = source.shape
        for _ in range(20):
            kernel = (1 if rows == 1 else int(self.rng.choice(KERNELS)), int(self.rng.choice(KERNELS)))
            stride = (1, 1)
            if self.rng.random() < 0.25:
                stride = (min(2, kernel[0]), min(2, kernel[1]))
            top, left = ((kernel[0] - 1) // 2, (kernel[1] - 1) // 2) if self.rng.random() < 0.6 else (0, 0)
            pads = (top, kernel[0] - 1 - top, left, kernel[1] - 1 - left) if top + left else (0, 0, 0, 0)
            if any(
                size + a + b < k for size, k, a, b in zip((rows, columns), kernel, pads[::2], pads[1::2], strict=True)
            ):
                continue
            window = Window(rows, columns, channels, kernel, stride, pads)
            buffer = self.buffer(window)
            if buffer is None:
                continue
            kind = int(self.rng.integers(4))
            if kind == 0 and not any(pads):
                self.pool(window, buffer)
            elif kind == 1:
                self.convolution(window, buffer, depthwise=True)
            else:
                self.convolution(window, buffer, depthwise=False)
            return
        raise AssertionError(f"case {self.number}: no window fits {source.shape}")

    def buffer(self, window: Window) -> LineBuffer | None:
        """Return a line buffer with a store that the part has."""
        store = STORES[int(self.rng.integers(3))]
        store = "bram" if store == "lutram" and not self.memory else store
        return line_buffer(window, self.pixels, self.spacing, store)

    def codes(self, width: int, *shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """Draw weights of so many bits."""
        raw: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = self.rng.integers(
            -(1 << width - 1), 1 << width - 1, shape
        )
        raw.setflags(write=False)
        return raw

    def convolution(self, window: Window, buffer: LineBuffer, *, depthwise: bool) -> None:
        """Add a convolution that keeps all products, with a saturating rectifier."""
        source, name = self.nodes[-1], f"n{len(self.nodes)}"
        width, channels = int(self.rng.integers(3, 7)), window.channels
        cells = window.kernel[0] * window.kernel[1]
        same = len(self.nodes) == 1 and self.rng.random() < 0.6
        out = channels if depthwise or same else int(self.rng.integers(1, 5))
        weight = FixedType(width, 1)
        integer = source.type.integer + 2 + (cells * channels).bit_length()
        wide = FixedType(integer + source.type.fraction + weight.fraction, integer)
        shape = (*window.positions, out)
        bias = self.codes(width, out)
        if depthwise:
            weights = self.codes(width, *window.kernel, channels)
            self.nodes.append(
                DepthwiseConv(
                    name=name,
                    label=name,
                    inputs=(source.name,),
                    shape=shape,
                    type=wide,
                    window=window,
                    weights=weights,
                    bias=bias,
                    weight_type=weight,
                    bias_type=weight,
                    accumulator=wide,
                )
            )
        else:
            weights = self.codes(width, *window.kernel, channels, out)
            self.nodes.append(
                Conv(
                    name=name,
                    label=name,
                    inputs=(source.name,),
                    shape=shape,
                    type=wide,
                    window=window,
                    weights=weights,
                    bias=bias,
                    weight_type=weight,
                    bias_type=weight,
                    accumulator=wide,
                )
            )
        kind = FixedType(int(self.rng.integers(4, 9)), 3, False, Rounding.RND, Overflow.SAT)
        self.nodes.append(Relu(name=f"{name}r", label=name, inputs=(name,), shape=shape, type=kind))
        self.engine((name, f"{name}r"), buffer)

    def pool(self, window: Window, buffer: LineBuffer) -> None:
        """Add a pool."""
        source, name = self.nodes[-1], f"n{len(self.nodes)}"
        wide = FixedType(source.type.width + 6, source.type.integer + 6)
        op: Literal["max", "average"] = "max" if self.rng.random() < 0.5 else "average"
        self.nodes.append(
            Pool(
                name=name,
                label=name,
                inputs=(source.name,),
                shape=(*window.positions, window.channels),
                type=source.type,
                window=window,
                op=op,
                accumulator=wide,
            )
        )
        self.engine((name,), buffer)

    def pool_over_all(self) -> None:
        """Add a pool over the whole image."""
        rows, columns, channels = self.nodes[-1].shape
        if rows * columns <= self.pixels:
            return
        window = Window(rows, columns, channels, (rows, columns), (1, 1), (0, 0, 0, 0))
        source, name = self.nodes[-1], f"n{len(self.nodes)}"
        wide = FixedType(source.type.width + 10, source.type.integer + 10)
        op: Literal["max", "average"] = "max" if self.rng.random() < 0.5 else "average"
        pool = Pool(
            name=name,
            label=name,
            inputs=(source.name,),
            shape=(1, 1, channels),
            type=source.type,
            window=window,
            op=op,
            accumulator=wide,
        )
        self.nodes.append(pool)
        self.engine((name,), reducer_of(self.graph, pool, self.pixels))

    def merge(self) -> None:
        """Add the sum of what came last and of the image."""
        source, name = self.nodes[-1], f"n{len(self.nodes)}"
        kind = FixedType(source.type.width, source.type.integer, True, Rounding.TRN, Overflow.SAT)
        inputs = (source.name, "x")
        self.nodes.append(Merge(name=name, label=name, inputs=inputs, shape=source.shape, type=kind, op="add"))
        self.engine((name,), None)

    def table(self) -> None:
        """Add an activation from a table."""
        source, name = self.nodes[-1], f"n{len(self.nodes)}"
        kind = FixedType(int(self.rng.integers(3, 7)), 1)
        values = np.sort(self.codes(kind.width, 1 << int(self.rng.integers(4, 8))))
        values.setflags(write=False)
        self.nodes.append(
            Table(
                name=name,
                label=name,
                inputs=(source.name,),
                shape=source.shape,
                type=kind,
                values=values,
                table_type=kind,
                span=8,
            )
        )
        self.engine((name,), None)

    def engine(self, nodes: tuple[str, ...], buffer: LineBuffer | Reducer | None) -> None:
        """Choose an engine for a run: folded where beats leave the time and the product has the size."""
        graph = self.graph
        head = graph.node(nodes[0])
        beat = beat_graph(graph, nodes, self.pixels)
        lanes = beat.node(nodes[-1]).size
        inner: Unrolled | Folded = Unrolled(computed(beat), int(self.rng.integers(1, 4)))
        product = beat.node(computed(beat)[0])
        n_in, n_out = beat.feeding(product)[0].size, product.size
        own = isinstance(head, Conv)
        p = -(-n_in // self.spacing)
        if own and self.spacing > 1 and p * n_out <= 24 and self.rng.random() < 0.7:
            store: Store = "bram" if self.rng.integers(2) else "lutrom"
            inner = Folded.plain(
                computed(beat), "output_serial", (n_in, n_out), (p, n_out), store=store, multiplier="lut"
            )
        lanes_in = tuple(self.pixels * node.shape[-1] for node in dict.fromkeys(graph.feeding(head)))
        self.choices.append(Streamed(nodes, lanes_in, lanes, buffer, inner))
        if buffer is not None:
            window = window_of(head)
            places = lanes // head.shape[-1]
            if window is None or head.shape[1] % places:
                raise AssertionError(f"case {self.number}: beats of {places} pixels do not divide {head.shape}")
            self.pixels = places


def case(number: int, part: Part) -> Case:
    """Draw one case; numbers of which none can be built are passed over by adding large ones."""
    return Drawing(number, part).case()


def placed(graph: Graph, choice: Streamed, part: Part) -> PlacedCone | None:
    """Return the cone of a beat with its registers, None where a beat is folded."""
    if isinstance(choice.inner, Folded):
        return None
    cone = lower(beat_of(graph, choice), choice.inner.nodes)
    return place(connect((cone,), (choice.output,)), (choice.inner.depth,), delays_of(part)).cones[0]


def predicted(graph: Graph, block: Block, part: Part, cones: dict[str, PlacedCone | None]) -> Resources:
    """Return what a block is predicted to take."""
    match block.what:
        case Converter() as converter:
            return converter_resources(graph, converter, part)
        case Delay() | Fifo() as waiting:
            return waiting_resources(waiting, graph.node(waiting.node).type.width, part)
        case Streamed(inner=Folded() as folded) as choice:
            return streamed_resources(graph, choice, part, folded_resources(beat_of(graph, choice), folded, part))
        case Streamed() as choice:
            cone = cones[choice.output]
            assert cone is not None
            return streamed_resources(graph, choice, part, area(cone, part.family))
        case _:
            raise AssertionError(f"{block.what} is not drawn")


def compare(number: int, part: Part, out: Path) -> tuple[Row, ...]:
    """Synthesize one case for one part; one row for each block, and one for the guard."""
    drawn = case(number, part)
    graph = drawn.graph
    flow = dataflow(graph, drawn.choices, drawn.traffic)
    cones = {choice.output: placed(graph, choice, part) for choice in drawn.choices}
    engines = {c.output: streamed_hardware(graph, c, delays_of(part), cones[c.output]) for c in drawn.choices}
    modules, signature = build_top(graph, flow, engines)
    text = to_json(graph) + repr((part.name, drawn.choices, drawn.traffic, modules)).encode()
    folder = out / part.name / hashlib.sha256(text).hexdigest()[:16]
    if not (folder / "synth" / "result.json").is_file():
        write_rtl(folder, modules, signature)
        synthesize(folder, part)
    found = {row.instance: row.resources for row in load_synthesis(folder).instances}
    rows = [
        Row(number, told(block), predicted(graph, block, part, cones), found.get(f"u_{block.output}", Resources()))
        for block in flow.blocks
    ]
    arrival = drawn.traffic.arrivals[0]
    guard = guard_resources(flow.timeline.interval, arrival.beats, arrival.spacing, part.family)
    return (*rows, Row(number, "guard", guard, found["u_interval"]))


def told(block: Block) -> str:
    """Say in a few words what a block is."""
    match block.what:
        case Streamed() as choice:
            before = "beat"
            if isinstance(choice.buffer, LineBuffer):
                b = choice.buffer
                before = f"{b.kernel[0]}x{b.kernel[1]}/{b.stride[0]}{b.stride[1]} of {b.rows}x{b.columns} {b.store}"
            elif isinstance(choice.buffer, Reducer):
                before = f"{choice.buffer.op} of {choice.buffer.beats}"
            inner = choice.inner.engine if isinstance(choice.inner, Folded) else f"cone {choice.inner.depth}"
            return f"streamed {choice.output} {before} {inner}"
        case Fifo() as fifo:
            return f"fifo {fifo.depth}x{fifo.bits} {fifo.store}"
        case _:
            return block.what.engine


def summary(rows: list[Row]) -> str:
    """Return the errors of each quantity: relative where it is counted in hundreds, exact or not where it must be."""
    lines = []
    engines = [row for row in rows if row.what.startswith("streamed")]
    for title, some in (
        (f"engines of {LARGE} LUT and more", [row for row in engines if row.found.lut >= LARGE]),
        ("all engines", engines),
        ("FIFOs, delays, converters, guards", [row for row in rows if row not in engines]),
    ):
        errors = [row.predicted.lut / row.found.lut - 1 for row in some if row.found.lut]
        total = sum(row.predicted.lut for row in some) / max(1, sum(row.found.lut for row in some)) - 1
        if errors:
            mean = sum(map(abs, errors)) / len(errors)
            lines.append(
                f"  {title}: LUT mean error {mean:.1%}, worst {max(errors, key=abs):+.1%}, "
                f"bias {sum(errors) / len(errors):+.1%}, of the sum {total:+.1%} ({len(errors)} pieces)"
            )
    for name in ("ff", "dsp", "bram"):
        exact = sum(getattr(row.predicted, name) == getattr(row.found, name) for row in rows)
        lines.append(f"  {name.upper():5} exact in {exact} of {len(rows)}")
    return "\n".join(lines)


def main() -> None:
    """Print every case, then the errors of each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", type=find_part, default=[find_part(name) for name in PARTS])
    parser.add_argument("--cases", type=int, default=24, help="how many cases, half of them used")
    parser.add_argument("--first", type=int, default=0, help="where they begin")
    parser.add_argument("--fit", action="store_true", help="the cases that the model was corrected with")
    parser.add_argument("--out", type=Path, default=Path("hls_projects") / "streamed_resources")
    options = parser.parse_args()
    for part in options.parts:
        rows = []
        first = options.first + (options.first % 2 == options.fit)
        print(f"{part.name}: LUT, FF, DSP, BRAM predicted / found")
        for number in range(first, options.first + options.cases, 2):
            for row in compare(number, part, options.out):
                rows.append(row)
                counts = "  ".join(
                    f"{getattr(row.predicted, name):5}/{getattr(row.found, name):<5}"
                    for name in ("lut", "ff", "dsp", "bram")
                )
                print(f"{number:3} {counts} {row.what}", flush=True)
        print(summary(rows))


if __name__ == "__main__":
    main()
