"""The top module: engines, the edges between them, valid bits, and the signature that describes it all."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from dataclasses import replace
from importlib import resources
from pathlib import Path

from flow.engines.emit import cone_module
from flow.engines.module import (
    Assign,
    Comment,
    Expr,
    Instance,
    Item,
    Join,
    Module,
    Port,
    Signal,
    Slice,
    Unary,
    Wire,
    whole,
)
from flow.engines.pipeline import PlacedCone, Placement
from flow.files import replace_folder, write_whole
from flow.graph.graph import Graph
from flow.rtl.printer import print_module
from flow.rtl.signature import FORMAT, Edge, HashedFile, Signature, TensorPort, signature_to_json

CLOCK, RESET, VALID_IN = Signal("clk_i", 1), Signal("rst_i", 1), Signal("valid_i", 1)
VALID_OUT, OVERRUN = Signal("valid_o", 1), Signal("overrun_o", 1)


def build_top(
    graph: Graph, placement: Placement, *, runs: tuple[tuple[str, ...], ...], interval: int = 1
) -> tuple[tuple[Module, ...], Signature]:
    """Return all generated modules, the top module `flow_<model>` last, and the signature (without files).

    runs: the nodes of each cone in the order of `placement.cones`; a cone is named by the last of them, whose output
    it drives. interval: the II in cycles. Tensors stand on data_i and data_o in the order that the graph declares,
    the first at bit 0.
    """
    return _Top(graph, placement, runs, interval).build()


class _Top:
    def __init__(self, graph: Graph, placement: Placement, runs: tuple[tuple[str, ...], ...], interval: int) -> None:
        self.graph = graph
        self.placement = placement
        self.runs = runs
        self.interval = interval
        self.inputs = tensor_ports(graph, graph.inputs)
        self.outputs = tensor_ports(graph, graph.outputs)
        self.latency = max(placement.stage(name) for name in graph.outputs)
        self.items: list[Item] = []
        self.data = {name: Signal(f"edge_{name}", _bits(graph, name)) for name in self._edges()}
        self.valid = {name: Signal(f"valid_at_{name}", 1) for name in self._edges()}

    def _edges(self) -> tuple[str, ...]:
        return (*self.graph.inputs, *(cone.name for cone in self.placement.cones))

    def build(self) -> tuple[tuple[Module, ...], Signature]:
        cones = tuple(self._cone(cone, run) for cone, run in zip(self.placement.cones, self.runs, strict=True))
        name = self._name({module.name for module in cones})
        bits_in, bits_out = (sum(port.bits for port in ports) for ports in (self.inputs, self.outputs))
        data_i, data_o = Signal("data_i", bits_in), Signal("data_o", bits_out)
        self._add_valid()
        self._add_inputs(data_i)
        for cone, module in zip(self.placement.cones, cones, strict=True):
            self._add_cone(cone, module)
        self._add_outputs(data_o)
        self._add_sink()
        ports = [Port("input", s) for s in (CLOCK, RESET, VALID_IN, data_i)]
        ports += [Port("output", s) for s in (VALID_OUT, data_o, OVERRUN)]
        header = (
            f"{name}: the network {self.graph.name}.",
            f"Latency {self.latency} cycles from data_i to data_o, interval {self.interval}.",
            "rst_i clears valid bits and overrun_o, nothing else. signature.json describes the ports.",
        )
        top = Module(name, header, tuple(ports), tuple(self.items))
        signature = Signature(
            FORMAT,
            self.graph.name,
            name,
            self.latency,
            self.interval,
            self.inputs,
            self.outputs,
            self._watched_edges(),
            (),
        )
        return (*cones, top), signature

    def _name(self, taken: set[str]) -> str:
        name = "flow_" + (re.sub(r"[^A-Za-z0-9_]+", "_", self.graph.name).strip("_") or "network")
        return f"{name}_top" if name in taken or name in hand_written() else name

    def _cone(self, cone: PlacedCone, run: tuple[str, ...]) -> Module:
        kinds = tuple(self.graph.node(port.edge).type for port in cone.wiring.cone.inputs)
        layers = tuple(dict.fromkeys(self.graph.node(name).label for name in run))
        return cone_module(cone, kinds, self.graph.node(cone.name).type, layers)

    def _add_valid(self) -> None:
        taps = Signal("valid_taps", self.latency + 1)
        self.items += [Comment("valid bits"), Wire(taps, None)]
        self.items.append(
            Instance(
                "flow_valid",
                "u_valid",
                (("Depth", self.latency),),
                (
                    ("clk_i", whole(CLOCK)),
                    ("rst_i", whole(RESET)),
                    ("valid_i", whole(VALID_IN)),
                    ("taps_o", whole(taps)),
                ),
            )
        )
        self.items += [Wire(self.valid[name], Slice(taps, self.placement.stage(name), 1)) for name in self._edges()]
        self.items.append(Assign(VALID_OUT, Slice(taps, self.latency, 1)))
        starts = (("clk_i", whole(CLOCK)), ("rst_i", whole(RESET)), ("start_i", whole(VALID_IN)))
        guard = (*starts, ("overrun_o", whole(OVERRUN)))
        self.items.append(Instance("flow_interval_guard", "u_interval", (("Interval", self.interval),), guard))

    def _add_inputs(self, data_i: Signal) -> None:
        self.items.append(Comment("inputs"))
        self.items += [Wire(self.data[p.name], Slice(data_i, p.offset, p.bits)) for p in self.inputs]

    def _add_cone(self, cone: PlacedCone, module: Module) -> None:
        edges = iter(cone.wiring.cone.inputs)
        wires: list[tuple[str, Expr]] = []
        for port in module.ports:
            if port.signal == CLOCK:
                wires.append(("clk_i", whole(CLOCK)))
            elif port.direction == "input":
                wires.append((port.signal.name, whole(self.data[next(edges).edge])))
            else:
                wires.append((port.signal.name, whole(self.data[cone.name])))
        self.items += [Comment(f"cycle {cone.departure}: {cone.name}"), Wire(self.data[cone.name], None)]
        self.items.append(Instance(module.name, f"u_{cone.name}", (), tuple(wires)))

    def _add_outputs(self, data_o: Signal) -> None:
        self.items.append(Comment("outputs"))
        aligned: dict[str, Signal] = {}
        for port in self.outputs:
            wait = self.latency - self.placement.stage(port.name)
            if not wait or port.name in aligned:
                aligned.setdefault(port.name, self.data[port.name])
                continue
            signal = aligned[port.name] = Signal(f"late_{port.name}", port.bits)
            self.items.append(Wire(signal, None))
            connections = (("clk_i", whole(CLOCK)), ("data_i", whole(self.data[port.name])), ("data_o", whole(signal)))
            parameters = (("Width", port.bits), ("Depth", wait))
            self.items.append(Instance("flow_delay", f"u_late_{port.name}", parameters, connections))
        parts = tuple(whole(aligned[port.name]) for port in reversed(self.outputs))
        self.items.append(Assign(data_o, parts[0] if len(parts) == 1 else Join(parts)))

    def _add_sink(self) -> None:
        read = {port.edge for cone in self.placement.cones for port in cone.wiring.cone.inputs} | set(
            self.graph.outputs
        )
        unread = [self.data[name] for name in self._edges() if name not in read]
        watched = (Signal("valid_taps", self.latency + 1), *self.valid.values(), *unread)
        sink = Unary("^", Join(tuple(whole(signal) for signal in watched)))
        self.items += [Comment("what only benches read"), Wire(Signal("unused_taps", 1), sink)]

    def _watched_edges(self) -> tuple[Edge, ...]:
        edges = []
        for name in self._edges():
            (tensor,) = tensor_ports(self.graph, (name,))
            cycles = (self.placement.stage(name),)
            edges.append(Edge(name, self.data[name].name, self.valid[name].name, tensor, cycles))
        return tuple(edges)


def _bits(graph: Graph, name: str) -> int:
    node = graph.node(name)
    return node.size * node.type.width


def tensor_ports(graph: Graph, names: tuple[str, ...]) -> tuple[TensorPort, ...]:
    """Return how the tensors of these nodes stand on one packed port, the first at bit 0."""
    ports = []
    offset = 0
    for name in names:
        node = graph.node(name)
        ports.append(TensorPort(node.name, node.label, node.shape, node.type, offset))
        offset += ports[-1].bits
    return tuple(ports)


def hand_written() -> tuple[str, ...]:
    """Return the names of the hand-written modules, sorted."""
    folder = resources.files("flow.engines") / "sv"
    return tuple(sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".sv")))


def write_rtl(folder: Path, modules: tuple[Module, ...], signature: Signature) -> Signature:
    """Write `rtl/*.sv` and `signature.json` into a run's folder and return the signature with the files' hashes.

    Replaces what lies there; the hand-written modules that are instantiated are copied beside the generated ones.
    """
    texts = {module.name: print_module(module).encode() for module in modules}
    used = {item.module for module in modules for item in module.items if isinstance(item, Instance)}
    library = resources.files("flow.engines") / "sv"
    for name in sorted(used - set(texts)):
        texts[name] = (library / f"{name}.sv").read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=folder, prefix=".rtl."))
    try:
        for name, text in texts.items():
            (new / f"{name}.sv").write_bytes(text)
        new.chmod(0o755)
        replace_folder(new, folder / "rtl")
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    files = tuple(HashedFile(f"rtl/{name}.sv", hashlib.sha256(texts[name]).hexdigest()) for name in sorted(texts))
    complete = replace(signature, files=files)
    write_whole(folder / "signature.json", signature_to_json(complete))
    return complete
