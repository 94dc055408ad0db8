"""The geometry of a window that slides over an image or a sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flow.fixed import IntArray


@dataclass(frozen=True, slots=True)
class Window:
    """Slide a kernel over rows x columns pixels of `channels` elements each; a sequence is an image of one row.

    kernel, stride: (rows, columns). pads: cells outside the image at (top, bottom, left, right).
    """

    rows: int
    columns: int
    channels: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pads: tuple[int, int, int, int]

    def __post_init__(self) -> None:
        if min(self.rows, self.columns, self.channels, *self.kernel, *self.stride) < 1 or min(self.pads) < 0:
            raise ValueError(f"a window of {self.kernel} cells, stride {self.stride}, pads {self.pads}")
        top, bottom, left, right = self.pads
        if self.kernel[0] > self.rows + top + bottom or self.kernel[1] > self.columns + left + right:
            raise ValueError(f"a kernel of {self.kernel} cells is larger than the padded image")

    @property
    def positions(self) -> tuple[int, int]:
        """Return how many places the window takes: (rows, columns)."""
        top, bottom, left, right = self.pads
        return (
            (self.rows + top + bottom - self.kernel[0]) // self.stride[0] + 1,
            (self.columns + left + right - self.kernel[1]) // self.stride[1] + 1,
        )

    @property
    def cells(self) -> int:
        """Return the pixels under the kernel."""
        return self.kernel[0] * self.kernel[1]

    def taps(self) -> IntArray:
        """Return the pixel under each cell at each place, shape (places, cells), -1 where it lies outside."""
        top, _, left, _ = self.pads
        (places, across), (rows, columns) = self.positions, self.kernel
        row = (np.arange(places) * self.stride[0] - top)[:, None, None, None] + np.arange(rows)[:, None]
        column = (np.arange(across) * self.stride[1] - left)[None, :, None, None] + np.arange(columns)
        inside = (row >= 0) & (row < self.rows) & (column >= 0) & (column < self.columns)
        return np.where(inside, row * self.columns + column, -1).reshape(places * across, rows * columns)
