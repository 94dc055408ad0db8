"""The hardware of a folded engine; its cycles are those of `Folded.schedule`.

A step that is requested in cycle t has its operands and weights in registers in t + 1, its products `multiply` cycles
later, their sum `add` cycles after that, in the accumulators one more; the output leaves `finish` cycles later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flow.device.delays import Delays
from flow.engines.emit import cone_module
from flow.engines.folded import Folded
from flow.engines.folded_contents import bias_words, weight_words, word_width
from flow.engines.folded_pipeline import PlacedLane, placed_lane
from flow.engines.lane import lane_of
from flow.engines.module import (
    Assign,
    Choose,
    Comment,
    Expr,
    Instance,
    Item,
    Join,
    Memory,
    Module,
    Number,
    Port,
    Registers,
    Rom,
    Signal,
    Slice,
    Unary,
    Wire,
    whole,
)
from flow.engines.pipeline import PlacedCone
from flow.engines.wiring import stored_width
from flow.fixed import FixedType
from flow.graph.graph import Graph

CLOCK, RESET, VALID_IN, VALID_OUT = Signal("clk_i", 1), Signal("rst_i", 1), Signal("valid_i", 1), Signal("valid_o", 1)


@dataclass(frozen=True, slots=True)
class Hardware:
    """Hold an engine's modules, its top last, and the memories that they read."""

    modules: tuple[Module, ...]
    memories: tuple[Memory, ...]

    @property
    def top(self) -> Module:
        """Return the engine's own module: ports clk_i, rst_i, valid_i, data_i, valid_o, data_o, a beat each way."""
        return self.modules[-1]


def folded_hardware(graph: Graph, choice: Folded, delays: Delays) -> Hardware:
    """Generate a folded engine; delays place the registers of its lanes."""
    return _Engine(graph, choice, delays).hardware()


class _Engine:
    def __init__(self, graph: Graph, choice: Folded, delays: Delays) -> None:
        self.graph = graph
        self.choice = choice
        self.lane = lane_of(graph, choice)
        self.placed: PlacedLane = placed_lane(self.lane, choice.add, choice.finish, delays)
        self.type = graph.node(choice.output).type
        serial = choice.order == "input_serial"
        self.inner, self.outer = choice.groups_in, choice.groups_out
        if serial:
            self.inner, self.outer = self.outer, self.inner
        beat = choice.p if serial else choice.n_in
        self.data_in = Signal("data_i", beat * self.lane.x.width)
        self.data_out = Signal("data_o", choice.q * self.type.width)
        self.modules: list[Module] = []
        self.memories: list[Memory] = []
        self.items: list[Item] = []
        self.unread: list[Signal] = []

    def hardware(self) -> Hardware:
        choice = self.choice
        self._sequencer()
        operands = self._operands()
        word = self._weights()
        bias = self._bias()
        sums = self._sums(operands, word, None if choice.accumulates else bias)
        results = self._finish(self._accumulate(sums, bias)) if choice.accumulates else sums
        self.items += [Comment("output"), Assign(self.data_out, results)]
        self._valid_out()
        if self.unread:
            sink = Unary("^", Join(tuple(whole(signal) for signal in self.unread)))
            self.items += [Comment("what this engine does not need"), Wire(Signal("unused_bits", 1), sink)]
        name = f"flow_folded_{choice.output}"
        layers = ", ".join(dict.fromkeys(self.graph.node(node).label for node in choice.nodes))
        header = (
            f"{name}: a time-multiplexed piece of the network, {choice.order.replace('_', '-')}.",
            f"Layers: {layers}.",
            f"{choice.n_in} x {choice.n_out} weights, {choice.p} x {choice.q} multipliers.",
            f"Reuse factor {choice.reuse_factor}, fill depth {choice.fill} cycles.",
            "rst_i clears valid bits and counters.",
        )
        ports = [Port("input", s) for s in (CLOCK, RESET, VALID_IN, self.data_in)]
        ports += [Port("output", s) for s in (VALID_OUT, self.data_out)]
        self.modules.append(Module(name, header, tuple(ports), tuple(self.items)))
        return Hardware(tuple(self.modules), tuple(self.memories))

    def _instance(
        self, module: str, name: str, parameters: tuple[tuple[str, int], ...], *wires: tuple[str, Expr]
    ) -> None:
        self.items.append(Instance(module, name, parameters, (("clk_i", whole(CLOCK)), *wires)))

    def _declare(self, name: str, width: int) -> Signal:
        signal = Signal(name, width)
        self.items.append(Wire(signal, None))
        return signal

    def _delayed(self, signal: Signal, cycles: int) -> Signal:
        """Return a signal some cycles later, without reset."""
        if not cycles:
            return signal
        late = self._declare(f"{signal.name}_{cycles}", signal.width)
        parameters = (("Width", signal.width), ("Depth", cycles))
        self._instance("flow_delay", f"u_{late.name}", parameters, ("data_i", whole(signal)), ("data_o", whole(late)))
        return late

    def _sequencer(self) -> None:
        choice = self.choice
        self.items.append(Comment("steps"))
        index_width = max(1, (choice.reuse_factor - 1).bit_length())
        group_width = max(1, (choice.groups_out - 1).bit_length())
        widths = {"step": 1, "first": 1, "last": 1, "group": group_width, "index": index_width, "next": index_width}
        signals = {name: self._declare(f"step_{name}" if name != "step" else name, n) for name, n in widths.items()}
        self.step, self.first, self.last = signals["step"], signals["first"], signals["last"]
        self.group, self.index, self.next = signals["group"], signals["index"], signals["next"]
        parameters = (
            ("Inner", self.inner),
            ("Outer", self.outer),
            ("PerBeat", int(choice.order == "input_serial")),
            ("IndexWidth", index_width),
            ("GroupWidth", group_width),
        )
        wires = [("rst_i", whole(RESET)), ("valid_i", whole(VALID_IN))]
        wires += [(f"{name}_o", whole(signal)) for name, signal in signals.items()]
        self._instance("flow_sequencer", "u_sequencer", parameters, *wires)
        if not choice.accumulates:
            self.unread.append(self.first)
        if choice.store == "registers":
            self.unread += [self.index, self.next]
        else:
            self.unread.append(self.next if choice.read == 1 else self.index)
        if choice.groups_out == 1 or self.lane.bias is None:
            self.unread.append(self.group)

    def _operands(self) -> Expr:
        """Return the p inputs of the step, in the cycle after it was requested."""
        choice, width = self.choice, self.choice.p * self.lane.x.width
        self.items.append(Comment("operands"))
        groups = choice.groups_in if choice.order == "output_serial" else 1
        data: Expr = whole(self.data_in)
        if groups * width > self.data_in.width:
            data = Join((Number(0, groups * width - self.data_in.width), data))
        operands = self._declare("operands", width)
        self._instance(
            "flow_operands",
            "u_operands",
            (("Width", width), ("Groups", groups)),
            ("load_i", whole(VALID_IN)),
            ("rotate_i", whole(self.step)),
            ("data_i", data),
            ("data_o", whole(operands)),
        )
        return whole(operands)

    def _weights(self) -> Signal:
        """Return the weights of the step, in the cycle after it was requested."""
        choice, width = self.choice, word_width(self.lane, self.choice)
        words = weight_words(self.graph, choice)
        self.items.append(Comment("weights"))
        word = self._declare("weights", width)
        if choice.store == "registers":
            contents = Number(sum(w << k * width for k, w in enumerate(words)), len(words) * width)
            self._instance(
                "flow_weight_ring",
                "u_weights",
                (("Width", width), ("Words", len(words))),
                ("rst_i", whole(RESET)),
                ("step_i", whole(self.step)),
                ("contents_i", contents),
                ("word_o", whole(word)),
            )
            return word
        memory = Memory(f"{choice.output}_weights", words, width)
        address = self.index if choice.read == 1 else self.next
        self._rom(memory, address, word, block=choice.store == "bram", read=choice.read)
        return word

    def _rom(self, memory: Memory, address: Signal, word: Signal, *, block: bool, read: int) -> None:
        """Place a memory: `word` is the addressed one `read` cycles later."""
        self.memories.append(memory)
        ports = (Signal("address_i", memory.address_width), Signal("word_o", memory.width))
        first, second = Signal("word_q", memory.width), Signal("word_q2", memory.width)
        items: list[Item] = [Rom(memory, "block" if block else "logic", whole(ports[0]), first)]
        if read > 1:
            items.append(Registers(((second, whole(first)),)))
        items.append(Assign(ports[1], whole(second if read > 1 else first)))
        name = f"flow_rom_{memory.name}"
        header = (f"{name}: {len(memory.words)} words, {memory.name}.mem.", f"Latency {read} cycles, no reset.")
        declared = (Port("input", CLOCK), Port("input", ports[0]), Port("output", ports[1]))
        self.modules.append(Module(name, header, declared, tuple(items)))
        wires = (("address_i", whole(address)), ("word_o", whole(word)))
        self._instance(name, f"u_{memory.name}", (), *wires)

    def _bias(self) -> Expr | None:
        """Return the accumulators' starts of the group whose products (or sums of a step) are there."""
        choice = self.choice
        words = bias_words(self.graph, choice)
        if self.lane.bias is None:
            return None
        width = choice.q * self.lane.bias.width
        if choice.groups_out == 1:
            return Number(words[0], width)
        self.items.append(Comment("biases"))
        late = self._delayed(self.group, choice.multiply + (choice.add if choice.accumulates else 0))
        word = self._declare("biases", width)
        self._rom(Memory(f"{choice.output}_biases", words, width), late, word, block=False, read=1)
        return whole(word)

    def _sums(self, operands: Expr, word: Signal, bias: Expr | None) -> Expr:
        """Return each lane's sum of the step's products."""
        choice, lane = self.choice, self.lane
        self.items.append(Comment("products and their sums"))
        own = FixedType(lane.product.width, lane.product.width)
        kinds = [lane.x, FixedType(1, 1, signed=False)] if lane.soft else [own]
        last = lane.bias if bias is not None else None
        cone = self._cone(self.placed.sums, (*kinds, *([last] if last is not None else [])))
        if lane.soft:
            width = choice.p * lane.weight.width
            inputs: list[tuple[Expr, ...]] = [(operands, Slice(word, j * width, width)) for j in range(choice.q)]
        else:
            inputs = [(products,) for products in self._products(operands, word)]
        if bias is not None and last is not None:
            biases = _pieces(bias, choice.q, last.width)
            inputs = [(*given, start) for given, start in zip(inputs, biases, strict=True)]
        return self._lanes(cone, inputs)

    def _products(self, operands: Expr, word: Signal) -> list[Expr]:
        """Return each lane's products."""
        choice, lane = self.choice, self.lane
        parameters = (
            ("Lanes", choice.p),
            ("InputWidth", lane.x.width),
            ("InputSigned", int(lane.x.signed)),
            ("WeightWidth", lane.weight.width),
        )
        bits = choice.p * lane.product.width
        found: list[Expr] = []
        if choice.multiplier == "dsp":
            width = choice.p * lane.weight.width
            for j in range(choice.q):
                products = self._declare(f"products_{j}", bits)
                wires = (("inputs_i", operands), ("weights_i", Slice(word, j * width, width)))
                self._instance("flow_products", f"u_products_{j}", parameters, *wires, ("products_o", whole(products)))
                found.append(whole(self._delayed(products, choice.multiply - 1)))
            return found
        inside = min(choice.multiply, 3)  # two beside the multiplier, one behind the correction
        width = choice.p * (2 * lane.weight.width + 1)
        for k in range(-(-choice.q // 2)):
            low, high = (self._declare(f"products_{2 * k + part}", bits) for part in range(2))
            wires = (("inputs_i", operands), ("weights_i", Slice(word, k * width, width)))
            ends = (("low_o", whole(low)), ("high_o", whole(high)))
            registers = (*parameters, ("Registers", inside))
            self._instance("flow_product_pairs", f"u_products_{k}", registers, *wires, *ends)
            found += [whole(self._delayed(end, choice.multiply - inside)) for end in (low, high)[: choice.q - 2 * k]]
            if 2 * k + 1 == choice.q:
                self.unread.append(high)
        return found

    def _accumulate(self, sums: Expr, bias: Expr | None) -> Signal:
        """Return the accumulators that were written last."""
        choice, lane, placed = self.choice, self.lane, self.placed.accumulate
        assert placed is not None
        self.items.append(Comment("accumulators"))
        kind = lane.register
        width = choice.q * kind.width
        depth = 1 if choice.order == "output_serial" else choice.groups_out
        ring, before, after = (
            Signal("accumulators", depth * width),
            Signal("accumulated", width),
            Signal("accumulators_next", width),
        )
        here = 1 + choice.multiply + choice.add
        step, first = self._delayed(self.step, here), self._delayed(self.first, here)
        self.items += [Wire(ring_next := Signal("ring_next", depth * width), None), Wire(before, None)]
        self.items += [Registers(((ring, whole(ring_next)),)), Wire(after, None)]
        start: Expr = Number(0, width)
        if bias is not None and lane.bias is not None:
            start = Join(
                tuple(reversed([_fitted(b, lane.bias, kind) for b in _pieces(bias, choice.q, lane.bias.width)]))
            )
        self.items.append(Assign(before, Choose(whole(first), start, Slice(ring, 0, width))))
        cone = self._cone(placed, (_held(self.placed.sums), kind))
        partial = _pieces(sums, choice.q, _held(self.placed.sums).width)
        given = zip(partial, _pieces(whole(before), choice.q, kind.width), strict=True)
        self.items.append(Assign(after, self._lanes(cone, list(given))))
        kept = whole(after) if depth == 1 else Join((whole(after), Slice(ring, width, (depth - 1) * width)))
        self.items.append(Assign(ring_next, Choose(whole(step), kept, whole(ring))))
        newest = Signal("newest", width)
        self.items.append(Wire(newest, Slice(ring, (depth - 1) * width, width)))
        return newest

    def _finish(self, newest: Signal) -> Expr:
        """Return what follows the accumulators."""
        placed = self.placed.finish
        assert placed is not None
        self.items.append(Comment("casts and activations"))
        kind = self.lane.register
        cone = self._cone(placed, (kind,))
        return self._lanes(cone, [(piece,) for piece in _pieces(whole(newest), self.choice.q, kind.width)])

    def _cone(self, placed: PlacedCone, inputs: tuple[FixedType, ...]) -> Module:
        """Generate the module of a lane's cone, named for this engine."""
        output = self.type if self._ends(placed) else _held(placed)
        if placed is self.placed.accumulate:
            output = self.lane.register
        module = cone_module(placed, inputs, output)
        name = f"flow_lane_{self.choice.output}_{placed.name}"
        layers = dict.fromkeys(self.graph.node(node).label for node in self.choice.nodes)
        depth = placed.departure - placed.arrival
        header = (
            f"{name}: one output lane of a folded engine, {placed.name}.",
            f"Layers: {', '.join(layers)}.",
            f"Latency {depth} {'cycle' if depth == 1 else 'cycles'}, interval 1 cycle. No reset.",
        )
        module = Module(name, header, module.ports, module.items)
        self.modules.append(module)
        return module

    def _ends(self, placed: PlacedCone) -> bool:
        return placed is self.placed.finish or not self.choice.accumulates

    def _lanes(self, cone: Module, inputs: Sequence[tuple[Expr, ...]]) -> Expr:
        """Place one instance of a cone for each output lane; return their outputs side by side."""
        result = next(port.signal for port in cone.ports if port.direction == "output")
        names = [p.signal.name for p in cone.ports if p.direction == "input" and p.signal != CLOCK]
        short = cone.name.rpartition("_")[2]
        parts: list[Expr] = []
        for j, given in enumerate(inputs):
            out = self._declare(f"{short}_{j}", result.width)
            wires: list[tuple[str, Expr]] = [("clk_i", whole(CLOCK))] if cone.ports[0].signal == CLOCK else []
            wires += zip(names, given, strict=True)
            wires.append((result.name, whole(out)))
            self.items.append(Instance(cone.name, f"u_{short}_{j}", (), tuple(wires)))
            parts.append(whole(out))
        return parts[0] if len(parts) == 1 else Join(tuple(reversed(parts)))

    def _valid_out(self) -> None:
        fill = self.choice.fill
        ends, taps = Signal("ends", 1), Signal("ends_taps", fill + 1)
        both = Join((whole(self.step), whole(self.last)))
        self.items += [Comment("valid bits"), Wire(ends, Unary("&", both)), Wire(taps, None)]
        wires = (("rst_i", whole(RESET)), ("valid_i", whole(ends)), ("taps_o", whole(taps)))
        self._instance("flow_valid", "u_valid", (("Depth", fill),), *wires)
        self.items.append(Assign(VALID_OUT, Slice(taps, fill, 1)))
        self.items.append(Wire(Signal("unused_taps", 1), Unary("^", Slice(taps, 0, fill))))


def _held(placed: PlacedCone) -> FixedType:
    """Return the format of a cone's output as an integer of the smallest width."""
    lo, hi = placed.wiring.cone.output_range
    width = stored_width(lo, hi)
    return FixedType(max(width, 1), max(width, 1), signed=lo < 0)


def _fitted(bits: Expr, kind: FixedType, target: FixedType) -> Expr:
    """Return a signed number in a format that holds it: extended, or without the sign bit of a positive one."""
    if kind.width == target.width:
        return bits
    single = _pieces(bits, kind.width, 1)
    if kind.width > target.width:
        return Join(tuple(reversed(single[: target.width])))
    return Join((*([single[-1]] * (target.width - kind.width)), bits))


def _pieces(bits: Expr, count: int, width: int) -> list[Expr]:
    """Return `count` fields of an expression, the lowest first."""
    match bits:
        case Slice(signal, low, _):
            return [Slice(signal, low + k * width, width) for k in range(count)]
        case Number(value, _):
            return [Number(value >> k * width & (1 << width) - 1, width) for k in range(count)]
        case Join(parts) if count == len(parts) and all(part.width == width for part in parts):
            return list(reversed(parts))
        case _:
            raise TypeError(f"{type(bits).__name__} has no fields of {width} bits")
