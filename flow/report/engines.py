"""The engines of a plan, what stands between them, and how tensors come and leave."""

from __future__ import annotations

from flow.device.parts import Part
from flow.engines.align import Delay, Fifo
from flow.engines.converter import Converter
from flow.engines.crossing import Crossing
from flow.engines.engine import Choice, Resources
from flow.engines.folded import Folded
from flow.engines.line_buffer import LineBuffer
from flow.engines.reducer import Reducer
from flow.engines.streamed import Streamed
from flow.graph.graph import Graph
from flow.latency.timeline import Edge, Timeline
from flow.plan.plan import Plan, Planned, PlannedConverter
from flow.report.dies import die_reports
from flow.report.planned import (
    CadenceReport,
    ConverterReport,
    CountedReport,
    EngineReport,
    FoldReport,
    MemoryReport,
    PlanReport,
    ReuseReport,
    StreamReport,
)


def plan_report(graph: Graph, plan: Plan, timeline: Timeline, part: Part) -> PlanReport:
    """Return what a plan for a part consists of, and what is proved of it."""
    proof = plan.proof
    return PlanReport(
        engines=tuple(_engine(graph, planned, timeline) for planned in plan.runs),
        converters=tuple(_between(graph, between, timeline) for between in plan.converters),
        reuse=tuple(ReuseReport(wish.label, wish.asked, wish.used, wish.hls4ml) for wish in plan.reuse),
        inputs=tuple(_cadence(timeline.edge(name)) for name in graph.inputs),
        outputs=tuple(_cadence(timeline.edge(name)) for name in timeline.outputs),
        objective=None if proof is None else proof.objective,
        value=None if proof is None else proof.value,
        bound=None if proof is None else proof.bound,
        gap=None if proof is None else proof.gap,
        solve_s=None if proof is None else proof.solve_s,
        space=() if proof is None else proof.spaces,
        dies=die_reports(graph, plan, part),
    )


def _engine(graph: Graph, planned: Planned, timeline: Timeline) -> EngineReport:
    choice, edge = planned.choice, timeline.edge(planned.choice.output)
    cone = choice.inner if isinstance(choice, Streamed) else choice
    return EngineReport(
        output=edge.name,
        engine=choice.engine,
        nodes=choice.nodes,
        cycles=_cycles(timeline, edge),
        busy=edge.busy,
        beats=len(edge.schedule.cycles),
        fold=_fold(choice),
        resources=_counted(planned.resources),
        stream=_stream(graph, choice) if isinstance(choice, Streamed) else None,
        products="lut" if isinstance(cone, Folded) else cone.products,
        tables="lut" if isinstance(cone, Folded) else cone.tables,
    )


def _fold(choice: Choice) -> FoldReport | None:
    inner = choice.inner if isinstance(choice, Streamed) else choice
    if not isinstance(inner, Folded):
        return None
    return FoldReport(inner.reuse_factor, inner.p, inner.q, inner.order, inner.store, inner.multiplier)


def _stream(graph: Graph, choice: Streamed) -> StreamReport:
    source = graph.feeding(graph.node(choice.nodes[0]))[0]
    beat = choice.lanes_in[0]
    keeps, windows, kernel, lines = "nothing", -(-source.size // beat), None, None
    match choice.buffer:
        case LineBuffer() as buffer:
            keeps, windows, kernel = "window", buffer.windows, buffer.kernel
            if buffer.kept_columns:
                bits = (buffer.kernel[0] - 1) * beat * source.type.width
                lines = MemoryReport(buffer.store, buffer.kept_columns, bits)
        case Reducer():
            keeps, windows = "running_result", 1
        case None:
            pass
    pixels = max(1, beat // source.shape[-1])
    return StreamReport(pixels, choice.lanes_in, choice.lanes, choice.pace, keeps, windows, kernel, lines)


def _between(graph: Graph, between: PlannedConverter, timeline: Timeline) -> ConverterReport:
    edge, what = timeline.edge(between.edge), between.converter
    waiting = None
    match what:
        case Delay():
            waiting = MemoryReport("registers", what.cycles, what.lanes * graph.node(what.node).type.width)
        case Fifo():
            waiting = MemoryReport(what.store, what.depth, what.bits)
        case Converter() | Crossing():
            pass
    return ConverterReport(
        edge=edge.name,
        kind=what.engine,
        lanes_in=what.lanes_in if isinstance(what, Converter) else what.lanes,
        lanes_out=edge.lanes,
        cycles=_cycles(timeline, edge),
        resources=_counted(between.resources),
        waiting=waiting,
        leaves=edge.name in timeline.outputs,
    )


def _cadence(edge: Edge) -> CadenceReport:
    schedule = edge.schedule
    return CadenceReport(edge.node, edge.lanes, len(schedule.cycles), schedule.first, schedule.spacing)


def _cycles(timeline: Timeline, edge: Edge) -> int:
    """Return the cycles that an engine adds: from its last input beat to its last output beat."""
    before = 0 if edge.waited_for is None else timeline.edge(edge.waited_for).schedule.last
    return edge.schedule.last - before


def _counted(resources: Resources) -> CountedReport:
    return CountedReport(resources.lut, resources.ff, resources.dsp, resources.bram, resources.uram)
