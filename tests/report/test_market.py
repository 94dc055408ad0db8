"""One network on many parts: verdicts, their order, what is unknown, and the forms in which it is given."""

import csv
import io
import json
import pickle
import sys
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import pytest
from pydantic import TypeAdapter, ValidationError

from flow.device.boards import Price, boards
from flow.device.delays import delays_of
from flow.device.parts import find_part, parts
from flow.errors import MissingTool, UserError
from flow.graph.store import to_json
from flow.latency.budget import Origin
from flow.plan import many
from flow.plan.many import planned_by, plans_on
from flow.plan.planner import make_plan
from flow.plan.request import Request
from flow.plan.size import TooLarge
from flow.report.clock_reason import clock_reason
from flow.report.market import Standing, market_from_json, market_to_csv, market_to_json, ordered
from flow.report.market_picture import market_picture, picture_format
from flow.report.market_table import print_market
from flow.report.terminal import new_console
from flow.steps import compare as comparing
from flow.steps.compare import catalogue, compared
from tests.commands import tiny_graph
from tests.plan.graphs import dense_network

FEW = ("kv260", "u250", "xcvu13p", "v80", "kc705", "pynq-z1", "arty-a7-35")


@pytest.fixture(scope="module")
def market():
    """Return a tiny network on a few parts, behind a link that not all can have."""
    return compared(tiny_graph(), Request(budget="1us", rate="1MHz", link="ethernet10g"), catalogue(FEW))


def make_too_large(graph):
    """Return the error for a network on a part that cannot hold it."""
    with pytest.raises(TooLarge) as raised:
        make_plan(graph, Request(part="iCE40UP5K"))
    return raised.value


def by_name(market):
    return {offer.name: offer for offer in market.parts}


def test_no_part_and_no_board_is_dropped():
    items = catalogue()
    assert [i.part.name for i in items if i.board is None] == [p.name for p in parts()]
    assert [i.board.name for i in items if i.board is not None] == [b.name for b in boards()]


def test_a_part_named_twice_has_one_row():
    assert [item.name for item in catalogue(("u250", "U250", "alveo-u250", "xck26"))] == ["u250", "xck26-sfvc784-2LV-c"]
    with pytest.raises(UserError, match="unknown part 'u251'"):
        catalogue(("u250", "u251"))


def test_each_part_has_its_verdict(market):
    assert {name: offer.verdict.value for name, offer in by_name(market).items()} == {
        "kv260": "met",
        "u250": "met",
        "xcvu13p": "met",
        "arty-a7-35": "met",
        "v80": "unknown",
        "kc705": "unknown",
        "pynq-z1": "unreachable_link",
    }
    assert market.holds


def test_what_cannot_be_planned_has_a_reason_and_no_figures(market):
    rows = by_name(market)
    assert "Yosys has no synthesis for Versal" in rows["v80"].reason
    assert rows["kc705"].reason == "no delays are known for its speed grade 2; they are for 1"
    assert "ethernet10g needs multi-gigabit transceivers" in rows["pynq-z1"].reason
    for name in ("v80", "kc705", "pynq-z1"):
        row = rows[name]
        assert (row.latency, row.ii, row.utilization, row.clock) == (None, None, None, None)
    assert rows["v80"].price is not None
    assert rows["v80"].price.date == "August 2026"


def test_what_is_not_checked_is_said(market):
    rows = by_name(market)
    assert any("no open place and route for AMD" in what for what in rows["xcvu13p"].unchecked)
    assert any("dies are not timed" in what for what in rows["u250"].unchecked)
    assert any("beside the vendor's shell" in what for what in rows["u250"].unchecked)
    assert not any("shell" in what for what in rows["xcvu13p"].unchecked)
    assert any("whether the part has transceivers" in what for what in rows["arty-a7-35"].unchecked)
    assert any("nothing can be synthesized" in what for what in rows["v80"].unchecked)


def test_the_sum_and_its_range(market):
    for offer in market.parts:
        if offer.latency is None:
            continue
        latency, clock = offer.latency, offer.clock
        assert latency.core_ns == pytest.approx(latency.cycles * clock.period_ns)
        assert latency.total_ns == pytest.approx(latency.core_ns + latency.fixed_ns)
        assert latency.core_range_ns == pytest.approx(
            (
                latency.cycles * max(clock.range_ns[0], 1e3 / (clock.limit_mhz or 1e9)),
                latency.cycles * max(clock.period_ns, clock.range_ns[1]),
            )
        )
        assert latency.total_range_ns[0] <= latency.total_ns <= latency.total_range_ns[1]
        assert (latency.origin, latency.fixed_origin) == (Origin.PREDICTED, Origin.PUBLISHED)
        assert offer.ii.cycles <= offer.ii.required
        assert offer.ii.sustained_hz == pytest.approx(1e9 / (offer.ii.cycles * clock.period_ns))


def test_an_asked_clock_is_not_undercut_but_may_not_be_reached():
    request = Request(clock="1ns")
    (offer,) = compared(tiny_graph(), request, catalogue(("kv260",))).parts
    assert offer.clock.why == "asked"
    assert offer.latency.core_range_ns[0] == pytest.approx(offer.latency.cycles * 1.0)
    assert offer.latency.core_range_ns[1] > offer.latency.core_range_ns[0]
    assert "the period of 1 ns may not be reached" in offer.reason
    (given,) = compared(tiny_graph(), Request(link="custom:in_ns=5,boundary=core"), catalogue(("kv260",))).parts
    assert given.latency.fixed_origin is Origin.ASKED


def test_no_clock_is_faster_than_the_parts_clock_buffers():
    graph = dense_network(4, 3, bits=3)
    (offer,) = compared(graph, Request(clock="1.1ns"), catalogue(("xcvu13p",))).parts
    assert offer.verdict is Standing.MISSED
    assert "a clock of 909.1 MHz, where the part's clock buffers carry at most 775 MHz" in offer.reason
    assert offer.clock.limit_mhz == 775
    assert "DS922" in offer.clock.limit_source
    (free,) = compared(graph, Request(rate="500MHz"), catalogue(("xcvu13p",))).parts
    assert free.latency.core_range_ns[0] >= free.latency.cycles * 1e3 / 775 * (1 - 1e-9)


def test_a_network_that_does_not_fit_keeps_its_row_with_the_smallest_footprint():
    graph = dense_network(160, 160)
    (small,) = compared(graph, Request(), catalogue(("iCE40UP5K",))).parts
    assert small.verdict is Standing.DOES_NOT_FIT
    assert small.utilization.of == "smallest"
    assert small.utilization.fullest[1] > 1
    assert (small.latency, small.clock) == (None, None)


def test_a_refusal_for_another_reason_says_so(monkeypatch):
    def refuse(graph, request):
        raise UserError(f"the moon is full over {request.part}")

    monkeypatch.setattr(many, "make_plan", refuse)
    market = compared(tiny_graph(), Request(), catalogue(("kv260", "zcu104")))
    said = [(o.verdict, o.reason) for o in market.parts]
    assert said == [(Standing.UNKNOWN, f"the moon is full over {name}") for name in ("kv260", "zcu104")]
    assert not market.holds


# ---- one plan for parts that agree ----


@pytest.mark.parametrize(("one", "other"), [("xcvu37p", "xcvu47p"), ("xczu28dr", "xczu49dr"), ("xc7z020", "pynq-z2")])
def test_parts_with_one_key_have_one_plan(one, other):
    graph = dense_network(16, 8)
    assert planned_by(find_part(one)) == planned_by(find_part(other))
    plans = [make_plan(graph, Request(budget="1us", part=name)) for name in (one, other)]
    assert replace(plans[0], part="") == replace(plans[1], part="")


@pytest.mark.parametrize(
    ("one", "other"), [("xcvu13p", "u250"), ("xczu3eg", "ultra96"), ("xcvu9p", "xcvu13p"), ("LFE5U-25F", "LFE5U-45F")]
)
def test_parts_that_differ_in_counts_or_speed_do_not_share(one, other):
    assert planned_by(find_part(one)) != planned_by(find_part(other))


@pytest.mark.parametrize("processor", [None, True, False])
def test_a_processor_beside_the_fabric_changes_no_plan(processor):
    part = find_part("xczu3eg")
    assert part.processor is True
    assert planned_by(replace(part, processor=processor)) == planned_by(part)


def test_the_help_of_what_is_written_names_both_that_can_be(fpgaflow):
    shown = " ".join(fpgaflow("budget", "--help").out.split())
    for text in (
        "Write the comparison, or the front of --pareto, as CSV",
        "Draw the comparison, or the front of --pareto",
    ):
        assert text in shown


def test_nothing_is_planned_twice(monkeypatch):
    planned = []

    def counted(graph, request):
        planned.append(request.part)
        return make_plan(graph, request)

    monkeypatch.setattr(many, "make_plan", counted)
    market = compared(tiny_graph(), Request(), catalogue(("xc7z020", "pynq-z1", "pynq-z2", "red-pitaya")))
    assert planned == ["xc7z020clg400-1", "red-pitaya"]
    assert len(market.parts) == 4


def test_side_by_side_gives_what_in_turn_gives():
    names = ("xczu3eg", "xck26", "xcku060")
    graph, request, told = tiny_graph(), Request(budget="1us"), []
    alone = plans_on(graph, request, names, lambda *_: None)
    together = plans_on(graph, request, names, lambda *said: told.append(said), jobs=2)
    assert [done for _, done, total in told] == list(range(3))
    assert together.keys() == alone.keys()
    for name in names:
        assert together[name] == alone[name], name
        outcome = alone[name]
        assert not isinstance(outcome, UserError)
        assert outcome[0].part == find_part(name).device


def test_a_refusal_survives_the_way_between_processes():
    graph = dense_network(160, 160)
    refused = make_too_large(graph)
    again = pickle.loads(pickle.dumps(refused))
    assert (str(again), again.least) == (str(refused), refused.least)
    assert again.least is not None


# ---- order ----


def varied(market):
    """Return one offer of each verdict, by hand."""
    met, unknown = by_name(market)["kv260"], by_name(market)["v80"]
    return tuple(replace(met if k < 3 else unknown, verdict=v, board=v.value) for k, v in enumerate(Standing))


def test_the_best_verdict_comes_first(market):
    offers = varied(market)
    assert ordered(tuple(reversed(offers)), "latency") == offers
    assert [o.verdict.value for o in offers] == [
        "met",
        "met_if_clock_closes",
        "missed",
        "unknown",
        "does_not_fit",
        "unreachable_link",
    ]
    dear = replace(offers[0], price=Price(9e9, 9e9, "shop", "August 2026", "somewhere", "S"))
    assert ordered((offers[2], dear), "price")[0] is dear


def test_the_order_within_a_verdict(market):
    offer = by_name(market)["kv260"]
    late = replace(offer, board="late", latency=replace(offer.latency, total_ns=9e9), price=None)
    lut = replace(offer.utilization.lut, share=0.99)
    full = replace(offer, board="full", utilization=replace(offer.utilization, lut=lut))
    cheap = replace(full, board="cheap", price=Price(1, 2, "shop", "August 2026", "somewhere", "S"))
    rows = (late, cheap, offer)
    assert [o.name for o in ordered(rows, "latency")] == ["cheap", "kv260", "late"]
    assert [o.name for o in ordered(rows, "price")] == ["cheap", "kv260", "late"]
    assert [o.name for o in ordered((*rows, full), "area")] == ["kv260", "late", "cheap", "full"]
    assert [o.name for o in ordered((late, offer), "price")] == ["kv260", "late"]


# ---- a price has a date ----


@pytest.mark.parametrize("date", [None, "", "2026", "August", "Smarch 2026"])
def test_a_price_without_a_date_is_impossible(date, market):
    price = {"low": 1, "high": 2, "kind": "shop", "date": date, "source": "somewhere", "grade": "S"}
    if date is None:
        del price["date"]
    with pytest.raises(ValidationError, match="date"):
        TypeAdapter(Price).validate_python(price)
    data = json.loads(market_to_json(market))
    data["parts"][0]["price"] = price
    with pytest.raises(ValidationError, match="date"):
        market_from_json(json.dumps(data).encode())


# ---- forms ----


def test_json_is_read_back_as_it_was_and_has_the_documented_keys(market):
    data = market_to_json(market)
    assert market_from_json(data) == market
    row = json.loads(data)["parts"][0]
    assert {"part", "board", "verdict", "latency", "ii", "utilization", "clock", "price"} <= row.keys()
    assert {"core_ns", "fixed_ns", "total_ns", "boundary", "origin", "total_range_ns"} <= row["latency"].keys()
    assert {"period_ns", "range_ns", "origin", "why"} <= row["clock"].keys()


def test_csv_holds_commas_quotes_and_line_breaks(market):
    reason = 'a "quoted", split\nreason; =1+1'
    odd = replace(market, model="x,y", parts=(replace(market.parts[-1], reason=reason), *market.parts[:-1]))
    rows = list(csv.DictReader(io.StringIO(market_to_csv(odd), newline="")))
    assert len(rows) == len(market.parts)
    assert (rows[0]["reason"], rows[0]["model"], rows[0]["total_ns"]) == (reason, "x,y", "")
    first = market.parts[0]
    assert float(rows[1]["total_ns"]) == first.latency.total_ns
    assert (rows[1]["verdict"], rows[1]["period_why"]) == (first.verdict.value, first.clock.why)
    assert all(bool(row["price_low_usd"]) == bool(row["price_date"]) for row in rows)


def test_the_table_names_every_row_and_every_reason(market):
    console = new_console()
    console.width = 100
    with console.capture() as captured:
        print_market(market, console)
    text = captured.get()
    assert all(offer.name in text for offer in market.parts)
    flat = " ".join(text.split())
    for words in ("4 met, 2 unknown, 1 link unreachable", "Yosys has no synthesis for Versal", "August 2026", "249"):
        assert words in flat
    assert "…" not in text


def test_the_picture_shows_latencies_and_budget_and_is_reproducible(market):
    pytest.importorskip("matplotlib", reason="pictures need the docs extra")
    svg = market_picture(market, "svg")
    assert svg == market_picture(market, "svg")
    text = svg.decode()
    assert all(word in text for word in ("kv260", "u250", "budget", "not drawn: 2 unknown, 1 not reached"))
    assert "v80" not in text
    assert market_picture(market, "png").startswith(b"\x89PNG")
    with pytest.raises(UserError, match="no part of the comparison has a latency"):
        market_picture(replace(market, parts=(by_name(market)["v80"],)), "svg")


@pytest.mark.parametrize(
    ("budget_ns", "shown"), [(1e3, ("200 ns", "400 ns", "600 ns", "800 ns")), (2e4, ("1 µs", "10 µs"))]
)
def test_the_picture_has_marks_to_read_latencies_by(market, budget_ns, shown):
    pytest.importorskip("matplotlib", reason="pictures need the docs extra")
    svg = market_picture(replace(market, budget_ns=budget_ns), "svg").decode()
    assert all(f">{text}</text>" in svg for text in shown)


def test_without_matplotlib_the_extra_is_named(market, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingTool, match=r"fpgaflow\[docs\]"):
        market_picture(market, "svg")
    with pytest.raises(UserError, match=r"ends in \.svg or \.png"):
        picture_format(tmp_path / "picture.pdf")


def test_why_the_clock_is_no_faster():
    graph = dense_network(32, 32)
    plan = make_plan(graph, Request(budget="10us", part="xcvu13p"))
    said = clock_reason(graph, plan, delays_of(find_part("xcvu13p")))
    assert said.startswith("the longest segment between two registers, ")
    assert "folded engine" in said
    assert "× 1.49 is the slow end" in said
    slow = make_plan(graph, Request(clock="50ns", part="xcvu13p"))
    assert clock_reason(graph, slow, delays_of(find_part("xcvu13p"))) == "asked"


# ---- the command ----


def test_the_command_agrees_with_the_budget_of_one_part(fpgaflow, tmp_path):
    (tmp_path / "net.json").write_bytes(to_json(tiny_graph()))
    asked = ("budget", "net.json", "--budget", "1us", "--link", "ethernet10g")
    one = json.loads(fpgaflow(*asked, "--part", "kv260", "--json").out)
    done = fpgaflow(*asked, "--parts", "kv260,pynq-z1", "--json", "--csv", "out.csv")
    assert done.status == 0
    row, other = json.loads(done.out)["parts"]
    assert (row["board"], row["verdict"]) == ("kv260", one["verdict"])
    assert row["latency"]["total_ns"] == pytest.approx(one["latency"]["total_ns"])
    assert row["latency"]["fixed_range_ns"] == one["latency"]["fixed_range_ns"]
    assert row["clock"]["range_ns"] == one["clock"]["range_ns"]
    assert row["utilization"]["lut"]["used"] == one["resources"]["predicted"]["lut"]
    assert other["verdict"] == "unreachable_link"
    assert (tmp_path / "out.csv").read_text().count("\n") == 3


def test_the_command_ends_with_3_where_no_part_meets(fpgaflow, tmp_path):
    (tmp_path / "net.json").write_bytes(to_json(tiny_graph()))
    done = fpgaflow("budget", "net.json", "--budget", "0.1ns", "--parts", "kv260,v80", "--csv", "-")
    assert done.status == 3
    assert [row["verdict"] for row in csv.DictReader(io.StringIO(done.out))] == ["missed", "unknown"]


def test_a_small_catalogue_is_compared_as_a_whole(fpgaflow, tmp_path, monkeypatch):
    few = [p for p in parts() if p.name in {"xck26", "XCV80"}]
    monkeypatch.setattr(comparing, "parts", lambda: few)
    monkeypatch.setattr(comparing, "boards", lambda: [b for b in boards() if b.name == "kv260"])
    (tmp_path / "net.json").write_bytes(to_json(tiny_graph()))
    done = fpgaflow("budget", "net.json", "--all-parts", "--json", "--sort", "price")
    assert [(r["board"] or r["part"], r["verdict"]) for r in json.loads(done.out)["parts"]] == [
        ("kv260", "met"),
        ("xck26", "met"),
        ("XCV80", "unknown"),
    ]


def test_a_request_may_name_the_parts(fpgaflow, tmp_path):
    (tmp_path / "net.json").write_bytes(to_json(tiny_graph()))
    (tmp_path / "request.toml").write_text('model = "net.json"\nbudget = "1us"\nparts = ["kv260", "v80"]\n')
    assert [r["board"] for r in json.loads(fpgaflow("budget", ".", "--json").out)["parts"]] == ["kv260", "v80"]
    assert json.loads(fpgaflow("budget", ".", "--part", "u250", "--json").out)["part"].startswith("xcu250")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--part", "u250", "--all-parts"), ("--part means one part",)),
        (("--parts", "u250", "--all-parts"), ("give one of them",)),
        (("--parts", " , "), ("--parts names no part",)),
        (("--parts", "u251"), ("unknown part 'u251'", "u250")),
        (("--sort", "price"), ("--sort belongs to a comparison: give --all-parts or --parts a,b",)),
        (("--csv", "x.pdf"), ("--csv belongs to a comparison or a front", "--parts a,b or --pareto")),
        (("--picture", "x.pdf"), ("--picture belongs to a comparison or a front", "--parts a,b or --pareto")),
        (("--csv", "-", "--json", "--parts", "u250"), ("--csv - and --json",)),
        (("--picture", "x.pdf", "--parts", "u250"), ("x.pdf", ".svg or .png")),
    ],
)
def test_what_does_not_go_together_is_refused(fpgaflow, tmp_path, words, names):
    (tmp_path / "net.json").write_bytes(to_json(tiny_graph()))
    fpgaflow.refused("budget", "net.json", *words, names=names)
    assert not (tmp_path / "x.pdf").exists()


def test_a_contract_that_a_part_cannot_keep_is_missed_there_and_nowhere_unknown():
    found = by_name(compared(tiny_graph(), Request(clock="1GHz", latency_exact=1), catalogue(("xcvu13p", "v80"))))
    kept_not = next(offer for offer in found.values() if offer.part == "xcvu13p")
    assert kept_not.verdict is Standing.MISSED
    assert "exactly 1 cycle cannot be had" in kept_not.reason
    assert kept_not.latency is None
    assert found["v80"].verdict is Standing.UNKNOWN


@pytest.mark.parametrize("names", [("xcvu13p",), ("xcvu13p", "LFE5U-25F", "v80")])
def test_a_mistake_in_the_request_is_no_property_of_a_part(names):
    with pytest.raises(UserError, match="latency_exact counts the cycles of a clock that is asked for"):
        compared(tiny_graph(), Request(latency_exact=5), catalogue(names))


def test_a_process_that_is_killed_is_no_crash(monkeypatch):
    def killed(*_args, **_more):
        raise BrokenProcessPool

    monkeypatch.setattr(comparing, "plans_on", killed)
    with pytest.raises(UserError, match="one of 2 processes that planned was ended from outside"):
        compared(tiny_graph(), Request(), catalogue(FEW), jobs=2)
