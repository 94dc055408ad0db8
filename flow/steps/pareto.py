"""One network's front of latency and area on its part."""

from __future__ import annotations

from flow.errors import UserError
from flow.plan.pareto import pareto
from flow.progress import Progress
from flow.report.pareto import Pareto, pareto_report
from flow.steps.context import Context, Options, open_context
from flow.steps.convert import graph_of


def pareto_to(options: Options, progress: Progress | None = None) -> Pareto:
    """Convert the model if need be and return its front; nothing but the conversion is written."""
    run = open_context(options, progress or Progress.silent())
    if run.is_graph:
        return _found(run)
    with run.project.opened():
        return _found(run)


def _found(run: Context) -> Pareto:
    if run.frozen is not None:
        raise UserError("a frozen timeline is one plan's; it does not go with a front of latency and area")
    graph = graph_of(run)
    with run.progress.step("front of latency and area") as tell:
        front = pareto(graph, run.request, run.progress.line)
        tell(f"{len(front.points)} plans of {front.asked} that were asked for (predicted)")
        return pareto_report(graph, run.request, front)
