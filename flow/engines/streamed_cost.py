"""LUT, FF, DSP and block RAM of a streamed engine, of what makes branches meet, and of crossings. Facet 3.

Each module is counted as Yosys maps it alone: flip-flops, block RAM and LUT RAM exactly, as synthesis was seen to keep
them; LUTs of counters by what they took per bit on each family (benchmarks/streamed_resources.py compares).
"""

from __future__ import annotations

from dataclasses import dataclass

from flow.device.parts import Family, Part
from flow.engines.align import Delay, Fifo
from flow.engines.crossing import Crossing
from flow.engines.engine import Resources
from flow.engines.families import XILINX
from flow.engines.folded import Folded
from flow.engines.line_buffer import LineBuffer
from flow.engines.memory import block_layout, ram_luts
from flow.engines.reducer import Reducer
from flow.engines.streamed import Streamed
from flow.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Control:
    """Hold the LUTs that a family takes for each bit of a counter, and beside them.

    counters: of flow_window, per bit. address: of its rows in memory, per bit. tested: of the counter that tells which
    rows or columns lie outside the image, per bit of each. window: beside them. place: of a FIFO in
    memory, per bit of each place that is no power of two. fifo: beside them. count: per bit of the beats that wait,
    where some pass by. guard: of flow_interval_guard, per bit. summed: of a running sum, per bit. larger: of a running
    maximum, per bit.
    """

    counters: float
    address: float
    tested: float
    window: float
    place: float
    fifo: float
    count: float
    guard: float
    summed: float
    larger: float


def streamed_resources(graph: Graph, choice: Streamed, part: Part, beat: Resources) -> Resources:
    """Predict what a streamed choice takes on a part; beat: what the cone or the folded engine of one beat takes."""
    match choice.buffer:
        case LineBuffer() as buffer:
            before = _window(graph, choice, buffer, part.family)
        case Reducer() as reducer:
            before = _reducer(graph, choice, reducer, part.family)
        case None:
            before = Resources()
    valid = Resources() if isinstance(choice.inner, Folded) else Resources(ff=choice.inner.depth)
    return before + beat + valid


def guard_resources(interval: int, beats: int, spacing: int, family: Family) -> Resources:
    """Predict what the guard of a design's interval takes; beats, spacing: in which the first input comes."""
    if interval == 1 and beats == 1:
        return Resources()
    waits = [interval, beats, spacing if beats > 1 else 1]
    bits = sum((n - 1).bit_length() for n in waits)
    return Resources(lut=round(CONTROL[family].guard * bits), ff=bits + 1)


def _reducer(graph: Graph, choice: Streamed, reducer: Reducer, family: Family) -> Resources:
    """Count flow_reduce: an adder, or a comparison and a choice, before each result."""
    (source,) = graph.feeding(graph.node(choice.nodes[0]))
    bits = choice.lanes_in[0] * reducer.held(source.type).width
    count = (reducer.beats - 1).bit_length()
    control = CONTROL[family]
    per_bit = control.larger if reducer.op == "max" else control.summed
    return Resources(lut=round(per_bit * bits + 1.5 * count), ff=bits + count + 2)


@dataclass(frozen=True, slots=True)
class Along:
    """Hold what a window meets along one axis, in beats."""

    kernel: int
    pad: int
    last: int
    size: int

    def meets(self, cell: int) -> bool:
        """Tell whether a row or column of the window ever lies inside the image."""
        return cell < self.size + self.pad and self.last + cell >= self.pad

    def leaves(self, cell: int) -> bool:
        """Tell whether a row or column of the window lies sometimes inside, sometimes outside the image."""
        return self.meets(cell) and not (cell >= self.pad and self.last + cell < self.size + self.pad)

    @property
    def tested(self) -> int:
        """Return the rows or columns that are tested."""
        return sum(self.leaves(cell) for cell in range(self.kernel))


def _window(graph: Graph, choice: Streamed, buffer: LineBuffer, family: Family) -> Resources:
    """Count flow_window."""
    (source,) = graph.feeding(graph.node(choice.nodes[0]))
    beat = choice.lanes_in[0] * source.type.width
    down = Along(buffer.kernel[0], buffer.top, (buffer.out[0] - 1) * buffer.stride[0], buffer.rows)
    across = Along(buffer.kernel[1], buffer.left, (buffer.out[1] - 1) * buffer.stride[1], buffer.columns)
    met = sum(map(down.meets, range(down.kernel))), sum(map(across.meets, range(across.kernel)))
    masked = (met[0] * met[1] - (met[0] - down.tested) * (met[1] - across.tested)) * beat
    total = Resources(lut=masked, ff=beat * _held(buffer, down, across)) + _steps(buffer, down, across, family)
    if buffer.kernel[0] == 1:
        return total
    kept = (buffer.kernel[0] - 1) * beat
    if buffer.store == "registers":
        # the last beats of each row above stand in the window, too
        return total + Resources(ff=kept * max(0, buffer.columns - across.kernel))
    address = (buffer.columns - 1).bit_length()
    addressing = Resources(lut=round(CONTROL[family].address * address), ff=address)
    return total + addressing + buffered(kept, buffer.columns, buffer.store, family)


def _held(buffer: LineBuffer, down: Along, across: Along) -> int:
    """Return the beats of the window that stand in flip-flops: of each row, up to the oldest that is read."""
    held = 0
    for row in range(down.kernel):
        read = [column for column in range(across.kernel) if down.meets(row) and across.meets(column)]
        oldest = min(read, default=across.kernel)
        if buffer.store == "registers" and row > 0 and buffer.kernel[0] > 1:
            oldest = max(0, min(oldest, across.kernel - buffer.columns))  # the row above is kept in the same flip-flops
        held += across.kernel - oldest
    return held


def _steps(buffer: LineBuffer, down: Along, across: Along, family: Family) -> Resources:
    """Count the counters that tell which window a step completes."""
    lead = (buffer.lead + 1).bit_length() if buffer.lead else 0
    bits = buffer.beats.bit_length() + lead + (down.last + 1).bit_length() + buffer.columns.bit_length()
    bits += sum((n - 1).bit_length() for n in buffer.stride)
    flushes = buffer.flush > 0
    if flushes:
        bits += (buffer.pace - 1).bit_length()
    tested = down.tested + across.tested
    compared = down.tested * (down.last + 1).bit_length() + across.tested * buffer.columns.bit_length()
    control = CONTROL[family]
    lut = control.counters * bits + control.tested * compared + control.window
    return Resources(lut=round(lut), ff=bits + tested + 2 + flushes)


def buffered(bits: int, words: int, store: str, family: Family) -> Resources:
    """Count a memory with one port to write and one, with a register, to read; its address counters apart."""
    if store == "bram" or (store == "lutram" and family == "ice40"):
        layout = block_layout(words, bits, family)
        chosen = bits * -(-(layout.banks - 1) // (3 if family in XILINX else 1))
        blocks, half = -(-layout.halves // 2), layout.halves % 2 == 1
        return Resources(lut=chosen, ff=layout.select_bits, bram=blocks, half_bram=half)
    return Resources(lut=ram_luts(bits, words, family), ff=bits)


def side_resources(what: Crossing, width: int) -> Resources:
    """Predict what a crossing takes on each of two dies: a register with its valid bit; width: bits of an element."""
    return Resources(ff=what.lanes * width + 1)


def waiting_resources(what: Delay | Fifo | Crossing, width: int, part: Part) -> Resources:
    """Predict what a delay, a FIFO or a crossing takes; width: bits of an element."""
    if isinstance(what, Crossing):
        return side_resources(what, width) + side_resources(what, width)
    if isinstance(what, Delay):
        return Resources(ff=what.cycles * (what.lanes * width + 1))
    passing = what.bits if what.bypass else 0
    control, xilinx = CONTROL[part.family], part.family in XILINX
    if what.store == "registers":
        # a choice before each bit but those of the last place, and what tells which places are free
        places = what.depth + 1 if xilinx else 2 * what.depth + 1
        passed = passing * (2 if part.family in {"ecp5", "gowin"} else 1)
        lut = (what.depth - 1) * what.bits + places + passed
        return Resources(lut=lut, ff=what.depth * (what.bits + 1))
    place, count = (what.depth - 1).bit_length(), what.depth.bit_length() if what.bypass else 0
    odd = what.depth & (what.depth - 1) > 0
    lut = round((control.place if odd else control.place / 2) * place + control.fifo + control.count * count)
    # what goes past the memory is chosen by a LUT for each bit, with six inputs by the same as what passes by
    chosen = what.bits if xilinx else what.bits + passing
    past = Resources(lut=lut + chosen, ff=what.bits + 1 + 2 * place + count)
    return past + buffered(what.bits, what.depth, what.store, part.family)


_XILINX = Control(
    counters=0.93,
    address=1.0,
    tested=0.52,
    window=12.5,
    place=3.4,
    fifo=0.0,
    count=1.5,
    guard=1.65,
    summed=1.8,
    larger=0.9,
)
CONTROL: dict[Family, Control] = {
    "xcup": _XILINX,
    "xcu": _XILINX,
    "xc7": _XILINX,
    "ecp5": Control(
        counters=3.07,
        address=5.46,
        tested=0.9,
        window=-3.4,
        place=10.3,
        fifo=0.0,
        count=2.7,
        guard=2.7,
        summed=2.2,
        larger=2.0,
    ),
    "ice40": Control(
        counters=1.55,
        address=1.5,
        tested=0.75,
        window=15.5,
        place=5.6,
        fifo=0.0,
        count=2.6,
        guard=1.75,
        summed=2.0,
        larger=2.8,
    ),
    "gowin": Control(
        counters=4.5,
        address=6.0,
        tested=1.5,
        window=0.0,
        place=12.0,
        fifo=0.0,
        count=0.5,
        guard=3.0,
        summed=2.5,
        larger=2.5,
    ),
}
"""Measured with Yosys 0.70: least squares over eighteen windows, ten FIFOs, eight guards and six reductions each."""
