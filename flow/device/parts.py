"""The FPGA parts: resources, what of them may be used, and the vendors' names for them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from flow.device.boards import Board, Shell, board_named, boards
from flow.device.source import Grade, Source
from flow.errors import UserError, nearest

Kind = Literal["lut", "ff", "dsp", "bram", "uram"]
Family = Literal["xcup", "xcu", "xc7", "ecp5", "ice40", "gowin", "versal", "agilex", "stratix10", "arria10", "cyclonev"]
LISTED_ONLY: dict[Family, str] = {
    "versal": "Yosys has no synthesis for Versal, and its delays were not characterised",
    "agilex": "Yosys has no synthesis for Agilex, and its delays were not characterised",
    "stratix10": "Yosys has no synthesis for Stratix 10, and its delays were not characterised",
    "arria10": "Yosys has no synthesis for Arria 10, and its delays were not characterised",
    "cyclonev": "fpgaflow has no synthesis flow for Cyclone V, and its delays were not characterised",
}
"""The families that the catalogue lists and nothing can be planned or built for, with the reason."""

_ORDER_SUFFIX: dict[Family, str] = {
    "xcup": r"-(?P<package>[a-z]{4}\d{3,4})(?:-(?P<speed>\d[a-z]*)(?:-[a-z])?)?",
    "xcu": r"-(?P<package>[a-z]{4}\d{3,4})(?:-(?P<speed>\d[a-z]*)(?:-[a-z])?)?",
    "xc7": r"-?(?P<package>[a-z]{3,4}\d{3,4})(?:-(?P<speed>\d[a-z]*?)[ceiq]?)?",
    "ecp5": r"-(?P<speed>\d)(?P<package>[a-z]{2}\d{3})[ci]?",
    "ice40": r"-(?P<package>[a-z]{2}\d{2,3})i?(?P<speed>)",
    "gowin": r"-?(?P<package>[a-z]{2}\d{2,3}[a-z]?)(?P<speed>c\d/i\d)",
    "versal": r"-(?P<package>[a-z]{4}\d{3,4})-(?P<speed>\d[a-z]*)(?:-[a-z])*",
}
"""What follows a part's name in the vendor's full ordering name, in lower case; Intel's are not taken apart."""

_NEXTPNR_PACKAGE = {"bg": "CABGA", "mg": "CSFBGA"}
"""How nextpnr-ecp5 spells Lattice's package letters."""


@dataclass(frozen=True, slots=True)
class Fractions:
    """Give the share of each resource that a plan may use."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    lut: float
    ff: float
    dsp: float
    bram: float
    uram: float
    source: str
    grade: Grade


def _share(count: int | None, fraction: float) -> int:
    return 0 if count is None else int(count * fraction + 1e-6)  # 0.7 is not exact in binary


@dataclass(frozen=True, slots=True)
class Provenance:
    """Tie one figure of a part to its source."""

    figure: str
    source: Source


@dataclass(frozen=True, slots=True)
class Part:
    """Describe one FPGA.

    lut, ff, dsp, bram, uram: counts on the whole die, None where no source gives one; bram_kbit: kilobits in one BRAM
    block. alm: adaptive logic modules, for families that count in these instead of LUTs. spram_kbit: kilobits of
    single-port RAM that cannot be initialised. slr: dies in the package, None where no source states it (`dies` takes
    one then). transceivers, processor (on the die, beside the fabric): None where no source tells. device: the
    vendor's full name, package and speed grade included. nextpnr_*: the words that nextpnr wants, None where it does
    not know the family. board, shell: the board that the part was asked for by, and what that leaves of it. most: of a
    resource, where a plan may use less than usual.
    """

    name: str
    family: Family
    title: str
    device: str
    package: str
    speed: str
    aliases: tuple[str, ...]
    lut: int | None
    alm: int | None
    ff: int | None
    dsp: int | None
    bram: int | None
    bram_kbit: int
    uram: int | None
    spram_kbit: int | None
    slr: int | None
    transceivers: bool | None
    processor: bool | None
    nextpnr_device: str | None
    nextpnr_package: str | None
    usable: Fractions
    provenance: tuple[Provenance, ...]
    board: str | None = None
    shell: Shell | None = None
    most: tuple[tuple[Kind, int], ...] = ()

    @property
    def available(self) -> tuple[int, int, int, int, int]:
        """Return the LUT, FF, DSP, BRAM and URAM that a design could have: beside the shell, else on the die.

        Raise UserError for a part of which a count is unknown.
        """
        if self.shell is not None:
            return self.shell.counts
        counts = {"LUT": self.lut, "FF": self.ff, "DSP": self.dsp, "BRAM": self.bram, "URAM": self.uram}
        unknown = [kind for kind, count in counts.items() if count is None]
        if unknown:
            raise UserError(f"part {self.name}: no source gives its number of {', '.join(unknown)}")
        lut, ff, dsp, bram, uram = (count or 0 for count in counts.values())
        return lut, ff, dsp, bram, uram

    @property
    def usable_lut(self) -> int:
        """Return the LUTs that a plan may use; none where the count is unknown."""
        return self._usable("lut")

    @property
    def usable_ff(self) -> int:
        """Return the flip-flops that a plan may use; none where the count is unknown."""
        return self._usable("ff")

    @property
    def usable_dsp(self) -> int:
        """Return the DSP blocks that a plan may use; none where the count is unknown."""
        return self._usable("dsp")

    @property
    def usable_bram(self) -> int:
        """Return the BRAM blocks that a plan may use; none where the count is unknown."""
        return self._usable("bram")

    @property
    def usable_uram(self) -> int:
        """Return the URAM blocks that a plan may use; none where the count is unknown."""
        return self._usable("uram")

    def _usable(self, kind: Kind) -> int:
        usual = self._share(kind)
        return min(usual, dict(self.most).get(kind, usual))

    def _share(self, kind: Kind) -> int:
        count: int | None = getattr(self if self.shell is None else self.shell, kind)
        fraction: float = getattr(self.usable, kind)
        return _share(count, fraction)

    def limited(self, most: Mapping[Kind, int | Fraction]) -> Part:
        """Return the part of which a plan may use less: so many of a resource, or a share of all that there are.

        Of a resource whose count is unknown nothing may be used, limited or not.
        """
        counts = {kind: getattr(self if self.shell is None else self.shell, kind) or 0 for kind in most}
        return replace(self, most=tuple((k, m if isinstance(m, int) else int(counts[k] * m)) for k, m in most.items()))

    @property
    def dies(self) -> int:
        """Return the dies (SLR) in the package; 1 where no source states more."""
        return self.slr or 1

    def on_dies(self, kind: Kind) -> tuple[int, ...]:
        """Return what a plan may use of a resource on each die.

        Beside a shell as its source lists the dies: the middle one of an Alveo U200 keeps half of what the others keep.
        A bare part, or a shell without such a list, counts as dies of one size.
        """
        if self.shell is not None and self.shell.dies:
            fraction: float = getattr(self.usable, kind)
            shares = (_share(die[get_args(Kind).index(kind)], fraction) for die in self.shell.dies)
            return tuple(min(share, self._usable(kind)) for share in shares)
        return (self.per_die(kind),) * self.dies

    def per_die(self, kind: Kind) -> int:
        """Return what a plan may use of a resource on one die: shared evenly, rounded down; limits are of the whole."""
        return min(self._share(kind) // self.dies, self._usable(kind))

    @property
    def source(self) -> str:
        """Return all sources of the part's figures, each once, with grade."""
        shell = () if self.shell is None else (f"left by the shell: {self.shell.source} [{self.shell.grade}]",)
        return "; ".join(dict.fromkeys((*shell, *(p.source.graded for p in self.provenance))))


@dataclass(frozen=True, slots=True)
class _Count:
    __pydantic_config__ = ConfigDict(extra="forbid")

    value: Annotated[int, Field(ge=0, strict=True)]
    origin: Annotated[str, Field(alias="from")]


@dataclass(frozen=True, slots=True)
class _Flag:
    __pydantic_config__ = ConfigDict(extra="forbid")

    value: Annotated[bool, Field(strict=True)]
    origin: Annotated[str, Field(alias="from")]


@dataclass(frozen=True, slots=True)
class _Entry:
    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    family: Family
    title: str
    device: str
    package: str
    speed: str
    aliases: tuple[str, ...]
    dsp: _Count
    bram: _Count
    bram_kbit: int
    lut: _Count | None = None
    alm: _Count | None = None
    ff: _Count | None = None
    uram: _Count | None = None
    spram_kbit: _Count | None = None
    slr: _Count | None = None
    transceivers: _Flag | None = None
    processor: _Flag | None = None
    nextpnr_device: str | None = None
    nextpnr_package: str | None = None

    def __post_init__(self) -> None:
        if (self.lut is None) == (self.alm is None):
            raise ValueError(f"{self.name}: logic is counted either in LUTs or in ALMs")


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__ = ConfigDict(extra="forbid")

    sources: dict[str, Source]
    usable: Fractions
    parts: tuple[_Entry, ...]


def _part(entry: _Entry, file: _File) -> Part:
    counts = {name: getattr(entry, name) for name in ("lut", "alm", "ff", "dsp", "bram", "uram", "spram_kbit", "slr")}
    figures: dict[str, _Count | _Flag | None] = {
        **counts,
        "transceivers": entry.transceivers,
        "processor": entry.processor,
    }
    values: dict[str, Any] = {name: None if figure is None else figure.value for name, figure in counts.items()}
    return Part(
        name=entry.name,
        family=entry.family,
        title=entry.title,
        device=entry.device,
        package=entry.package,
        speed=entry.speed,
        aliases=entry.aliases,
        **values,
        bram_kbit=entry.bram_kbit,
        transceivers=None if entry.transceivers is None else entry.transceivers.value,
        processor=None if entry.processor is None else entry.processor.value,
        nextpnr_device=entry.nextpnr_device,
        nextpnr_package=entry.nextpnr_package,
        usable=file.usable,
        provenance=tuple(
            Provenance(name, file.sources[figure.origin]) for name, figure in figures.items() if figure is not None
        ),
    )


@cache
def parts() -> tuple[Part, ...]:
    """Return all parts in the order of `parts.toml`."""
    text = files("flow.device").joinpath("parts.toml").read_text(encoding="utf-8")
    file = TypeAdapter(_File).validate_python(tomllib.loads(text))
    return tuple(_part(entry, file) for entry in file.parts)


def find_part(name: str) -> Part:
    """Return the part of that name, alias or full vendor name (`xcvu13p-flga2577-2-e`), in any case.

    A full name's package and speed grade are kept. A board's name stands for its part as mounted; where a shell comes
    with the board, what a plan may use is limited to what that leaves. Raises UserError for unknown parts.
    """
    wanted = name.strip().lower()
    for part in parts():
        if wanted in {known.lower() for known in (part.name, part.device, *part.aliases)}:
            return part
    board = board_named(wanted)
    if board is not None:
        return _on_board(board)
    for part in parts():
        for stem in sorted({part.name, *part.aliases}, key=len, reverse=True):
            if part.family in _ORDER_SUFFIX and wanted.startswith(stem.lower()):
                match = re.fullmatch(_ORDER_SUFFIX[part.family], wanted[len(stem) :])
                if match is not None:
                    return _ordered(part, name.strip(), match)
    known = [p.name for p in parts()] + [board.name for board in boards()]
    raise UserError(
        f"unknown part '{name}'; {nearest(name, known)} (fpgaflow parts and fpgaflow boards list all; full "
        f"vendor names such as {parts()[0].device} are understood)"
    )


def _on_board(board: Board) -> Part:
    part = next(part for part in parts() if part.name == board.part)
    return replace(
        part,
        device=board.device,
        package=board.package,
        speed=board.speed,
        nextpnr_device=board.device if part.family == "gowin" else part.nextpnr_device,
        nextpnr_package=board.nextpnr_package or part.nextpnr_package,
        board=board.name,
        shell=board.shell,
    )


def _ordered(part: Part, name: str, match: re.Match[str]) -> Part:
    # "2LV" is how the vendors write it, whatever the user wrote
    speed = part.speed if match["speed"] is None else match["speed"].upper()
    package: str = match["package"]
    if part.family == "ecp5":
        letters, balls = package[:2], package[2:]
        if letters not in _NEXTPNR_PACKAGE:
            raise UserError(f"part '{name}' has the unknown package {package.upper()}; write for example {part.device}")
        return replace(
            part,
            device=name.upper(),
            package=package.upper(),
            speed=speed,
            nextpnr_package=f"{_NEXTPNR_PACKAGE[letters]}{balls}",
        )
    if part.family == "ice40":
        return replace(part, device=name, package=package.upper(), nextpnr_package=package)
    if part.family == "gowin":
        return replace(part, device=name.upper(), package=package.upper(), speed=speed, nextpnr_device=name.upper())
    device = name.lower() if match["speed"] is None else name.lower().replace(f"-{match['speed']}", f"-{speed}")
    return replace(part, device=device, package=package, speed=speed)
