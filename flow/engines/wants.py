"""The beats in which an engine takes its input."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wants:
    """Ask for beats of `lanes` elements (None: the whole tensor at once), at least `spacing` cycles apart."""

    lanes: int | None
    spacing: int


WHOLE = Wants(None, 1)
