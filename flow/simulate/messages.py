"""What a design says while it is simulated: failed assertions, `$error` and `$fatal`."""

from __future__ import annotations

import re
from dataclasses import dataclass

ERROR = re.compile(r"^\[(\d+)\] %(?:Error|Fatal): (.*)$", re.MULTILINE)
OTHER_ERROR = re.compile(r"^%(?:Error|Fatal): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Complaint:
    """Hold a line of the design's: when, in steps of the simulator, and what with file, line and instance."""

    time: int
    text: str


def complaints(text: str) -> tuple[Complaint, ...]:
    """Find what the design itself reports as errors in what a simulation said."""
    return tuple(Complaint(int(time), said) for time, said in ERROR.findall(text))


def first_error(text: str) -> str:
    """Return the first error in what a simulation said: one of the design, or else of the simulator."""
    found = ERROR.search(text)
    if found is not None:
        return found.group(2)
    other = OTHER_ERROR.search(text)
    return other.group(1) if other is not None else "no message"
