"""Links by definition, UDP in frames, how often a link can be used, and how its overhead varies."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import ValidationError

from flow.device.link import Base, Link, Percentile, Way
from flow.device.links import find_link, links
from flow.errors import UserError


def typical(name: str, in_bytes: int, out_bytes: int) -> float:
    return find_link(name).fixed_ns(in_bytes, out_bytes).typical


def test_a_uart_sends_ten_bits_for_each_byte():
    # 64 bytes in and 1 out at 3 Mbaud: 650 bits
    assert typical("uart:3Mbaud", 64, 1) == pytest.approx(650 / 3e6 * 1e9)
    assert typical("uart:115200baud", 1, 0) == pytest.approx(10 / 115_200 * 1e9)


def test_spi_sends_eight():
    assert typical("spi:10MHz", 64, 1) == pytest.approx(65 * 800)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("uart: 3 Mbaud", "uart:3Mbaud"),
        ("UART:115200baud", "uart:115.2kbaud"),
        ("uart:3000kbaud", "uart:3Mbaud"),
        ("spi:10MHz", "spi:10MHz"),
        ("spi:0.5MHz", "spi:500kHz"),
    ],
)
def test_a_serial_link_is_found_again_by_its_name(text, name):
    link = find_link(text)
    assert link.name == name
    assert find_link(name) == link
    assert link.boundaries == ("wire_to_wire",)
    assert not link.needs_transceivers
    assert not link.given


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("uart", "rate of the UART '' is not a number with a unit"),
        ("uart:3", "has no unit"),
        ("uart:3MHz", "unknown unit 'mhz'"),
        ("uart:0baud", "greater than zero"),
        ("spi:fast", "is not a number with a unit"),
        ("spi:10Mbaud", "unknown unit"),
        ("ethernet10g+tcp", r"only '\+udp' may follow"),
        ("pcie_mmio+udp", "carries no Ethernet frames"),
        ("direct+udp", "carries no Ethernet frames"),
        ("nothing+udp", "unknown link"),
        ("custom:boundary=core+udp", "boundary must be one of"),
    ],
)
def test_what_is_malformed_is_explained(text, complaint):
    with pytest.raises(UserError, match=complaint):
        find_link(text)


def test_udp_adds_its_headers_in_each_direction():
    bare, udp = find_link("ethernet10g"), find_link("ethernet10g+udp")
    assert udp.name == "ethernet10g+udp"
    added = udp.fixed_ns(256, 64).typical - bare.fixed_ns(256, 64).typical
    assert added == pytest.approx(2 * 28 * 0.8)
    # receive 25.6 + (22 + 28 + 256) B, transmit 28.8 + (22 + 28 + 64) B, transceivers 100
    assert udp.fixed_ns(256, 64).typical == pytest.approx(25.6 + 306 * 0.8 + 28.8 + 114 * 0.8 + 100)
    assert "IP and UDP headers" not in udp.not_included
    assert "IP and UDP headers" in bare.not_included
    assert "RFC 768" in udp.source
    assert find_link("ethernet10g_intel_mac+udp").fixed_ns(64, 64).typical == pytest.approx(67.2 + 2 * 114 * 0.8)


def test_every_ethernet_link_of_the_catalogue_takes_udp():
    for link in links():
        if any(way.header_bytes for way in link.ways):
            assert find_link(f"{link.name}+udp").fixed_ns(64, 64).typical > link.fixed_ns(64, 64).typical


@pytest.mark.parametrize(
    ("name", "payload", "spacing_ns"),
    [
        ("ethernet10g", 1, 67.2),  # the least frame: 64 bytes, preamble 8, gap 12
        ("ethernet10g", 46, 67.2),
        ("ethernet10g", 47, 68.0),
        ("ethernet10g", 1500, 1230.4),
        ("ethernet10g+udp", 18, 67.2),
        ("ethernet10g+udp", 256, 257.6),
        ("ethernet25g", 46, 26.88),
        ("ethernet1g", 46, 672.0),
        ("uart:1Mbaud", 3, 30_000.0),
    ],
)
def test_how_often_a_frame_can_be_sent(name, payload, spacing_ns):
    for way in (find_link(name).inward, find_link(name).outward):
        assert way is not None
        assert way.spacing_ns(payload) == pytest.approx(spacing_ns)


def test_where_nothing_says_how_often_it_is_unknown():
    for name in ("direct", "xrt_mmio", "gtf"):
        way = find_link(name).inward
        assert way is not None
        assert way.spacing_ns(64) is None


def test_published_percentiles_are_of_no_more_payload_than_they_were_measured_with():
    link = find_link("pcie_mmio")
    spread = link.spread(64, 64)
    assert (spread.min, spread.max, spread.points) == (None, None, ((Fraction(99, 100), 910.0),))
    assert link.spread(1, 1).points == spread.points
    assert link.spread(65, 1).points == ()
    assert link.spread(1, 65).points == ()
    assert find_link("pcie_dma").spread(10, 10).points == ((Fraction(99, 100), 1730.0),)


@pytest.mark.parametrize(
    ("name", "span"),
    [
        ("direct", (0.0, 0.0)),
        ("spi:10MHz", (1600.0, 1600.0)),
        ("custom:in_ns=100/120/150,out_ns=80,boundary=core", (180.0, 230.0)),
        ("custom:in_ns=100,boundary=core", (100.0, 100.0)),
        ("ethernet10g", (None, None)),
        ("ethernet1g", (366.0 + 46 * 8, 405.0 + 46 * 8)),
        ("exanic", (0.0, 170.0)),
    ],
)
def test_what_is_known_of_an_overheads_ends(name, span):
    spread = find_link(name).spread(1, 1)
    assert (spread.min, spread.max) == pytest.approx(span)


def test_percentiles_of_two_ways_are_never_added():
    common = {"store_and_forward": False, "clock": "", "includes": (), "conditions": "", "source": "", "grade": "given"}
    way = Way(base_ns=Base(5.0), free_bytes=64, percentiles=(Percentile(99.0, 8.0),), **common)
    still = Way(base_ns=Base(2.0, 2.0, 2.0), **common)
    link = Link("l", "", ("core",), needs_transceivers=False, not_included=(), inward=way, outward=way)
    assert link.spread(1, 1).points == ()
    link = Link("l", "", ("core",), needs_transceivers=False, not_included=(), inward=way, outward=still)
    assert link.spread(1, 1).points == ((Fraction(99, 100), 10.0),)


@pytest.mark.parametrize("bad", [(0.0, 1.0), (100.0, 1.0), (99.0, -1.0), (99.0, float("inf"))])
def test_a_percentile_that_cannot_be_is_refused(bad):
    with pytest.raises((ValueError, ValidationError)):
        Percentile(*bad)
