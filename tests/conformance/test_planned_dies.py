"""A part whose dies are too small for a network: planned over them, built, and simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import flow.plan.planner
from flow.device.parts import Part, find_part
from flow.engines.dataflow import dataflow
from flow.latency.budget import Verdict
from flow.plan.dies import lacking_on_dies
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.plan.size import TooLarge
from flow.rtl.design import realize
from tests.conformance.random_designs import RandomDesign, prove
from tests.networks import vectors
from tests.plan.graphs import dense_network

NETWORK = dense_network(8, 12, 10, 4, bits=6)
REQUEST = Request(part="xcvu9p", clock="8ns", rate="120MHz")  # a new input every cycle: nothing may be folded


def on_small_dies(monkeypatch: pytest.MonkeyPatch, lut: int) -> Part:
    """Let each of the part's dies have so many usable LUTs."""
    part = find_part(REQUEST.part)
    small = replace(part, lut=int(part.dies * lut / part.usable.lut) + part.dies)
    monkeypatch.setattr(flow.plan.planner, "find_part", lambda _: small)
    return small


@pytest.mark.eda
def test_a_network_too_large_for_a_die_is_planned_over_two_and_exact(monkeypatch, tmp_path: Path) -> None:
    together = make_plan(NETWORK, REQUEST)
    assert together.traffic.dies == ()
    taken = [p.resources.lut for p in together.runs]
    part = on_small_dies(monkeypatch, max(*taken, sum(taken) * 2 // 3) + 20)
    plan = make_plan(NETWORK, REQUEST)
    assert plan.verdict is Verdict.MET
    assert len(set(plan.traffic.dies)) == 2
    found = dataflow(NETWORK, plan.choices, plan.traffic)
    assert not lacking_on_dies(NETWORK, plan.runs, found, plan.traffic, part)
    crossings = [block for block in found.blocks if block.what.engine == "crossing"]
    assert len(crossings) == 1
    assert timeline_of(NETWORK, plan.choices, plan.traffic).interval == 1
    design = realize(NETWORK, REQUEST, plan)
    assert design.plan.traffic.dies == plan.traffic.dies
    flow_ = dataflow(NETWORK, design.plan.choices, design.plan.traffic)
    drawn = RandomDesign(NETWORK, design.timeline, design.modules, design.signature, "", flow_)
    proof = prove(drawn, tmp_path, vectors(np.random.default_rng(7), NETWORK, 40))
    assert not proof.faults
    assert proof.telling


def test_what_no_spread_has_room_for_is_refused_with_what_a_die_holds(monkeypatch) -> None:
    on_small_dies(monkeypatch, 40)
    with pytest.raises(TooLarge, match=r"on each of its 3 dies"):
        make_plan(NETWORK, Request(part="xcvu9p", clock="8ns", limits={"dsp": 0, "bram": 0}))
