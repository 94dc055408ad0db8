"""Layers that move elements, side by side in one hls4ml model: one or two inputs, one layer, an output each."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from tests.networks import Branches, hls_type, random_type

Layers = list[dict[str, Any]]


class Networks:
    """Gather networks with random types for one model."""

    def __init__(self, seed: int) -> None:
        """seed: of the types."""
        self.rng = np.random.default_rng(seed)
        self.layers: Layers = []
        self.named: dict[str, Any] = {}
        self.inputs: list[str] = []
        self.outputs: list[str] = []

    def text(self) -> str:
        """Draw a type."""
        kind = random_type(self.rng, width=(2, 10))
        return f"ap_int<{kind.width + 2}>" if self.rng.random() < 0.05 and kind.integer > 0 else hls_type(kind)

    def input(self, shape: tuple[int, ...], kind: str = "") -> str:
        """Add an input and return its name; its type has integer bits, for casts to integers."""
        name = f"x{len(self.inputs)}"
        w = int(self.rng.integers(3, 10))
        start = kind or f"ap_{'u' if self.rng.random() < 0.2 else ''}fixed<{w},{int(self.rng.integers(1, w + 2))}>"
        self.layers.append({"name": name, "class_name": "InputLayer", "input_shape": list(shape)})
        self.named[name] = {"Precision": {"result": start}}
        self.inputs.append(name)
        return name

    def layer(self, kind: str, inputs: list[str], *, result: str = "", leaves: bool = True, **fields: Any) -> str:
        """Add a layer with a random output type and return its name."""
        name = f"m{len(self.layers)}"
        self.layers.append({"name": name, "class_name": kind, "inputs": inputs} | fields)
        self.named[name] = {"Precision": {"result": result or self.text()}}
        if leaves:
            self.outputs.append(name)
        return name

    def branches(self) -> Branches:
        """Return the model's description."""
        return Branches(tuple(self.layers), {"LayerName": self.named}, tuple(self.inputs), tuple(self.outputs))


LAST = {"data_format": "channels_last"}


def add_transposes(net: Networks, io_type: str) -> None:
    """Add every order of two and of three axes, and one of four."""
    for order in permutations(range(3)):
        net.layer("Transpose", [net.input((2, 3, 4))], perm=list(order))
    net.layer("Transpose", [net.input((3, 5))], perm=[1, 0])
    net.layer("Transpose", [net.input((2, 3, 2, 4))], perm=[3, 1, 0, 2])
    if io_type == "io_parallel":
        net.layer("Transpose", [net.input((3, 5))], perm=[0, 1])


def add_paddings(net: Networks) -> None:
    """Add paddings and croppings, other on every side."""
    size = {"in_height": 3, "in_width": 4, "n_chan": 2, **LAST}
    pads = {"pad_top": 1, "pad_bottom": 3, "pad_left": 2, "pad_right": 0, "out_height": 7, "out_width": 6}
    net.layer("ZeroPadding2D", [net.input((3, 4, 2))], **size, **pads)
    pads = {"pad_left": 1, "pad_right": 2, "in_width": 5, "out_width": 8, "n_chan": 3}
    net.layer("ZeroPadding1D", [net.input((5, 3))], **pads, **LAST)
    size = {"in_height": 6, "in_width": 7, "n_chan": 2, **LAST}
    crops = {"crop_top": 1, "crop_bottom": 2, "crop_left": 3, "crop_right": 0, "out_height": 3, "out_width": 4}
    net.layer("Cropping2D", [net.input((6, 7, 2))], **size, **crops)
    crops = {"crop_left": 1, "crop_right": 2, "in_width": 7, "out_width": 4, "n_chan": 3}
    net.layer("Cropping1D", [net.input((7, 3))], **crops)


def add_resizes(net: Networks) -> None:
    """Add up-sampling in one and in two dimensions, with other factors for rows and columns."""
    size = {"in_height": 3, "in_width": 4, "n_chan": 2, "algorithm": "nearest", **LAST}
    for rows, columns in ((2, 3), (2, 2), (1, 5), (7, 1)):
        net.layer("Resize", [net.input((3, 4, 2))], out_height=3 * rows, out_width=4 * columns, **size)
    size = {"in_height": 1, "out_height": 1, "in_width": 4, "out_width": 12, "n_chan": 3, "algorithm": "nearest"}
    net.layer("Resize", [net.input((4, 3))], **size, **LAST)


def add_concatenations(net: Networks) -> None:
    """Add joins along every axis of one to three, named from the front and from the back."""
    shapes = {
        1: ((2, 3, 4), (5, 3, 4)),
        2: ((2, 3, 4), (2, 1, 4)),
        3: ((2, 3, 4), (2, 3, 2)),
        -1: ((2, 3, 2), (2, 3, 3)),
        -2: ((2, 2, 3), (2, 3, 3)),
        -3: ((1, 2, 3), (2, 2, 3)),
    }
    for axis, (first, second) in shapes.items():
        joined = {"op": "Concatenate3d", "axis": axis}
        net.layer("Concatenate", [net.input(first), net.input(second)], **joined)
    for axis, second in ((1, (4, 3)), (2, (2, 5)), (-1, (2, 1)), (-2, (1, 3))):
        net.layer("Concatenate", [net.input((2, 3)), net.input(second)], op="Concatenate2d", axis=axis)
    net.layer("Concatenate", [net.input((3,)), net.input((4,))], op="Concatenate1d", axis=-1)


def add_tables(net: Networks) -> None:
    """Add embeddings of as many rows as their inputs can name."""
    for bits, width in ((2, 3), (3, 1), (1, 2)):
        data = net.rng.normal(size=(1 << bits, width)) * 3
        size = {"n_in": 4, "vocab_size": 1 << bits, "n_out": width, "embeddings_data": data}
        kind = "ap_fixed<7,4,AP_RND,AP_SAT>"
        name = net.layer("Embedding", [net.input((4,), f"ap_uint<{bits}>")], result=kind, **size)
        net.named[name]["Precision"]["embeddings"] = "ap_fixed<8,3>"


def add_branches(net: Networks) -> None:
    """Add a tensor that is read twice and leaves too, in another shape, and one that meets itself."""
    x = net.input((3, 4), "ap_fixed<8,3>")
    turned = net.layer("Transpose", [x], perm=[1, 0], result="ap_fixed<6,3>")
    shaped = net.layer("Reshape", [turned], leaves=False, target_shape=[2, 6], result="ap_fixed<6,3>")
    net.layer("Transpose", [shaped], perm=[1, 0])
    flat = net.layer("Reshape", [turned], leaves=False, target_shape=[12], result="ap_fixed<6,3>")
    net.layer("Concatenate", [flat, net.input((2,))], op="Concatenate1d", axis=1)


def moving_branches(seed: int, io_type: str) -> Branches:
    """Put them all side by side."""
    net = Networks(seed)
    add_transposes(net, io_type)
    add_paddings(net)
    add_resizes(net)
    add_concatenations(net)
    add_tables(net)
    add_branches(net)
    return net.branches()
