import math

import pytest
from pydantic import ValidationError

from flow.device.links import Base, Range, Way, check_reach, find_link, has_link, links
from flow.device.parts import find_part, parts
from flow.errors import UserError
from flow.report.catalogue import print_links
from flow.report.terminal import new_console


def ns(name, in_bytes, out_bytes):
    span = find_link(name).fixed_ns(in_bytes, out_bytes)
    return pytest.approx((span.min, span.typical, span.max))


def test_the_catalogue():
    assert {link.name: link.boundaries[0] for link in links()} == {
        "direct": "core",
        "ethernet10g": "wire_to_wire",
        "ethernet1g": "wire_to_wire",
        "ethernet10g_64b": "wire_to_wire",
        "ethernet10g_intel_mac": "wire_to_wire",
        "ethernet25g": "wire_to_wire",
        "gtf": "wire_to_wire",
        "exanic": "wire_to_wire",
        "pcie_mmio": "host_to_host",
        "pcie_dma": "host_to_host",
        "pcie_gen3_2014": "host_to_host",
        "xrt_mmio": "host_to_host",
        "xrt_sync": "host_to_host",
        "axi_dma": "host_to_host",
    }


@pytest.mark.parametrize("link", links(), ids=lambda link: link.name)
def test_every_figure_has_source_grade_and_conditions(link):
    assert link.ways
    for way in link.ways:
        assert way.source
        assert way.conditions
        assert way.grade in {"V", "R", "S", "D", "assumed"}
    assert not link.given


def test_direct_adds_nothing():
    assert ns("direct", 1000, 1000) == (0, 0, 0)


def test_ethernet_counts_serialization_once():
    # receive 25.6 + (22 + 32) B x 0.8, transmit 28.8 + (22 + 20) B x 0.8, transceivers 100
    by_hand = 25.6 + 54 * 0.8 + 28.8 + 42 * 0.8 + 100
    assert by_hand == pytest.approx(231.2)
    assert ns("ethernet10g", 32, 20) == (by_hand, by_hand, by_hand)
    by_hand = 50.8 + 54 * 0.32 + 29.6 + 42 * 0.32
    assert ns("ethernet25g", 32, 20) == (by_hand, by_hand + 100, by_hand + 100)


@pytest.mark.parametrize(
    ("name", "span"),
    [
        ("ethernet1g", (189 + 177 + 96 * 8, 196 + 177 + 96 * 8, 196 + 209 + 96 * 8)),
        ("ethernet10g_64b", (67.2 + 121.6 + 100 + 96 * 0.8,) * 3),
        ("ethernet10g_intel_mac", (25.6 + 41.6 + 96 * 0.8,) * 3),
        ("gtf", (0, 6, 6)),
        ("exanic", (0, 170, 170)),
        ("pcie_gen3_2014", (850,) * 3),
        ("xrt_mmio", ((8 + 5) * 5000,) * 3),
        ("xrt_sync", (38_000,) * 3),
        ("axi_dma", (830,) * 3),
    ],
)
def test_published_figures_are_given_back(name, span):
    assert ns(name, 32, 20) == span


def test_what_leaves_something_out_says_so():
    for link in links():
        everything = {"GT", "PCS", "MAC"} if link.boundaries == ("wire_to_wire",) else {"driver"}
        included = {item for way in link.ways for item in way.includes}
        assert link.name == "direct" or everything <= included or link.not_included


def test_each_payload_byte_costs_its_time_on_the_wire():
    link = find_link("ethernet10g")
    base = link.fixed_ns(32, 20).typical
    assert link.fixed_ns(33, 20).typical - base == pytest.approx(0.8)
    assert link.fixed_ns(32, 21).typical - base == pytest.approx(0.8)


def test_pcie_meets_its_published_points():
    assert ns("pcie_mmio", 64, 64) == (890, 890, 890)
    assert ns("pcie_mmio", 1, 3) == (890, 890, 890)
    assert find_link("pcie_mmio").fixed_ns(1024, 1024).typical == pytest.approx(1090, abs=0.1)
    assert find_link("pcie_dma").fixed_ns(64, 64).typical == 1450
    assert find_link("pcie_dma").fixed_ns(1024, 1024).typical == pytest.approx(1720, abs=0.1)
    assert find_link("pcie_mmio").fixed_ns(164, 10).typical == pytest.approx(890 + 10.42)


def test_store_and_forward_awaits_padding_and_checksum():
    common = {"clock": "", "includes": (), "conditions": "", "source": "", "grade": "given"}
    frame = {"base_ns": Base(10.0), "ns_per_byte": 1.0, "header_bytes": 22, "min_payload": 46, "trailer_bytes": 4}
    whole = Way(store_and_forward=True, **frame, **common)
    early = Way(store_and_forward=False, **frame, **common)
    assert early.one_way_ns(32, awaited=True).typical == 10 + 22 + 32
    assert whole.one_way_ns(32, awaited=True).typical == 10 + 22 + 46 + 4
    assert whole.one_way_ns(60, awaited=True).typical == 10 + 22 + 60 + 4
    assert whole.one_way_ns(32, awaited=False).typical == 10 + 22 + 32


def test_unknown_ends_of_a_span_take_the_typical_value():
    assert Base(5.0).range == Range(5.0, 5.0, 5.0)
    assert Base(5.0, max=9.0).range == Range(5.0, 5.0, 9.0)
    for bad in ({"typical": 5.0, "min": 6.0}, {"typical": -1.0}, {"typical": float("inf")}, {"typical": float("nan")}):
        with pytest.raises((ValueError, ValidationError)):
            Base(**bad)


def test_a_custom_link_carries_its_numbers_in_its_name():
    link = find_link("Custom: in_ns=100/120/150, out_ns=80, in_ns_per_byte=0.8, boundary=wire_to_wire")
    assert link.boundaries == ("wire_to_wire",)
    assert link.given
    span = link.fixed_ns(10, 5)
    assert (span.min, span.typical, span.max) == pytest.approx((188, 208, 238))
    assert link.name == "custom:in_ns=100/120/150,out_ns=80,in_ns_per_byte=0.8,boundary=wire_to_wire"
    assert find_link(link.name) == link


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("custom", "boundary must be one of"),
        ("custom:in_ns=1", "boundary must be one of"),
        ("custom:boundary=moon", "boundary must be one of"),
        ("custom:latency=1,boundary=core", "'latency=1' is not understood"),
        ("custom:in_ns,boundary=core", "'in_ns' is not understood"),
        ("custom:in_ns=1,in_ns=2,boundary=core", "given twice"),
        ("custom:in_ns=-1,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns=nan,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns=1e999,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns=1e14,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns_per_byte=1e300,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns=nan/1/2,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns=1/nan/2,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns=1_000,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns=１,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns=3/2/1,boundary=core", r"from 0 to 1e\+13"),
        ("custom:in_ns=1us,boundary=core", r"from 0 to 1e\+13"),
        ("custom:out_ns_per_byte=1/2/3,boundary=core", "one number, not a range"),
    ],
)
def test_a_malformed_custom_link_is_explained(text, complaint):
    with pytest.raises(UserError, match=complaint):
        find_link(text)


def test_unknown_links_offer_others():
    with pytest.raises(UserError, match=r"did you mean .*ethernet10g"):
        find_link("ethernet")


def test_links_over_transceivers_need_a_part_that_has_them():
    for name in ("ethernet10g", "ethernet25g", "ethernet1g", "gtf", "pcie_mmio", "pcie_dma", "xrt_sync"):
        with pytest.raises(UserError, match="LFE5U-85F has none"):
            check_reach(find_link(name), find_part("LFE5U-85F"))
        check_reach(find_link(name), find_part("xcvu9p"))
    check_reach(find_link("direct"), find_part("iCE40UP5K"))
    check_reach(find_link("axi_dma"), find_part("xc7z020"))
    check_reach(find_link("custom:boundary=wire_to_wire,in_ns=300"), find_part("LFE5U-85F"))


@pytest.mark.parametrize(
    "times", [(math.nan, 1.0, 2.0), (1.0, math.nan, 2.0), (1.0, 2.0, math.nan), (1.0, 2.0, math.inf)]
)
def test_a_base_is_finite_wherever_its_nan_stands(times):
    with pytest.raises(ValueError, match="must ascend from 0"):
        Base(times[1], times[0], times[2])


@pytest.mark.parametrize(
    ("name", "part", "there"),
    [
        ("direct", "iCE40UP5K", True),
        ("custom:boundary=pins", "iCE40UP5K", True),
        ("spi:10MHz", "iCE40UP5K", True),
        ("axi_dma", "iCE40UP5K", False),
        ("axi_dma", "xcvu13p", False),
        ("axi_dma", "u50", False),
        ("axi_dma", "kc705", False),
        ("axi_dma", "xc7z020", True),
        ("axi_dma", "pynq-z2", True),
        ("axi_dma", "kv260", True),
        ("axi_dma", "zcu111", True),
        ("ethernet25g", "xcvu13p", True),
        ("ethernet25g", "xc7a35t", False),  # no source tells of its transceivers
        ("ethernet25g", "xc7z020", False),
        ("ethernet25g", "u250", False),  # no source states it for the board
        ("pcie_dma", "u250", True),
        ("pcie_mmio", "u250", False),
        ("pcie_mmio", "v80", True),
        ("pcie_dma", "u280", False),
        ("gtf", "xcvu9p", False),
        ("exanic", "xcku060", False),
        ("ethernet10g_intel_mac", "xcvu9p", False),
        ("pcie_gen3_2014", "xcvu9p", False),
        ("xrt_mmio", "xcvu9p", False),
    ],
)
def test_only_links_that_sources_give_a_part_are_its_own(name, part, there):
    assert has_link(find_link(name), find_part(part)) is there


def test_every_zynq_has_its_processor_and_no_other_part_is_said_to():
    for part in parts():
        assert part.processor is (True if "Zynq" in part.title else None), part.name


def test_the_list_says_for_what_a_link_holds(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "1000")
    print_links(new_console())
    said = {line.partition(":")[0]: line for line in capsys.readouterr().out.splitlines() if ": " in line}
    assert "Holds for the transceivers of the Alveo UL3524 alone." in said["gtf"]
    assert "Serves a processor on the chip." in said["axi_dma"]
    assert "Holds for" not in said["ethernet10g"]
    assert "Serves" not in said["ethernet10g"]
