"""The hardware of a streamed engine: a line buffer, the engine that computes one beat, and its valid bits."""

from __future__ import annotations

from collections.abc import Mapping

from flow.device.delays import Delays
from flow.engines.beat import beat_of, window_of
from flow.engines.emit import cone_module
from flow.engines.folded_hardware import CLOCK, RESET, VALID_IN, VALID_OUT, Hardware, folded_hardware
from flow.engines.line_buffer import LineBuffer
from flow.engines.module import (
    Assign,
    Comment,
    Expr,
    Instance,
    Item,
    Memory,
    Module,
    Port,
    Signal,
    Slice,
    Unary,
    Wire,
    whole,
)
from flow.engines.pipeline import PlacedCone
from flow.engines.reducer import Reducer
from flow.engines.streamed import Streamed
from flow.engines.tables import table_modules
from flow.engines.unrolled import Unrolled
from flow.graph.graph import Graph
from flow.graph.nodes import Pool

STORES: Mapping[str, int] = {"registers": 0, "lutram": 1, "bram": 2}
"""How flow_window numbers the stores of the rows above."""


def streamed_hardware(graph: Graph, choice: Streamed, delays: Delays, cone: PlacedCone | None) -> Hardware:
    """Generate a streamed engine.

    cone: of one beat, with the choice's depth, None where a beat is folded; delays place the registers of folded
    lanes. Beats of several inputs stand side by side on data_i, the first at bit 0.
    """
    return _Engine(graph, choice, delays, cone).hardware()


class _Engine:
    def __init__(self, graph: Graph, choice: Streamed, delays: Delays, cone: PlacedCone | None) -> None:
        self.graph = graph
        self.choice = choice
        self.delays = delays
        self.cone = cone
        self.beat = beat_of(graph, choice)
        self.head = graph.node(choice.nodes[0])
        self.sources = tuple(dict.fromkeys(graph.feeding(self.head)))
        widths = [n * source.type.width for n, source in zip(choice.lanes_in, self.sources, strict=True)]
        self.data_in = Signal("data_i", sum(widths))
        offsets = [sum(widths[:k]) for k in range(len(widths))]
        self.inputs: list[Expr] = [Slice(self.data_in, at, n) for at, n in zip(offsets, widths, strict=True)]
        assert choice.lanes_out is not None
        self.data_out = Signal("data_o", choice.lanes_out * graph.node(choice.output).type.width)
        self.valid = VALID_IN
        self.modules: list[Module] = []
        self.memories: list[Memory] = []
        self.items: list[Item] = []

    def hardware(self) -> Hardware:
        choice = self.choice
        match choice.buffer:
            case LineBuffer() as buffer:
                self._window(buffer)
            case Reducer() as reducer:
                self._reduce(reducer)
            case None:
                pass
        if isinstance(choice.inner, Unrolled):
            self._unrolled(choice.inner)
        else:
            self._folded()
        name = f"flow_streamed_{choice.output}"
        layers = ", ".join(dict.fromkeys(self.graph.node(node).label for node in choice.nodes))
        header = (
            f"{name}: a piece of the network that computes one beat after the other.",
            f"Layers: {layers}.",
            "rst_i clears valid bits and counters.",
        )
        ports = [Port("input", s) for s in (CLOCK, RESET, VALID_IN, self.data_in)]
        ports += [Port("output", s) for s in (VALID_OUT, self.data_out)]
        self.modules.append(Module(name, header, tuple(ports), tuple(self.items)))
        return Hardware(tuple(self.modules), tuple(self.memories))

    def _place(
        self, module: str, name: str, parameters: Mapping[str, int], connections: tuple[tuple[str, Expr], ...]
    ) -> None:
        self.items.append(Instance(module, name, tuple(parameters.items()), connections))

    def _window(self, buffer: LineBuffer) -> None:
        (source,) = self.sources
        bits = self.choice.lanes_in[0] * source.type.width * buffer.kernel[0] * buffer.kernel[1]
        window, valid = Signal("window", bits), Signal("window_valid", 1)
        self.items += [Comment("windows"), Wire(window, None), Wire(valid, None)]
        outside = isinstance(self.head, Pool) and self.head.op == "max" and any(self._pads())
        parameters = {
            "Width": source.type.width,
            "Lanes": self.choice.lanes_in[0],
            "Rows": buffer.rows,
            "Columns": buffer.columns,
            "KernelRows": buffer.kernel[0],
            "KernelColumns": buffer.kernel[1],
            "StrideRows": buffer.stride[0],
            "StrideColumns": buffer.stride[1],
            "PadTop": buffer.top,
            "PadLeft": buffer.left,
            "OutRows": buffer.out[0],
            "OutColumns": buffer.out[1],
            "Pace": buffer.pace,
            "Pad": source.type.lo % (1 << source.type.width) if outside else 0,
            "Store": STORES[buffer.store],
        }
        self._serial("flow_window", "u_window", parameters, self.inputs[0], (valid, whole(window)))
        self.valid, self.inputs = valid, [whole(window)]

    def _reduce(self, reducer: Reducer) -> None:
        (source,) = self.sources
        held = reducer.held(source.type)
        results, valid = Signal("reduced", self.choice.lanes_in[0] * held.width), Signal("reduced_valid", 1)
        self.items += [Comment("running results"), Wire(results, None), Wire(valid, None)]
        parameters = {
            "Width": source.type.width,
            "Signed": int(source.type.signed),
            "Lanes": self.choice.lanes_in[0],
            "Beats": reducer.beats,
            "Held": held.width,
            "Max": int(reducer.op == "max"),
        }
        self._serial("flow_reduce", "u_reduce", parameters, self.inputs[0], (valid, whole(results)))
        self.valid, self.inputs = valid, [whole(results)]

    def _pads(self) -> tuple[int, ...]:
        window = window_of(self.head)
        return () if window is None else window.pads

    def _serial(
        self, module: str, name: str, parameters: Mapping[str, int], data: Expr, out: tuple[Signal, Expr]
    ) -> None:
        """Place a module that takes beats with their valid bit and gives such."""
        connections = (
            ("clk_i", whole(CLOCK)),
            ("rst_i", whole(RESET)),
            ("valid_i", whole(self.valid)),
            ("data_i", data),
            ("valid_o", whole(out[0])),
            ("data_o", out[1]),
        )
        self._place(module, name, parameters, connections)

    def _unrolled(self, inner: Unrolled) -> None:
        """Place the cone of a beat, and valid bits as deep as it is."""
        assert self.cone is not None
        self.items.append(Comment("one beat"))
        given = dict(zip(self.beat.inputs, self.inputs, strict=True))
        ports = self.cone.wiring.cone.inputs
        kinds = tuple(self.beat.node(port.edge).type for port in ports)
        layers = tuple(dict.fromkeys(self.graph.node(name).label for name in self.choice.nodes))
        module = cone_module(self.cone, kinds, self.graph.node(self.choice.output).type, layers)
        self.modules += [*table_modules(self.cone), module]
        sources = iter(ports)
        wires: list[tuple[str, Expr]] = []
        for port in module.ports:
            if port.signal == CLOCK:
                wires.append(("clk_i", whole(CLOCK)))
            elif port.direction == "input":
                wires.append((port.signal.name, given[next(sources).edge]))
            else:
                wires.append((port.signal.name, whole(self.data_out)))
        self._place(module.name, "u_beat", {}, tuple(wires))
        taps = Signal("valid_taps", inner.depth + 1)
        self.items += [Comment("valid bits"), Wire(taps, None)]
        connections = (
            ("clk_i", whole(CLOCK)),
            ("rst_i", whole(RESET)),
            ("valid_i", whole(self.valid)),
            ("taps_o", whole(taps)),
        )
        self._place("flow_valid", "u_valid", {"Depth": inner.depth}, connections)
        self.items.append(Assign(VALID_OUT, Slice(taps, inner.depth, 1)))
        unused = Unary("^", Slice(taps, 0, inner.depth))
        self.items.append(Wire(Signal("unused_taps", 1), unused))

    def _folded(self) -> None:
        """Place the folded engine that takes each beat as an inference of its own."""
        assert not isinstance(self.choice.inner, Unrolled)
        self.items.append(Comment("one beat"))
        inner = folded_hardware(self.beat, self.choice.inner, self.delays)
        self.modules += inner.modules
        self.memories += inner.memories
        self._serial(inner.top.name, "u_beat", {}, self.inputs[0], (VALID_OUT, whole(self.data_out)))
