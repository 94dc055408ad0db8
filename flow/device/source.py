"""Where a figure comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import ConfigDict

Grade = Literal["V", "A", "R", "M", "S", "D"]


@dataclass(frozen=True, slots=True)
class Source:
    """Say where a figure comes from; grades: V vendor, A audited, R repository, log or tool, M measured, S secondary.

    D: computed from such figures.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    text: str
    grade: Grade

    @property
    def graded(self) -> str:
        """Return the text with its grade."""
        return f"{self.text} [{self.grade}]"
