"""Windows that slide over images and sequences: Keras's paddings, and float64 arithmetic on them.

A sequence (width, channels) is an image of one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.frontend.qkeras import Floats


@dataclass(frozen=True, slots=True)
class Sliding:
    """Hold the geometry of a window: sizes as (rows, columns); pads as (top, bottom, left, right) in cells.

    flat: the tensors are sequences, with a single row here.
    """

    size: tuple[int, int]
    channels: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    pads: tuple[int, int, int, int]
    positions: tuple[int, int]
    flat: bool

    @property
    def dimensions(self) -> str:
        """Return what hls4ml's layer classes end in."""
        return "1D" if self.flat else "2D"

    def shape(self, channels: int) -> tuple[int, ...]:
        """Return the shape of the output, without the batch axis."""
        return (*(self.positions[1:] if self.flat else self.positions), channels)

    def places(self, window: str) -> dict[str, int]:
        """Return hls4ml's attributes for it; window: what they call the window ("filt" or "pool")."""
        columns = {
            "in_width": self.size[1],
            "out_width": self.positions[1],
            f"{window}_width": self.kernel[1],
            "stride_width": self.strides[1],
            "pad_left": self.pads[2],
            "pad_right": self.pads[3],
        }
        if self.flat:
            return columns
        return columns | {
            "in_height": self.size[0],
            "out_height": self.positions[0],
            f"{window}_height": self.kernel[0],
            "stride_height": self.strides[0],
            "pad_top": self.pads[0],
            "pad_bottom": self.pads[1],
        }

    def cells(self, x: Floats, fill: float) -> Iterator[tuple[int, int, Floats]]:
        """Yield for each kernel cell its row, column and the pixels under it at all positions.

        x: (batch, *shape). The pixels: (batch, rows, columns, channels); `fill` stands for padding.
        """
        top, bottom, left, right = self.pads
        image = x.reshape(len(x), *self.size, self.channels)
        image = np.pad(image, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
        for row in range(self.kernel[0]):
            for column in range(self.kernel[1]):
                rows = slice(row, row + (self.positions[0] - 1) * self.strides[0] + 1, self.strides[0])
                columns = slice(column, column + (self.positions[1] - 1) * self.strides[1] + 1, self.strides[1])
                yield row, column, image[:, rows, columns]


def sliding(
    shape: tuple[int, ...], kernel: tuple[int, ...], strides: tuple[int, ...], padding: str, *, where: str
) -> Sliding:
    """Return the geometry of a Keras layer; kernel and strides: one or two sizes, as the layer has dimensions.

    padding: valid, same or causal. Raises UserError when the tensor or the window does not fit.
    """
    flat = len(kernel) == 1
    if len(shape) != len(kernel) + 1:
        raise UserError(f"{where}: a tensor of shape {shape} enters; it needs {len(kernel) + 1} axes, channels last")
    if len(strides) != len(kernel) or min(*kernel, *strides) < 1:
        raise UserError(
            f"{where}: a window of {kernel} with strides {strides} is not supported; sizes of 1 or more are"
        )
    if padding not in ("valid", "same") and not (padding == "causal" and flat):
        raise UserError(f"{where}: padding={padding!r} is not supported; valid, same and (in 1-D) causal are")
    axes = [_axis(*sizes, padding) for sizes in zip(shape, kernel, strides, strict=False)]
    if any(positions < 1 for positions, _, _ in axes):
        raise UserError(f"{where}: a window of {kernel} does not fit into {shape[:-1]}")
    if flat:
        axes = [(1, 0, 0), *axes]
    row, column = axes
    return Sliding(
        size=(1, shape[0]) if flat else (shape[0], shape[1]),
        channels=shape[-1],
        kernel=(1, kernel[0]) if flat else (kernel[0], kernel[1]),
        strides=(1, strides[0]) if flat else (strides[0], strides[1]),
        pads=(*row[1:], *column[1:]),
        positions=(row[0], column[0]),
        flat=flat,
    )


def _axis(size: int, kernel: int, stride: int, padding: str) -> tuple[int, int, int]:
    """Return the positions along an axis and the cells of padding before and behind."""
    if padding == "valid":
        return (size - kernel) // stride + 1, 0, 0
    if padding == "causal":
        return (size - 1) // stride + 1, kernel - 1, 0
    positions = -(-size // stride)
    cells = max((positions - 1) * stride + kernel - size, 0)
    return positions, cells // 2, cells - cells // 2


def sizes(value: Any, count: int, option: str, *, where: str) -> tuple[int, ...]:
    """Return an option of one size per dimension; a single number counts for all. Raise UserError for others."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(listed) != count or not all(isinstance(n, int) and not isinstance(n, bool) for n in listed):
        raise UserError(f"{where}: {option}={value!r} is not supported; {count} whole number(s) are")
    return tuple(listed)


def convolve(window: Sliding, x: Floats, kernel: Floats, bias: Floats) -> Floats:
    """Return a convolution; kernel: (rows, columns, channels, filters)."""
    total: Floats = np.zeros((len(x), *window.positions, kernel.shape[-1])) + bias
    for row, column, pixels in window.cells(x, 0.0):
        total += pixels @ kernel[row, column]
    return total.reshape(len(x), *window.shape(kernel.shape[-1]))


def convolve_depthwise(window: Sliding, x: Floats, kernel: Floats, bias: Floats) -> Floats:
    """Return a depthwise convolution; kernel: (rows, columns, channels)."""
    total: Floats = np.zeros((len(x), *window.positions, window.channels)) + bias
    for row, column, pixels in window.cells(x, 0.0):
        total += pixels * kernel[row, column]
    return total.reshape(len(x), *window.shape(window.channels))


def pool(window: Sliding, x: Floats, operation: str) -> Floats:
    """Return Keras's pooling, "max" or "average"; padded cells do not count."""
    shape = (len(x), *window.shape(window.channels))
    if operation == "max":
        return np.asarray(np.max([pixels for _, _, pixels in window.cells(x, -np.inf)], axis=0)).reshape(shape)
    total = sum(pixels for _, _, pixels in window.cells(x, 0.0))
    counted = sum(cells for _, _, cells in window.cells(np.ones_like(x[:1]), 0.0))
    return np.asarray(total / counted).reshape(shape)
