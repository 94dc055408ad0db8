"""What may be used of a part, and what is to be least."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from flow.device.parts import find_part
from flow.errors import UserError
from flow.latency.budget import Verdict
from flow.plan.footprint import KINDS
from flow.plan.limits import limit_of, limits_of, written
from flow.plan.plan import timeline_of
from flow.plan.planner import make_plan
from flow.plan.request import Request, load_request
from flow.plan.size import TooLarge
from tests.plan.graphs import dense_network

PART = "xc7a100t"  # 63,400 LUT, 240 DSP
NETWORK = dense_network(16, 32, 32, 5)


def cycles(plan) -> int:
    return timeline_of(NETWORK, plan.choices, plan.traffic).latency


@pytest.mark.parametrize(
    ("text", "limit"),
    [(0, 0), ("12", 12), ("30%", Fraction(3, 10)), (" 12.5 % ", Fraction(1, 8)), ("100%", Fraction(1))],
)
def test_a_limit_is_a_count_or_a_share(text, limit):
    assert limit_of("lut", text) == limit


@pytest.mark.parametrize("text", [-1, 1.5, True, "", "-3", "101%", "%", "1e3", "30 percent", "1" * 13, None])
def test_what_is_neither_is_refused(text):
    with pytest.raises(UserError, match=r"limits\.lut = .* neither a count nor a share"):
        limit_of("lut", text)


def test_an_unknown_resource_is_refused_with_the_nearest():
    with pytest.raises(UserError, match=r"limits\.luts: .*lut"):
        limits_of({"luts": 3})


def test_options_are_written_as_a_request_has_them():
    assert written(("lut=30%", " DSP = 0")) == {"lut": "30%", "dsp": "0"}
    with pytest.raises(UserError, match="'lut' has no '='"):
        written(("lut",))
    with pytest.raises(UserError, match="'LUT=5': lut has a limit already, lut=30%"):
        written(("lut=30%", "dsp=0", "LUT=5"))


def test_a_part_keeps_what_is_less_of_limit_and_usable():
    part = find_part(PART)
    limited = part.limited({"lut": Fraction(1, 10), "dsp": 0, "ff": 1 << 30})
    assert limited.usable_lut == part.lut // 10
    assert limited.usable_dsp == 0
    assert limited.usable_ff == part.usable_ff
    assert limited.usable_bram == part.usable_bram
    assert part.limited({}) == part


@pytest.mark.parametrize("kind", KINDS)
def test_every_resource_may_be_limited_by_a_count_or_a_share_rounded_down(kind):
    part = find_part(PART)
    counts, shares = part.limited({kind: 7}), part.limited({kind: Fraction(1, 7)})
    assert getattr(part, kind) % 7 > 0
    for other in KINDS:
        usual = getattr(part, f"usable_{other}")
        assert getattr(counts, f"usable_{other}") == (7 if other == kind else usual)
        assert getattr(shares, f"usable_{other}") == (getattr(part, kind) // 7 if other == kind else usual)


def test_a_part_with_unknown_counts_may_be_limited_in_what_is_known():
    part = find_part("5CSEBA6")
    assert part.lut is None
    limited = part.limited({"lut": Fraction(1, 2), "dsp": Fraction(1, 2), "bram": 3})
    assert (limited.usable_lut, limited.usable_dsp, limited.usable_bram) == (0, part.dsp // 2, 3)


def test_a_share_is_one_of_what_a_shell_leaves():
    part = find_part("u200")
    assert part.limited({"lut": Fraction(1, 10)}).usable_lut == part.shell.lut // 10 < part.lut // 10


def test_dies_together_hold_no_more_than_the_part():
    part = replace(find_part("xcvu9p"), lut=1000)  # 700 of them usable, 233 on a die
    assert part.on_dies("lut") == (233,) * 3
    small = find_part("u200").limited({"lut": 100_000})
    assert small.on_dies("lut") == (100_000,) * 3


def test_a_limit_on_several_dies_is_one_on_all_of_them():
    part = find_part("xcvu9p")
    limited = part.limited({"lut": 1000})
    assert limited.on_dies("lut") == (1000,) * 3
    assert part.limited({"lut": Fraction(99, 100)}).on_dies("lut") == part.on_dies("lut")


def test_plans_keep_within_limits():
    free = make_plan(NETWORK, Request(part=PART, clock="100MHz", budget="2us"))
    assert (free.resources.dsp, free.resources.bram) == (0, 0)
    tight = make_plan(NETWORK, Request(part=PART, clock="100MHz", budget="2us", limits={"lut": 2000}))
    assert tight.verdict is not Verdict.MISSED
    assert tight.resources.lut <= 2000 < free.resources.lut
    assert tight.resources.dsp > 0
    none = make_plan(NETWORK, Request(part=PART, clock="100MHz", limits={"lut": 2300, "dsp": 0, "bram": 0}))
    assert none.resources.lut <= 2300
    assert (none.resources.dsp, none.resources.bram) == (0, 0)


def test_the_least_latency_within_a_limit_lies_between_the_least_of_all_and_the_least_area():
    asked = {"part": PART, "clock": "100MHz"}
    fastest = make_plan(NETWORK, Request(**asked))
    half = make_plan(NETWORK, Request(**asked, limits={"lut": fastest.resources.lut // 2, "dsp": 0}))
    smallest = make_plan(NETWORK, Request(**asked, objective="area"))
    assert cycles(fastest) < cycles(half) < cycles(smallest)
    assert half.resources.lut <= fastest.resources.lut // 2
    assert half.proof is not None
    assert (half.proof.objective, half.proof.gap) == ("cycles", 0.0)
    assert smallest.proof is not None
    assert (smallest.proof.objective, smallest.proof.gap) == ("area", 0.0)


def test_the_least_latency_is_found_within_a_budget_and_a_rate_too():
    asked = {"part": PART, "clock": "100MHz", "budget": "1us", "rate": "2MHz", "limits": {"lut": "8%"}}
    frugal, fast = (make_plan(NETWORK, Request(**asked, objective=which)) for which in ("area", "latency"))
    assert cycles(fast) < cycles(frugal)
    assert timeline_of(NETWORK, fast.choices, fast.traffic).interval <= 50
    default = make_plan(NETWORK, Request(**asked))
    assert default.choices == frugal.choices


def test_a_limit_that_nothing_keeps_is_told_with_what_is_needed():
    with pytest.raises(TooLarge, match=r"LUT \(10 may be used\).*; without limits \(lut, dsp\) it would fit$"):
        make_plan(NETWORK, Request(part=PART, limits={"lut": 10, "dsp": 0}))


def test_a_request_file_has_both(tmp_path):
    path = tmp_path / "request.toml"
    path.write_text('objective = "latency"\nlimits = { lut = "30%", dsp = 0 }\n')
    request = load_request(path)
    assert (request.objective, request.most) == ("latency", {"lut": Fraction(3, 10), "dsp": 0})
    path.write_text('objective = "speed"\n')
    with pytest.raises(UserError, match="objective"):
        load_request(path)
    path.write_text("limits = { lut = 1.5 }\n")
    with pytest.raises(UserError, match="limits"):
        load_request(path)
