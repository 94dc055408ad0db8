"""Random cones of every operation, built without the solver."""

from __future__ import annotations

import numpy as np

from flow.device.delays import Delays
from flow.engines.cone import (
    Add,
    Cone,
    Constant,
    Limit,
    Lookup,
    Multiply,
    Op,
    Port,
    Read,
    Round,
    Select,
    Shift,
    check_cone,
)
from flow.engines.rounding import rounded
from flow.fixed import FixedType, IntArray, Overflow, Rounding

DELAYS = Delays(1.0, 1.2, 0.045, 1.0, 0.8, 1.2, "made up", "test", bram_ns=2.2, dsp_ns=2.1)
ROUNDINGS, OVERFLOWS = tuple(Rounding), tuple(Overflow)
LONGEST_TABLE = 1 << 12


class Drawing:
    """Append random operations with exact or loose ranges, unlike a builder without folding or sharing.

    blocks: products and tables in DSP blocks and block RAM are among them.
    """

    def __init__(self, rng: np.random.Generator, ports: tuple[Port, ...], *, blocks: bool = False) -> None:
        self.rng = rng
        self.kinds = 11 if blocks else 9
        self.ports = ports
        self.ops: list[Op] = []
        self.ranges: list[tuple[int, int]] = []

    def append(self, op: Op, lo: int, hi: int) -> int:
        self.ops.append(op)
        self.ranges.append((lo, hi))
        return len(self.ops) - 1

    def any(self) -> int:
        recent = self.rng.random() < 0.5
        return int(self.rng.integers(max(0, len(self.ops) - 12) if recent else 0, len(self.ops)))

    def draw(self, widest: int) -> None:  # noqa: PLR0912 (one per kind of operation)
        rng, a = self.rng, self.any()
        lo, hi = self.ranges[a]
        width = max(abs(lo), abs(hi)).bit_length() + 1
        match int(rng.integers(self.kinds)):
            case 0:
                value = int(rng.integers(-300, 300))
                self.append(Constant(value), value, value)
            case 1 | 2 | 3:
                b = self.any()
                shift = int(rng.integers(0, 6)) if width < widest else 0
                sa, sb = (shift, 0) if rng.random() < 0.5 else (0, shift)
                subtract = bool(rng.integers(2))
                (alo, ahi), (blo, bhi) = (lo << sa, hi << sa), (self.ranges[b][0] << sb, self.ranges[b][1] << sb)
                bounds = (alo - bhi, ahi - blo) if subtract else (alo + blo, ahi + bhi)
                if max(map(abs, bounds)).bit_length() < widest:
                    self.append(Add(a, b, sa, sb, subtract), *bounds)
            case 4:
                bits = int(rng.integers(1, 5))
                if width + bits < widest:
                    self.append(Shift(a, bits), lo << bits, hi << bits)
            case 5:
                bits, mode = int(rng.integers(1, min(width, 6) + 2)), ROUNDINGS[rng.integers(len(ROUNDINGS))]
                self.append(Round(a, bits, mode), rounded(lo, bits, mode), rounded(hi, bits, mode))
            case 6:
                target = FixedType(
                    w := int(rng.integers(1, width + 1)),
                    w,
                    bool(rng.integers(2)),
                    Rounding.TRN,
                    OVERFLOWS[rng.integers(len(OVERFLOWS))],
                )
                low, high = target.lo, target.hi
                if target.overflow in {Overflow.SAT, Overflow.SAT_SYM}:
                    low, high = min(max(lo, low), high), max(min(hi, high), low)
                self.append(Limit(a, target.width, target.signed, target.overflow), low, high)
            case 7:
                p, o = (a if rng.random() < 0.4 else self.any()), self.any()
                (plo, phi), (olo, ohi) = self.ranges[p], self.ranges[o]
                self.append(Select(a, p, o), min(plo, olo), max(phi, ohi))
            case 9:
                b = self.any()
                corners = [x * y for x in (lo, hi) for y in self.ranges[b]]
                if max(map(abs, corners)).bit_length() < widest:
                    self.append(Multiply(a, b), min(corners), max(corners))
            case 8 | 10 as kind:
                if 0 <= lo < hi <= LONGEST_TABLE:
                    low, high = (0, 1 << int(rng.integers(1, 6))) if rng.random() < 0.5 else (-9, 9)
                    table = tuple(int(v) for v in rng.integers(low, high, hi + 1))
                    self.append(Lookup(a, table, block=kind == 10), min(table), max(table))


def random_cone(
    seed: int,
    *,
    name: str = "c",
    size: int = 30,
    widest: int = 24,
    ports: tuple[Port, ...] | None = None,
    blocks: bool = False,
) -> tuple[Cone, tuple[FixedType, ...], FixedType]:
    """Return a cone with the types of its input tensors and its output tensor."""
    rng = np.random.default_rng(seed)
    if ports is None:
        kinds = tuple(
            FixedType(w := int(rng.integers(1, min(12, widest) + 1)), w, bool(rng.integers(2)))
            for _ in range(1 + (rng.random() < 0.3))
        )
        ports = tuple(Port(f"e{k}", int(rng.integers(1, 5)), t.lo, t.hi) for k, t in enumerate(kinds))
    else:
        kinds = tuple(FixedType(w := max(p.hi.bit_length() + (p.lo < 0), 1), w, p.lo < 0) for p in ports)
    drawing = Drawing(rng, ports, blocks=blocks)
    for p, port in enumerate(ports):
        for element in range(port.size):
            drawing.append(Read(p, element), port.lo, port.hi)
    while len(drawing.ops) < size:
        drawing.draw(widest)
    outputs = tuple(drawing.any() for _ in range(int(rng.integers(1, 6))))
    lo = min(drawing.ranges[v][0] for v in outputs)
    hi = max(drawing.ranges[v][1] for v in outputs)
    width = max(hi.bit_length(), (~lo).bit_length() if lo < 0 else 0) + (lo < 0)
    width = max(width, 1) + int(rng.integers(2))
    cone = Cone(name, ports, tuple(drawing.ops), tuple(drawing.ranges), outputs)
    check_cone(cone)
    return cone, kinds, FixedType(width, width, lo < 0)


def random_tensors(rng: np.random.Generator, ports: tuple[Port, ...], batch: int) -> tuple[IntArray, ...]:
    """Return raw integers for a cone's inputs, ends of the range often among them."""
    tensors = []
    for port in ports:
        shape = (batch, port.size)
        span = port.hi - port.lo + 1
        values = np.array([port.lo + int.from_bytes(rng.bytes(40), "little") % span for _ in range(batch * port.size)])
        tensor = values.astype(object).reshape(shape)
        pick = rng.integers(0, 6, shape)
        tensor = np.where(pick == 0, port.lo, np.where(pick == 1, port.hi, tensor))
        tensors.append(tensor if span.bit_length() > 62 else tensor.astype(np.int64))
    return tuple(tensors)
