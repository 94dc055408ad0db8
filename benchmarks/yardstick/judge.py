"""alkaid's programs in our cone IR, so that one delay model and one area model judge both.

The translation is lenient: the cone builder shares and folds what it can, the constant of a rounding joins no adder
that alkaid has not, an OR over bits and the AND behind it count as one function, and an adder costs one carry chain
although alkaid's RTL needs two where it subtracts a value with more fraction bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from flow.device.delays import Delays
from flow.engines.area import area
from flow.engines.cone import Cone, ConeBuilder, Port, run_cone
from flow.engines.delay import cell_delay
from flow.engines.pipeline import PlacedCone
from flow.engines.wiring import wire
from flow.fixed import FixedType, IntArray, Rounding

BIT = FixedType(1, 1, signed=False)


@dataclass(frozen=True, slots=True)
class Point:
    """Hold one point of a comparison: registers in a row, predicted period and area, and what Yosys counted."""

    design: str
    registers: int
    period_ns: float
    lut: int
    ff: int
    yosys: tuple[int, int] | None = None

    @property
    def latency_ns(self) -> float:
        """Return registers × period."""
        return self.registers * self.period_ns


@dataclass(frozen=True, slots=True)
class Scaled:
    """Stand for `value / 2**fraction`."""

    value: int
    fraction: int


def judged(design: str, stages: Sequence[Any], delays: Delays, family: str) -> Point:
    """Predict period and area of alkaid's pipeline: each stage is a cone between registers, the last one's too."""
    longest, lut, ff = 0.0, 0, 0
    for stage in stages:
        cone, _ = to_cone(stage)
        wiring = wire(cone)
        ready: list[float] = []
        for cell, live in zip(wiring.cells, wiring.live, strict=True):
            start = max((ready[source] for source in cell.sources), default=0.0)
            ready.append(start + (cell_delay(cell, delays) if live else 0.0))
        ends = (ready[source] for view in wiring.outputs for source in view.sources)
        longest = max(longest, max(ends, default=0.0))
        placed = PlacedCone(wiring, (0,) * len(cone.inputs), 1, (0,) * len(wiring.cells))
        found = area(placed, family)
        lut, ff = lut + found.lut, ff + found.ff
    return Point(design, len(stages), delays.register_ns + longest, lut, ff)


def run_logic(logic: Any, columns: IntArray) -> np.ndarray[Any, Any]:
    """Compute the translated program on raw inputs (batch, elements); results are floats."""
    cone, fractions = to_cone(logic)
    places = _grouped(logic)
    raw = run_cone(cone, tuple(columns[:, list(elements)] for elements in places.values()))
    return np.asarray(raw * 2.0 ** -np.array(fractions), dtype=np.float64)


def to_cone(logic: Any) -> tuple[Cone, tuple[int, ...]]:
    """Translate a CombLogic; input elements of one range are a port. Returns the outputs' fraction bits too."""
    places = _grouped(logic)
    ports = tuple(Port(f"input{k}", len(places[span]), *span) for k, span in enumerate(places))
    inputs = {element: (port, k) for port, span in enumerate(places) for k, element in enumerate(places[span])}
    translation = _Translation(logic, ConeBuilder("stage", ports), inputs)
    for op in logic.ops:
        translation.append(op)
    return translation.finish()


def _grouped(logic: Any) -> dict[tuple[int, int], list[int]]:
    """Return the input elements of each range."""
    places: dict[tuple[int, int], list[int]] = {}
    for element, q in enumerate(logic.inp_qint):
        places.setdefault((round(q.min / q.step), round(q.max / q.step)), []).append(element)
    return places


class _Translation:
    def __init__(self, logic: Any, builder: ConeBuilder, inputs: dict[int, tuple[int, int]]) -> None:
        self.inputs = inputs
        self.logic = logic
        self.builder = builder
        self.values: list[Scaled] = []
        self.any_of: dict[int, int] = {}  # an OR over bits, and the value that it tests

    def append(self, op: Any) -> None:
        signed, integer, fraction = op.qint.kif
        kind = FixedType(max(signed + integer + fraction, 1), max(signed + integer + fraction, 1), bool(signed))
        args = [self.values[k] for k in op.addr]
        match op.opcode:
            case -2:
                result = Scaled(self.builder.negate(args[0].value), args[0].fraction)
            case -1:
                element = op.data[0]
                fraction = -int(log2(self.logic.inp_qint[element].step)) - self.logic.inp_shifts[element]
                result = Scaled(self.builder.read(*self.inputs[element]), fraction)
            case 0 | 1:
                result = self.sum(args[0], self.scaled(args[1], op.data[0]), subtract=op.opcode == 1)
            case 2:
                kept = self.aligned(args[0], fraction)
                result = self.limited(
                    self.builder.select(args[0].value, kept, self.builder.constant(0)), kind, fraction
                )
            case 3:
                result = self.limited(self.aligned(self.scaled(args[0], op.data[0]), fraction), kind, fraction)
            case 4:
                result = self.sum(args[0], Scaled(self.builder.constant(op.data[0]), op.data[1]))
            case 5:
                result = Scaled(self.builder.constant(op.data[0]), -int(log2(op.qint.step)))
            case 6:
                yes, no = self.aligned(args[0], fraction), self.aligned(self.scaled(args[1], op.data[0]), fraction)
                chosen = self.builder.select(self.top_bit(op.addr[2]), yes, no)
                result = self.limited(chosen, kind, fraction)
            case 9 if op.data[0] == 1:
                result = self.any_bit(args[0], self.logic.ops[op.addr[0]])
            case 10 if op.data[1] == 0:
                result = self.both(args[0], self.scaled(args[1], op.data[0]))
            case _:
                raise SystemExit(f"alkaid's operation {op.opcode} {op.data} has no translation here")
        self.values.append(result)

    def finish(self) -> tuple[Cone, tuple[int, ...]]:
        results = []
        zero = Scaled(self.builder.constant(0), 0)
        logic = self.logic
        for index, shift, negative in zip(logic.out_idxs, logic.out_shifts, logic.out_negs, strict=True):
            result = zero if index < 0 else self.scaled(self.values[index], shift)
            results.append(Scaled(self.builder.negate(result.value), result.fraction) if negative else result)
        return self.builder.finish(tuple(r.value for r in results)), tuple(r.fraction for r in results)

    @staticmethod
    def scaled(a: Scaled, shift: int) -> Scaled:
        return Scaled(a.value, a.fraction - shift)

    def aligned(self, a: Scaled, fraction: int) -> int:
        """Return the value with `fraction` fraction bits; bits below are dropped."""
        drop = a.fraction - fraction
        return self.builder.round(a.value, drop, Rounding.TRN) if drop > 0 else self.builder.shift(a.value, -drop)

    def sum(self, a: Scaled, b: Scaled, *, subtract: bool = False) -> Scaled:
        fraction = max(a.fraction, b.fraction)
        shift_a, shift_b = fraction - a.fraction, fraction - b.fraction
        return Scaled(self.builder.add(a.value, b.value, shift_a=shift_a, shift_b=shift_b, subtract=subtract), fraction)

    def limited(self, value: int, kind: FixedType, fraction: int) -> Scaled:
        return Scaled(self.builder.limit(value, kind), fraction)

    def top_bit(self, k: int) -> int:
        """Return the most significant bit of alkaid's value k, which is the sign of a signed one."""
        value, width = self.values[k].value, sum(self.logic.ops[k].qint.kif)
        return self.builder.limit(self.builder.round(value, width - 1, Rounding.TRN), BIT)

    def any_bit(self, a: Scaled, op: Any) -> Scaled:
        width = sum(op.qint.kif)
        tested = self.builder.limit(a.value, FixedType(width, width, signed=False))
        result = self.builder.select(tested, self.builder.constant(1), self.builder.constant(0))
        self.any_of[result] = tested
        return Scaled(result, 0)

    def both(self, a: Scaled, b: Scaled) -> Scaled:
        """Return the AND of two single bits."""
        if b.value in self.any_of:
            a, b = b, a
        ranges = self.builder.range(a.value), self.builder.range(b.value)
        if ranges != ((0, 1), (0, 1)) or a.fraction != b.fraction:
            raise SystemExit(f"an AND of values in {ranges} has no translation here")
        tested = self.any_of.get(a.value, a.value)
        return Scaled(self.builder.select(tested, b.value, self.builder.constant(0)), a.fraction)
