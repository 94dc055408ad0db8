"""The tables behind `fpgaflow parts`, `links` and `models`."""

from __future__ import annotations

from rich.console import Console

from flow.device.links import links
from flow.device.parts import parts
from flow.plan.request import Request
from flow.report.terminal import table, time_text


def print_parts(console: Console) -> None:
    """List the parts: counts are published, whole die; the rest of the sources are in parts.toml."""
    rows = table("part", "device", "family", "LUT", "FF", "DSP", "BRAM", "URAM", title="Parts", right=(3, 4, 5, 6, 7))
    for part in parts():
        counts = [f"{n:,}" for n in (part.lut, part.ff, part.dsp, part.bram, part.uram)]
        rows.add_row(part.name, part.device, part.family, *counts)
    console.print(rows)
    console.print("Counts are published, whole die; sources and grades: flow/device/parts.toml")


def print_links(console: Console) -> None:
    """List the links with their overhead for 64 bytes in and out."""
    rows = table("link", "boundary", "64 B in and out", "leaves out", "source", title="Links", right=(2,))
    for link in links():
        fixed = link.fixed_ns(64, 64)
        span = time_text(fixed.typical)
        if fixed.min != fixed.max:
            span += f" ({time_text(fixed.min)} – {time_text(fixed.max)})"
        rows.add_row(link.name, ", ".join(link.boundaries), span, ", ".join(link.not_included), link.source)
    console.print(rows)


def print_models(models: dict[str, Request], console: Console) -> None:
    """List the zoo: each model with what its request asks for."""
    rows = table("model", "budget", "boundary", "part", "clock", "link", title="Models")
    for name, request in models.items():
        rows.add_row(name, request.budget or "–", request.boundary or "–", request.part, request.clock, request.link)
    console.print(rows)
