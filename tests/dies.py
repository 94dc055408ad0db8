"""Networks on several dies with engines that no planner chose, shared by tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flow.engines.dataflow import Traffic, whole_tensors
from flow.engines.engine import Choice, Folded, Unrolled
from flow.engines.lower import runs
from flow.fixed import FixedType, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Input, Merge, Quantize
from flow.plan.plan import Plan, timeline_of
from flow.plan.planner import assemble, target_of
from flow.plan.priced import priced, worst_of
from flow.plan.request import Request
from flow.plan.solve import Depths, judged
from tests.conformance.small_design import small_graph
from tests.conformance.stream_design import SPACING, stream_graph
from tests.plan.graphs import dense_network
from tests.streaming import by_pixels, streamed

PERIOD_NS = 10.0
REQUEST = Request(part="xcvu9p", clock="10ns")
STREAMED = (("conv", "relu"), ("sum",), ("pool",), ("last",))
CASES = ("unrolled", "folded", "beats of pixels", "branches", "apart")


@dataclass(frozen=True, slots=True)
class Case:
    """Hold a network with its engines and their dies. borders: on the way that takes longest, by hand."""

    graph: Graph
    choices: tuple[Choice, ...]
    traffic: Traffic
    borders: int


def case(name: str) -> Case:
    """Return one of CASES.

    The first cone of `unrolled` has no register but the crossing's; two tensors leave `branches`; the two networks of
    `apart` lie on a die each.
    """
    match name:
        case "unrolled":
            graph = small_graph()
            first, second = _cones(graph)
            return Case(graph, (replace(first, depth=0), second), replace(whole_tensors(graph), dies=(0, 2)), 2)
        case "folded":
            graph = dense_network(16, 12, 10, 4)
            return Case(graph, _folds(graph), replace(whole_tensors(graph), dies=(2, 0, 1)), 3)
        case "beats of pixels":
            graph = stream_graph()
            choices = tuple(streamed(graph, nodes, 1) for nodes in STREAMED)
            return Case(graph, choices, replace(by_pixels(graph, 1, SPACING, beats_out=True), dies=(1, 0, 0, 1)), 2)
        case "apart":
            graph = _two_networks()
            return Case(graph, _cones(graph), replace(whole_tensors(graph), dies=(0, 1, 1)), 0)
        case _:
            graph = replace(stream_graph(), io_type="io_parallel", outputs=("last", "relu"))
            return Case(graph, _cones(graph), replace(whole_tensors(graph), dies=(0, 1, 0, 2)), 4)


def _two_networks() -> Graph:
    """Return a rounded x, and what is rounded of y added to it: its two inputs come at different times."""
    wide, narrow = {"shape": (3,), "type": FixedType(8, 3)}, FixedType(5, 3, rounding=Rounding.RND)
    nodes = (
        Input(name="x", label="x", inputs=(), **wide),
        Input(name="y", label="y", inputs=(), **wide),
        *(
            Quantize(name=name, label=name, inputs=(source,), shape=(3,), type=narrow)
            for name, source in (("a", "x"), ("b", "y"))
        ),
        Merge(name="sum", label="sum", inputs=("b", "y"), op="add", **wide),
    )
    return Graph("apart", nodes, ("x", "y"), ("a", "sum"))


def _cones(graph: Graph) -> tuple[Unrolled, ...]:
    return tuple(Unrolled(nodes, 2) for nodes in runs(graph))


def _folds(graph: Graph) -> tuple[Choice, ...]:
    """Return dense layers, an output-serial one before two input-serial ones."""
    found: list[Choice] = []
    for k, nodes in enumerate(runs(graph)):
        (source,), n_out = graph.feeding(graph.node(nodes[0])), graph.node(nodes[0]).size
        lanes = (source.size // 2, n_out // 2) if k else (4, n_out // 2)
        order = "input_serial" if k else "output_serial"
        found.append(Folded.plain(nodes, order, (source.size, n_out), lanes, store="lutrom", multiplier="lut"))
    return tuple(found)


def planned(of: Case, *, exactly: int | None = None) -> Plan:
    """Return the plan of a case's engines; exactly: the cycles of a contract."""
    target = target_of(of.graph, REQUEST)
    made = tuple(priced(of.graph, choice, target.part, target.delays) for choice in of.choices)
    timeline = timeline_of(of.graph, of.choices, of.traffic)
    worst_ns = worst_of(of.graph, of.choices, of.traffic, target.part, target.delays)
    goal = replace(target.goal, interval=timeline.interval)
    solution = judged(goal, Depths((), timeline.latency, worst_ns), PERIOD_NS, target.delays)
    plan = assemble(
        of.graph, REQUEST, target, planned=made, solution=solution, best_ns=float("inf"), traffic=of.traffic
    )
    return replace(plan, latency_exact=exactly)
