"""The GPU baseline: published times for one inference, comparable only at the same boundary."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from flow.device.links import Base, Boundary, Range
from flow.errors import UserError, nearest
from flow.latency.budget import Origin

BaselineGrade = Literal["V", "A", "R", "S"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Hold one published figure of a row; statistic: what kind of value `ns.typical` is."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    what: str
    ns: Base
    statistic: str
    conditions: str
    source: str
    date: str
    grade: BaselineGrade


@dataclass(frozen=True, slots=True)
class Published:
    """Hold one row of `gpu.toml`; its time is the sum of its costs."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    boundary: Boundary
    same_network: bool
    note: str
    costs: tuple[Cost, ...]

    @property
    def ns(self) -> Range:
        """Return the sum of the costs."""
        total = Range(0.0, 0.0, 0.0)
        for cost in self.costs:
            total += cost.ns.range
        return total

    @property
    def source(self) -> str:
        """Return the sources of the costs, each once, with date and grade."""
        return "; ".join(dict.fromkeys(f"{c.source} ({c.date}) [{c.grade}]" for c in self.costs))


@dataclass(frozen=True, slots=True)
class Peak:
    """Hold what a GPU can do at most, for the roofline."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    device: str
    operations_per_s: float
    bytes_per_s: float
    conditions: str
    source: str
    date: str
    grade: BaselineGrade


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Hold the contents of `gpu.toml`."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    rows: tuple[Published, ...]
    roofline: Peak


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """Give one row beside a design.

    ns: typical, or the statistic named in the note; range_ns: min and max where published, else the same value.
    comparable: whether boundary and network are the design's, so that a factor means something.
    """

    name: str
    ns: float
    range_ns: tuple[float, float]
    boundary: Boundary
    origin: Origin
    source: str
    note: str
    comparable: bool


@cache
def catalogue() -> Catalogue:
    """Read `gpu.toml`."""
    text = files("flow.baseline").joinpath("gpu.toml").read_text(encoding="utf-8")
    return TypeAdapter(Catalogue).validate_python(tomllib.loads(text))


def row_names() -> tuple[str, ...]:
    """Return the names of all rows, as `must_beat` wants them."""
    return tuple(row.name for row in catalogue().rows)


def rows(multiplications: int, weight_bytes: int, boundary: str) -> tuple[BaselineRow, ...]:
    """Return all rows for a network, comparable ones first.

    multiplications, weight_bytes: of one inference; they add no time (in the GPU's favour), and the note says so.
    boundary: what the design's latency spans.
    """
    return tuple(
        sorted(
            (_row(row, multiplications, weight_bytes, boundary) for row in catalogue().rows),
            key=lambda row: not row.comparable,
        )
    )


def _row(row: Published, multiplications: int, weight_bytes: int, boundary: str) -> BaselineRow:
    span = row.ns
    made_of = " + ".join(f"{c.what} {c.ns.typical:,.0f} ns ({c.statistic}; {c.conditions})" for c in row.costs)
    if row.same_network:
        counted = (
            f"0 ns counted for the network's own {multiplications:,} multiplications and {weight_bytes:,} bytes of "
            "weights, as one kernel: in the GPU's favour"
        )
    else:
        counted = "no factor: another network"
    if row.same_network and row.boundary != boundary:
        counted += f"; no factor: it spans {row.boundary}, the design {boundary}"
    return BaselineRow(
        name=row.name,
        ns=span.typical,
        range_ns=(span.min, span.max),
        boundary=row.boundary,
        origin=Origin.PUBLISHED,
        source=row.source,
        note=f"{row.note}; {made_of}; {counted}",
        comparable=row.same_network and row.boundary == boundary,
    )


def factor(row: BaselineRow, total_ns: float) -> float | None:
    """Return how many times faster than the row a design of `total_ns` is; None where they must not be compared."""
    return row.ns / total_ns if row.comparable and total_ns > 0 else None


def check_must_beat(names: tuple[str, ...], boundary: str) -> None:
    """Raise UserError for a `must_beat` entry that is no row, or a row that must not be compared at the boundary."""
    known = {row.name: row for row in rows(0, 0, boundary)}
    for name in names:
        if name not in known:
            raise UserError(f"must_beat: there is no baseline row '{name}'; {nearest(name, known)}")
        if not known[name].comparable:
            legal = [row.name for row in known.values() if row.comparable]
            raise UserError(
                f"must_beat: '{name}' must not be compared with a design at boundary {boundary} "
                f"({known[name].note.rpartition('no factor: ')[2]}); rows that may be: {', '.join(legal) or 'none'}"
            )
