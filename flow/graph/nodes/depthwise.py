"""A depthwise convolution: each channel is convolved with a kernel of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flow.fixed import FixedArray, IntArray
from flow.graph.nodes.convolution import Convolution
from flow.graph.nodes.dense import Dense


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DepthwiseConv(Convolution):
    """Compute at each place and channel a sum over the cells; weights: (kernel rows, columns, channels).

    As hls4ml's `depthwise_conv_2d_latency_cl`, its 1-D form and `depthwise_product_latency` of the streams.
    """

    kind: Literal["depthwise"] = "depthwise"

    @property
    def kernel_shape(self) -> tuple[int, ...]:
        """Return the shape that the weights must have."""
        return (*self.window.kernel, self.window.channels)

    @property
    def matrix(self) -> Dense:
        """Return the product of one place: a dense layer over (cells, channels), zero between different channels."""
        kernel = self.weights.reshape(-1, self.channels)
        spread = np.zeros((*kernel.shape, self.channels), dtype=kernel.dtype)
        channel = np.arange(self.channels)
        spread[:, channel, channel] = kernel
        return self.dense(self.name, spread.reshape(-1, self.channels), self.bias)

    def channel(self, index: int) -> Dense:
        """Return the product of one place and one channel: a dense layer from its cells to one output."""
        kernel = self.weights.reshape(-1, self.channels)
        return self.dense(f"{self.name}_{index}", kernel[:, index : index + 1], self.bias[index : index + 1])

    def products(self, rows: FixedArray) -> IntArray:
        """Multiply and accumulate channel by channel."""
        outputs = [
            self.channel(index).evaluate((FixedArray(rows.raw[:, :, index], rows.type),)).raw
            for index in range(self.channels)
        ]
        return np.concatenate(outputs, axis=1)
