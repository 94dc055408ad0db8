"""Which bits of a cone stand in registers, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass

from flow.engines.pipeline import PlacedCone
from flow.engines.wiring import LITERAL, Bits


@dataclass(frozen=True, slots=True)
class Held:
    """Tell that bits (a mask) of a cell's output are read from registers at a stage."""

    cell: int
    stage: int
    mask: int


def held_bits(cone: PlacedCone) -> tuple[Held, ...]:
    """Return all registers of a cone, ordered by stage and cell; each loads from the stage before.

    Bits that several values share are held once, bits that nobody reads any more are not held.
    """
    reads: dict[tuple[int, int], int] = {}

    def read(view: Bits, stage: int) -> None:
        for s in view.segments:
            if s.source != LITERAL:
                key = (s.source, stage)
                reads[key] = reads.get(key, 0) | (((1 << s.count) - 1) << s.low)

    for cell, live, stage in zip(cone.wiring.cells, cone.wiring.live, cone.stages, strict=True):
        if live:
            for view in cell.args:
                read(view, stage - cell.clocked)
    for value in set(cone.wiring.cone.outputs):
        read(cone.wiring.views[value], cone.departure)

    last: dict[int, int] = {}
    for source, stage in reads:
        last[source] = max(last.get(source, stage), stage)
    found = []
    for source, end in last.items():
        mask = 0
        for stage in range(end, cone.stages[source], -1):
            mask |= reads.get((source, stage), 0)
            found.append(Held(source, stage, mask))
    return tuple(sorted(found, key=lambda h: (h.stage, h.cell)))
