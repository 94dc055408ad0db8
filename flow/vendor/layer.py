"""A network as hls4ml hands it to the vendor's compiler: one C++ function per layer, and what is told of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["dense", "conv", "depthwise", "scale", "rectify", "table", "softmax", "max", "average", "wire", "other"]
Tool = Literal["vitis", "vivado"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Describe one layer.

    name, inputs: of the layer and of those before it. kind: "scale" multiplies each element by a constant, "rectify"
    compares and casts, "wire" renames elements, "other" is what no report covers (`what` names it for a reader).
    lanes: elements at one place. pixels: places that come in; places: that leave; 1 for a vector.
    n_in, n_out: of the product at one place; 0 where there is none. strategy: as hls4ml is told; resource tells
    whether it is one of the Resource strategies. reuse_factor: as hls4ml rounds it.
    operand_bits: widths of an element and of a weight; None where there is no product.
    products: constants that are multiplied at one place and neither zero nor a sum or difference of two powers of two.
    cells: under a pool's window. padded: whether a window leaves the image. columns: width of an image.
    lookups: how many elements look up each of an activation's tables; entries, entry_bits: of a table.
    """

    name: str
    label: str
    inputs: tuple[str, ...]
    kind: Kind
    what: str = ""
    lanes: int = 1
    pixels: int = 1
    places: int = 1
    n_in: int = 0
    n_out: int = 0
    strategy: str = "Latency"
    reuse_factor: int = 1
    operand_bits: tuple[int, int] | None = None
    products: float = 0
    cells: int = 1
    padded: bool = False
    columns: int = 1
    lookups: tuple[int, ...] = ()
    entries: int = 0
    entry_bits: int = 0

    @property
    def resource(self) -> bool:
        """Tell whether hls4ml folds this layer's product over time."""
        return self.strategy.lower() == "resource" and self.kind in {"dense", "conv", "depthwise"}

    @property
    def block(self) -> int:
        """Return the products of one cycle: multipliers that stand side by side."""
        return -(-self.n_in * self.n_out // min(self.reuse_factor, max(self.n_in * self.n_out, 1)))


@dataclass(frozen=True, slots=True)
class Network:
    """Hold the layers in topological order. tool: the compiler. io_type: how tensors go from layer to layer."""

    layers: tuple[Layer, ...]
    io_type: str = "io_parallel"
    tool: Tool = "vitis"

    @property
    def streamed(self) -> bool:
        """Tell whether tensors go as streams of places."""
        return self.io_type == "io_stream"
