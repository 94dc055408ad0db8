"""One layer of a model, read: its records for hls4ml and its float function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flow.frontend.qkeras import Floats
from flow.frontend.records import Record

Evaluate = Callable[..., Floats]  # takes one array of shape (batch, *shape) per input


@dataclass(frozen=True, slots=True)
class Part:
    """Hold a layer's records, the shape of its output without the batch axis, and its float64 function."""

    records: tuple[Record, ...]
    shape: tuple[int, ...]
    evaluate: Evaluate

    def then(self, following: Part) -> Part:
        """Return both as one: this part's output is the other's only input."""
        first, second = self.evaluate, following.evaluate
        return Part((*self.records, *following.records), following.shape, lambda *x: second(first(*x)))
