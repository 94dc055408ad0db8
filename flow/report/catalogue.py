"""The tables behind `fpgaflow parts`, `links` and `models`."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from flow.device.links import Link, links
from flow.device.parts import parts
from flow.plan.request import Request
from flow.report.terminal import table, time_text

WIDE = 96  # characters of a terminal in which a part's full name has room


def print_parts(console: Console) -> None:
    """List the parts: counts are published, whole die; the rest of the sources are in parts.toml."""
    counted = ("LUT", "FF", "DSP", "BRAM", "URAM")
    wide = console.width >= WIDE
    named = ("part", "family", *(["device"] if wide else []))
    rows = table(*named, *counted, title="Parts", right=tuple(range(len(named), len(named) + 5)), whole=(0, 1, 2))
    for part in parts():
        counts = [f"{n:,}" for n in (part.lut, part.ff, part.dsp, part.bram, part.uram)]
        rows.add_row(part.name, part.family, *([part.device] if wide else []), *counts)
    console.print(rows)
    console.print("Counts are published, whole die; sources and grades: flow/device/parts.toml")


def print_links(console: Console) -> None:
    """List the links with their overhead for 64 bytes in and out."""
    rows = table("link", "boundary", "64 B in and out", "", title="Links", right=(2,), whole=(0, 1))
    for link in links():
        rows.add_row(link.name, ", ".join(link.boundaries), time_text(link.fixed_ns(64, 64).typical), _span(link))
    console.print(rows)
    for link in links():
        leaves_out = f" Leaves out: {'; '.join(link.not_included)}." if link.not_included else ""
        console.print(Text.assemble((link.name, "bold"), f": {link.title}.{leaves_out} ", (f"[{link.source}]", "dim")))


def _span(link: Link) -> str:
    fixed = link.fixed_ns(64, 64)
    return "" if fixed.min == fixed.max else f"{time_text(fixed.min)} to {time_text(fixed.max)}"


def print_models(models: dict[str, Request], console: Console) -> None:
    """List the zoo: each model with what its request asks for."""
    rows = table("model", "budget", "boundary", "rate", "part", "clock", "link", title="Models")
    for name, request in models.items():
        rate, boundary = request.rate or "–", request.boundary or "–"
        rows.add_row(name, request.budget or "–", boundary, rate, request.part, request.clock, request.link)
    console.print(rows)
