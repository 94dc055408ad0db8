"""The plan: one choice per run of nodes, a clock and a part, with what it is expected to cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from flow.engines.align import Delay, Fifo
from flow.engines.converter import Converter
from flow.engines.crossing import Crossing
from flow.engines.dataflow import Traffic, dataflow
from flow.engines.engine import Choice, Resources
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.latency.budget import Clock, Verdict
from flow.latency.timeline import Timeline
from flow.plan.proof import Proof
from flow.plan.reuse import Reuse
from flow.stored import check_format, load_stored

FORMAT = 6
CURE = "renew it: fpgaflow build"
MOST = 1e15
"""Beyond all hardware: days in ns, or cells of a million chips."""


@dataclass(frozen=True, slots=True)
class Planned:
    """Hold one choice with its predicted cost: resources, and a delay in ns.

    delay_ns: of an unrolled cone from its inputs to its output, without registers; of a folded engine its longest
    segment between two registers, nominal.
    """

    choice: Choice
    resources: Resources
    delay_ns: float


@dataclass(frozen=True, slots=True)
class PlannedConverter:
    """Hold what stands between two engines, by the edge that leaves it, with its predicted resources."""

    edge: str
    converter: Converter | Delay | Fifo | Crossing
    resources: Resources


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold all choices for a graph.

    fixed_ns: the link's overhead (min, typical, max). traffic: how tensors come and leave.
    verdict: predicted, for budget and rate. best_ns: the least
    total latency that the planner found at any pipeline depth, for a miss also with a free clock; None where it found
    none, or did not look for it.
    limiter: the run that takes most of the time.
    advice: what would have to change when the verdict is not `met`. must_beat: baseline rows that the request asks to
    undercut. converters: what stands between runs. reuse: reuse factors that the hls4ml configuration asks for.
    revisions: what the build had to change and why. latency_exact: the cycles that a contract asks for, None without.
    proof: how good any other plan could be, by the estimates from which this one was made.
    """

    format: int
    model: str
    part: str
    link: str
    boundary: str
    budget_ns: float | None
    rate_hz: float | None
    clock: Clock
    fixed_ns: tuple[float, float, float]
    traffic: Traffic
    runs: tuple[Planned, ...]
    verdict: Verdict
    best_ns: float | None
    limiter: str
    advice: str
    must_beat: tuple[str, ...] = ()
    converters: tuple[PlannedConverter, ...] = ()
    reuse: tuple[Reuse, ...] = ()
    revisions: tuple[str, ...] = ()
    latency_exact: int | None = None
    proof: Proof | None = None

    @property
    def reachable_ns(self) -> float:
        """Return best_ns, infinite where it is not known."""
        return float("inf") if self.best_ns is None else self.best_ns

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Return the choices in topological order."""
        return tuple(planned.choice for planned in self.runs)

    @property
    def resources(self) -> Resources:
        """Return the predicted total."""
        converters = sum((converter.resources for converter in self.converters), Resources())
        return sum((planned.resources for planned in self.runs), converters)


def timeline_of(graph: Graph, choices: tuple[Choice, ...], traffic: Traffic | None = None) -> Timeline:
    """Return all schedules of a plan; without `traffic` tensors come and leave as one beat."""
    return dataflow(graph, choices, traffic).timeline


@cache
def _adapter() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def plan_to_json(plan: Plan) -> bytes:
    """Return the contents of `plan.json`."""
    return _adapter().dump_json(plan, indent=1) + b"\n"


def load_plan(path: Path) -> Plan:
    """Read `plan.json`; raise UserError when it is not one."""
    plan = load_stored(_adapter(), path, "a plan", CURE)
    check_format(plan.format, FORMAT, path, CURE)
    for name, value, may_be_zero in _figures(plan):
        # JSON as Python writes it has NaN, for which no comparison holds
        if not (0 <= value < MOST if may_be_zero else 0 < value < MOST):
            wanted = "from 0" if may_be_zero else "above 0"
            raise UserError(f"{path} is not a plan: {name} = {value:g} is no number {wanted} to {MOST:g}; {CURE}")
    return plan


def _figures(plan: Plan) -> Iterator[tuple[str, float, bool]]:
    """Give what is computed with, by its place in the file, and whether it may be zero."""
    yield "clock.period_ns", plan.clock.period_ns, False
    for name, asked in (("budget_ns", plan.budget_ns), ("rate_hz", plan.rate_hz)):
        if asked is not None:
            yield name, asked, False
    for k, end_ns in enumerate(plan.clock.range_ns):
        yield f"clock.range_ns.{k}", end_ns, True
    for k, fixed_ns in enumerate(plan.fixed_ns):
        yield f"fixed_ns.{k}", fixed_ns, True
    if plan.best_ns is not None:
        yield "best_ns", plan.best_ns, True
    for k, planned in enumerate(plan.runs):
        yield f"runs.{k}.delay_ns", planned.delay_ns, True
        yield from _counts(f"runs.{k}", planned.resources)
    for k, converter in enumerate(plan.converters):
        yield from _counts(f"converters.{k}", converter.resources)
    if plan.proof is not None:
        yield "proof.value", plan.proof.value, True
        yield "proof.bound", plan.proof.bound, True


def _counts(where: str, used: Resources) -> Iterator[tuple[str, float, bool]]:
    for kind in ("lut", "ff", "dsp", "bram", "uram"):
        yield f"{where}.resources.{kind}", getattr(used, kind), True
