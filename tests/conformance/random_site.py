"""Where a random layer is drawn, with types, shapes and raw integers for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.graph.nodes import AnyNode
from flow.graph.window import Window
from tests.conformance.draws import Draws
from tests.networks import random_raw

MOST_ELEMENTS = 200
WIDTHS = (4, 3, 2, 1, 5, 6, 7, 8, 9, 10, 11, 12)
NARROW = (3, 2, 1, 4, 5, 6)
NEAR = (0, 1, 1, 2, -1, -2)
"""Integer bits more than those of the numbers that come."""


def draw_type(d: Draws, widths: tuple[int, ...] = WIDTHS, *, integer: int | None = None) -> FixedType:
    """Draw a type; integer: bits before the point around which its own lie."""
    width = d.integer(13, 70) if d.chance(4) else d.choice(widths)
    before = min(2, width) if integer is None else integer
    before += d.choice(NEAR)
    rounding, overflow = d.choice(tuple(Rounding)), d.choice(tuple(Overflow))
    return FixedType(width, before, not d.chance(25), rounding, overflow)


def draw_shape(d: Draws) -> tuple[int, ...]:
    """Draw the shape of an image, a sequence or a vector."""
    which = d.upto(11)
    if which < 7:
        return d.integer(2, 6), d.integer(2, 8), d.integer(1, 3)
    if which < 8:
        return d.integer(1, 6), d.integer(1, 7), d.integer(1, 4)
    if which < 10:
        return d.integer(1, 12), d.integer(1, 4)
    return (d.integer(1, 12),)


@dataclass(frozen=True, slots=True)
class Site:
    """Say where a layer is drawn: its name, the node before it, and all nodes that there are."""

    d: Draws
    name: str
    source: AnyNode
    nodes: tuple[AnyNode, ...]

    def common(self, shape: tuple[int, ...], kind: FixedType, *more: AnyNode) -> dict[str, Any]:
        """Return the fields that all nodes have; more: further inputs."""
        inputs = tuple(node.name for node in (self.source, *more))
        return {"name": self.name, "label": f"layer {self.name}", "inputs": inputs, "shape": shape, "type": kind}

    def near(self, more: int = 0, widths: tuple[int, ...] = WIDTHS) -> FixedType:
        """Draw a type for numbers like those that come, or so many bits larger."""
        return draw_type(self.d, widths, integer=self.source.type.integer + more)

    def codes(self, kind: FixedType, shape: tuple[int, ...]) -> IntArray:
        """Draw raw integers, sometimes few that are not zero."""
        rng = self.d.generator()
        raw = random_raw(rng, kind, shape)
        return np.where(rng.random(shape) < 0.7, 0, raw) if self.d.chance(20) else raw

    @property
    def image(self) -> tuple[int, int, int]:
        """Return rows, columns and channels of the source."""
        shape = self.source.shape
        return (*(1,) * (3 - len(shape)), *shape)  # type: ignore[return-value] # three it is


Layer = tuple[AnyNode, ...]


def draw_window(site: Site, *, pads: bool = True) -> Window:
    """Draw a window over the source: any kernel, stride and pads that leave something to see."""
    d = site.d
    rows, columns, channels = site.image
    is_row = len(site.source.shape) == 2
    extents = (rows, columns)
    kernel = tuple(d.integer(1, min(n, 4)) for n in extents)
    if d.chance(10):
        kernel = extents
    stride = tuple(d.choice((1, 1, 2, 1, 3, k, k + 1)) for k in kernel)
    if is_row:
        stride = (1, stride[1])
    sides = [0, 0, 0, 0]
    how = d.upto(4) if pads else 0
    for axis, (n, k, s) in enumerate(zip(extents, kernel, stride, strict=True)):
        if is_row and axis == 0:
            continue
        if how in {2, 3}:  # same
            total = max((-(-n // s) - 1) * s + k - n, 0)
            sides[2 * axis : 2 * axis + 2] = total // 2, total - total // 2
        elif how == 4:
            most = k if d.chance(15) else k - 1
            sides[2 * axis : 2 * axis + 2] = d.integer(0, most), d.integer(0, most)
    return Window(rows, columns, channels, kernel, stride, tuple(sides))  # two and four


def placed(site: Site, window: Window, channels: int) -> tuple[int, ...]:
    """Return the shape that a window with so many output channels gives."""
    rows, columns = window.positions
    return (columns, channels) if len(site.source.shape) == 2 else (rows, columns, channels)
