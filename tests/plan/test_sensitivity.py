"""Each figure of a sensitivity is that of a design which was planned; the sentence follows from the figures."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from flow.device.parts import find_part
from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.fixed import FixedType
from flow.graph.graph import Asked, Graph
from flow.graph.nodes import Conv, Dense, Input, Relu, Reshape
from flow.graph.window import Window
from flow.latency.budget import Verdict
from flow.plan.onchip import on_chip
from flow.plan.pins import Pin
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.rebits import with_activation_bits, with_weight_bits
from flow.plan.request import Request
from flow.plan.sensitivity.figures import Delta, Figures, Outcome, Sensitivity, Variation, delta, figures_of, found
from flow.plan.sensitivity.limits import cheapest_of, limiter_of, path_of, sentence_of
from flow.plan.sensitivity.rebuild import CannotBuildError, Rebuild
from flow.plan.sensitivity.study import study
from flow.plan.sensitivity.variations import Varied
from tests.plan.graphs import dense_network

FOLDED = Request(part="xc7a35t", clock="100MHz", budget="1us", spare=("lut",))
"""A budget with room to fold."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return dense_network(24, 16, 10, bits=7)


@pytest.fixture(scope="module")
def request_() -> Request:
    return FOLDED


@pytest.fixture(scope="module")
def studied(graph, request_) -> Sensitivity:
    return study(graph, request_, make_plan(graph, request_))


def variation(studied: Sensitivity, text: str) -> Variation:
    return next(v for v in studied.variations if v.change.startswith(text))


def small_cnn() -> Graph:
    rng = np.random.default_rng(1)
    kind, wide = FixedType(5, 1), FixedType(16, 8)
    relu = FixedType(6, 2, False)
    nodes = (
        Input(name="x", label="x", inputs=(), shape=(6, 6, 1), type=FixedType(6, 2)),
        Conv(
            name="c",
            label="c",
            inputs=("x",),
            shape=(4, 4, 4),
            type=wide,
            window=Window(6, 6, 1, (3, 3), (1, 1), (0, 0, 0, 0)),
            weights=rng.integers(kind.lo, kind.hi + 1, (3, 3, 1, 4)),
            bias=np.zeros(4, dtype=np.int64),
            weight_type=kind,
            bias_type=kind,
            accumulator=wide,
        ),
        Relu(name="r", label="r", inputs=("c",), shape=(4, 4, 4), type=relu),
        Reshape(name="f", label="f", inputs=("r",), shape=(64,), type=relu),
        Dense(
            name="d",
            label="d",
            inputs=("f",),
            shape=(5,),
            type=FixedType(20, 12),
            weights=rng.integers(kind.lo, kind.hi + 1, (64, 5)),
            bias=np.zeros(5, dtype=np.int64),
            weight_type=kind,
            bias_type=kind,
            accumulator=FixedType(20, 12),
        ),
    )
    return Graph(name="pictures", nodes=nodes, inputs=("x",), outputs=("d",), io_type="io_stream")


PLANS = {
    "unrolled": (dense_network(12, 10, 6), Request(part="xcvu9p", clock="200MHz")),
    "folded": (dense_network(24, 16, 10, bits=7), FOLDED),
    "streamed": (small_cnn(), Request(part="LFE5U-25F", clock="50MHz", budget="2us")),
}


@pytest.mark.parametrize("name", PLANS)
def test_what_is_rebuilt_without_a_change_is_the_plan(name):
    graph, request = PLANS[name]
    plan = make_plan(graph, request)
    assert name in {choice.engine for choice in plan.choices}
    rebuild = Rebuild.of(graph, request, plan)
    assert rebuild.figures() == figures_of(graph, plan)
    # every engine made anew comes out as the planner made it, or with fewer registers where segments may be longer
    same = replace(graph, nodes=tuple(replace(node) for node in graph.nodes))
    again = rebuild.figures(graph=same)
    assert again.lut == pytest.approx(figures_of(graph, plan).lut, rel=0.02)
    assert 0 <= figures_of(graph, plan).cycles - again.cycles <= 2
    assert again.verdict is plan.verdict


def test_the_planner_folds_here_so_that_there_is_something_to_vary(studied):
    assert {v.what for v in studied.variations} >= {
        "weight_bits",
        "activation_bits",
        "reuse",
        "store",
        "clock",
        "budget",
    }
    assert studied.fresh == studied.base
    assert not studied.notes


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("d0 weights 7 → 8", lambda g: with_weight_bits(g, "d0", +1)),
        ("d1 weights 7 → 6", lambda g: with_weight_bits(g, "d1", -1)),
        ("r0 results 7 → 8", lambda g: with_activation_bits(g, "r0", +1)),
        ("x results 7 → 6", lambda g: with_activation_bits(g, "x", -1)),
    ],
)
def test_bits_are_planned_and_not_guessed(studied, graph, request_, text, change):
    changed = change(graph)
    figures = figures_of(changed, make_plan(changed, request_))
    assert variation(studied, text).replanned == Outcome(figures, delta(figures, studied.base))


def test_reuse_clock_store_and_budget_are_planned_and_not_guessed(studied, graph, request_):
    def planned(graph: Graph, request: Request) -> Figures:
        return figures_of(graph, make_plan(graph, request))

    period_ns = studied.base.period_ns
    faster = next(v for v in studied.variations if v.what == "clock")
    new = float(f"{period_ns * 0.8:.6g}")
    assert faster.replanned.figures == planned(graph, replace(request_, clock=f"{new}ns"))
    reuse = next(v for v in studied.variations if v.what == "reuse")
    factor = int(reuse.change.rpartition(" ")[2])
    asked = replace(graph, asked=(Asked(graph.node(reuse.where).label, factor, "resource"),))
    assert reuse.replanned.figures == planned(asked, request_)
    store = next(v for v in studied.variations if v.what == "store")
    kind = {"flip-flops": "registers", "LUT memory": "lutrom", "block RAM": "bram"}[store.change.split(" in ")[1]]
    assert store.replanned.figures == planned(graph, replace(request_, pins={store.where: Pin(store=kind)}))
    tighter = next(v for v in studied.variations if v.what == "budget")
    budget = f"{float(f'{studied.base.total_ns * 0.9:.6g}')}ns"
    assert replace(tighter.replanned.figures, verdict=Verdict.MET) == replace(
        planned(graph, replace(request_, budget=budget)), verdict=Verdict.MET
    )


def test_a_clock_of_what_is_built_changes_nanoseconds_only(studied):
    for v in (v for v in studied.variations if v.what == "clock"):
        figures = v.as_built.figures
        assert (figures.cycles, figures.lut, figures.ff) == (
            studied.base.cycles,
            studied.base.lut,
            studied.base.ff,
        )
        assert v.as_built.delta.ns == pytest.approx((figures.period_ns - studied.base.period_ns) * figures.cycles)


def test_another_reuse_factor_of_what_is_built_has_the_cycles_of_its_timeline(graph, request_):
    plan = make_plan(graph, request_)
    rebuild = Rebuild.of(graph, request_, plan)
    k, choice = next((k, c) for k, c in enumerate(plan.choices) if isinstance(c, Folded) and c.p > 1)
    swap = replace(choice, p=-(-choice.p // 2), finish=max(choice.finish, 1))
    figures = rebuild.figures(swaps={k: swap})
    assert figures.cycles >= timeline_of(graph, plan.choices, plan.traffic).latency
    assert figures.dsp < plan.resources.dsp or figures.lut < plan.resources.lut


def test_links_are_those_of_the_boundary_that_the_part_reaches(graph):
    request = Request(part="xcvu9p", clock="250MHz", link="ethernet10g")
    plan = make_plan(graph, request)
    found = study(dense_network(6, 4), replace(request, link="ethernet10g"), make_plan(dense_network(6, 4), request))
    names = {v.where for v in found.variations if v.what == "link"}
    assert names == {"ethernet1g", "ethernet10g_64b", "ethernet25g"}
    for v in (v for v in found.variations if v.what == "link" and v.where == "ethernet25g"):
        assert v.as_built.figures.cycles == found.base.cycles
        assert v.as_built.delta.lut == 0
        assert v.as_built.delta.ns != 0
    assert plan.boundary == "wire_to_wire"
    assert sum(share.ns for share in found.path) == pytest.approx(found.base.total_ns)
    assert sum(share.share for share in found.path) == pytest.approx(1.0)
    assert found.path[-1].kind == "link"


@pytest.mark.parametrize(
    ("part", "link", "offered"),
    [
        ("xcvu13p", "pcie_mmio", {"pcie_dma"}),
        ("u50", "pcie_mmio", {"pcie_dma"}),
        ("u280", "pcie_mmio", set()),
        ("zcu104", "pcie_mmio", {"axi_dma"}),
    ],
)
def test_no_link_is_proposed_that_nothing_says_is_there(part, link, offered):
    graph, request = dense_network(6, 4), Request(part=part, clock="100MHz", link=link)
    varied = Varied(graph, request, make_plan(graph, request), ())
    assert {change.where for change in varied._links()} == offered


def test_what_cannot_be_kept_says_why():
    graph, request = PLANS["folded"]
    plan = make_plan(graph, request)
    k, choice = next((k, c) for k, c in enumerate(plan.choices) if isinstance(c, Folded))
    wrong = replace(choice, p=choice.n_in, q=choice.n_out, order="output_serial", finish=0)
    with pytest.raises(CannotBuildError, match="cannot have"):
        Rebuild.of(graph, request, plan).figures(swaps={k: wrong})


def test_cones_that_follow_each_other_share_their_time_by_their_logic():
    graph, request = PLANS["unrolled"]
    plan = make_plan(graph, request)
    first, second = plan.runs
    cycles = timeline_of(graph, plan.choices).latency
    # all registers at the end, as a planner may place them
    late = (
        replace(first, choice=replace(first.choice, depth=0), delay_ns=3.0),
        replace(second, choice=replace(second.choice, depth=cycles), delay_ns=1.0),
    )
    path = path_of(graph, replace(plan, runs=late))
    assert [share.cycles for share in path] == [0, cycles]
    assert [share.share for share in path] == pytest.approx([0.75, 0.25])
    assert sum(share.ns for share in path) == pytest.approx(cycles * plan.clock.period_ns)


# ---- the sentence, on made-up figures ----

BASE = Figures(40, 5.0, 200.0, 1, 1000, 500, 4, 0, Verdict.MET)


def varied(text: str, *, retrain: bool = False, what="reuse", sense="replanned", **changes) -> Variation:
    outcome = found(replace(BASE, **changes), BASE)
    none = Outcome()
    built, anew = (outcome, none) if sense == "as_built" else (none, outcome)
    return Variation(what, "n", text, f"to {text}", retrain, built, anew)


def area(figures: Figures) -> float:
    return figures.lut + 100.0 * figures.dsp


def plan_of(**changes):
    graph, request = PLANS["unrolled"]
    return replace(make_plan(graph, request), **changes)


def said(plan, base, *variations) -> str:
    path = path_of(PLANS["unrolled"][0], plan)
    limiter = limiter_of(plan, base, path)
    cheapest, unchanged = (cheapest_of(plan, base, base, variations, area, retrain=r) for r in (True, False))
    return sentence_of(plan, limiter, variations, cheapest, unchanged).split("; ", 1)[1]


def test_the_cheapest_of_all_that_are_faster_wins_and_the_target_is_the_next_faster_total():
    text = said(
        plan_of(budget_ns=300.0),
        BASE,
        varied("A", total_ns=190.0, lut=1300),
        varied("B", total_ns=150.0, lut=1100, dsp=5),
        varied("slower", total_ns=250.0, lut=10),
        varied("no room", total_ns=10.0, lut=10, fits=False),
        varied("misses", total_ns=10.0, lut=10, verdict=Verdict.MISSED),
    )
    assert text == "the cheapest way to 190 ns is to B, planned anew: −50 ns for +100 LUT and +1 DSP."


def test_a_missed_budget_is_the_target():
    missed = replace(BASE, verdict=Verdict.MISSED)
    text = said(
        plan_of(budget_ns=180.0, verdict=Verdict.MISSED),
        missed,
        varied("A", total_ns=190.0, lut=900, verdict=Verdict.MISSED),
        varied("B", total_ns=150.0, lut=2000),
        varied("C", total_ns=160.0, lut=1500, sense="as_built", verdict=Verdict.MET_IF_CLOCK_CLOSES),
    )
    assert text == "the cheapest way to 180 ns is to C, all else kept: −40 ns for +500 LUT, if its clock closes."


def test_a_network_that_must_be_trained_again_has_an_alternative_beside_it():
    two = varied("take fewer bits", total_ns=190.0, lut=800, retrain=True), varied("A", total_ns=180.0, lut=1500)
    text = said(plan_of(budget_ns=300.0), BASE, *two)
    assert text == (
        "the cheapest way to 190 ns is to take fewer bits, planned anew: −10 ns for −200 LUT (the network must be "
        "trained again); the cheapest that leaves it as it is, is to A, planned anew: −20 ns for +500 LUT."
    )
    alone = said(plan_of(budget_ns=300.0), BASE, two[0])
    assert alone.endswith("; none that was computed leaves the network as it is.")


def test_a_tighter_budget_is_not_said_to_be_planned_anew():
    text = said(plan_of(budget_ns=300.0), BASE, varied("plan for a budget of 180 ns", what="budget", total_ns=180.0))
    assert text == "the cheapest way to 180 ns is to plan for a budget of 180 ns: −20 ns for no LUT more."


WORDS = {
    "clock": r"to ask for a clock of [\d.]+ instead of [\d.]+ MHz",
    "budget": r"to plan for a budget of [\d.]+ ns",
    "link": r"to take link \w+ instead of ethernet10g",
    "weight_bits": r"to give the weights of \w+ (1 bit|[02-9]\d* bits) instead of \d+",
    "activation_bits": r"to give the results of \w+ (1 bit|[02-9]\d* bits) instead of \d+",
    "reuse": r"to give \w+ a reuse factor of \d+ instead of \d+",
    "store": r"to keep the weights of \w+ in (flip-flops|LUT memory|block RAM) instead of (flip-flops|LUT memory|block "
    r"RAM)",
}
"""What a sentence says of each kind of variation."""


def test_each_kind_of_variation_is_something_to_do(studied):
    linked = Request(part="xcvu9p", clock="250MHz", link="ethernet10g")
    narrow = dense_network(6, 4, bits=2)
    changes = tuple(Varied(narrow, linked, make_plan(narrow, linked), ("layer 0",))._changes(studied.base))
    told = {(v.what, v.change, v.words) for v in studied.variations} | {(c.what, c.text, c.words) for c in changes}
    assert {what for what, *_ in told} == set(WORDS)
    for what, change, words in told:
        assert re.fullmatch(WORDS[what], words), words
        short = change.replace("→", "").split()
        assert {word for word in short if word[0].isdigit()} <= set(words.replace(",", "").split()), (change, words)
    assert any(" 1 bit instead of 2" in words for *_, words in told)
    for v in (v for v in studied.variations if v.what in {"clock", "reuse", "weight_bits"}):
        old, new = re.findall(r"[\d.]+", v.change.removeprefix(v.where))
        assert f"{new} {'bits ' if v.what == 'weight_bits' else ''}instead of {old}" in v.words


def test_where_nothing_helps_that_is_said():
    slow = varied("slower", total_ns=250.0, lut=10)
    assert said(plan_of(budget_ns=300.0), BASE, slow) == "none of the 1 variations computed here is faster."
    missed = plan_of(budget_ns=100.0, verdict=Verdict.MISSED)
    late = varied("late", total_ns=150.0, verdict=Verdict.MISSED)
    assert said(missed, replace(BASE, verdict=Verdict.MISSED), late).endswith("computed here meets what is asked.")


def test_a_faster_clock_that_may_not_close_is_no_way():
    hope = varied("clock", what="clock", total_ns=100.0, verdict=Verdict.MET_IF_CLOCK_CLOSES)
    base = replace(BASE, verdict=Verdict.MET_IF_CLOCK_CLOSES)
    assert "none of the" in said(plan_of(budget_ns=300.0), base, hope)


def test_the_limiter_is_a_missed_clock_or_rate_before_any_share():
    graph, request = PLANS["unrolled"]
    plan = make_plan(graph, request)
    base, path = figures_of(graph, plan), path_of(graph, plan)
    assert limiter_of(plan, base, path).kind == "engine"
    slow = replace(plan, clock=replace(plan.clock, range_ns=(9.0, 12.0)))
    assert limiter_of(slow, base, path).text == ("the clock: segments need 9 ns at the least, and the period is 5 ns")
    busy = limiter_of(replace(plan, rate_hz=2e8), replace(base, interval=7), path)
    assert busy.text == "the rate: an inference may follow every 7 cycles, and 1 are asked for"
    linked = replace(plan, link="ethernet10g", fixed_ns=(1.0, 900.0, 1.0))
    whole = path_of(graph, linked)
    limit = limiter_of(linked, replace(base, total_ns=base.total_ns + 900), whole)
    assert limit.kind == "link"
    assert limit.share == pytest.approx(900 / (base.total_ns + 900))


# ---- the roofline on the part ----


def test_the_roofline_counts_the_parts_multipliers_and_block_rams():
    graph = dense_network(16, 16, bits=8)
    part = find_part("xc7a35t")
    roof = on_chip(graph, part, 5.0, cycles=20, interval=1, fixed_ns=0.0)
    lut, _, dsp, bram, _ = part.available
    assert roof.multiplications == 256
    assert roof.weight_bits == 256 * 8
    assert roof.bits_per_cycle == 72 * bram
    assert roof.memory_ns == pytest.approx(2048 / (72 * bram) * 5.0)
    # an 8 by 8 multiplier in LUTs takes some 40 to 100 of them
    assert dsp + lut / 100 < roof.per_cycle < 2 * dsp + lut / 30
    assert roof.compute_ns == pytest.approx(256 / roof.per_cycle * 5.0)
    assert roof.busy == pytest.approx(256 / 20 / roof.per_cycle)
    slower = on_chip(graph, part, 10.0, cycles=20, interval=1, fixed_ns=0.0)
    assert slower.bound_ns == pytest.approx(2 * roof.bound_ns)


def test_wide_products_pass_the_dsp_blocks_by():
    narrow, wide = dense_network(8, 8, bits=8), dense_network(8, 8, bits=30)
    part = find_part("xc7a35t")
    rates = [on_chip(g, part, 5.0, cycles=9, interval=1, fixed_ns=0.0).per_cycle for g in (narrow, wide)]
    assert rates[1] < rates[0] / 4


def test_deltas_are_what_the_varied_design_has_more():
    assert delta(replace(BASE, cycles=38, total_ns=190.0, lut=1010, bram=2), BASE) == Delta(-2, -10.0, 0, 10, 0, 0, 2)
    assert isinstance(make_plan(*PLANS["unrolled"]).choices[0], Unrolled)
