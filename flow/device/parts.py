"""The FPGA parts: resources, what of them may be used, and the vendors' names for them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from flow.errors import UserError, nearest

Family = Literal["xcup", "xcu", "xc7", "ecp5", "ice40", "gowin"]
Grade = Literal["V", "A", "R", "M", "S", "D"]

_ORDER_SUFFIX: dict[Family, str] = {
    "xcup": r"-(?P<package>[a-z]{4}\d{3,4})(?:-(?P<speed>\d[a-z]*)(?:-[a-z])?)?",
    "xcu": r"-(?P<package>[a-z]{4}\d{3,4})(?:-(?P<speed>\d[a-z]*)(?:-[a-z])?)?",
    "xc7": r"-?(?P<package>[a-z]{3}\d{3,4})(?:-(?P<speed>\d[a-z]*?)[ceiq]?)?",
    "ecp5": r"-(?P<speed>\d)(?P<package>[a-z]{2}\d{3})[ci]?",
    "ice40": r"-(?P<package>[a-z]{2}\d{2,3})i?(?P<speed>)",
    "gowin": r"-?(?P<package>[a-z]{2}\d{2,3}[a-z]?)(?P<speed>c\d/i\d)",
}
"""What follows a part's name in the vendor's full ordering name, in lower case."""

_NEXTPNR_PACKAGE = {"bg": "CABGA", "mg": "CSFBGA"}
"""How nextpnr-ecp5 spells Lattice's package letters."""


@dataclass(frozen=True, slots=True)
class Source:
    """Say where a figure comes from; grade as explained in `parts.toml`."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    text: str
    grade: Grade


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


def _share(count: int, fraction: float) -> int:
    return int(count * fraction + 1e-6)  # 0.7 is not exact in binary


@dataclass(frozen=True, slots=True)
class Provenance:
    """Tie one figure of a part to its source."""

    figure: str
    source: Source


@dataclass(frozen=True, slots=True)
class Part:
    """Describe one FPGA.

    lut, ff, dsp, bram, uram: counts on the whole die; bram_kbit: kilobits in one BRAM block. slr: dies in the package,
    None where no source states it. transceivers: None where no source tells. device: the vendor's full name, package
    and speed grade included. nextpnr_*: the words that nextpnr wants, None where it does not know the family.
    """

    name: str
    family: Family
    title: str
    device: str
    package: str
    speed: str
    aliases: tuple[str, ...]
    lut: int
    ff: int
    dsp: int
    bram: int
    bram_kbit: int
    uram: int
    slr: int | None
    transceivers: bool | None
    nextpnr_device: str | None
    nextpnr_package: str | None
    usable: Fractions
    provenance: tuple[Provenance, ...]

    @property
    def usable_lut(self) -> int:
        """Return the LUTs that a plan may use."""
        return _share(self.lut, self.usable.lut)

    @property
    def usable_ff(self) -> int:
        """Return the flip-flops that a plan may use."""
        return _share(self.ff, self.usable.ff)

    @property
    def usable_dsp(self) -> int:
        """Return the DSP blocks that a plan may use."""
        return _share(self.dsp, self.usable.dsp)

    @property
    def usable_bram(self) -> int:
        """Return the BRAM blocks that a plan may use."""
        return _share(self.bram, self.usable.bram)

    @property
    def usable_uram(self) -> int:
        """Return the URAM blocks that a plan may use."""
        return _share(self.uram, self.usable.uram)

    @property
    def source(self) -> str:
        """Return all sources of the part's figures, each once, with grade."""
        return "; ".join(dict.fromkeys(f"{p.source.text} [{p.source.grade}]" for p in self.provenance))


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
    lut: _Count
    ff: _Count
    dsp: _Count
    bram: _Count
    bram_kbit: int
    uram: _Count
    slr: _Count | None = None
    transceivers: _Flag | None = None
    nextpnr_device: str | None = None
    nextpnr_package: str | None = None


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__ = ConfigDict(extra="forbid")

    sources: dict[str, Source]
    usable: Fractions
    parts: tuple[_Entry, ...]


def _part(entry: _Entry, file: _File) -> Part:
    figures = {
        "lut": entry.lut,
        "ff": entry.ff,
        "dsp": entry.dsp,
        "bram": entry.bram,
        "uram": entry.uram,
        "slr": entry.slr,
        "transceivers": entry.transceivers,
    }
    return Part(
        name=entry.name,
        family=entry.family,
        title=entry.title,
        device=entry.device,
        package=entry.package,
        speed=entry.speed,
        aliases=entry.aliases,
        lut=entry.lut.value,
        ff=entry.ff.value,
        dsp=entry.dsp.value,
        bram=entry.bram.value,
        bram_kbit=entry.bram_kbit,
        uram=entry.uram.value,
        slr=None if entry.slr is None else entry.slr.value,
        transceivers=None if entry.transceivers is None else entry.transceivers.value,
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

    A full name's package is kept. Raises UserError for unknown parts, and for speed grades that have no delay table.
    """
    wanted = name.strip().lower()
    for part in parts():
        if wanted in {known.lower() for known in (part.name, part.device, *part.aliases)}:
            return part
    for part in parts():
        for stem in sorted({part.name, *part.aliases}, key=len, reverse=True):
            if wanted.startswith(stem.lower()):
                match = re.fullmatch(_ORDER_SUFFIX[part.family], wanted[len(stem) :])
                if match is not None:
                    return _ordered(part, name.strip(), match)
    raise UserError(
        f"unknown part '{name}'; {nearest(name, [p.name for p in parts()])} (fpgaflow parts lists all; full vendor "
        f"names such as {parts()[0].device} are understood)"
    )


def _ordered(part: Part, name: str, match: re.Match[str]) -> Part:
    speed = match["speed"]
    if speed is not None and speed != part.speed.lower():
        raise UserError(
            f"part '{name}' has speed grade {speed}, whose delays are not known; for {part.name} they are known for "
            f"speed grade {part.speed} (for example {part.device})"
        )
    package: str = match["package"]
    if part.family == "ecp5":
        letters, balls = package[:2], package[2:]
        if letters not in _NEXTPNR_PACKAGE:
            raise UserError(f"part '{name}' has the unknown package {package.upper()}; write for example {part.device}")
        return replace(
            part,
            device=name.upper(),
            package=package.upper(),
            nextpnr_package=f"{_NEXTPNR_PACKAGE[letters]}{balls}",
        )
    if part.family == "ice40":
        return replace(part, device=name, package=package.upper(), nextpnr_package=package)
    if part.family == "gowin":
        return replace(part, device=name.upper(), package=package.upper(), nextpnr_device=name.upper())
    return replace(part, device=name.lower(), package=package)
