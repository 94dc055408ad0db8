"""What `report.json` says of the plan: engines, what stands between them, and how tensors cross."""

from __future__ import annotations

from dataclasses import dataclass

from flow.plan.proof import Searched
from flow.report.dies import DieReport


@dataclass(frozen=True, slots=True)
class CountedReport:
    """Count the cells of one engine or width converter, predicted."""

    lut: int
    ff: int
    dsp: int
    bram: int
    uram: int


@dataclass(frozen=True, slots=True)
class FoldReport:
    """Give the parameters of a folded engine.

    p, q: input and output lanes of one step; order: output_serial or input_serial. store: where the weights lie.
    multiplier: dsp, dsp_pair (two products in one block) or lut.
    """

    reuse_factor: int
    p: int
    q: int
    order: str
    store: str
    multiplier: str


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Give a memory beside the weights: what lies there (`words` of `bits`), and in registers, lutram or bram."""

    store: str
    words: int
    bits: int


@dataclass(frozen=True, slots=True)
class StreamReport:
    """Give how a streamed engine takes a tensor.

    pixels: neighbouring places of one beat of its first input. lanes_in: elements of a beat, of each input. lanes_out:
    elements that it makes of one beat. spacing: least cycles between beats. keeps: window, running_result or nothing,
    of the beats before. windows: that it computes for each inference. kernel: rows and columns of a window, in beats;
    null without one. lines: the rows above the window; null where none are kept.
    """

    pixels: int
    lanes_in: tuple[int, ...]
    lanes_out: int
    spacing: int
    keeps: str
    windows: int
    kernel: tuple[int, int] | None
    lines: MemoryReport | None


@dataclass(frozen=True, slots=True)
class EngineReport:
    """Give one engine of the plan.

    output: the edge that leaves it. nodes: what it computes. cycles: from its last input beat to its last output beat.
    busy: cycles before it can begin anew. beats: that leave it for each inference. fold: null unless it, or what
    computes one beat of it, is folded. stream: null unless it is streamed. products, tables: where an unrolled cone has
    its products of two values (lut or dsp) and its large tables (lut or bram); lut for a folded engine.
    """

    output: str
    engine: str
    nodes: tuple[str, ...]
    cycles: int
    busy: int
    beats: int
    fold: FoldReport | None
    resources: CountedReport
    stream: StreamReport | None = None
    products: str = "lut"
    tables: str = "lut"


@dataclass(frozen=True, slots=True)
class ConverterReport:
    """Give what stands between two engines: the edge that leaves it, its kind, and lanes on both sides.

    kind: gather, split, regroup (width converters), delay, fifo or crossing (to the next die). waiting: what a delay or
    a FIFO holds at most, a word for each beat; null for the others. leaves: whether its edge leaves the design.
    """

    edge: str
    kind: str
    lanes_in: int
    lanes_out: int
    cycles: int
    resources: CountedReport
    waiting: MemoryReport | None = None
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class CadenceReport:
    """Give how a tensor comes or leaves: `beats` beats of `lanes` elements, the first of them in cycle `first`.

    spacing: least cycles between beats; null for a single one.
    """

    tensor: str
    lanes: int
    beats: int
    first: int
    spacing: int | None


@dataclass(frozen=True, slots=True)
class ReuseReport:
    """Give the reuse factor of a layer: as the hls4ml configuration asks, as used, and as hls4ml would round it."""

    layer: str
    asked: int
    used: int
    hls4ml: int


@dataclass(frozen=True, slots=True)
class PlanReport:
    """Give every engine, what stands between them, the reuse factors that were asked for, and how tensors cross.

    inputs, outputs: the cadence of each tensor, counted from the first input beat of an inference. objective: what is
    least, area (sum of used over usable) or cycles; value: of it, as planned; bound: less than that no plan of the
    spaces has; gap: (value - bound) / value, 0 for a proved optimum. solve_s: that the solver took, null where the plan
    was made before; space: of each length that was searched. All null where the plan was not searched for. dies: what
    it takes of each, empty where it lies on one.
    """

    engines: tuple[EngineReport, ...]
    converters: tuple[ConverterReport, ...]
    reuse: tuple[ReuseReport, ...]
    inputs: tuple[CadenceReport, ...] = ()
    outputs: tuple[CadenceReport, ...] = ()
    objective: str | None = None
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    solve_s: float | None = None
    space: tuple[Searched, ...] = ()
    dies: tuple[DieReport, ...] = ()
