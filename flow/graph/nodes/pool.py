"""Pooling: the largest cell or the average of the cells under a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flow.fixed import FixedArray, FixedType, IntArray, Overflow, cast, integers
from flow.graph.node import Node
from flow.graph.window import Window

Arithmetic = Literal["parallel", "streamed", "running"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool(Node):
    """Take the largest element or the average under a window, for each channel on its own.

    arithmetic: where hls4ml's forms differ once the accumulator loses something.
    "parallel" (nnet_pooling.h): cells are compared in their own type, the largest is assigned to the accumulator; an
    average starts at 0 and assigns the exact sum to the accumulator after each cell, row by row.
    "streamed" (`reduce_pool` of nnet_pooling_stream.h): each cell is assigned to the accumulator first; sums are added
    in a balanced tree (`reduce` of nnet_common.h), each assigned to the accumulator.
    "running" (`compute_global_pool`, ibidem): as streamed, added row by row.
    An average divides the raw accumulator by the number of cells, towards zero (ap_fixed's division by an integer
    keeps the dividend's format); `count_padding` tells whether cells outside the image count, and `divisor` stands for
    their number where a cell is a sum itself. The result is assigned to
    the output type. Cells outside are never the largest, and add nothing.
    """

    window: Window
    op: Literal["max", "average"]
    accumulator: FixedType
    arithmetic: Arithmetic = "parallel"
    count_padding: bool = False
    divisor: int | None = None
    kind: Literal["pool"] = "pool"

    @property
    def divisors(self) -> IntArray:
        """Return how many cells the average counts at each place, shape (places,)."""
        taps = self.window.taps()
        if self.divisor is not None:
            return np.full(len(taps), self.divisor)
        return np.full(len(taps), taps.shape[1]) if self.count_padding else (taps >= 0).sum(axis=1)

    def is_exact(self, x: FixedType) -> bool:
        """Tell whether a sum of cells equals the exact sum, wrapped once at the end: any order gives the same.

        True when the accumulator keeps every bit of a cell and wraps, or no partial sum can leave its range.
        """
        shift = self.accumulator.fraction - x.fraction
        if shift < 0:
            return False
        if self.accumulator.overflow is Overflow.WRAP:
            return True
        cells = self.window.cells
        low, high = (min(x.lo, 0) * cells) << shift, (max(x.hi, 0) * cells) << shift
        return self.accumulator.lo <= low and high <= self.accumulator.hi

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Pool place by place."""
        (x,) = args
        pixels = x.raw.reshape(len(x.raw), -1, self.window.channels)
        kind = x.type
        if self.arithmetic != "parallel":
            pixels = cast(pixels, kind.fraction, self.accumulator, kind.width)
            kind = self.accumulator
        found = self._largest(pixels, kind) if self.op == "max" else self._average(pixels, kind)
        out = cast(found, self.accumulator.fraction, self.type, self.accumulator.width)
        return FixedArray(out.reshape(len(x.raw), *self.shape), self.type)

    def _cells(self, pixels: IntArray, outside: int) -> list[IntArray]:
        """Return the elements under each cell of the window, each of shape (batch, places, channels)."""
        taps = self.window.taps()
        return [np.where((cell < 0)[None, :, None], outside, pixels[:, cell]) for cell in taps.T]

    def _largest(self, pixels: IntArray, kind: FixedType) -> IntArray:
        found = np.maximum.reduce(self._cells(pixels, kind.lo))
        return cast(found, kind.fraction, self.accumulator, kind.width)

    def _average(self, pixels: IntArray, kind: FixedType) -> IntArray:
        cells = self._cells(pixels, 0)
        if self.arithmetic == "streamed":
            total = self._tree(cells)
        else:
            total = np.zeros_like(cells[0])
            for cell in cells:
                total = self._plus(total, cell, kind)
        counts = self.divisors[None, :, None]
        return np.where(total < 0, -(-total // counts), total // counts)

    def _tree(self, cells: list[IntArray]) -> IntArray:
        """Add cells in the accumulator's type: the largest power of two of them, below their number, and the rest."""
        if len(cells) == 1:
            return cells[0]
        half = 1 << (len(cells) - 1).bit_length() - 1
        return self._plus(self._tree(cells[:half]), self._tree(cells[half:]), self.accumulator)

    def _plus(self, total: IntArray, cell: IntArray, kind: FixedType) -> IntArray:
        """Assign the exact sum of an accumulator and a cell of type `kind` to the accumulator."""
        fraction = max(self.accumulator.fraction, kind.fraction)
        up, cell_up = fraction - self.accumulator.fraction, fraction - kind.fraction
        bits = max(self.accumulator.width + up, kind.width + cell_up) + 1
        exact = (integers(total, bits) << up) + (integers(cell, bits) << cell_up)
        return cast(exact, fraction, self.accumulator, bits)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shapes, and that a part of the image lies under every window."""
        found = []
        window = self.window
        if self.divisor is not None and self.divisor < 1:
            found.append(f"a divisor of {self.divisor}")
        if args[0].size != window.rows * window.columns * window.channels:
            found.append(f"the window expects {window.rows} x {window.columns} pixels of {window.channels} channels")
        places, across = window.positions
        if self.size != places * across * window.channels:
            found.append(f"shape {self.shape} is not {places} x {across} places of {window.channels} channels")
        if not (window.taps() >= 0).any(axis=1).all():
            found.append("a window lies outside the image")
        return tuple(found)
