"""What a plan's latency and area depend on: computed where it is asked for, kept beside the hardware it belongs to."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter

from flow.files import digest, write_whole
from flow.graph.graph import Graph
from flow.plan.plan import Plan
from flow.plan.sensitivity.figures import Sensitivity
from flow.plan.sensitivity.study import study
from flow.steps.context import Context
from flow.stored import load_stored

STEP = "sensitivity"
FILE = "sensitivity.json"


@cache
def _adapter() -> TypeAdapter[Sensitivity]:
    return TypeAdapter(Sensitivity)


def of_budget(run: Context, graph: Graph, plan: Plan) -> Sensitivity | None:
    """Return the sensitivity of a plan that is not built, None where it is not asked for."""
    return _computed(run, graph, plan) if run.options.sensitivity else None


def of_built(run: Context, graph: Graph, plan: Plan) -> Sensitivity | None:
    """Return the sensitivity of the built plan: as kept in the run's folder, else computed where it is asked for."""
    project, path = run.project, run.project.folder / FILE
    inputs = digest(run.plan_digest(), project.plan.read_bytes())
    if project.is_current(STEP, inputs):
        return load_stored(_adapter(), path, "a sensitivity", "delete it and ask again")
    if not run.options.sensitivity:
        return None
    found = _computed(run, graph, plan)
    write_whole(path, _adapter().dump_json(found, indent=1) + b"\n")
    project.record(STEP, inputs, (path,))
    return found


def _computed(run: Context, graph: Graph, plan: Plan) -> Sensitivity:
    with run.progress.step("sensitivity: plan the neighbours") as tell:
        found = study(graph, run.request, plan, run.progress.inner)
        tell(f"{len(found.variations)} variations (predicted)")
    return found
