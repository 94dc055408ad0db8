"""Merges, softmax and layer normalization for hls4ml, many of them side by side in one model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.networks import Branches

MERGES = ("add", "subtract", "multiply", "average", "maximum", "minimum")
IMPLEMENTATIONS = ("stable", "latency", "legacy", "argmax")


@dataclass
class Network:
    """Gather layers, their configuration, and the ends of a model."""

    layers: list[dict[str, Any]] = field(default_factory=list)
    named: dict[str, dict[str, Any]] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def input(self, name: str, shape: tuple[int, ...], kind: str) -> str:
        self.layers.append({"name": name, "class_name": "InputLayer", "input_shape": list(shape)})
        self.named[name] = {"Precision": {"result": kind}}
        self.inputs.append(name)
        return name

    def layer(
        self, name: str, kind: str, inputs: tuple[str, ...], given: dict[str, Any], /, *, out: str, **types: Any
    ) -> str:
        """Append a layer that is an output; out, types: its precisions, those of tables as hls4ml wants them."""
        self.layers.append({"name": name, "class_name": kind, "inputs": list(inputs), **given})
        tables = {which: text for which, text in types.items() if which.endswith("_t")}
        others = {which: text for which, text in types.items() if which not in tables}
        self.named[name] = {"Precision": {"result": out, **others}, **tables}
        self.outputs.append(name)
        return name

    def merge(self, name: str, op: str, a: str, b: str, out: str) -> str:
        return self.layer(name, "Merge", (a, b), {"op": op}, out=out)

    def dot(self, name: str, a: str, b: str, *, accum: str, out: str) -> str:
        return self.layer(name, "Dot", (a, b), {"op": "dot1d", "axes": -1}, out=out, accum=accum)

    def softmax(
        self,
        name: str,
        x: str,
        implementation: str,
        *,
        out: str,
        size: int = 1024,
        shape: tuple[int, ...],
        **types: str,
    ) -> str:
        n_in = int(np.prod(shape))
        given = {"activation": "softmax", "axis": -1, "n_in": n_in, "n_outer": n_in // shape[-1], "n_inner": 1}
        self.layer(name, "Softmax", (x,), given, out=out, **types)
        self.named[name] |= {"Implementation": implementation, "TableSize": size}
        return name

    def layer_norm(
        self, name: str, x: str, shape: tuple[int, int], *, out: str, epsilon: int = 3, size: int = 4096, **more: Any
    ) -> str:
        rng = np.random.default_rng(shape[1])
        weights = {"gamma_data": rng.normal(1, 0.5, shape[1]), "beta_data": rng.normal(0, 0.5, shape[1])}
        given = {"n_in": int(np.prod(shape)), "seq_len": shape[0], "axis": 2, "epsilon_power_of_10": epsilon, **weights}
        power = more.pop("range_power", 0)
        self.layer(name, "LayerNormalization", (x,), given, out=out, **more)
        self.named[name] |= {"TableSize": size, "TableRangePower2": power}
        return name

    def branches(self) -> Branches:
        return Branches(tuple(self.layers), {"LayerName": self.named}, tuple(self.inputs), tuple(self.outputs))


MERGED_TYPES = (
    ("ap_fixed<8,3>", "ap_fixed<8,3>", "ap_fixed<9,4>"),
    ("ap_fixed<10,3>", "ap_ufixed<6,-1>", "ap_fixed<7,2,AP_RND_CONV,AP_SAT>"),
    ("ap_ufixed<7,7>", "ap_fixed<9,11>", "ap_ufixed<10,6,AP_TRN_ZERO,AP_WRAP>"),
    ("ap_fixed<40,20>", "ap_int<6>", "ap_fixed<50,22,AP_RND,AP_SAT_SYM>"),
    ("ap_ufixed<5,2,AP_RND,AP_SAT>", "ap_uint<3>", "ap_fixed<4,2,AP_RND_INF,AP_SAT_ZERO>"),
    ("ap_fixed<64,30>", "ap_fixed<70,30>", "ap_int<20>"),
)


def add_merges(network: Network, *, parallel: bool) -> None:
    """Add every merge of many pairs of types; with parallel also broadcasts and inner products."""
    for k, (a, b, out) in enumerate(MERGED_TYPES):
        shape = (2, 3) if k % 2 else (5,)
        left, right = network.input(f"a{k}", shape, a), network.input(f"b{k}", shape, b)
        for op in MERGES:
            network.merge(f"{op}{k}", op, left, right, out)
        network.merge(f"turned{k}", "maximum", right, left, out)
    if parallel:
        row, one = network.input("row", (1, 3), "ap_fixed<6,2>"), network.input("one", (1,), "ap_fixed<6,3>")
        network.merge("row_last", "subtract", "a1", row, "ap_fixed<12,5>")
        network.merge("row_first", "subtract", row, "a1", "ap_fixed<12,5>")
        network.merge("one_last", "multiply", "b3", one, "ap_fixed<16,8>")
        network.dot("dot0", "a0", "b0", accum="ap_fixed<10,4>", out="ap_fixed<8,3,AP_RND,AP_SAT>")
        network.dot("dot2", "a2", "b2", accum="ap_fixed<14,9,AP_RND_CONV,AP_SAT>", out="ap_fixed<10,9>")
        network.dot("dot4", "a4", "b4", accum="ap_ufixed<9,6,AP_TRN,AP_SAT_ZERO>", out="ap_int<4>")


SOFTMAX_INPUTS = (
    "ap_fixed<8,3>",
    "ap_fixed<16,6>",
    "ap_fixed<24,8>",
    "ap_ufixed<9,3>",
    "ap_fixed<6,6>",
    "ap_fixed<40,5>",
    "ap_fixed<2,1>",
    "ap_int<5>",
    "ap_fixed<7,9>",
)
SOFTMAX_SHAPES = ((5,), (3, 4), (2, 2, 3), (1,), (2, 7), (9,), (3, 2), (6,), (2, 3))


def add_softmaxes(network: Network) -> None:
    """Add every implementation of softmax for inputs of many types and shapes."""
    for k, (kind, shape) in enumerate(zip(SOFTMAX_INPUTS, SOFTMAX_SHAPES, strict=True)):
        for implementation in IMPLEMENTATIONS:
            # an input of its own each: a Clone in front keeps hls4ml from clipping tables to 2**width
            x = network.input(f"x{k}_{implementation}", shape, kind)
            network.softmax(f"{implementation}{k}", x, implementation, out="ap_fixed<16,6>", shape=shape)
    y = network.input("y", SOFTMAX_SHAPES[1], "ap_fixed<16,6>")
    ends = {"out": "ap_fixed<12,2,AP_RND_CONV,AP_SAT>", "shape": SOFTMAX_SHAPES[1]}
    own = {"exp_table_t": "ap_ufixed<14,1>", "accum": "ap_fixed<12,4>", "inv_inp_t": "ap_ufixed<11,3>"}
    own |= {"inv_table_t": "ap_fixed<9,2,AP_RND,AP_SAT>"}
    network.softmax("own", y, "stable", size=64, **ends, **own)
    network.softmax("own_latency", y, "latency", size=256, **ends, **own)
    fine = {"exp_table_t": "ap_ufixed<34,2>", "accum": "ap_ufixed<36,4>", "inv_table_t": "ap_ufixed<40,8>"}
    network.softmax("fine", y, "stable", size=4096, **(ends | {"out": "ap_ufixed<60,2>"}), **fine)
    # entries of both signs in an accumulator that saturates: the order of additions shows
    network.softmax(
        "saturating",
        y,
        "latency",
        size=256,
        **(ends | {"exp_table_t": "ap_fixed<6,2>"}),
        accum="ap_fixed<6,2,AP_TRN,AP_SAT>",
    )
    network.softmax("short", y, "legacy", size=128, **ends)


def add_layer_norms(network: Network) -> None:
    """Add layer normalizations with many types, table sizes and ranges."""
    wide = {
        "accum": "ap_fixed<32,12>",
        "table_t": "ap_fixed<20,8>",
        "scale": "ap_fixed<16,6>",
        "bias": "ap_fixed<12,3>",
    }
    short = {"accum": "ap_fixed<11,5>", "table_t": "ap_ufixed<9,4,AP_RND,AP_SAT>", "scale": "ap_fixed<6,2>"}
    x, y, z = (
        network.input("norm_x", (3, 4), "ap_fixed<16,6>"),
        network.input("norm_y", (1, 5), "ap_fixed<8,1>"),
        network.input("norm_z", (2, 2), "ap_ufixed<9,3>"),
    )
    network.layer_norm("default_norm_x", x, (3, 4), out="ap_fixed<16,6>")
    network.layer_norm("default_norm_y", y, (1, 5), out="ap_fixed<16,6>")
    network.layer_norm("wide_norm_x", x, (3, 4), out="ap_fixed<24,8,AP_RND,AP_SAT>", epsilon=5, range_power=2, **wide)
    network.layer_norm("wide_norm_z", z, (2, 2), out="ap_fixed<20,6>", size=1000, **wide)
    network.layer_norm("short_norm_y", y, (1, 5), out="ap_fixed<8,3>", size=128, range_power=1, epsilon=1, **short)
    network.layer_norm("short_norm_x", x, (3, 4), out="ap_fixed<9,4,AP_RND_ZERO,AP_SAT_SYM>", size=256, **short)


def everything(*, parallel: bool) -> Branches:
    """Return all that hls4ml has for io_parallel or io_stream in one model."""
    network = Network()
    add_merges(network, parallel=parallel)
    add_softmaxes(network)
    if parallel:
        add_layer_norms(network)
    return network.branches()
