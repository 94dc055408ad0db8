"""The published figures of `gpu.toml`, read and checked."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from flow.device.links import Base, Boundary
from flow.errors import UserError

BaselineGrade = Literal["V", "A", "R", "S"]
Per = Literal["inference", "kernel", "further_kernel"]
Weights = Literal["l2", "chip"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Hold one published figure.

    statistic: what kind of value `ns.typical` is. per: how often an inference pays it. p99_ns: of the same
    measurement. load: under which it was measured.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    id: str
    what: str
    ns: Base
    statistic: str
    conditions: str
    source: str
    date: str
    grade: BaselineGrade
    per: Per = "inference"
    p99_ns: float | None = None
    load: str = "not stated"

    def times(self, kernels: int) -> int:
        """Return how often an inference of so many kernels pays it."""
        match self.per:
            case "inference":
                return 1
            case "kernel":
                return kernels
            case "further_kernel":
                return kernels - 1


@dataclass(frozen=True, slots=True)
class Published:
    """Hold one row: the costs that it adds up, and what it says of the network.

    kernels: "one" for the whole network, or "layers" for one each. weights: where they lie, for the bound of the
    network's own work; None adds nothing. no_factor: why it is context and gives no factor. typical: the form that
    most programs have. detail: whether only the long list shows it.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    boundary: Boundary
    note: str
    costs: tuple[str, ...]
    kernels: Literal["one", "layers"] = "one"
    weights: Weights | None = None
    no_factor: str = ""
    typical: bool = False
    detail: bool = False


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
class Gpu:
    """Hold the peaks that bound a network's own work from below; a GPU's memories from the nearest to the farthest.

    chip_bytes: of all registers and shared memories, which cost no time here.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    device: str
    operations_per_s: float
    chip_bytes: int
    l2_bytes: int
    l2_bytes_per_s: float
    memory_bytes_per_s: float
    conditions: str
    source: str
    date: str
    grade: BaselineGrade


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Hold the contents of `gpu.toml`."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    costs: tuple[Cost, ...]
    rows: tuple[Published, ...]
    roofline: Peak
    gpu: Gpu

    def __post_init__(self) -> None:
        known = {cost.id: cost for cost in self.costs}
        if len(known) != len(self.costs) or len({row.name for row in self.rows}) != len(self.rows):
            raise UserError("gpu.toml: two costs or two rows have the same name")
        for row in self.rows:
            used = [known[name] for name in row.costs]
            if len(used) > 1 and any("percentile" in cost.statistic for cost in used):
                raise UserError(f"gpu.toml: '{row.name}' adds a percentile to something")
        if not all(
            math.isfinite(value) and value > 0 for value in (self.gpu.l2_bytes_per_s, self.gpu.operations_per_s)
        ):
            raise UserError("gpu.toml: a peak of the GPU is not positive")

    def costs_of(self, row: Published) -> tuple[Cost, ...]:
        """Return the costs that a row adds up."""
        known = {cost.id: cost for cost in self.costs}
        return tuple(known[name] for name in row.costs)


@cache
def catalogue() -> Catalogue:
    """Read `gpu.toml`."""
    text = files("flow.baseline").joinpath("gpu.toml").read_text(encoding="utf-8")
    return TypeAdapter(Catalogue).validate_python(tomllib.loads(text))


def row_names() -> tuple[str, ...]:
    """Return the names of all rows, as `must_beat` wants them."""
    return tuple(row.name for row in catalogue().rows)
