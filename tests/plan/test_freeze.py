"""A frozen timeline: new weights keep every cycle, or the node that breaks it is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow.engines.dataflow import dataflow
from flow.engines.engine import Folded
from flow.errors import Missed, UserError
from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.graph.nodes import Dense
from flow.graph.store import to_json
from flow.latency.budget import Verdict
from flow.latency.timeline import load_timeline, timeline_to_json
from flow.plan.freeze import Frozen, check_built, differences, frozen_plan, kept, load_frozen
from flow.plan.pins import Pin
from flow.plan.plan import plan_to_json
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.rtl.design import Design, realize
from tests.commands import Command
from tests.conformance.random_designs import RandomDesign, prove
from tests.conformance.small_design import changed, small_graph
from tests.networks import vectors
from tests.plan.graphs import changed as changed_dense
from tests.plan.graphs import dense_network, saturating

SMALL = Request(part="LFE5U-25F", clock="12ns")
FOLDED = Request(part="xc7a100t", clock="100MHz", budget="2us")


def _frozen(graph: Graph, request: Request, folder: Path) -> tuple[Frozen, Design]:
    design = realize(graph, request, make_plan(graph, request))
    (folder / "plan.json").write_bytes(plan_to_json(design.plan))
    (folder / "timeline.json").write_bytes(timeline_to_json(design.timeline))
    (folder / "model.json").write_bytes(to_json(graph))
    return load_frozen(folder / "timeline.json"), design


def _rebuilt(graph: Graph, request: Request, frozen: Frozen) -> Design:
    request = kept(request, frozen)
    design = realize(graph, request, frozen_plan(graph, request, frozen), revise=False)
    check_built(graph, design.plan, design.timeline, design.slowest, frozen)
    return design


def _retrained(graph: Graph, seed: int, *, scale: float = 12.0) -> Graph:
    rng = np.random.default_rng(seed)
    for node in graph.nodes:
        if isinstance(node, Dense):
            drawn = np.rint(rng.normal(size=node.weights.shape) * scale)
            codes = np.clip(drawn, node.weight_type.lo, node.weight_type.hi).astype(np.int64)
            graph = changed(graph, node.name, weights=codes)
    return graph


def _sparse(graph: Graph) -> Graph:
    """Return the graph with powers of two for weights, one for each output."""
    for name in ("fc1", "fc2"):
        node = graph.node(name)
        assert isinstance(node, Dense)
        weights = np.zeros_like(node.weights)
        weights[0] = 1
        graph = changed(graph, name, weights=weights)
    return graph


def test_a_retrained_network_keeps_every_cycle(tmp_path: Path) -> None:
    graph = small_graph()
    frozen, design = _frozen(graph, SMALL, tmp_path)
    again = _rebuilt(_retrained(graph, 3), SMALL, frozen)
    assert again.timeline == design.timeline
    assert again.plan.choices == design.plan.choices
    assert again.plan.clock.period_ns == design.plan.clock.period_ns
    assert again.plan.resources != design.plan.resources  # other weights are other wiring


def test_the_planner_would_have_changed_the_cycles(tmp_path: Path) -> None:
    """What freezing is for: for its own weights each network gets other registers."""
    graph, sparse = small_graph(), _sparse(small_graph())
    frozen, design = _frozen(graph, SMALL, tmp_path)
    free = realize(sparse, SMALL, make_plan(sparse, SMALL))
    assert free.timeline.latency < design.timeline.latency
    assert _rebuilt(sparse, SMALL, frozen).timeline == design.timeline


def test_registers_stay_where_the_estimate_was_wrong(tmp_path: Path) -> None:
    """A build that may not revise keeps a plan whose verdict turns out better, or worse, than was said."""
    frozen, design = _frozen(small_graph(), SMALL, tmp_path)
    sparse = _sparse(small_graph())
    request = kept(SMALL, frozen)
    plan = replace(frozen_plan(sparse, request, frozen), verdict=Verdict.MET_IF_CLOCK_CLOSES)
    assert realize(sparse, request, plan).plan.choices != design.plan.choices
    assert realize(sparse, request, plan, revise=False).plan.choices == design.plan.choices


def test_a_held_latency_stays_held(tmp_path: Path) -> None:
    graph = small_graph()
    frozen, design = _frozen(graph, replace(SMALL, latency_exact=9), tmp_path)
    again = _rebuilt(_retrained(graph, 4), SMALL, frozen)
    assert again.timeline == design.timeline
    assert (again.timeline.latency, again.plan.latency_exact) == (9, 9)


@pytest.mark.eda
def test_a_rebuilt_folded_network_keeps_every_bit_and_beat(tmp_path: Path) -> None:
    graph = small_graph()
    frozen, design = _frozen(graph, FOLDED, tmp_path)
    assert any(isinstance(choice, Folded) for choice in design.plan.choices)
    retrained = _retrained(graph, 5)
    again = _rebuilt(retrained, FOLDED, frozen)
    assert again.timeline == design.timeline
    flow = dataflow(retrained, again.plan.choices, again.plan.traffic)
    drawn = RandomDesign(retrained, design.timeline, again.modules, again.signature, "", flow)
    assert not prove(drawn, tmp_path, vectors(np.random.default_rng(7), retrained, 40)).faults


@pytest.mark.parametrize("beside", [True, False])
def test_another_size_is_refused_by_name(tmp_path: Path, *, beside: bool) -> None:
    frozen, _ = _frozen(dense_network(16, 24, 8, bits=6), FOLDED, tmp_path)
    frozen = frozen if beside else replace(frozen, graph=None)
    said = r"node d0: shape \(22,\), no longer \(24,\)" if beside else "node d[01]"
    with pytest.raises(UserError, match=said):
        _rebuilt(dense_network(16, 22, 8, bits=6), FOLDED, frozen)


def test_all_that_differs_is_said_node_by_node() -> None:
    graph = small_graph()
    assert list(differences(graph, _retrained(graph, 3))) == []
    wider = changed(graph, "fc2", type=FixedType(9, 2))
    assert list(differences(graph, wider)) == [f"node fc2: type {FixedType(9, 2)}, no longer {graph.node('fc2').type}"]
    shorter = replace(graph, nodes=graph.nodes[:-1], outputs=("relu",))
    assert list(differences(graph, shorter)) == [
        "node fc2 is missing",
        "the network's outputs: ('relu',), no longer ('fc2',)",
    ]
    assert next(differences(shorter, graph)) == "node fc2 is new"


def test_without_the_old_network_missing_nodes_are_named(tmp_path: Path) -> None:
    frozen, _ = _frozen(small_graph(), SMALL, tmp_path)
    (tmp_path / "model.json").unlink()
    frozen = load_frozen(tmp_path)
    assert frozen.graph is None
    with pytest.raises(UserError, match="node fc1 is missing"):
        _rebuilt(dense_network(8, 6, 4), SMALL, frozen)


def test_weights_that_make_a_cone_too_slow_are_named(tmp_path: Path) -> None:
    request = replace(SMALL, clock="6ns")
    frozen, _ = _frozen(_sparse(small_graph()), request, tmp_path)
    with pytest.raises(Missed, match=r"node (relu|fc2): its longest segment .* of 6 ns now") as error:
        _rebuilt(small_graph(), request, frozen)
    assert "not sure to close" in str(error.value)


def test_sums_that_may_saturate_now_are_named(tmp_path: Path) -> None:
    """The order of additions counts as soon as the new weights may saturate the accumulator."""
    safe = changed_dense(dense_network(6, 5), "d0", saturating)
    rng = np.random.default_rng(1)
    small = changed_dense(safe, "d0", lambda n: replace(n, weights=0 * n.weights, bias=0 * n.bias))
    request = replace(FOLDED, pins={"d0": Pin(order="input_serial")})
    frozen, design = _frozen(small, request, tmp_path)
    (choice,) = design.plan.choices
    assert isinstance(choice, Folded)
    wild = changed_dense(small, "d0", lambda n: replace(n, weights=rng.integers(-100, 100, n.weights.shape)))
    with pytest.raises(Missed, match="node d0: its sums may saturate now"):
        _rebuilt(wild, request, frozen)


def test_the_first_edge_that_differs_is_named_with_both_cycles(tmp_path: Path) -> None:
    graph = small_graph()
    _frozen(graph, SMALL, tmp_path)
    timeline = load_timeline(tmp_path / "timeline.json")
    edges = tuple(replace(e, schedule=e.schedule.delayed(1)) if e.name == "relu" else e for e in timeline.edges)
    (tmp_path / "timeline.json").write_bytes(timeline_to_json(replace(timeline, edges=edges)))
    with pytest.raises(Missed, match=r"node relu: beat 0 of edge relu comes in cycle 2 now, in cycle 3 in"):
        _rebuilt(graph, SMALL, load_frozen(tmp_path))


def test_cells_that_no_longer_fit_are_named(tmp_path: Path) -> None:
    graph = small_graph()
    frozen, design = _frozen(_sparse(graph), replace(SMALL, part="iCE40UP5K", clock="60ns"), tmp_path)
    full = replace(design.plan.runs[1], resources=replace(design.plan.runs[1].resources, lut=10_000))
    plan = replace(design.plan, runs=(design.plan.runs[0], full))
    with pytest.raises(Missed, match=r"node fc2: takes 10,000 LUT now"):
        check_built(graph, plan, design.timeline, design.slowest, frozen)


def test_a_timeline_without_its_plan_is_refused(tmp_path: Path) -> None:
    _frozen(small_graph(), SMALL, tmp_path)
    (tmp_path / "plan.json").unlink()
    with pytest.raises(UserError, match=r"no plan\.json beside it"):
        load_frozen(tmp_path)
    (tmp_path / "timeline.json").unlink()
    with pytest.raises(UserError, match=r"cannot read .*timeline\.json"):
        load_frozen(tmp_path)


def test_what_is_frozen_stands_against_the_command_line(tmp_path: Path) -> None:
    frozen, design = _frozen(small_graph(), SMALL, tmp_path)
    same = kept(Request(budget="1us"), frozen, part="LFE5U-25F", clock="12ns", link="direct", boundary="core")
    assert (same.part, same.clock, same.budget) == (design.plan.part, "12.0ns", "1us")
    for name, text in (("part", "xcvu13p"), ("clock", "10ns"), ("clock", "auto"), ("link", "ethernet10g")):
        with pytest.raises(UserError, match=f"--{name} {text}: .* is frozen with"):
            kept(SMALL, frozen, **{name: text})
    with pytest.raises(Missed, match=r"exactly 7 cycles cannot be had: .* is frozen with 5"):
        kept(replace(SMALL, latency_exact=7), frozen)


def test_what_the_frozen_run_cost_does_not_count(tmp_path: Path) -> None:
    """Two networks that are built alike are one frozen run: building into its own folder changes nothing."""
    graph = small_graph()
    frozen, _ = _frozen(graph, SMALL, tmp_path)
    again = _rebuilt(_retrained(graph, 3), SMALL, frozen)
    assert replace(frozen, plan=replace(again.plan, clock=frozen.plan.clock)).digest == frozen.digest
    deeper = replace(frozen.plan.traffic, held=1)
    assert replace(frozen, plan=replace(frozen.plan, traffic=deeper)).digest != frozen.digest


def test_the_command_keeps_refuses_and_skips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = Command(monkeypatch, capsys)
    graph = small_graph()
    old, new, other, slow = (tmp_path / f"{name}.json" for name in ("old", "new", "other", "slow"))
    old.write_bytes(to_json(_sparse(graph)))
    new.write_bytes(to_json(_sparse(_retrained(graph, 3))))
    slow.write_bytes(to_json(graph))
    other.write_bytes(to_json(dense_network(8, 6, 4)))
    asked = ("--part", "LFE5U-25F", "--clock", "6ns", "--latency-exact", "9")
    assert command("build", old, *asked, "--out", "run").status == 0
    frozen = ("--freeze", "run/timeline.json")
    assert command("build", new, *frozen, "--out", "again").status == 0
    assert Path("again/timeline.json").read_bytes() == Path("run/timeline.json").read_bytes()
    assert command("budget", new, *frozen).status == 0
    broken = command("build", slow, *frozen, "--out", "third")
    assert broken.status == 3
    assert "its longest segment" in broken.err
    assert not Path("third/rtl").exists()
    assert command("build", other, *frozen, "--out", "third").status == 2
    # into the frozen run's own folder: the second build has nothing to do
    assert command("build", new, *frozen, "--out", "run").status == 0
    assert "nothing changed" in command("build", new, *frozen, "--out", "run").err
