"""Constant tables as modules: arrays that are filled by `$readmemh`, in LUTs or, read at a clock edge, in block RAM.

A table is a module of its own, so that synthesis maps equal ones once; an array in a file is what every tool takes at
any size (a literal ends at 65,536 bits).
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from flow.engines.cone import Lookup
from flow.engines.module import Assign, Memory, Module, Port, Rom, Signal, whole
from flow.engines.pipeline import PlacedCone
from flow.engines.table_columns import distinct_columns
from flow.engines.wiring import Cell

ADDRESS, WORD = "address_i", "word_o"


def table_memory(cell: Cell, bits: int) -> Memory:
    """Return the contents of a Lookup's cell; bits: of its values.

    Its columns stand side by side, the first one at bit 0. The name tells the contents, so that equal tables are one
    module.
    """
    assert isinstance(cell.op, Lookup)
    return _memory(cell.op.values, bits, cell.width, block=cell.op.block)


@lru_cache(maxsize=256)
def _memory(values: tuple[int, ...], bits: int, width: int, *, block: bool) -> Memory:
    columns = distinct_columns(values, bits)[:width]
    words = tuple(sum((column >> k & 1) << place for place, column in enumerate(columns)) for k in range(len(values)))
    digest = hashlib.sha256(f"{width} {words}".encode()).hexdigest()[:16]
    return Memory(f"flow_{'rom' if block else 'table'}_{digest}", words, width)


def table_modules(cone: PlacedCone) -> tuple[Module, ...]:
    """Return the modules of a cone's tables, each once."""
    found: dict[str, Module] = {}
    for cell, live in zip(cone.wiring.cells, cone.wiring.live, strict=True):
        if live and isinstance(cell.op, Lookup):
            memory = table_memory(cell, cone.wiring.table_width(cell))
            if memory.name not in found:
                found[memory.name] = _module(memory, block=cell.op.block)
    return tuple(found.values())


def _module(memory: Memory, *, block: bool) -> Module:
    address, word = Signal(ADDRESS, memory.address_width), Signal(WORD, memory.width)
    read = Signal("word", memory.width)
    header = (
        f"{memory.name}: a constant table of {len(memory.words)} words, {memory.name}.mem.",
        "Latency 1 cycle, interval 1 cycle. No reset: data only." if block else "Latency 0 cycles.",
    )
    clock = (Port("input", Signal("clk_i", 1)),) if block else ()
    rom = Rom(memory, "block" if block else "logic", whole(address), read, clocked=block)
    return Module(
        memory.name,
        header,
        (*clock, Port("input", address), Port("output", word)),
        (rom, Assign(word, whole(read))),
    )
