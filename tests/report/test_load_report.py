"""The load in the report: computed from the plan's exact cycles, said with what it leaves unknown."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from rich.console import Console

from flow.device.links import find_link
from flow.errors import UserError
from flow.latency.budget import Origin
from flow.plan.planner import make_plan
from flow.plan.request import Request, load_request
from flow.report.load import LoadReport, frame_notes, load_report, payload_notes, render_load
from flow.report.load_picture import load_picture
from tests.commands import save, tiny_graph
from tests.plan.graphs import dense_network

GRAPH = tiny_graph()  # 3 bytes in, 3 bytes out


def loaded(cycles: int = 10, interval: int = 4, **asked: object) -> LoadReport:
    request = Request(**{"clock": "200MHz", **asked})
    plan = make_plan(GRAPH, request)
    found = load_report(request, GRAPH, plan, cycles=cycles, interval=interval, origin=Origin.PREDICTED)
    assert found is not None
    return found


def shown(load: LoadReport) -> str:
    console = Console(file=io.StringIO(), width=140, markup=False, emoji=False, highlight=False)
    console.print(render_load(load))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_without_arrivals_there_is_no_load():
    plan = make_plan(GRAPH, Request())
    for request in (None, Request()):
        assert load_report(request, GRAPH, plan, cycles=1, interval=1, origin=Origin.PREDICTED) is None


def test_a_burst_waits_for_the_interval_and_the_whole_path_has_it():
    # II 4 at 5 ns, 5 ns apart: the k-th of 64 waits 15 k ns; then 10 cycles
    load = loaded(arrivals="burst:64@5ns", budget="100ns")
    rows = {row.name: row for row in load.percentiles}
    assert (rows["p50"].waiting_ns, rows["p50"].total_ns) == (31 * 15, 31 * 15 + 50)
    assert (rows["max"].waiting_ns, rows["max"].total_ns, rows["max"].range_ns) == (945, 995, (995, 995))
    assert rows["p99"].total_ns == rows["p99.9"].total_ns == 995
    assert (load.count, load.served, load.dropped, load.depth_max) == (64, 64, 0, 48)
    assert load.mean_waiting_ns == pytest.approx({"sending": 0, "capture": 0, "queueing": 31.5 * 15, "leaving": 0})
    assert load.within_budget == 4 / 64  # 0, 15, 30, 45 ns of wait
    assert load.utilization["core"] == pytest.approx(4)
    assert load.stable is None
    assert "the queue empties after" in shown(load)
    assert "p99.9" in shown(load)


def test_a_buffer_that_drops_is_counted_against_the_budget():
    load = loaded(arrivals="burst:64@5ns", budget="100ns", buffer=2, overrun="drop_new")
    assert load.dropped > 40
    assert load.served + load.dropped == 64
    assert load.within_budget == load.served / 64
    assert load.depth_max == 2
    assert "what finds it full is lost" in shown(load)


@pytest.mark.parametrize(
    ("arrivals", "stable"),
    [
        ("poisson:40MHz", True),
        ("poisson:50MHz", False),  # exactly the rate of II 4 at 5 ns: chance makes it grow
        ("periodic:50MHz", True),  # and order does not
        ("periodic:50.1MHz", False),
        ("burst:4@5ns/80ns", True),
        ("burst:4@5ns/79ns", False),
    ],
)
def test_a_queue_that_grows_without_end_has_no_percentiles(arrivals, stable):
    load = loaded(arrivals=arrivals)
    assert load.stable is stable
    assert bool(load.percentiles) is stable
    assert ("grows without end" in shown(load)) is not stable
    dropping = loaded(arrivals=arrivals, buffer=3, overrun="drop_old")
    assert dropping.stable is True
    assert dropping.percentiles


def test_a_wire_that_is_too_slow_is_what_grows():
    # one byte in at 1 Mbaud: 10 us
    load = loaded(arrivals="poisson:200kHz", link="uart:1Mbaud", payload_in="1B", payload_out="1B")
    assert load.stable is False
    assert load.utilization["wire_in"] == pytest.approx(2)
    assert load.utilization["core"] == pytest.approx(0.002)
    assert "faster than the link inward" in shown(load)


def test_results_that_leave_slowly_wait_before_the_link_outward():
    load = loaded(arrivals="burst:10@100us", link="uart:1Mbaud", payload_in="1B", payload_out="30B")
    assert load.mean_waiting_ns["leaving"] == pytest.approx(4.5 * 200_000)
    assert load.payload_bytes == (1, 30)


def test_percentiles_of_a_link_that_varies_are_bounded_not_added():
    load = loaded(arrivals="poisson:1MHz", link="pcie_mmio")
    rows = {row.name: row for row in load.percentiles}
    least, most = 50.0, 50.0 + rows["max"].waiting_ns
    low, high = rows["p99"].range_ns
    assert low is not None
    assert high is not None
    assert 910 + least <= low < low + 5
    assert high == pytest.approx(910 + most)
    assert rows["p99"].total_ns == pytest.approx(890 + 50 + rows["p99"].waiting_ns)
    assert rows["p50"].range_ns[0] is None
    assert rows["p99.9"].range_ns[1] is None
    assert "is not known: taken as any number" in shown(load)
    unknown = loaded(arrivals="poisson:1MHz", link="ethernet10g")
    assert all(row.range_ns == (None, None) for row in unknown.percentiles)
    assert "is not published" in shown(unknown)


def test_payloads_of_the_messages_replace_the_packed_tensors():
    plain, asked = (
        Request(link="ethernet10g+udp"),
        Request(link="ethernet10g+udp", payload_in="256B", payload_out="32B"),
    )
    before, after = make_plan(GRAPH, plain), make_plan(GRAPH, asked)
    assert after.fixed_ns[1] - before.fixed_ns[1] == pytest.approx((256 - 3 + 32 - 3) * 0.8)
    assert payload_notes(plain, GRAPH) == ()
    assert "256 bytes in and 32 bytes out, as asked" in payload_notes(asked, GRAPH)[0]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"arrivals": "poisson:fast"}, "rate of the arrivals 'fast'"),
        ({"buffer": -1}, "write 0 to"),
        ({"output_buffer": 0}, "write 1 to"),
        ({"buffer": 0, "overrun": "drop_old"}, "needs a buffer of at least 1"),
        ({"overrun": "drop_new"}, "say its depth"),
        ({"payload_in": "256"}, "has no unit"),
        ({"payload_in": "0.5B"}, "not a whole number of bytes"),
        ({"payload_out": "2000000kB"}, "not a whole number of bytes"),
    ],
)
def test_a_request_that_means_nothing_is_refused(asked, complaint):
    with pytest.raises(UserError, match=complaint):
        Request(**asked)


def test_a_request_file_takes_them_and_names_a_wrong_policy(tmp_path):
    path = tmp_path / "request.toml"
    path.write_text('arrivals = "burst:8@67.2ns"\nbuffer = 4\noverrun = "drop_old"\npayload_in = "256B"\n')
    assert load_request(path).overrun == "drop_old"
    path.write_text('overrun = "block"\n')
    with pytest.raises(UserError, match="overrun"):
        load_request(path)


def test_the_picture_is_well_formed_and_the_same_each_time():
    load = loaded(arrivals="poisson:40MHz")
    picture = load_picture(load)
    assert ET.fromstring(picture).tag.endswith("svg")
    assert picture == load_picture(loaded(arrivals="poisson:40MHz"))
    assert "p99.9" in picture
    assert load_picture(None) == load_picture(loaded(arrivals="poisson:60MHz")) == ""
    for arrivals in ("burst:2@5ns", "burst:64@19.9ns", "periodic:49.99MHz"):
        assert ET.fromstring(load_picture(loaded(arrivals=arrivals))).tag.endswith("svg")
    assert load_picture(loaded(arrivals="burst:64@20ns")) == ""  # all take as long
    hostile = replace(load, arrivals="3 arrivals of <script>&")
    assert "&lt;script&gt;&amp;" in load_picture(hostile)


def test_the_curve_falls_to_nothing():
    load = loaded(arrivals="poisson:40MHz")
    times, shares = zip(*load.curve, strict=True)
    assert list(times) == sorted(times)
    assert list(shares) == sorted(shares, reverse=True)
    assert (shares[0], shares[-1]) == (1.0, 0.0)
    assert times[-1] == load.percentiles[-1].total_ns


def test_the_command_shows_the_load_and_keeps_the_hardware(fpgaflow, tmp_path):
    save(dense_network(4, 3), tmp_path / "net.json")
    assert fpgaflow("build", "net.json", "--clock", "200MHz").status == 0
    (tmp_path / "t.csv").write_text("time_ns\n0\n3\n5\n")
    done = fpgaflow("report", "net.json", "--clock", "200MHz", "--arrivals", "t.csv", "--json")
    found = json.loads(done.out)
    assert found["load"]["count"] == 3
    assert found["load"]["arrivals"] == "3 arrivals of t.csv"
    # the load is no part of what the hardware hangs on
    assert not any("built for another" in note for note in found["notes"])
    folder = tmp_path / "hls_projects" / "net"
    assert "<svg" in (folder / "report.html").read_text()
    done = fpgaflow("budget", "net.json", "--arrivals", "burst:8@67.2ns", "--buffer", "2", "--overrun", "drop_old")
    assert "Under load: one burst of 8" in done.out


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--arrivals", "none.csv"), ("none.csv", "no such file")),
        (("--arrivals", "poisson:1"), ("has no unit",)),
        (("--overrun", "drop_new"), ("say its depth",)),
        (("--payload-in", "9"), ("payload_in", "has no unit")),
    ],
)
def test_a_mistake_is_said_before_any_work(fpgaflow, tmp_path, words, names):
    save(GRAPH, tmp_path / "tiny.json")
    fpgaflow.refused("run", "tiny.json", *words, names=names)
    assert not (tmp_path / "hls_projects" / "tiny" / "rtl").exists()


def test_a_file_that_a_request_names_lies_beside_it(fpgaflow, tmp_path):
    folder = tmp_path / "net"
    save(GRAPH, folder / "model.json")
    (folder / "request.toml").write_text('model = "model.json"\narrivals = "t.npy,unit=ns"\n')
    np.save(folder / "t.npy", np.array([0, 100, 200]))
    found = json.loads(fpgaflow("budget", "net", "--json").out)
    assert found["load"]["arrivals"] == "3 arrivals of t.npy"


def test_simulated_figures_are_said_to_be():
    request = Request(arrivals="burst:2@1us", clock="200MHz")
    plan = make_plan(GRAPH, request)
    load = load_report(request, GRAPH, plan, cycles=3, interval=1, origin=Origin.SIMULATED)
    assert load is not None
    assert load.origin == "simulated"
    assert "simulated: initiation interval 1 cycle." in shown(load)
    assert replace(load, percentiles=()).percentiles == ()


@pytest.mark.parametrize(
    ("link", "payload_in", "said"),
    [
        ("ethernet10g", "1500B", []),
        ("ethernet10g", "1501B", ["1,501 bytes in are counted as one frame of link ethernet10g, which carries 1,500"]),
        ("ethernet25g+udp", "1472B", []),
        ("ethernet25g+udp", "1473B", ["link ethernet25g+udp, which carries 1,472"]),
        ("pcie_dma", "9000B", []),
        ("spi:10MHz", "9000B", []),
    ],
)
def test_a_message_beyond_one_frame_is_told(link, payload_in, said):
    notes = frame_notes(Request(link=link, payload_in=payload_in), GRAPH, find_link(link))
    assert len(notes) == len(said)
    assert all(text in note for text, note in zip(said, notes, strict=True))
