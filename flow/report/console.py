"""A console for text from anywhere: names that hold control sequences, a reader that leaves early."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_STEER = {"Cc", "Cf", "Cs"}
"""Unicode's categories: control, format (directions of writing among them), halves of surrogate pairs."""


class PlainConsole(Console):
    """Print text as it is, but for what would steer the terminal; leave it to the caller when nobody reads any more."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Give the segments; names in foreign files may hold anything."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Pass on the error that is being handled."""
        self.quiet = True
        raise  # noqa: PLE0704 (called where a BrokenPipeError is handled)


def visible(text: str) -> str:
    """Return text with a replacement character for control and format characters, but line ends."""
    if text.isprintable():
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if c != "\n" and unicodedata.category(c) in _STEER else c for c in text)
