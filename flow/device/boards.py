"""The boards: which part they carry, what the vendor's shell leaves of it, and what they cost."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from flow.device.source import Grade, Source

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"


@dataclass(frozen=True, slots=True)
class Shell:
    """Count what a vendor's shell (PCIe, memory controllers) leaves of the part to a design.

    dies: the same for each die, where the source lists them; empty where it does not.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    lut: int
    ff: int
    dsp: int
    bram: int
    uram: int
    source: str
    grade: Grade
    dies: tuple[tuple[int, int, int, int, int], ...] = ()

    def __post_init__(self) -> None:
        if min(self.counts) < 0:
            raise ValueError(f"a shell leaves no fewer than 0: {self.counts}")
        if self.dies and tuple(map(sum, zip(*self.dies, strict=True))) != self.counts:
            raise ValueError(f"what a shell leaves of the dies adds up to {self.counts}: {self.dies}")

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """Return LUT, FF, DSP, BRAM and URAM."""
        return self.lut, self.ff, self.dsp, self.bram, self.uram


@dataclass(frozen=True, slots=True)
class Price:
    """Give a board's price in US dollars; low and high are equal where one price was found.

    kind: what sort of price. date: month and year in which it was seen; there is no price without.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    low: float
    high: float
    kind: Literal["list price", "shop", "refurbished to new"]
    date: str
    source: str
    grade: Grade

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high:
            raise ValueError(f"a price spans from low to high: {self.low}, {self.high}")
        if re.fullmatch(rf"({_MONTHS}) 20\d\d", self.date) is None:
            raise ValueError(f"a price has a date such as August 2026: '{self.date}'")


@dataclass(frozen=True, slots=True)
class Board:
    """Describe one board.

    part: name in `parts.toml`. device: the vendor's name for the part as it is mounted, package and speed grade
    included. Alveo cards have device names of their own, so that the name tells the card from the bare part. shell:
    None where no shell comes with the board, or none is known. links: kinds of link (`links.toml`) that a source
    states; others may exist.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    title: str
    part: str
    device: str
    package: str
    speed: str
    source: Source
    aliases: tuple[str, ...] = ()
    nextpnr_package: str | None = None
    shell: Shell | None = None
    price: Price | None = None
    links: tuple[str, ...] = ()
    links_source: Source | None = None

    def __post_init__(self) -> None:
        if bool(self.links) != (self.links_source is not None):
            raise ValueError(f"{self.name}: links need a source, and a source of links needs links")

    @property
    def names(self) -> tuple[str, ...]:
        """Return what the board may be called."""
        own_device = (self.device,) if self.shell is not None else ()
        return (self.name, *self.aliases, *own_device)


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__ = ConfigDict(extra="forbid")

    boards: tuple[Board, ...]


@cache
def boards() -> tuple[Board, ...]:
    """Return all boards in the order of `boards.toml`."""
    text = files("flow.device").joinpath("boards.toml").read_text(encoding="utf-8")
    return TypeAdapter(_File).validate_python(tomllib.loads(text)).boards


def board_named(name: str) -> Board | None:
    """Return the board of that name, alias or (for cards with a shell) device name, in any case."""
    wanted = name.strip().lower()
    return next((board for board in boards() if wanted in map(str.lower, board.names)), None)
