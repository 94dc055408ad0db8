"""Plans that are pinned by hand, node by node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flow.engines.engine import Choice, Folded, Streamed, Unrolled
from flow.errors import UserError
from flow.graph.graph import Graph
from flow.latency.budget import Verdict
from flow.plan.pins import Pin, Pins
from flow.plan.planner import make_plan
from flow.plan.request import Request, load_request
from flow.rtl.design import realize
from tests.conformance.small_design import small_graph
from tests.conformance.stream_design import stream_graph
from tests.plan.graphs import dense_network

LARGE: dict[str, Any] = {"part": "xcvu9p", "clock": "200MHz"}
SMALL: dict[str, Any] = {"part": "LFE5U-85F", "clock": "20ns"}


def _planned(graph: Graph, pins: dict[str, Pin], **asked: Any) -> dict[str, Choice]:
    choices = make_plan(graph, Request(**{**LARGE, **asked}, pins=pins)).choices
    return {name: choice for choice in choices for name in choice.nodes}


def test_an_engine_is_as_pinned_whatever_is_cheapest() -> None:
    graph = dense_network(16, 12, 6)
    assert {type(c) for c in _planned(graph, {}).values()} == {Unrolled}
    folded = _planned(graph, {"d0": Pin(engine="folded")})
    assert isinstance(folded["d0"], Folded)
    assert isinstance(folded["d1"], Unrolled)
    assert {type(c) for c in _planned(graph, {}, budget="10us").values()} == {Folded}
    unrolled = _planned(graph, {"d1": Pin(engine="unrolled")}, budget="10us")
    assert isinstance(unrolled["d0"], Folded)
    assert isinstance(unrolled["d1"], Unrolled)


def test_a_layer_can_be_pinned_by_its_label_or_by_what_it_absorbs() -> None:
    graph = dense_network(16, 12, 6)
    for name in ("d0", "layer 0", "r0", "relu 0"):
        choice = _planned(graph, {name: Pin(reuse_factor=24)})["d0"]
        if name in {"d0", "layer 0"}:
            assert isinstance(choice, Folded)
            assert choice.reuse_factor == 24
        else:
            assert isinstance(_planned(graph, {name: Pin(engine="folded")})["d0"], Folded)


def test_every_parameter_of_shared_multipliers_can_be_pinned() -> None:
    graph = dense_network(16, 12, 6)
    pin = Pin(order="input_serial", p=4, q=3, store="lutrom", multiplier="lut")
    choice = _planned(graph, {"d0": pin})["d0"]
    assert isinstance(choice, Folded)
    assert (choice.order, choice.p, choice.q, choice.store, choice.multiplier) == (
        "input_serial",
        4,
        3,
        "lutrom",
        "lut",
    )


def test_registers_are_as_pinned_and_stay_so_on_build() -> None:
    graph = small_graph()
    request = Request(part="LFE5U-25F", clock="12ns", pins={"fc1": Pin(depth=4)})
    plan = make_plan(graph, request)
    built = realize(graph, request, plan)
    for choices in (plan.choices, built.plan.choices):
        first, second = choices
        assert isinstance(first, Unrolled)
        assert isinstance(second, Unrolled)
        assert (first.depth, second.depth) == (4, 3)
    assert built.timeline.latency == 7
    # a build that could would add registers to what may not close
    tight = replace(request, pins={"fc1": Pin(depth=1), "fc2": Pin(depth=1)})
    hopeful = replace(make_plan(graph, tight), verdict=Verdict.MET)
    assert realize(graph, tight, hopeful).timeline.latency == 2
    few = make_plan(graph, Request(part="LFE5U-25F", clock="4ns", pins={"fc1": Pin(depth=0), "fc2": Pin(depth=1)}))
    assert few.verdict is Verdict.MISSED  # the pins stand; the verdict says what they mean


def test_streamed_engines_are_pinned_with_what_computes_a_beat() -> None:
    graph = stream_graph()
    choice = _planned(graph, {"conv": Pin(engine="streamed", reuse_factor=6)}, **SMALL, budget="100us")["conv"]
    assert isinstance(choice, Streamed)
    assert isinstance(choice.inner, Folded)
    assert choice.inner.reuse_factor == 6
    free = _planned(graph, {}, **SMALL, budget="100us")["conv"]
    assert isinstance(free, Streamed)
    assert isinstance(_planned(graph, {"conv": Pin(engine="unrolled")}, **SMALL, budget="100us")["conv"], Unrolled)


@pytest.mark.parametrize(
    ("pins", "said"),
    [
        ({"d0": {"reuse_factor": 7}}, r"pins\.d0: reuse_factor = 7 is not there; the nearest: .*6, 8"),
        (
            {"d0": {"p": 5, "q": 7, "order": "output_serial", "multiplier": "dsp_pair"}},
            r"p = 5 is not there; the nearest: .*3, 4, 6",
        ),
        ({"d0": {"products": "dsp"}}, r"pins\.d0: products = 'dsp' is not there; there is: lut"),
        ({"d9": {"depth": 1}}, r"pins\.d9: layers has no such node; did you mean d0 or d1"),
        ({"d0": {"depth": 1}, "layer 0": {"depth": 2}}, "pinned twice"),
        ({"d0": {"engine": "streamed"}}, r"engine = 'streamed' is not there; there is: unrolled, folded"),
    ],
)
def test_pins_that_nothing_is_as_are_refused_with_what_there_is(pins: dict[str, Any], said: str) -> None:
    part = "LFE5U-25F" if "p" in pins.get("d0", {}) else "xcvu9p"
    with pytest.raises(UserError, match=said):
        make_plan(
            dense_network(16, 12, 6),
            Request(part=part, clock="50MHz", pins={name: Pin(**pin) for name, pin in pins.items()}),
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[pins.fc1]\nengin = 'folded'", r"unknown key 'pins\.fc1\.engin'; did you mean engine"),
        ("[pins.fc1]\nengine = 'vector'", r"pins\.fc1\.engine is \"vector\"; write 'unrolled', 'folded' or 'stream"),
        ("[pins.fc1]\nreuse_factor = 0", r"pins\.fc1: reuse_factor = 0 is not possible; write at least 1"),
        ("[pins.fc1]", r"pins\.fc1: pins nothing; write one of engine"),
        ("[pins.fc1]\np = 2\ndepth = 1", r"pins\.fc1: p is of shared multipliers and depth of a cone"),
        ("[pins.fc1]\nengine = 'unrolled'\nreuse_factor = 4", r"an unrolled engine has no reuse_factor above 1"),
        ("[pins.fc1]\nengine = 'folded'\ntables = 'bram'", r"a folded engine has no tables"),
        ("pins = 3", r"pins is 3; write a table, for example pins = "),
    ],
)
def test_wrong_pins_in_a_file_are_refused_with_their_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "request.toml").write_text(text)
    with pytest.raises(UserError, match=said):
        load_request(tmp_path / "request.toml")


def test_pins_in_a_file_are_what_they_say(tmp_path: Path) -> None:
    text = '[pins.d0]\nengine = "folded"\nreuse_factor = 24\n\n[pins."layer 1"]\ndepth = 5\n'
    (tmp_path / "request.toml").write_text(text)
    request = load_request(tmp_path / "request.toml")
    assert request.pins == {"d0": Pin(engine="folded", reuse_factor=24), "layer 1": Pin(depth=5)}
    pins = Pins.of(dense_network(16, 12, 6), request.pins)
    assert dict(pins.by_node) == {"d0": request.pins["d0"], "d1": request.pins["layer 1"]}
