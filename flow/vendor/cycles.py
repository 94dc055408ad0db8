"""Cycles of one layer, from the structure of hls4ml's C++ (nnet_utils) and few calibrated constants.

Dense under Resource (`dense_resource`): a loop of `reuse_factor` turns, pipelined with II 1, over block_factor
multipliers whose products are added in a tree of ceil(n_in / reuse_factor) leaves. Convolutions of whole tensors
(`conv_2d_resource_cl`) run that loop once per place; line buffers of streams take one pixel per turn
(`conv_2d_buffer_cl`, `depthwise_conv_2d_buffer_cl`). Under Latency a product of whole tensors is a pipeline of
multiplier and adder tree; a single input needs no tree and fits into one cycle together with what follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

from flow.vendor.constants import Constants
from flow.vendor.layer import Kind, Layer, Network


@dataclass(frozen=True, slots=True)
class Timing:
    """Hold the cycles of one layer; None is unknown, and `reason` says why. single: one report supports it only."""

    cycles: float | None
    interval: int | None
    reason: str = ""
    single: bool = False


def unknown(reason: str) -> Timing:
    """Return a timing that nothing supports."""
    return Timing(None, None, reason)


def timing(layer: Layer, network: Network, known: Constants) -> Timing:
    """Return the cycles and interval of one layer."""
    found = _RULES[layer.kind](layer, network, known)
    if found.cycles is None or not network.streamed or layer.kind in {"wire", "conv", "depthwise"}:
        return found
    if layer.pixels > 1:
        return unknown(f"no report covers {_noun(layer)} on a stream of more than one place")
    cycles = found.cycles + 1  # a stream is read and written
    # Vitis starts such a process anew when it is done; Vivado pipelines it
    return Timing(cycles, round(cycles) + 1 if network.tool == "vitis" else found.interval, single=found.single)


def tree(layer: Layer) -> float:
    """Return the levels of the adder tree that one cycle's products of one output go through."""
    return log2(max(1, -(-layer.n_in // layer.reuse_factor)))


def extra(layer: Layer, known: Constants) -> float:
    """Return the cycles of a folded product that its reuse factor costs beyond its turns, for its relation to n_in."""
    dense = known.dense
    if layer.reuse_factor <= layer.n_in:
        return 0.0 if layer.n_in % layer.reuse_factor == 0 else dense.uneven + dense.uneven_block * layer.block
    return dense.turn + dense.turn_block * layer.block if layer.reuse_factor % layer.n_in == 0 else dense.odd


def _dense(  # noqa: PLR0911 (one per reason)
    layer: Layer, network: Network, known: Constants
) -> Timing:
    dense, factor = known.dense, layer.reuse_factor
    if layer.strategy.lower() not in {"latency", "resource"}:
        return unknown(f"no report covers strategy {layer.strategy}")
    if layer.resource:
        if network.streamed:
            return unknown("no report covers Resource on streams")
        if factor == 1:
            return unknown("Resource with a reuse factor of 1: the only reported dense layer did not unroll")
        return Timing(factor + dense.depth + dense.level * tree(layer) + extra(layer, known), factor)
    if factor > 1:
        return unknown("no report covers Latency with a reuse factor above 1")
    if layer.n_in == 1:
        return Timing(0, 1)
    return Timing(dense.depth + dense.level * tree(layer), 1, single=True)


def _conv(  # noqa: PLR0911 (one per reason)
    layer: Layer, network: Network, known: Constants
) -> Timing:
    factor = layer.reuse_factor
    if layer.strategy.lower() not in {"latency", "resource"}:
        return unknown(f"no report covers strategy {layer.strategy}")
    if network.streamed:
        if layer.resource:
            return unknown("no report covers Resource on streams")
        if layer.columns > known.limits.line_columns:
            return unknown(f"no report covers a streamed image of more than {known.limits.line_columns} columns")
        taken = layer.pixels * factor + known.stream_depth
        return Timing(taken, taken + 1)
    if not layer.resource or layer.kind == "depthwise":
        return unknown(f"no report covers {_noun(layer)} on whole tensors under {layer.strategy}")
    if factor > layer.n_in:
        return unknown("no report covers a convolution whose reuse factor is above its inputs")
    cycles = layer.places * factor + known.dense.depth + known.dense.level * tree(layer) + extra(layer, known)
    return Timing(cycles, round(cycles) + 1 if network.tool == "vitis" else layer.places * factor)


def _at_once(layer: Layer, network: Network, known: Constants) -> Timing:  # noqa: ARG001 — one signature for all
    return Timing(0, 1)


def _table(layer: Layer, network: Network, known: Constants) -> Timing:  # noqa: ARG001 — one signature for all
    tool = known.tool(network.tool)
    return Timing(tool.streamed_table if network.streamed else tool.table, 1)


def _softmax(layer: Layer, network: Network, known: Constants) -> Timing:
    """Two look-ups, an adder tree between them, a product behind."""
    if layer.pixels > 1:
        return unknown("no report covers softmax at more than one place")
    look_up = _table(layer, network, known).cycles or 0
    return Timing(2 * look_up + known.dense.level * log2(max(1, layer.lanes)) + 1, 1)


def _pool(layer: Layer, network: Network, known: Constants) -> Timing:
    if network.streamed:
        return unknown("no report covers pooling on streams")
    if layer.cells > known.limits.pool_cells:
        return unknown(f"no report covers a pool of more than {known.limits.pool_cells} cells")
    padded = layer.padded and layer.kind == "average"
    return Timing(known.tool(network.tool).padded_average if padded else 0, 1)


def _other(layer: Layer, network: Network, known: Constants) -> Timing:  # noqa: ARG001 — one signature for all
    return unknown(f"no report covers {_noun(layer)}")


def _noun(layer: Layer) -> str:
    return layer.what or layer.kind


_RULES: dict[Kind, Callable[[Layer, Network, Constants], Timing]] = {
    "dense": _dense,
    "conv": _conv,
    "depthwise": _conv,
    "scale": _at_once,
    "rectify": _at_once,
    "table": _table,
    "softmax": _softmax,
    "max": _pool,
    "average": _pool,
    "wire": _at_once,
    "other": _other,
}
