"""Run everything that a goal needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flow.progress import Progress
from flow.steps.context import Context, Options, open_context

if TYPE_CHECKING:
    from flow.report.report import Report


def run_to(goal: str, options: Options, progress: Progress | None = None) -> Report:
    """Do what a goal needs and return the report on what the run's folder then holds.

    goal: `report` runs nothing; `budget` plans and writes no hardware; `build` writes the hardware; `simulate` and
    `synth` work on the hardware as it lies there; `run` does all.
    """
    run = open_context(options, progress or Progress.silent())
    # each step is imported when it is needed: a budget must not wait for simulators
    from flow.steps import show

    if goal == "report":
        return show.show(run)
    if goal == "budget" and run.is_graph:
        return show.show_budget(run)
    with run.project.opened():
        return _work(goal, run)


def _work(goal: str, run: Context) -> Report:
    from flow.steps import show

    if goal == "budget":
        return show.show_budget(run)
    from flow.steps import build, convert, prove

    convert.convert(run, renew=goal == "build")
    build.build(run, renew=goal == "build")
    if goal in {"simulate", "run"}:
        prove.simulate(run)
    if goal in {"synth", "run"}:
        prove.synthesize(run)
    return show.show(run)
