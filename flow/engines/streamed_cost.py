"""LUT, FF, DSP and block RAM of a streamed engine, and of what makes branches meet. Facet 3."""

from __future__ import annotations

from flow.device.parts import Family, Part
from flow.engines.align import Delay, Fifo
from flow.engines.engine import Resources
from flow.engines.families import XILINX
from flow.engines.folded import Folded
from flow.engines.line_buffer import LineBuffer
from flow.engines.memory import block_layout
from flow.engines.reducer import Reducer
from flow.engines.streamed import Streamed
from flow.graph.graph import Graph


def streamed_resources(graph: Graph, choice: Streamed, part: Part, beat: Resources) -> Resources:
    """Predict what a streamed choice takes on a part; beat: what the cone or the folded engine of one beat takes."""
    match choice.buffer:
        case LineBuffer() as buffer:
            before = _window(graph, choice, buffer, part.family)
        case Reducer() as reducer:
            before = _reducer(graph, choice, reducer)
        case None:
            before = Resources()
    valid = Resources() if isinstance(choice.inner, Folded) else Resources(ff=choice.inner.depth)
    return before + beat + valid


def _reducer(graph: Graph, choice: Streamed, reducer: Reducer) -> Resources:
    """Count flow_reduce: an adder, or a comparison and a choice, before each result."""
    (source,) = graph.feeding(graph.node(choice.nodes[0]))
    bits = choice.lanes_in[0] * reducer.held(source.type).width
    count = (reducer.beats - 1).bit_length()
    return Resources(lut=bits * (1 + (reducer.op == "max")) + 2 * count, ff=bits + count + 1)


def _window(graph: Graph, choice: Streamed, buffer: LineBuffer, family: Family) -> Resources:
    """Count flow_window."""
    (source,) = graph.feeding(graph.node(choice.nodes[0]))
    beat = choice.lanes_in[0] * source.type.width
    rows, columns = buffer.kernel
    window = rows * columns * beat
    kept = (rows - 1) * beat
    masked_rows = sum(not _always(r, buffer.top, buffer.out[0], buffer.stride[0], buffer.rows) for r in range(rows))
    masked_columns = sum(
        not _always(c, buffer.left, buffer.out[1], buffer.stride[1], buffer.columns) for c in range(columns)
    )
    masked = window - (rows - masked_rows) * (columns - masked_columns) * beat
    counters = sum(
        n.bit_length()
        for n in (buffer.beats, buffer.lead, (buffer.out[0] - 1) * buffer.stride[0], buffer.columns, buffer.pace - 1)
    )
    control = Resources(lut=3 * counters + 8, ff=counters + masked_rows + masked_columns + 3)
    total = control + Resources(lut=masked, ff=window)
    if kept:
        total += _rows(kept, buffer, family)
    return total


def _always(cell: int, pad: int, out: int, stride: int, size: int) -> bool:
    """Tell whether a row or column of the window never lies outside the image."""
    return cell >= pad and (out - 1) * stride + cell - pad < size


def _rows(kept: int, buffer: LineBuffer, family: Family) -> Resources:
    """Count the memory of the rows above."""
    return buffered(kept, buffer.columns, buffer.store, family)


def buffered(bits: int, words: int, store: str, family: Family) -> Resources:
    """Count a memory with one port to write and one to read; its address counters apart."""
    match store:
        case "registers":
            return Resources(ff=bits * words)
        case "bram":
            halves = block_layout(words, bits, family).halves
            return Resources(
                ff=words.bit_length(), lut=words.bit_length(), bram=-(-halves // 2), half_bram=halves % 2 == 1
            )
        case _:
            per = 32 if family in XILINX else 16
            return Resources(lut=bits * -(-words // per), ff=bits + words.bit_length())


def waiting_resources(what: Delay | Fifo, width: int, part: Part) -> Resources:
    """Predict what a delay or a FIFO takes; width: bits of an element."""
    if isinstance(what, Delay):
        return Resources(ff=what.cycles * (what.lanes * width + 1))
    count = what.depth.bit_length()
    control = Resources(lut=3 * count + 2, ff=count)
    if what.store == "registers":
        return control + Resources(lut=what.depth * what.bits, ff=what.depth * what.bits)
    past = Resources(lut=what.bits, ff=what.bits + 1 + 2 * count)
    return control + past + buffered(what.bits, what.depth, what.store, part.family)
