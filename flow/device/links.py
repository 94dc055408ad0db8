"""The links that there are, by name."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import ConfigDict, TypeAdapter

from flow.device.boards import board_named
from flow.device.link import Base, Boundary, Link, LinkGrade, Percentile, Range, Way
from flow.device.link_forms import CUSTOM_FORM, SERIAL_FORMS, custom_link, in_udp, serial_link
from flow.device.parts import Part
from flow.errors import UserError, nearest

__all__ = [
    "CUSTOM_FORM",
    "SERIAL_FORMS",
    "Base",
    "Boundary",
    "Link",
    "LinkGrade",
    "Percentile",
    "Range",
    "Way",
    "check_reach",
    "find_link",
    "has_link",
    "links",
]


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__ = ConfigDict(extra="forbid")

    links: tuple[Link, ...]


@cache
def links() -> tuple[Link, ...]:
    """Return the links of `links.toml`; `link_forms` makes further ones."""
    text = files("flow.device").joinpath("links.toml").read_text(encoding="utf-8")
    return TypeAdapter(_File).validate_python(tomllib.loads(text)).links


def find_link(name: str) -> Link:
    """Return the link of that name, or that `custom:…`, `uart:…`, `spi:…` or `…+udp` describes; raise UserError."""
    wanted = name.strip().lower()
    match wanted.partition(":")[0]:
        case "custom":
            return custom_link(wanted)
        case "uart" | "spi":
            return serial_link(wanted)
    bare, plus, wrapping = wanted.partition("+")
    for link in links():
        if bare.strip() == link.name:
            if plus and wrapping.strip() != "udp":
                raise UserError(f"link '{name}': only '+udp' may follow a link's name, for example ethernet10g+udp")
            return in_udp(link) if plus else link
    known = [link.name for link in links()]
    raise UserError(
        f"unknown link '{name}'; {nearest(bare, known)} (fpgaflow links lists all; or {SERIAL_FORMS}; or {CUSTOM_FORM})"
    )


def check_reach(link: Link, part: Part) -> None:
    """Raise UserError when the part is known to lack the transceivers that the link runs over."""
    if link.needs_transceivers and part.transceivers is False:
        raise UserError(
            f"link '{link.name}' needs multi-gigabit transceivers, and {part.name} has none; choose link 'direct', a "
            "custom link, or another part (fpgaflow parts)"
        )


def has_link(link: Link, part: Part) -> bool:
    """Tell whether sources say that a part, or the board that it is mounted on, can have the link.

    What they leave open may be asked for, but must not be proposed: a link whose figures hold for another card, one to
    a processor that nothing tells of, or one over transceivers to a board that is not said to bring them out so.
    """
    if link.only_of or (link.needs_processor and not part.processor):
        return False
    if not link.needs_transceivers:
        return True
    board = None if part.board is None else board_named(part.board)
    return part.transceivers is True and (board is None or link.name in board.links)
