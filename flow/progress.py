"""What a person sees while a run goes on: one line per step, on standard error."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.status import Status
from rich.text import Text


@dataclass(slots=True)
class Progress:
    """Show steps as they run and as they end; without a console nothing is shown."""

    console: Console | None
    _status: Status | None = field(default=None, init=False)
    _name: str = field(default="", init=False)

    @classmethod
    def silent(cls) -> Progress:
        """Return one that shows nothing."""
        return cls(None)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[Callable[[str], None]]:
        """Show a step while it runs; the function that is lent takes its result in a few words."""
        said: list[str] = []
        if self.console is None:
            yield said.append
            return
        began = time.monotonic()
        self._name = name
        with self.console.status(Text(name)) as self._status:
            yield said.append
        self._status = None
        took = (f" ({time.monotonic() - began:.1f} s) ", "dim")
        self.console.print(Text.assemble(("✓ ", "green"), name, took, " ".join(said)))

    def inner(self, text: str, done: int, total: int) -> None:
        """Show how far the running step is."""
        if self._status is not None:
            self._status.update(Text.assemble(f"{self._name}: {text}", (f" ({done} of {total})", "dim")))

    def count(self, done: int, total: int) -> None:
        """Show how many inferences the running step has done."""
        self.line(f"{done:,} of {total:,} inferences")

    def line(self, text: str) -> None:
        """Show what the running step does."""
        if self._status is not None:
            self._status.update(Text(f"{self._name}: {text}"))

    def skip(self, name: str, why: str) -> None:
        """Say that a step did not need to run."""
        if self.console is not None:
            self.console.print(Text(f"• {name}: {why}", "dim"))

    def warn(self, text: str) -> None:
        """Say what the reader should know."""
        if self.console is not None:
            self.console.print(Text.assemble(("! ", "yellow"), text))
