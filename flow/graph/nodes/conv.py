"""A convolution: at each place every output channel is a sum over all cells and input channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flow.fixed import FixedArray, IntArray
from flow.graph.nodes.convolution import Convolution
from flow.graph.nodes.dense import Dense


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conv(Convolution):
    """Compute at each place `window @ weights + bias`; weights: (kernel rows, columns, channels in, channels out).

    A pointwise convolution, and a dense layer on the last axis of a tensor, have a kernel of one cell.
    """

    kind: Literal["conv"] = "conv"

    @property
    def kernel_shape(self) -> tuple[int, ...]:
        """Return the shape that the weights must have."""
        return (*self.window.kernel, self.window.channels, self.channels)

    @property
    def matrix(self) -> Dense:
        """Return the product of one place: a dense layer over (cells, channels in), row-major."""
        return self.columns

    def products(self, rows: FixedArray) -> IntArray:
        """Multiply and accumulate all places in one matrix product."""
        return self.matrix.evaluate((rows,)).raw
