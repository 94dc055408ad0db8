"""Pooling layers side by side in one hls4ml model: an input, one layer, an output each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.networks import Branches, random_type


@dataclass(frozen=True)
class PoolCase:
    """Describe one layer; a case of one axis has one size, kernel and stride, a global one has no kernel."""

    op: str
    size: tuple[int, ...]
    channels: int
    kernel: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    padding: str = "valid"
    count_pad: bool = False


def keras_pads(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return the cells before and behind, as Keras' 'same' has them: the odd one behind."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def pool_layer(case: PoolCase, name: str, before: str) -> dict[str, Any]:
    """Return the layer as hls4ml's converters describe it."""
    axes = len(case.size)
    kind = f"{'Global' if not case.kernel else ''}{case.op}Pooling{axes}D"
    layer: dict[str, Any] = {"name": name, "class_name": kind, "inputs": [before], "data_format": "channels_last"}
    layer["n_filt"] = case.channels
    layer |= {"n_in": case.size[0]} if axes == 1 else {"in_height": case.size[0], "in_width": case.size[1]}
    if not case.kernel:
        return layer
    same = case.padding == "same"
    pads = [keras_pads(*n) if same else (0, 0) for n in zip(case.size, case.kernel, case.stride, strict=True)]
    out = [(n + sum(pad) - k) // s + 1 for n, pad, k, s in zip(case.size, pads, case.kernel, case.stride, strict=True)]
    layer |= {"pool_width": case.kernel[-1], "stride_width": case.stride[-1], "count_pad": case.count_pad}
    layer |= {"pad_left": pads[-1][0], "pad_right": pads[-1][1]}
    if axes == 1:
        return layer | {"n_out": out[0]}
    layer |= {"pool_height": case.kernel[0], "stride_height": case.stride[0]}
    return layer | {"pad_top": pads[0][0], "pad_bottom": pads[0][1], "out_height": out[0], "out_width": out[1]}


BOTH: tuple[PoolCase, ...] = tuple(
    case
    for op in ("Max", "Average")
    for case in (
        PoolCase(op, (5, 7), 3, (2, 3), (2, 3)),
        PoolCase(op, (4, 6), 2, (2, 2), (2, 2)),
        PoolCase(op, (3, 5), 2, (3, 5), (3, 5)),
        PoolCase(op, (9,), 3, (3,), (3,)),
        PoolCase(op, (9,), 2, (3,), (2,)),
        PoolCase(op, (8,), 2, (2,), (3,)),
        PoolCase(op, (7,), 3, (1,), (2,)),
        PoolCase(op, (7,), 3, (5,), (1,)),
        PoolCase(op, (5, 3), 2),
        PoolCase(op, (4, 2), 3),
        PoolCase(op, (7,), 2),
    )
)
"""What hls4ml pools in both io types."""

PARALLEL_ONLY: tuple[PoolCase, ...] = (
    *(
        case
        for op in ("Max", "Average")
        for case in (
            PoolCase(op, (6, 6), 2, (1, 1), (2, 2)),
            PoolCase(op, (7, 5), 2, (3, 3), (2, 2)),
            PoolCase(op, (5, 7), 3, (3, 2), (1, 3)),
            PoolCase(op, (6, 6), 2, (3, 3), (2, 2), "same"),
            PoolCase(op, (5, 4), 3, (3, 2), (2, 1), "same"),
            PoolCase(op, (4, 7), 2, (4, 4), (2, 3), "same"),
            PoolCase(op, (9,), 3, (4,), (1,), "same"),
            PoolCase(op, (6,), 2, (3,), (2,), "same"),
        )
    ),
    PoolCase("Average", (5, 4), 2, (3, 3), (2, 1), "same", count_pad=True),
    PoolCase("Average", (9,), 2, (4,), (3,), "same", count_pad=True),
)
"""What it pools as whole tensors alone."""


def pool_branches(cases: tuple[PoolCase, ...], seed: int) -> Branches:
    """Put the cases side by side, with random types; accumulators that round, saturate and wrap among them."""
    rng = np.random.default_rng(seed)
    layers: list[dict[str, Any]] = []
    named: dict[str, Any] = {}
    for k, case in enumerate(cases):
        source, name = f"x{k}", f"p{k}"
        kind = random_type(rng, width=(2, 10), odd=0.2)
        signed = kind.signed or (case.op == "Max" and case.padding == "same")
        sign = "" if signed else "u"
        start = f"ap_{sign}fixed<{kind.width},{kind.integer}>"
        if rng.random() < 0.1:
            start = f"ap_{sign}int<{kind.width + 1}>"
        accumulator = "auto" if case.kernel and rng.random() < 0.2 else _near(rng, kind.integer, kind.fraction)
        precision = {"result": _near(rng, kind.integer, kind.fraction), "accum": accumulator}
        layers.append({"name": source, "class_name": "InputLayer", "input_shape": [*case.size, case.channels]})
        layers.append(pool_layer(case, name, source))
        named |= {source: {"Precision": {"result": start}}, name: {"Precision": precision}}
    count = len(cases)
    inputs, outputs = tuple(f"x{k}" for k in range(count)), tuple(f"p{k}" for k in range(count))
    return Branches(tuple(layers), {"LayerName": named}, inputs, outputs)


def _near(rng: np.random.Generator, integer: int, fraction: int) -> str:
    """Draw a type that keeps some of the bits around those of a given format."""
    modes = random_type(rng)
    i, f = integer + int(rng.integers(-2, 5)), fraction + int(rng.integers(-2, 5))
    if i + f < 1:
        i = 1 - f
    sign = "" if modes.signed else "u"
    return f"ap_{sign}fixed<{i + f},{i},AP_{modes.rounding},AP_{modes.overflow}>"
