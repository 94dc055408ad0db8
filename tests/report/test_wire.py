"""The link in a report: where its figures come from, and a rate that its wire cannot carry."""

from __future__ import annotations

import csv
import io
import json

import pytest

from flow.device.links import find_link, links
from flow.latency.budget import Origin
from flow.report.wire import fixed_origin, wire_notes
from tests.commands import Command

LAYERS = ("--layers", "4-3-2", "--bits", "3", "--clock", "100MHz")


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("uart:3Mbaud", Origin.PREDICTED),
        ("spi:10MHz", Origin.PREDICTED),
        ("direct", Origin.PREDICTED),
        ("custom:in_ns=5,boundary=core", Origin.ASKED),
        ("ethernet10g", Origin.PUBLISHED),
        ("ethernet10g+udp", Origin.PUBLISHED),
        ("axi_dma", Origin.PUBLISHED),
    ],
)
def test_what_nobody_published_is_not_called_published(name, origin):
    assert fixed_origin(find_link(name)) is origin


def test_only_what_is_zero_follows_from_the_catalogue_without_a_source():
    by_definition = [link for link in links() if link.by_definition]
    assert [link.name for link in by_definition] == ["direct"]
    assert by_definition[0].fixed_ns(100, 100).max == 0


@pytest.mark.parametrize(
    ("link", "rate_hz", "payloads", "said"),
    [
        # 22 bytes of header, 28 of IP and UDP, 4 of checksum, 12 of gap: 322 bytes of 0.8 ns
        ("ethernet10g+udp", 14.88e6, (256, 18), ("256 bytes inward at most once in 257.6 ns (3.882 MHz, published)",)),
        ("ethernet10g", 14.88e6, (46, 46), ()),  # 67.2 ns, the least frame, at line rate
        (
            "ethernet10g",
            14.89e6,
            (46, 1),
            ("46 bytes inward at most once in 67.2 ns", "1 byte outward at most once in"),
        ),
        ("uart:3Mbaud", 1e6, (1, 0), ("1 byte inward at most once in 3.333 µs (300 kHz, predicted)",)),
        ("spi:10MHz", 1e6, (1, 2), ("2 bytes outward at most once in 1.6 µs (625 kHz, predicted)",)),
        ("custom:in_ns_per_byte=2,boundary=core", 1e6, (501, 9), ("at most once in 1.002 µs (998 kHz, asked)",)),
        ("pcie_dma", 1e9, (256, 64), ()),  # how many can be under way is not known
        ("direct", 1e9, (256, 64), ()),
        ("ethernet10g", None, (1500, 1500), ()),
    ],
)
def test_a_rate_beyond_the_wire_is_told_with_what_it_carries(link, rate_hz, payloads, said):
    notes = wire_notes(find_link(link), rate_hz, payloads)
    assert len(notes) == len(said)
    for text, note in zip(said, notes, strict=True):
        assert text in note
        assert note.startswith(f"Link {link} carries")
        assert note.endswith("; the verdict counts the core alone.")


def test_report_and_comparison_tell_it(fpgaflow: Command):
    asked = (*LAYERS, "--link", "ethernet10g+udp", "--payload-in", "256B", "--payload-out", "64B", "--rate", "14.88MHz")
    words = "carries a message of 256 bytes inward at most once in 257.6 ns (3.882 MHz, published), and the rate asks"
    done = fpgaflow("budget", *asked, "--part", "u250", "--json")
    report = json.loads(done.out)
    assert (done.status, report["verdict"]) == (0, "met")
    assert sum(words in note for note in report["notes"]) == 1
    offers = json.loads(fpgaflow("budget", *asked, "--parts", "u250,kv260", "--json").out)["parts"]
    assert [sum(words in text for text in offer["unchecked"]) for offer in offers] == [1, 1]
    slower = fpgaflow("budget", *asked[:-1], "3.8MHz", "--part", "u250", "--json")
    assert not any("carries a message" in note for note in json.loads(slower.out)["notes"])


def test_report_and_comparison_agree_on_the_origin(fpgaflow: Command):
    asked = (*LAYERS, "--link", "uart:3Mbaud")
    latency = json.loads(fpgaflow("budget", *asked, "--part", "u250", "--json").out)["latency"]
    assert (latency["fixed_origin"], latency["fixed_ns"] > 0) == ("predicted", True)
    assert "definition of the frame" in latency["fixed_source"]
    rows = csv.DictReader(io.StringIO(fpgaflow("budget", *asked, "--parts", "u250", "--csv", "-").out))
    assert [row["fixed_origin"] for row in rows] == ["predicted"]
    shown = fpgaflow("budget", *asked, "--part", "u250").out
    assert "predicted; both directions" in " ".join(shown.split())
