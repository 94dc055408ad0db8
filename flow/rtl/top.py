"""The top module: engines, the edges between them, valid bits, and the signature that describes it all."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from flow.engines.align import Delay, Fifo
from flow.engines.converter import Converter
from flow.engines.crossing import Crossing
from flow.engines.dataflow import Block, Dataflow
from flow.engines.emit import cone_module
from flow.engines.engine import Folded, Streamed, Unrolled
from flow.engines.folded_hardware import Hardware
from flow.engines.module import (
    Assign,
    Comment,
    Expr,
    Instance,
    Item,
    Join,
    Memory,
    Module,
    Port,
    Rom,
    Signal,
    Slice,
    Unary,
    Wire,
    whole,
)
from flow.engines.pipeline import PlacedCone
from flow.engines.streamed_hardware import STORES
from flow.engines.tables import table_modules
from flow.files import replace_folder, write_whole
from flow.graph.graph import Graph
from flow.latency.schedule import Schedule, latest
from flow.latency.timeline import Edge as TimedEdge
from flow.rtl.dies import die_constraints
from flow.rtl.named import named_top
from flow.rtl.printer import print_memory, print_module
from flow.rtl.signature import FORMAT, Edge, HashedFile, Signature, StoredMemory, TensorPort, signature_to_json

CLOCK, RESET, VALID_IN = Signal("clk_i", 1), Signal("rst_i", 1), Signal("valid_i", 1)
VALID_OUT, OVERRUN = Signal("valid_o", 1), Signal("overrun_o", 1)
FIRST = Signal("first_beat", 1)
RESETS = "resets valid bits, overrun_o and what controls the engines"
CLOCKED = (("clk_i", whole(CLOCK)), ("rst_i", whole(RESET)))


Engine = PlacedCone | Hardware


def build_top(graph: Graph, flow: Dataflow, engines: Mapping[str, Engine]) -> tuple[tuple[Module, ...], Signature]:
    """Return all generated modules, the top module `flow_<model>` last, and the signature (without files).

    engines: for each block but the converters, by the edge that it drives. The stages of placed cones count from the
    edge that feeds the first of the cones that follow each other. The signature tells the cycles of what was
    generated: those of placed cones come from their stages. Tensors stand on data_i and data_o in the order that the
    graph declares, the first at bit 0.
    """
    return _Top(graph, flow, engines).build()


@dataclass(frozen=True, slots=True)
class _Segment:
    """Hold the edges of cones that follow each other without other engines: one chain of valid bits serves them all.

    start: says that the edge which feeds them is valid, in cycle `begins`. stages: cycles from there to each edge.
    """

    name: str
    start: Signal
    begins: int
    stages: dict[str, int]
    die: int

    @property
    def taps(self) -> Signal:
        return Signal(f"valid_taps{self.name}", max(self.stages.values()) + 1)


class _Top:
    def __init__(self, graph: Graph, flow: Dataflow, engines: Mapping[str, Engine]) -> None:
        self.graph = graph
        self.flow = flow
        self.engines = engines
        self.edges = {edge.name: edge for edge in flow.timeline.edges}
        self.dies = flow.dies(graph)
        self.inputs = self._ports(graph.inputs)
        self.outputs = self._ports(flow.timeline.outputs)
        self.data = {name: Signal(f"edge_{name}", self._beat_bits(edge)) for name, edge in self.edges.items()}
        self.valid = {name: Signal(f"valid_at_{name}", 1) for name in self.edges}
        self.schedules = {name: self.edges[name].schedule for name in graph.inputs}
        # beside cones alone on one die, delays only hold back what leaves the design
        held = [block.output for block in flow.blocks if isinstance(block.what, Delay)]
        placed = [name for name, engine in engines.items() if isinstance(engine, PlacedCone)]
        one_die = len({block.die for block in flow.blocks}) <= 1
        self.only_cones = one_die and all(block.output in {*held, *placed} for block in flow.blocks)
        self.segments: dict[str, _Segment] = {}
        self._schedule()
        self.latest = flow.timeline.outputs[latest(tuple(self.schedules[name] for name in flow.timeline.outputs))]
        self.latency = self.schedules[self.latest].last
        self.items: list[Item] = []
        self.read: set[str] = set(flow.timeline.outputs)
        self.taken = {f"u_{block.output}" for block in flow.blocks}
        self.begun: set[str] = set()

    def _ports(self, edges: tuple[str, ...]) -> tuple[TensorPort, ...]:
        beats = tuple(self.edges[name] for name in edges)
        return tensor_ports(self.graph, tuple(e.node for e in beats), tuple(e.lanes for e in beats))

    def _beat_bits(self, edge: TimedEdge) -> int:
        return edge.lanes * self.graph.node(edge.node).type.width

    def _schedule(self) -> None:
        """Find the segments, and the cycles of every edge as they are generated."""
        whole_inputs = [name for name in self.graph.inputs if len(self.schedules[name].cycles) == 1]
        first: dict[int, _Segment] = {}
        for name in whole_inputs:
            die = self.dies[name]
            self.segments[name] = first.setdefault(die, _Segment(f"_{name}" if first else "", FIRST, 0, {}, die))
        for block in self.flow.blocks:
            arrivals = tuple(self.schedules[name] for name in block.inputs)
            engine = self.engines.get(block.output)
            if isinstance(engine, PlacedCone):
                segment = self.segments[block.output] = self._segment(block, arrivals)
                segment.stages[block.output] = engine.departure
                self.schedules[block.output] = Schedule((segment.begins + engine.departure,))
            else:
                self.schedules[block.output] = block.what.schedule(arrivals)

    def _segment(self, block: Block, arrivals: tuple[Schedule, ...]) -> _Segment:
        """Return the segment that a cone belongs to: that of what it reads, or a new one where tensors meet."""
        source = block.inputs[latest(arrivals)]
        alone = len(block.inputs) == 1
        if source in self.segments and (alone or self.only_cones):
            return self.segments[source]
        name = f"_{source if alone else block.output}"
        segment = _Segment(name, self.valid[source], arrivals[0].last, {}, block.die)
        if alone:
            self.segments[source] = segment
        return segment

    def build(self) -> tuple[tuple[Module, ...], Signature]:
        bits_in, bits_out = (sum(port.bits for port in ports) for ports in (self.inputs, self.outputs))
        data_i, data_o = Signal("data_i", bits_in), Signal("data_o", bits_out)
        interval = self.flow.timeline.interval
        self._add_inputs(data_i, interval)
        placed = [module for block in self.flow.blocks for module in self._add_block(block)]
        modules = tuple({module.name: module for module in placed}.values())  # engines share equal tables
        self._add_outputs(data_o)
        self._add_sink()
        ports = [Port("input", s) for s in (CLOCK, RESET, VALID_IN, data_i)]
        ports += [Port("output", s) for s in (VALID_OUT, data_o, OVERRUN)]
        name = self._name({module.name for module in modules})
        reset = "clears valid bits and overrun_o, nothing else"
        header = (
            f"{name}: the network {self.graph.name}.",
            f"Latency {self.latency} cycles from data_i to data_o, interval {interval}.",
            f"rst_i {reset if self.only_cones else RESETS}. signature.json describes the ports.",
        )
        modules = (*modules, Module(name, header, tuple(ports), tuple(self.items)))
        signature = Signature(
            FORMAT,
            self.graph.name,
            name,
            self.latency,
            interval,
            max((self.schedules[name].cycles for name in self.graph.inputs), key=len),
            self.schedules[self.latest].cycles,
            self.inputs,
            self.outputs,
            tuple(self._watched(edge) for edge in self.edges.values()),
            (),
            tuple(_stored(modules)),
        )
        return modules, signature

    def _name(self, taken: set[str]) -> str:
        name = "flow_" + (re.sub(r"[^A-Za-z0-9_]+", "_", self.graph.name).strip("_") or "network")
        return f"{name}_top" if name in taken or name in hand_written() else name

    def _service(self, purpose: str) -> str:
        """Return a name for an instance that is no engine."""
        name = f"u_{purpose}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def _place(
        self,
        module: str,
        name: str,
        parameters: Mapping[str, int],
        connections: tuple[tuple[str, Expr], ...],
        *,
        dies: tuple[int, ...],
    ) -> None:
        self.items.append(Instance(module, name, tuple(parameters.items()), connections, dies))

    def _add_valid(self, segment: _Segment) -> None:
        taps = segment.taps
        self.items += [Comment(f"valid bits{' behind ' * bool(segment.name)}{segment.name[1:]}"), Wire(taps, None)]
        connections = (*CLOCKED, ("valid_i", whole(segment.start)), ("taps_o", whole(taps)))
        name, depth = self._service(f"valid{segment.name}"), {"Depth": taps.width - 1}
        self._place("flow_valid", name, depth, connections, dies=(segment.die,))
        self.items += [Wire(self.valid[name], Slice(taps, stage, 1)) for name, stage in segment.stages.items()]

    def _add_inputs(self, data_i: Signal, interval: int) -> None:
        """Add the guard and the input edges; a tensor of one beat comes with the first beat of the others."""
        beats = max((self.schedules[name] for name in self.graph.inputs), key=lambda s: len(s.cycles))
        self.items += [Comment("inputs"), Wire(FIRST, None)]
        ends = (("valid_i", whole(VALID_IN)), ("first_o", whole(FIRST)), ("overrun_o", whole(OVERRUN)))
        cadence = {"Interval": interval, "Beats": len(beats.cycles), "Spacing": beats.spacing or 1}
        name, die = self._service("interval"), self.flow.input_dies[0]
        self._place("flow_interval_guard", name, cadence, (*CLOCKED, *ends), dies=(die,))
        for port in self.inputs:
            valid = FIRST if port.beats == 1 else VALID_IN
            self.items.append(Wire(self.data[port.name], Slice(data_i, port.offset, port.bits)))
            self.items.append(Wire(self.valid[port.name], whole(valid)))

    def _add_block(self, block: Block) -> tuple[Module, ...]:
        """Place an engine, and the valid bits of the cones that it feeds; return its modules."""
        cycles = self.schedules[block.output].cycles
        when = f"cycle {cycles[0]}" if len(cycles) == 1 else f"cycles {cycles[0]} to {cycles[-1]}"
        self.items += [Comment(f"{when}: {block.output}"), Wire(self.data[block.output], None)]
        match block.what:
            case Converter() as converter:
                width = self.graph.node(converter.node).type.width
                self._add_serial(block, f"flow_{converter.engine}", converter_parameters(converter, width))
                return ()
            case Delay() as delay:
                bits = self.data[block.output].width
                self._add_serial(block, "flow_late", {"Width": bits, "Depth": delay.cycles})
                return ()
            case Fifo() as fifo:
                self._add_fifo(block, fifo)
                return ()
            case Crossing():
                self._add_serial(block, "flow_crossing", {"Width": self.data[block.output].width})
                return ()
            case Unrolled() | Folded() | Streamed() as choice:
                engine = self.engines[block.output]
                if isinstance(engine, PlacedCone):
                    return (*table_modules(engine), self._add_cone(block, choice.nodes, engine))
                self._add_serial(block, engine.top.name, {})
                return engine.modules

    def _add_serial(self, block: Block, module: str, parameters: Mapping[str, int]) -> None:
        """Place an engine that takes beats with their valid bit and gives such; several inputs come together."""
        self.read.update(block.inputs)
        self.items.append(Wire(self.valid[block.output], None))
        data = tuple(whole(self.data[source]) for source in reversed(block.inputs))
        connections = (
            *CLOCKED,
            ("valid_i", whole(self.valid[block.inputs[0]])),
            ("data_i", data[0] if len(data) == 1 else Join(data)),
            ("valid_o", whole(self.valid[block.output])),
            ("data_o", whole(self.data[block.output])),
        )
        begins = (self.dies[block.inputs[0]],) if isinstance(block.what, Crossing) else ()
        dies = (*begins, block.die)
        self._place(module, f"u_{block.output}", parameters, connections, dies=dies)

    def _add_fifo(self, block: Block, fifo: Fifo) -> None:
        """Place a FIFO whose beats leave with those of its second input."""
        source, leader = block.inputs
        self.read.add(source)
        self.items.append(Wire(self.valid[block.output], None))
        parameters = {
            "Width": fifo.bits,
            "Depth": fifo.depth,
            "Bypass": int(fifo.bypass),
            "Store": STORES[fifo.store],
        }
        connections = (
            *CLOCKED,
            ("valid_i", whole(self.valid[source])),
            ("data_i", whole(self.data[source])),
            ("pop_i", whole(self.valid[leader])),
            ("valid_o", whole(self.valid[block.output])),
            ("data_o", whole(self.data[block.output])),
        )
        self._place("flow_fifo", f"u_{block.output}", parameters, connections, dies=(block.die,))

    def _add_cone(self, block: Block, nodes: tuple[str, ...], cone: PlacedCone) -> Module:
        segment = self.segments[block.output]
        if segment.name not in self.begun:
            self.begun.add(segment.name)
            self._add_valid(segment)
        edge_of = {self.edges[name].node: name for name in block.inputs}
        sources = [edge_of[port.edge] for port in cone.wiring.cone.inputs]
        self.read.update(sources)
        kinds = tuple(self.graph.node(port.edge).type for port in cone.wiring.cone.inputs)
        layers = tuple(dict.fromkeys(self.graph.node(name).label for name in nodes))
        module = cone_module(cone, kinds, self.graph.node(cone.name).type, layers)
        edges = iter(sources)
        wires: list[tuple[str, Expr]] = []
        for port in module.ports:
            if port.signal == CLOCK:
                wires.append(("clk_i", whole(CLOCK)))
            elif port.direction == "input":
                wires.append((port.signal.name, whole(self.data[next(edges)])))
            else:
                wires.append((port.signal.name, whole(self.data[block.output])))
        self._place(module.name, f"u_{block.output}", {}, tuple(wires), dies=(block.die,))
        return module

    def _add_outputs(self, data_o: Signal) -> None:
        self.items.append(Comment("outputs"))
        self.items.append(Assign(VALID_OUT, whole(self.valid[self.latest])))
        aligned: dict[str, Signal] = {}
        for port, edge in zip(self.outputs, self.flow.timeline.outputs, strict=True):
            wait = self.latency - self.schedules[edge].last
            if not wait or edge in aligned:
                aligned.setdefault(edge, self.data[edge])
                continue
            signal = aligned[edge] = Signal(f"late_{edge}", port.bits)
            self.items.append(Wire(signal, None))
            connections = (("clk_i", whole(CLOCK)), ("data_i", whole(self.data[edge])), ("data_o", whole(signal)))
            name, parameters = self._service(f"late_{edge}"), {"Width": port.bits, "Depth": wait}
            self._place("flow_delay", name, parameters, connections, dies=(self.dies[edge],))
        parts = tuple(whole(aligned[edge]) for edge in reversed(self.flow.timeline.outputs))
        self.items.append(Assign(data_o, parts[0] if len(parts) == 1 else Join(parts)))

    def _add_sink(self) -> None:
        taps = {segment.name: segment.taps for segment in self.segments.values() if segment.name in self.begun}
        unread = [self.data[name] for name in self.edges if name not in self.read]
        unread += [FIRST] if all(port.beats > 1 for port in self.inputs) else []
        watched = (*taps.values(), *self.valid.values(), *unread)
        sink = Unary("^", Join(tuple(whole(signal) for signal in watched)))
        self.items += [Comment("what only benches read"), Wire(Signal("unused_taps", 1), sink)]

    def _watched(self, edge: TimedEdge) -> Edge:
        (tensor,) = self._ports((edge.name,))
        data, valid = self.data[edge.name].name, self.valid[edge.name].name
        return Edge(edge.name, edge.node, data, valid, tensor, self.schedules[edge.name].cycles)


def _stored(modules: tuple[Module, ...]) -> Iterator[StoredMemory]:
    """Find the memories below the top module, the last one, in the order of its instances."""
    known = {module.name: module for module in modules}
    waiting: list[tuple[tuple[str, ...], Module]] = [((), modules[-1])]
    while waiting:
        path, module = waiting.pop()
        for item in module.items:
            if isinstance(item, Rom):
                memory = item.memory
                where = ".".join((*path, "words"))
                yield StoredMemory(_file(memory), len(memory.words), memory.width, module.name, where)
        inside = [item for item in module.items if isinstance(item, Instance) and item.module in known]
        waiting += [((*path, item.name), known[item.module]) for item in reversed(inside)]


def _file(memory: Memory) -> str:
    return f"rtl/{memory.name}.mem"


def converter_parameters(converter: Converter, width: int) -> dict[str, int]:
    """Return the parameters of a converter's hand-written module; width: bits of an element."""
    parameters = {"Width": width, "Size": converter.unit}
    if converter.engine != "split":
        parameters["LanesIn"] = converter.lanes_in
    if converter.engine != "gather":
        parameters["LanesOut"] = converter.lanes_out
        parameters["Spacing"] = converter.spacing
    return parameters


def tensor_ports(graph: Graph, names: tuple[str, ...], lanes: tuple[int, ...] | None = None) -> tuple[TensorPort, ...]:
    """Return how the tensors of these nodes stand on one packed port, the first at bit 0.

    lanes: elements of one beat for each; without them the tensors are whole.
    """
    ports = []
    offset = 0
    for k, node in enumerate(graph.node(name) for name in names):
        beat = node.size if lanes is None else lanes[k]
        ports.append(TensorPort(node.name, node.label, node.shape, node.type, offset, beat))
        offset += ports[-1].bits
    return tuple(ports)


def hand_written() -> tuple[str, ...]:
    """Return the names of the hand-written modules, sorted."""
    folder = resources.files("flow.engines") / "sv"
    return tuple(sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".sv")))


def hand_written_text(name: str) -> str:
    """Return the text of a hand-written module."""
    return (resources.files("flow.engines") / "sv" / f"{name}.sv").read_text(encoding="utf-8")


def hand_written_texts(names: set[str]) -> Iterator[tuple[str, str]]:
    """Give hand-written modules, and those that they instantiate, with their texts."""
    waiting, seen = sorted(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            text = hand_written_text(name)
            yield name, text
            waiting += re.findall(r"^  (flow_\w+) #\($", text, re.MULTILINE)


def write_rtl(folder: Path, modules: tuple[Module, ...], signature: Signature) -> Signature:
    """Write `rtl/*.sv`, `rtl/*.mem` and `signature.json` into a run's folder; return the signature with all hashes.

    Replaces what lies there; the hand-written modules that are instantiated are copied beside the generated ones. A
    design on several dies has `rtl/dies.xdc`, too.
    """
    texts = {f"rtl/{module.name}.sv": print_module(module).encode() for module in modules}
    named = named_top(signature)
    if named is not None:
        texts[f"rtl/{named.name}.sv"] = print_module(named).encode()
    used = {item.module for module in modules for item in module.items if isinstance(item, Instance)}
    for name, text in hand_written_texts(used - {module.name for module in modules}):
        texts[f"rtl/{name}.sv"] = text.encode()
    constraints = die_constraints(modules[-1])
    if constraints is not None:
        texts["rtl/dies.xdc"] = constraints.encode()
    for memory in (item.memory for module in modules for item in module.items if isinstance(item, Rom)):
        texts[_file(memory)] = print_memory(memory).encode()
    folder.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=folder, prefix=".rtl."))
    try:
        for path, content in texts.items():
            (new / Path(path).name).write_bytes(content)
        new.chmod(0o755)
        replace_folder(new, folder / "rtl")
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    files = tuple(HashedFile(path, hashlib.sha256(texts[path]).hexdigest()) for path in sorted(texts))
    complete = replace(signature, files=files)
    write_whole(folder / "signature.json", signature_to_json(complete))
    return complete
