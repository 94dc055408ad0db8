"""What a user measured on a machine of their own, as a file that later reports read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, StringConstraints, TypeAdapter

from flow.baseline.timing import Timing
from flow.device.links import Boundary
from flow.errors import UserError
from flow.stored import check_format, parse_stored

FORMAT = 1
LARGEST_FILE = 1 << 20
CURE = "measure again: fpgaflow baseline MODEL --measure gpu (or cpu)"

Short = Annotated[str, StringConstraints(min_length=1, max_length=400)]


@dataclass(frozen=True, slots=True)
class Measured:
    """Hold one thing that was timed.

    boundary: what the time spans; None where it is only a part of an inference, which gives no factor.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: Short
    what: Short
    boundary: Boundary | None
    timing: Timing


@dataclass(frozen=True, slots=True)
class Measurement:
    """Hold the contents of such a file; it names no folder and no user.

    kind: what was measured. device: which did the work. host: its processor. network: the fingerprint of the graph,
    None without a model. date: of the measurement, in UTC.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    format: int
    kind: Literal["gpu", "cpu"]
    device: Short
    host: Short
    software: Short
    pinned: bool
    model: Short | None
    network: Annotated[str, StringConstraints(pattern="^[0-9a-f]{16}$")] | None
    date: Annotated[str, StringConstraints(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    results: tuple[Measured, ...]


@cache
def _adapter() -> TypeAdapter[Measurement]:
    return TypeAdapter(Measurement)


def measurement_to_json(measurement: Measurement) -> bytes:
    """Return the contents of a file of measurements."""
    return _adapter().dump_json(measurement, indent=1) + b"\n"


def load_measurement(path: Path) -> Measurement:
    """Read a file of measurements; raise UserError when it is not one."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)  # the size that a device or a pipe states says nothing
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror}); {CURE}") from None
    if len(data) > LARGEST_FILE:
        raise UserError(f"{path} has more than the {LARGEST_FILE:,} bytes of a file of measurements; {CURE}")
    try:
        found = parse_stored(_adapter(), data, str(path), "a file of measurements")
    except UserError as error:
        raise UserError(f"{error}; {CURE}") from None
    check_format(found.format, FORMAT, path, CURE)
    return found
