"""How tensors cross a design beat by beat, as a person reads it in a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from flow.report.planned import CadenceReport, MemoryReport, PlanReport, StreamReport
from flow.report.tables import table


def is_streamed(plan: PlanReport) -> bool:
    """Tell whether any tensor crosses in beats of pixels, or waits for another one."""
    waits = any(between.waiting for between in plan.converters)
    return waits or any(engine.stream for engine in plan.engines) or any(c.beats > 1 for c in plan.inputs)


def streams(plan: PlanReport) -> Table:
    """Show the cadence of inputs and outputs, what streamed engines keep, and what waits where branches meet."""
    names = ("tensor", "beats", "lanes", "every", "what is kept")
    rows = table(*names, title="Streams: beats of one inference, and the least cycles between them", right=(1, 2, 3))
    for cadence in plan.inputs:
        rows.add_row(Text(f"{cadence.tensor} →", "dim"), *_counted(cadence), "")
    for engine in plan.engines:
        if engine.stream is not None:
            stream = engine.stream
            lanes = f"{' + '.join(f'{n:,}' for n in stream.lanes_in)} to {stream.lanes_out:,}"
            rows.add_row(engine.output, f"{engine.beats:,}", lanes, f"{stream.spacing:,}", _kept(stream))
    for between in plan.converters:
        if between.waiting is not None:
            until = "the cycle of the contract" if between.leaves else "what it meets comes"
            held = f"{_words(between.waiting)}, until {until}"
            rows.add_row(Text(f"→ {between.edge}", "dim"), "", f"{between.lanes_out:,}", "", held)
    for cadence in plan.outputs:
        rows.add_row(Text(f"→ {cadence.tensor}", "dim"), *_counted(cadence), "")
    return rows


def _counted(cadence: CadenceReport) -> tuple[str, str, str]:
    spacing = "" if cadence.spacing is None else f"{cadence.spacing:,}"
    return f"{cadence.beats:,}", f"{cadence.lanes:,}", spacing


def _kept(stream: StreamReport) -> str:
    pixels = f"{stream.pixels} pixel{'' if stream.pixels == 1 else 's'} a beat"
    if stream.keeps == "running_result":
        return f"{pixels}; one running result for each lane"
    if stream.kernel is None:
        return f"{pixels}; nothing"
    rows, columns = stream.kernel
    windows = f"{pixels}; {stream.windows:,} window{'' if stream.windows == 1 else 's'} of {rows} × {columns} beats"
    return windows if stream.lines is None else f"{windows}; rows above: {_words(stream.lines)}"


def _words(memory: MemoryReport) -> str:
    return f"{memory.words:,} × {memory.bits:,} bits in {memory.store}"
