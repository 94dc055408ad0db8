"""A placed cone as a hardware module."""

from __future__ import annotations

from itertools import groupby

from flow.engines.cone import Add, Limit, Lookup, Multiply, Read, Round, Select
from flow.engines.module import (
    Assign,
    AsSigned,
    Binary,
    Choose,
    Comment,
    Expr,
    Instance,
    Item,
    Join,
    Module,
    Number,
    Port,
    Registers,
    Repeat,
    Resize,
    Signal,
    Slice,
    Unary,
    Wire,
    whole,
)
from flow.engines.pipeline import PlacedCone
from flow.engines.registers import Held, held_bits
from flow.engines.tables import ADDRESS, WORD, table_memory
from flow.engines.wiring import LITERAL, Bits, Cell, Segment
from flow.fixed import FixedType, Overflow, Rounding

CLOCK = Signal("clk_i", 1)
ZERO, ONE = Number(0, 1), Number(1, 1)
FACTORS, PRODUCT = ("a_i", "b_i"), "product_o"
READ_PORTS = {ADDRESS, *FACTORS}


def cone_module(
    cone: PlacedCone, inputs: tuple[FixedType, ...], output: FixedType, layers: tuple[str, ...] = ()
) -> Module:
    """Return the module `flow_cone_<name>` of a cone; the tables that it places are modules of their own.

    inputs, output: types of the tensors' elements, which set how they are packed: element k of a tensor is bits
    [k·width, (k+1)·width). layers: labels of the layers that it computes, for its header. Ports: clk_i where it has
    registers, data_i (data_0_i, data_1_i … where it reads several tensors), data_o.
    """
    return _Emitter(cone, inputs, output).module(layers)


class _Emitter:
    def __init__(self, cone: PlacedCone, inputs: tuple[FixedType, ...], output: FixedType) -> None:
        self.cone = cone
        self.wiring = cone.wiring
        self.inputs = inputs
        self.output = output
        ports = self.wiring.cone.inputs
        names = ["data_i"] if len(ports) == 1 else [f"data_{k}_i" for k in range(len(ports))]
        self.ports = tuple(
            Signal(name, port.size * kind.width) for name, port, kind in zip(names, ports, inputs, strict=True)
        )
        self.result = Signal("data_o", len(self.wiring.cone.outputs) * output.width)
        self.held = held_bits(cone)
        self.drivers: dict[tuple[int, int], tuple[Signal, int]] = {}  # signal and its lowest bit, per cell and stage

    def module(self, layers: tuple[str, ...]) -> Module:
        name = f"flow_cone_{self.cone.name}"
        registered = bool(self.held) or any(
            live and cell.clocked for cell, live in zip(self.wiring.cells, self.wiring.live, strict=True)
        )
        items = [
            item for stage in range(min(self.cone.arrivals), self.cone.departure + 1) for item in self._stage(stage)
        ]
        items += [Comment("output"), Assign(self.result, self._packed())]
        unread = _unread(items, self.ports)
        if unread:
            # one sink, named so that lint knows it is meant: bits that lower bits of a sum or a port bring along
            items += [Comment("bits that nothing reads"), Wire(Signal("unused_bits", 1), Unary("^", _join(unread)))]
        ports = [Port("input", CLOCK)] if registered else []
        ports += [Port("input", port) for port in self.ports]
        depth = self.cone.departure - self.cone.arrival
        header = (
            f"{name}: one unrolled piece of the network, weights are wiring.",
            *([f"Layers: {', '.join(layers)}."] if layers else []),
            f"Latency {depth} {'cycle' if depth == 1 else 'cycles'} from the latest input, interval 1 cycle. No reset.",
        )
        return Module(name, header, (*ports, Port("output", self.result)), tuple(items))

    def _stage(self, stage: int) -> list[Item]:
        items: list[Item] = []
        loads = [self._load(held) for held in self.held if held.stage == stage]
        if loads:
            items += [Comment(f"registers into stage {stage}"), Registers(tuple(loads))]
        wires = [
            item
            for k, (cell, live, at) in enumerate(
                zip(self.wiring.cells, self.wiring.live, self.cone.stages, strict=True)
            )
            if live and at == stage
            for item in self._cell(k, cell)
        ]
        if wires:
            items += [Comment(f"stage {stage}"), *wires]
        return items

    def _name(self, k: int) -> str:
        cell = self.wiring.cells[k]
        if not isinstance(cell.op, Read):
            return f"v{cell.value}"
        return f"x{cell.op.element}" if len(self.ports) == 1 else f"x{cell.op.port}_{cell.op.element}"

    def _load(self, held: Held) -> tuple[Signal, Expr]:
        low, high = (held.mask & -held.mask).bit_length() - 1, held.mask.bit_length()
        before, base = self.drivers[held.cell, held.stage - 1]
        cell, at = self.wiring.cells[held.cell], self.cone.stages[held.cell]
        is_signed = before.signed and (low, high) == (base, base + before.width)
        signal = Signal(f"{self._name(held.cell)}_q{held.stage - at}", high - low, is_signed and cell.signed)
        self.drivers[held.cell, held.stage] = (signal, low)
        return signal, Slice(before, low - base, high - low)

    def _cell(self, k: int, cell: Cell) -> list[Item]:
        live, stage = self.wiring.live[k], self.cone.stages[k]
        if isinstance(cell.op, Read):
            width = live.bit_length()
            signal = Signal(self._name(k), width, cell.signed and width == cell.width)
            value: Expr = self._element(cell.op, width)
        elif isinstance(cell.op, Multiply):
            widths = tuple(self.wiring.cone.width(v) for v in (cell.op.a, cell.op.b))
            signal = Signal(self._name(k), sum(widths), signed=True)
            self.drivers[k, stage] = (signal, 0)
            return [Wire(signal, None), self._product(cell, widths, stage, signal)]
        else:
            signal = Signal(self._name(k), cell.width, cell.signed)
            if isinstance(cell.op, Lookup):
                self.drivers[k, stage] = (signal, 0)
                return [Wire(signal, None), self._table(cell, stage, signal)]
            value = self._value(cell, stage)
        self.drivers[k, stage] = (signal, 0)
        return [Wire(signal, value)]

    def _table(self, cell: Cell, stage: int, word: Signal) -> Instance:
        memory = table_memory(cell, self.wiring.table_width(cell))
        address = self._bits(cell.args[0], stage - cell.clocked)
        clock = (("clk_i", whole(CLOCK)),) if cell.clocked else ()
        return Instance(memory.name, f"u_{word.name}", (), (*clock, (ADDRESS, address), (WORD, whole(word))))

    def _product(self, cell: Cell, widths: tuple[int, ...], stage: int, product: Signal) -> Instance:
        """Place a multiplier, a module of its own: what is known of the factors' bits would change its mapping."""
        factors = tuple(self._bits(view.take(width), stage) for view, width in zip(cell.args, widths, strict=True))
        return Instance(
            "flow_product",
            f"u_{product.name}",
            (("AWidth", widths[0]), ("BWidth", widths[1])),
            (*zip(FACTORS, factors, strict=True), (PRODUCT, whole(product))),
        )

    def _element(self, op: Read, width: int) -> Expr:
        return Slice(self.ports[op.port], op.element * self.inputs[op.port].width, width)

    def _value(self, cell: Cell, stage: int) -> Expr:
        match cell.op:
            case Add(subtract=subtract):
                a, b = (self._number(view, stage, cell.width) for view in cell.args)
                return Binary("-" if subtract else "+", a, b)
            case Round(mode=mode):
                step = _resized(cell.width, self._increment(mode, cell.args, stage))
                return Binary("+", self._number(cell.args[0], stage, cell.width), AsSigned(step))
            case Limit():
                return self._limited(cell, cell.op, stage)
            case Select():
                return self._selected(cell.args, stage)
            case _:
                raise TypeError(f"{type(cell.op).__name__} is no cell")

    def _increment(self, mode: Rounding, args: tuple[Bits, ...], stage: int) -> Expr:
        """Return the bit that rounding adds to the kept bits."""
        kept, half, rest, sign = args
        below = self._any(rest, stage)
        negative = self._bits(sign, stage) if sign.segments else ZERO
        if mode is Rounding.TRN_ZERO:
            return _and(negative, below)
        ties: dict[Rounding, Expr] = {
            Rounding.RND: ONE,
            Rounding.RND_INF: _not(negative),
            Rounding.RND_ZERO: negative,
            Rounding.RND_MIN_INF: ZERO,
            Rounding.RND_CONV: self._bits(Bits(kept.take(1).segments), stage),
        }
        middle = self._bits(half, stage)
        return middle if mode is Rounding.RND else _and(middle, _or(below, ties[mode]))

    def _limited(self, cell: Cell, op: Limit, stage: int) -> Expr:
        (view,) = cell.args
        lo, hi = self.wiring.cone.ranges[op.a]
        target = op.type
        magnitude = target.width - op.signed
        sign = self._bits(view.sign, stage) if view.signed else ZERO
        above = Bits(Bits(view.segments).take(view.width - view.signed).drop(magnitude).segments)
        within: Expr = self._bits(view.take(cell.width), stage)
        over = under = None
        if hi > target.hi:
            over = self._any(above, stage)
            over = _and(_not(sign), over) if lo < 0 else over
        if lo < target.lo:
            under = _and(sign, _not(self._reaches(view, above, op, stage))) if op.signed else sign
        if op.mode is Overflow.SAT_ZERO:
            tests = [test for test in (over, under) if test is not None]
            outside = tests[0] if len(tests) == 1 else _or(*tests)
            return Choose(outside, Number(0, cell.width), within)
        if under is not None:
            within = Choose(under, _pattern(target.lo, cell.width), within)
        return within if over is None else Choose(over, _pattern(target.hi, cell.width), within)

    def _reaches(self, view: Bits, above: Bits, op: Limit, stage: int) -> Expr:
        """Return whether a negative number is not below the range."""
        upper = Unary("&", self._bits(above, stage)) if above.segments else ONE
        if op.mode is not Overflow.SAT_SYM or op.width == 1:
            return upper
        return _and(upper, self._any(view.take(op.width - 1), stage))

    def _selected(self, args: tuple[Bits, ...], stage: int) -> Expr:
        test, positive, other = args
        then, otherwise = self._bits(positive, stage), self._bits(other, stage)
        if not test.signed:
            return Choose(self._any(test, stage), then, otherwise)
        sign = self._bits(test.sign, stage)
        if test.width == 1:
            return Choose(sign, otherwise, then)
        nonzero = self._any(test.take(test.width - 1), stage)
        return Choose(_and(_not(sign), nonzero), then, otherwise)

    def _any(self, view: Bits, stage: int) -> Expr:
        """Return whether a bit is 1."""
        if view.has_ones:
            return ONE
        segments = tuple(s for s in view.segments if s.source != LITERAL)
        if not segments:
            return ZERO
        bits = self._bits(Bits(segments), stage)
        return bits if bits.width == 1 else Unary("|", bits)

    def _number(self, view: Bits, stage: int, width: int) -> Expr:
        """Return a value as a signed expression of that width."""
        if all(s.source == LITERAL for s in view.segments):
            pattern = sum(s.low << start for s, start in _placed(view.take(width)))
            return Number(pattern, width, signed=True)
        if view.width > width:
            view = Bits(view.take(width).segments)
        bits = self._bits(view, stage)
        if bits.width == width:
            return bits if bits.signed else AsSigned(bits)
        if view.signed:
            return Resize(width, bits if bits.signed else AsSigned(bits))
        return AsSigned(Resize(width, Join((bits,)) if bits.signed else bits))

    def _bits(self, view: Bits, stage: int) -> Expr:
        """Return the bits of a view at a stage."""
        parts: list[Expr] = []
        for segment, group in groupby(view.segments):
            times = sum(1 for _ in group)
            if segment.source == LITERAL:
                part: Expr = Number(segment.low, segment.count)
            else:
                signal, low = self.drivers[segment.source, stage]
                part = Slice(signal, segment.low - low, segment.count)
            parts.append(Repeat(times, part) if times > 1 else part)
        return _join(parts[::-1])

    def _packed(self) -> Expr:
        width = self.output.width
        views = [view.take(width) for view in self.wiring.outputs]
        return _join([self._bits(view, self.cone.departure) for view in reversed(views)])


def _unread(items: list[Item], ports: tuple[Signal, ...]) -> list[Expr]:
    """Return the bits of ports, wires and registers that no expression reads."""
    read: dict[str, int] = {}
    declared = list(ports)
    waiting: list[Expr] = []
    for item in items:
        if isinstance(item, Wire | Assign) and item.value is not None:
            waiting.append(item.value)
        if isinstance(item, Wire):
            declared.append(item.signal)
        if isinstance(item, Registers):
            declared += [signal for signal, _ in item.loads]
            waiting += [value for _, value in item.loads]
        if isinstance(item, Instance):
            waiting += [value for port, value in item.connections if port in READ_PORTS]
    while waiting:
        match waiting.pop():
            case Slice(signal, low, width):
                read[signal.name] = read.get(signal.name, 0) | ((1 << width) - 1) << low
            case Join(parts):
                waiting += parts
            case Repeat(_, part) | Resize(_, part) | AsSigned(part) | Unary(_, part):
                waiting.append(part)
            case Binary(_, left, right):
                waiting += (left, right)
            case Choose(test, then, other):
                waiting += (test, then, other)
    return [
        Slice(signal, start, count)
        for signal in declared
        for start, count in _runs(~read.get(signal.name, 0), signal.width)
    ]


def _join(parts: list[Expr]) -> Expr:
    return parts[0] if len(parts) == 1 else Join(tuple(parts))


def _and(a: Expr, b: Expr) -> Expr:
    if ZERO in {a, b}:
        return ZERO
    return b if a == ONE else a if b == ONE else Binary("&", a, b)


def _or(a: Expr, b: Expr) -> Expr:
    if ONE in {a, b}:
        return ONE
    return b if a == ZERO else a if b == ZERO else Binary("|", a, b)


def _not(a: Expr) -> Expr:
    return ONE if a == ZERO else ZERO if a == ONE else Unary("~", a)


def _resized(width: int, bits: Expr) -> Expr:
    if bits.width == width:
        return bits
    # an operand of a cast takes on its width and is extended by its sign; one in braces keeps its bits
    plain = isinstance(bits, Slice | Number) and not bits.signed
    return Resize(width, bits if plain else Join((bits,)))


def _pattern(value: int, width: int) -> Number:
    return Number(value & ((1 << width) - 1), width)


def _placed(view: Bits) -> list[tuple[Segment, int]]:
    found, start = [], 0
    for s in view.segments:
        found.append((s, start))
        start += s.count
    return found


def _runs(mask: int, width: int) -> list[tuple[int, int]]:
    """Return (start, count) of the runs of ones in the low `width` bits of a mask."""
    found = []
    rest = mask & ((1 << width) - 1)
    start = 0
    while rest:
        zeros = (rest & -rest).bit_length() - 1
        rest >>= zeros
        ones = (~rest & (rest + 1)).bit_length() - 1
        found.append((start + zeros, ones))
        rest >>= ones
        start += zeros + ones
    return found
