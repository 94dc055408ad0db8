"""The tables behind `fpgaflow parts`, `boards`, `links` and `models`."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from flow.device.boards import Price, boards
from flow.device.delays import delays_of, has_delays
from flow.device.links import CUSTOM_FORM, SERIAL_FORMS, Link, links
from flow.device.parts import find_part, parts
from flow.plan.request import Request
from flow.quantity import time_text
from flow.report.tables import table

WIDE = {"family": 96, "device": 118}  # characters of a terminal in which a column has room
UNKNOWN = "unknown"  # no source gives it


def print_parts(console: Console) -> None:
    """List the parts: counts are published, whole die; the rest of the sources are in parts.toml."""
    counted = ("LUT", "FF", "DSP", "BRAM×Kb", "URAM")
    more = [column for column, width in WIDE.items() if console.width >= width]
    named = ("part", *more)
    columns = range(len(named), len(named) + len(counted))
    whole = (*range(len(named)), len(named) + len(counted))
    rows = table(*named, *counted, "delays", title="Parts", right=tuple(columns), whole=whole)
    for part in parts():
        rows.add_row(
            part.name,
            *(getattr(part, column) for column in more),
            _count(part.lut) if part.alm is None else f"{part.alm:,} ALM",
            _count(part.ff),
            _count(part.dsp),
            f"{_count(part.bram)}×{part.bram_kbit}",
            _count(part.uram),
            delays_of(part).grade if has_delays(part) else "none",
        )
    console.print(rows)
    console.print(
        "Counts are published, whole die; unknown: no source gives it; an ALM (Intel) is more than a LUT. delays: "
        "routed or assumed; a part without (none) can be listed but not planned for. Sources and grades: "
        "flow/device/parts.toml"
    )


def _count(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"


def print_boards(console: Console) -> None:
    """List the boards: what a plan may use of the part as mounted, what a board costs, which links a source states."""
    rows = table("board", "part", "usable LUT", "shell", "US$", "links", title="Boards", right=(2,), whole=(0, 1, 3, 4))
    for board in boards():
        part = find_part(board.name)
        usable = f"{part.usable_lut:,}" if has_delays(part) else "none"
        shell = "" if board.shell is None else "yes"
        rows.add_row(board.name, part.name, usable, shell, _price(board.price), "\n".join(board.links) or UNKNOWN)
    console.print(rows)
    console.print(
        "usable LUT: what a plan may use, beside the vendor's shell where there is one; none: the part, at the speed "
        "grade mounted, cannot be planned for. links: those that a source states; others may exist."
    )
    prices = [(board.name, board.price) for board in boards() if board.price is not None]
    seen = sorted({f"{price.source}, {price.date} [{price.grade}]" for _, price in prices})
    other = [f"{name}: {price.kind}" for name, price in prices if price.kind != "shop"]
    shells = sorted({f"{s.source} [{s.grade}]" for board in boards() if (s := board.shell) is not None})
    notes = (f"US$: prices of shops ({'; '.join(other)}): {'; '.join(seen)}", *(f"Shell: {s}" for s in shells))
    console.print(Text("\n".join(notes), "dim"))


def _price(price: Price | None) -> str:
    if price is None:
        return UNKNOWN
    return f"{price.low:,.0f}" + ("" if price.low == price.high else f" to {price.high:,.0f}")


def print_links(console: Console) -> None:
    """List the links with their overhead for 64 bytes in and out."""
    rows = table("link", "boundary", "64 B in and out", "", title="Links", right=(2,), whole=(0, 1))
    for link in links():
        rows.add_row(link.name, ", ".join(link.boundaries), time_text(link.fixed_ns(64, 64).typical), _span(link))
    console.print(rows)
    for link in links():
        includes = ", ".join(dict.fromkeys(item for way in link.ways for item in way.includes))
        contains = f" Includes: {includes}." if includes else ""
        leaves_out = f" Leaves out: {'; '.join(link.not_included)}." if link.not_included else ""
        needs = " Serves a processor on the chip." if link.needs_processor else ""
        holds = f" Holds for {link.only_of} alone." if link.only_of else ""
        said = f": {link.title}.{contains}{leaves_out}{needs}{holds} "
        console.print(Text.assemble((link.name, "bold"), said, (f"[{link.source}]", "dim")))
    console.print(f"Besides: {SERIAL_FORMS}; ethernet10g+udp (IPv4 and UDP headers, any Ethernet link); {CUSTOM_FORM}")


def _span(link: Link) -> str:
    fixed = link.fixed_ns(64, 64)
    return "" if fixed.min == fixed.max else f"{time_text(fixed.min)} to {time_text(fixed.max)}"


def print_models(models: dict[str, Request], console: Console) -> None:
    """List the zoo: each model with what its request asks for."""
    rows = table("model", "budget", "boundary", "rate", "part", "clock", "link", title="Models", whole=(0,))
    for name, request in models.items():
        rate, boundary = request.rate or "–", request.boundary or "–"
        rows.add_row(name, request.budget or "–", boundary, rate, request.part, request.clock, request.link)
    console.print(rows)
