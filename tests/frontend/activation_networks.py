"""One hls4ml model of all activations on inputs of many types, each a chain of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flow.fixed import IntArray
from flow.graph.graph import Graph
from tests.networks import Branches, random_raw

NARROW, WIDE, UNSIGNED, LARGE = "ap_fixed<8,3>", "ap_fixed<16,6>", "ap_ufixed<10,4>", "ap_fixed<14,10>"
INPUTS = (NARROW, WIDE, UNSIGNED, LARGE)
ODD_INPUTS = ("ap_fixed<9,14>", "ap_ufixed<8,-2>", "ap_fixed<6,-1>", "ap_int<7>", "ap_fixed<40,18>")
COARSE, FINE = "ap_fixed<9,3,AP_RND_CONV,AP_SAT>", "ap_fixed<30,8>"


@dataclass
class Chains:
    """Gather chains of layers, each with an input of its own, and what the configuration says about them."""

    layers: list[dict[str, Any]] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def add(self, layer: dict[str, Any], x: str, result: str, *, shape: tuple[int, ...] = (6,), **config: Any) -> None:
        """Add one layer on an input of type `x`; config: of the layer, Precision apart from the result included."""
        k = len(self.inputs)
        name, start = f"a{k}", f"x{k}"
        self.layers.append({"name": start, "class_name": "InputLayer", "input_shape": list(shape)})
        self.layers.append({"name": name, "inputs": [start], "n_in": int(np.prod(shape))} | layer)
        precision = {"result": result} | config.pop("Precision", {})
        self.named |= {start: {"Precision": {"result": x}}, name: {"Precision": precision} | config}
        self.inputs.append(start)
        self.outputs.append(name)

    def branches(self) -> Branches:
        return Branches(tuple(self.layers), {"LayerName": self.named}, tuple(self.inputs), tuple(self.outputs))


def simple(function: str) -> dict[str, Any]:
    return {"class_name": "Activation", "activation": function}


def parametrized(kind: str, function: str, value: float) -> dict[str, Any]:
    return {"class_name": kind, "activation": function, "activ_param": value}


def hard(function: str, slope: float, slope_type: tuple[int, int]) -> dict[str, Any]:
    from hls4ml.model.types import FixedPrecisionType

    kind = FixedPrecisionType(*slope_type, signed=False)
    return {"class_name": "HardActivation", "activation": function, "slope": slope, "shift": 0.5, "slope_prec": kind}


TABLES = ("sigmoid", "tanh", "softplus", "softsign", "selu", "elu")


def table_chains() -> Branches:
    """Return every table on every type of input, and some of other sizes and types."""
    chains = Chains()
    for k, x in enumerate(INPUTS):
        for j, function in enumerate(TABLES):
            chains.add(simple(function), x, (COARSE, FINE)[(k + j) % 2], shape=((6,), (2, 3))[j % 2])
    for j, x in enumerate(ODD_INPUTS):
        for function in (TABLES[j], TABLES[5 - j]):
            chains.add(simple(function), x, FINE)
    for j, function in enumerate(TABLES):
        chains.add(simple(function), "ap_fixed<13,5>", FINE, TableSize=(64, 100, 4096)[j % 3])
        chains.add(simple(function), WIDE, "ap_fixed<34,6>", TableT="ap_fixed<36,5>")
    chains.add(parametrized("ELU", "elu", 0.7), WIDE, FINE, Precision={"param": "ap_fixed<9,2>"})
    chains.add(parametrized("ELU", "ELU", 1.0), NARROW, COARSE, Precision={"param": "auto"})
    chains.add(simple("tanh"), WIDE, "ap_int<4>", TableT="ap_ufixed<9,1,AP_RND_CONV,AP_SAT>")
    return chains.branches()


def other_chains(io_type: str) -> Branches:
    """Return every activation that needs no table on every type of input."""
    chains = Chains()
    rng = np.random.default_rng(5)
    for k, x in enumerate((*INPUTS, *ODD_INPUTS)):
        result, other = (COARSE, FINE) if k % 2 else (FINE, COARSE)
        chains.add(hard("hard_sigmoid", 0.2, (16, 0)), x, result)
        chains.add(hard("hard_sigmoid", 1 / 6, (16, -2)), x, other)
        chains.add(hard("hard_tanh", 0.5, (2, 0)), x, result, shape=(2, 3))
        chains.add(simple("binary_tanh"), x, other)
        chains.add(simple("ternary_tanh"), x, result, shape=(2, 3))
        chains.add(parametrized("LeakyReLU", "leakyrelu", 0.3), x, result, Precision={"param": "ap_fixed<10,2>"})
        chains.add(parametrized("LeakyReLU", "leaky_relu", -1.5), x, other, Precision={"param": "auto"})
        chains.add(parametrized("ThresholdedReLU", "thresholdedrelu", 0.75), x, other, Precision={"param": "auto"})
        chains.add(parametrized("ThresholdedReLU", "thresholdedrelu", -1.3), x, result, Precision={"param": WIDE})
        chains.add(
            {"class_name": "PReLU", "activation": "prelu", "param_data": rng.normal(size=(2, 3))},
            x,
            result,
            shape=(2, 3),
        )
        if io_type == "io_parallel" and k % 2 == 0:
            chains.add(simple("relu6"), x, result)
            chains.add(simple("relu1"), x, other)
    chains.add(simple("ternary_tanh"), "ap_fixed<8,3,AP_RND,AP_SAT>", COARSE)
    chains.add(simple("binary_tanh"), WIDE, "ap_int<2>")
    chains.add(simple("ternary_tanh"), WIDE, "ap_fixed<2,2>")
    chains.add(simple("Binary_Tanh"), WIDE, "ap_fixed<2,1>")
    return chains.branches()


def corner_vectors(graph: Graph, count: int) -> dict[str, IntArray]:
    """Return raw inputs: every code of narrow types, else ends, both sides of integers and halves, and random codes."""
    rng = np.random.default_rng(11)
    drawn = {}
    for name in graph.inputs:
        node = graph.node(name)
        kind, wanted = node.type, count * node.size
        special = [kind.lo, kind.lo + 1, -1, 0, 1, kind.hi - 1, kind.hi]
        for half in range(-20, 21):
            at = half << kind.fraction - 1 if kind.fraction > 0 else half
            special += [at - 1, at, at + 1]
        special = [code for code in special if kind.lo <= code <= kind.hi]
        everything = list(range(kind.lo, kind.hi + 1)) if kind.width <= 14 else special
        codes = (everything if len(everything) <= wanted else special)[:wanted]
        near = rng.integers(-10 << max(kind.fraction, 0), 10 << max(kind.fraction, 0), size=wanted)
        near = near[(near >= kind.lo) & (near <= kind.hi)][: (wanted - len(codes)) // 2]
        rest = random_raw(rng, kind, (wanted - len(codes) - len(near),))
        raw = np.concatenate([np.array(codes, dtype=np.int64), near, rest])
        drawn[name] = raw.reshape((count, *node.shape))
    return drawn
