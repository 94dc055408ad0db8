"""What all convolutions share: a window over pixels, weights, a bias and hls4ml's accumulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flow.fixed import FixedArray, FixedType, IntArray
from flow.graph.node import Codes, Node
from flow.graph.nodes.dense import Dense
from flow.graph.window import Window

BLOCK_ELEMENTS = 1 << 21
"""Elements under windows that are gathered at once: large enough for speed, small beside the memory of a machine."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Convolution(Node):
    """Slide a window over an image or a sequence and form constant products of what lies under it.

    weights: raw integers of `weight_type`, kernel rows and columns first, output channels last; bias: (output
    channels,) of `bias_type`. Cells outside the image are zero. shape: (rows, columns, channels), or
    (columns, channels) of a sequence. Bias, products and sum are assigned as in `Dense`, and the products are
    added in the order of the kernel's rows, columns and input channels: hls4ml's `conv_2d_latency_cl`, its 1-D form
    and the line buffers of its streams, which hand the window to its dense layer (nnet_conv_stream.h).
    """

    window: Window
    weights: Codes
    bias: Codes
    weight_type: FixedType
    bias_type: FixedType
    accumulator: FixedType

    @property
    def places(self) -> int:
        """Return at how many places the window stands."""
        rows, columns = self.window.positions
        return rows * columns

    @property
    def channels(self) -> int:
        """Return the number of output channels."""
        return int(self.weights.shape[-1])

    @property
    def multiplications(self) -> int:
        """Return one per weight and place; a place at the border counts as any other."""
        return self.places * int(self.weights.size)

    @property
    def kernel_shape(self) -> tuple[int, ...]:
        """Return the shape that the weights must have."""
        raise TypeError(f"{type(self).__name__} has no kernel")

    @property
    def columns(self) -> Dense:
        """Return a dense layer whose outputs have the same terms, start and ranges as those of any place."""
        return self.dense(self.name, self.weights.reshape(-1, self.channels), self.bias)

    def dense(self, name: str, weights: IntArray, bias: IntArray) -> Dense:
        """Return a matrix product of this node's types; weights: (n_in, n_out), bias: (n_out,)."""
        return Dense(
            name=name,
            label=self.label,
            inputs=self.inputs,
            shape=(int(weights.shape[1]),),
            type=self.type,
            weights=weights,
            bias=bias,
            weight_type=self.weight_type,
            bias_type=self.bias_type,
            accumulator=self.accumulator,
        )

    def products(self, rows: FixedArray) -> IntArray:  # noqa: ARG002 — the contract
        """Return the outputs at some places, shape (places, channels); rows: (places, cells, input channels)."""
        raise TypeError(f"{type(self).__name__} has no products")

    def evaluate(self, args: tuple[FixedArray, ...]) -> FixedArray:
        """Gather what lies under the window, a block of places at a time, and form the products."""
        (x,) = args
        batch, window = x.raw.shape[0], self.window
        pixels = x.raw.reshape(batch, window.rows * window.columns, window.channels)
        # tap -1, outside the image, is the last pixel: zeros
        pixels = np.concatenate([pixels, np.zeros((batch, 1, window.channels), dtype=pixels.dtype)], axis=1)
        taps, total = window.taps(), batch * self.places
        block = max(1, BLOCK_ELEMENTS // (window.cells * window.channels))
        blocks = []
        for start in range(0, total, block):
            vector, place = np.divmod(np.arange(start, min(start + block, total)), self.places)
            under = pixels[vector[:, None], taps[place]]
            blocks.append(self.products(FixedArray(under, x.type)))
        out = np.concatenate(blocks) if blocks else np.zeros((0, self.channels), dtype=np.int64)
        return FixedArray(out.reshape(batch, *self.shape), self.type)

    def problems(self, args: tuple[Node, ...]) -> tuple[str, ...]:
        """Check the shapes and that all codes lie in their types."""
        found = []
        window, (rows, columns) = self.window, self.window.positions
        if self.weights.shape != self.kernel_shape:
            return (f"weights {self.weights.shape} should have shape {self.kernel_shape}",)
        if self.bias.shape != (self.channels,):
            found.append(f"bias {self.bias.shape} should have shape ({self.channels},)")
        expected = (window.rows, window.columns, window.channels)
        if args[0].shape not in (expected, expected[1:] if window.rows == 1 else expected):
            found.append(f"the window expects an input of shape {expected}, the shape before is {args[0].shape}")
        image = (rows, columns, self.channels)
        if self.shape not in (image, image[1:] if rows == 1 else image):
            found.append(f"shape {self.shape} is not {image}")
        for name, codes, kind in (("weight", self.weights, self.weight_type), ("bias", self.bias, self.bias_type)):
            if codes.size and not (kind.lo <= int(codes.min()) and int(codes.max()) <= kind.hi):
                found.append(f"a {name} is outside {kind}")
        return tuple(found)
