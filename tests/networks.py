"""Random networks that every kind of check draws from: hls4ml models, graphs and input vectors, all seeded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from flow.engines.dataflow import dataflow
from flow.engines.engine import Unrolled
from flow.engines.lower import runs
from flow.engines.module import Module
from flow.engines.pipeline import Placement
from flow.errors import UserError
from flow.fixed import FixedType, IntArray, Overflow, Rounding, cast
from flow.frontend.border import to_graph
from flow.frontend.silence import silence
from flow.graph.graph import Graph
from flow.graph.nodes import Affine, AnyNode, Dense, Input, Quantize, Relu, Reshape
from flow.rtl.signature import Signature
from flow.rtl.top import build_top

ROUNDINGS, OVERFLOWS = tuple(Rounding), tuple(Overflow)


def random_type(rng: np.random.Generator, *, width: tuple[int, int] = (1, 12), odd: float = 0.3) -> FixedType:
    """Draw a type; with probability `odd` its point lies outside its bits."""
    w = int(rng.integers(width[0], width[1] + 1))
    i = int(rng.integers(-3, w + 4)) if rng.random() < odd else int(rng.integers(0, w + 1))
    q, o = ROUNDINGS[rng.integers(len(ROUNDINGS))], OVERFLOWS[rng.integers(len(OVERFLOWS))]
    return FixedType(w, i, bool(rng.integers(4)), q, o)


def random_raw(rng: np.random.Generator, kind: FixedType, shape: tuple[int, ...]) -> IntArray:
    """Draw raw integers: uniform, small ones, both ends of the range and zero."""
    span = kind.hi - kind.lo + 1
    draws = []
    for _ in range(int(np.prod(shape))):
        how = rng.integers(8)
        if how == 0:
            draws.append(kind.lo)
        elif how == 1:
            draws.append(kind.hi)
        elif how == 2:
            draws.append(min(max(int(rng.integers(-3, 4)), kind.lo), kind.hi))
        else:
            draws.append(kind.lo + int.from_bytes(rng.bytes(40), "little") % span)
    array = np.array(draws, dtype=object if kind.width > 62 else np.int64)
    return array.reshape(shape)


def vectors(rng: np.random.Generator, graph: Graph, count: int) -> dict[str, IntArray]:
    """Draw raw input vectors for a graph; the first three are all zero, all lowest, all highest."""
    drawn = {}
    for name in graph.inputs:
        node = graph.node(name)
        raw = random_raw(rng, node.type, (count, *node.shape))
        raw[0], raw[1], raw[2] = 0, node.type.lo, node.type.hi
        drawn[name] = raw
    return drawn


def _codes(rng: np.random.Generator, kind: FixedType, shape: tuple[int, ...]) -> IntArray:
    style = rng.integers(6)
    raw = random_raw(rng, kind, shape)
    if style == 0:
        raw = np.zeros_like(raw)
    elif style == 1:
        raw = np.where(rng.random(shape) < 0.7, 0, raw)
    raw.setflags(write=False)
    return raw


def _random_node(
    rng: np.random.Generator, k: int, before: AnyNode, draw: Callable[[], FixedType], size: int
) -> AnyNode:
    """Draw node k behind `before`; one with several axes gets no dense layer."""
    common: dict[str, Any] = {
        "name": f"n{k}",
        "label": f"layer {k}",
        "inputs": (before.name,),
        "shape": before.shape,
        "type": draw(),
    }
    which = rng.integers(6)
    if which <= 1 and len(before.shape) == 1:
        n_in, n_out = before.shape[0], int(rng.integers(1, size + 1))
        weight, bias = draw(), draw()
        full = rng.random() < 0.5
        product_integer = before.type.integer + weight.integer + n_in.bit_length() + 2
        fraction = max(before.type.fraction + weight.fraction, bias.fraction)
        wide = FixedType(max(product_integer, bias.integer + 2) + fraction, max(product_integer, bias.integer + 2))
        accumulator = wide if full and wide.width >= 1 else draw()
        common["shape"] = (n_out,)
        return Dense(
            **common,
            weights=_codes(rng, weight, (n_in, n_out)),
            bias=_codes(rng, bias, (n_out,)),
            weight_type=weight,
            bias_type=bias,
            accumulator=accumulator,
        )
    if which <= 2:
        return Quantize(**common)
    if which == 3:
        return Relu(**common)
    if which == 4:
        slope_type = FixedType(1, int(rng.integers(-3, 2)), signed=False)
        return Relu(**common, slope=1, slope_type=slope_type)
    scale, bias = draw(), draw()
    return Affine(
        **common,
        scale=_codes(rng, scale, before.shape[-1:]),
        bias=_codes(rng, bias, before.shape[-1:]),
        scale_type=scale,
        bias_type=bias,
    )


def random_graph(seed: int, *, layers: int = 3, size: int = 6, width: tuple[int, int] = (1, 10)) -> Graph:
    """Draw a chain of nodes of all kinds with random types."""
    rng = np.random.default_rng(seed)

    def draw() -> FixedType:
        return random_type(rng, width=width)

    nodes: list[AnyNode] = [Input(name="x", label="x", inputs=(), shape=(int(rng.integers(1, size + 1)),), type=draw())]
    for k in range(layers):
        nodes.append(_random_node(rng, k, nodes[-1], draw, size))
    if rng.random() < 0.3:
        last = nodes[-1]
        nodes.append(Reshape(name="r", label="r", inputs=(last.name,), shape=(1, last.shape[0]), type=last.type))
    return Graph(name=f"random_{seed}", nodes=tuple(nodes), inputs=("x",), outputs=(nodes[-1].name,))


def branching_graph(seed: int, *, layers: int = 6, size: int = 6, width: tuple[int, int] = (1, 10)) -> Graph:
    """Draw a network that branches: tensors are read several times, or by nobody, and several leave in any order.

    It has one or two inputs, which may leave as they came, and tensors of one or two axes.
    """
    rng = np.random.default_rng(seed)

    def draw() -> FixedType:
        return random_type(rng, width=width)

    nodes: list[AnyNode] = [
        Input(name=name, label=f"input {name}", inputs=(), shape=(int(rng.integers(1, size + 1)),), type=draw())
        for name in ("x", "y")[: int(rng.integers(1, 3))]
    ]
    inputs = tuple(node.name for node in nodes)
    for k in range(layers):
        before = nodes[-1] if rng.random() < 0.4 else nodes[rng.integers(len(nodes))]
        if before.inputs and rng.random() < 0.3:
            before = next(node for node in nodes if node.name == before.inputs[0])  # it is read once more
        if rng.random() < 0.15:
            count = before.shape[0] if len(before.shape) == 1 else before.size
            shape = (count,) if len(before.shape) > 1 else (2, count // 2) if count % 2 == 0 else (count, 1)
            nodes.append(
                Reshape(name=f"n{k}", label=f"shape {k}", inputs=(before.name,), shape=shape, type=before.type)
            )
        else:
            nodes.append(_random_node(rng, k, before, draw, size))
    read = {name for node in nodes for name in node.inputs}
    ends = [node.name for node in nodes if node.name not in read and node.name not in inputs]
    kept = [name for name in ends if name == ends[-1] or rng.random() < 0.8]
    extra = [node.name for node in nodes if node.name in read and rng.random() < 0.15]
    outputs = tuple(str(name) for name in rng.permutation([*kept, *extra]))
    turned = inputs if rng.integers(2) else inputs[::-1]
    return Graph(name=f"branching_{seed}", nodes=tuple(nodes), inputs=turned, outputs=outputs)


def saturating_graph(seed: int) -> Graph:
    """Draw one dense layer whose narrow accumulator saturates on most vectors."""
    rng = np.random.default_rng(seed)
    x, w = FixedType(6, 3), FixedType(5, 2)
    overflow = (Overflow.SAT, Overflow.SAT_SYM, Overflow.SAT_ZERO)[rng.integers(3)]
    accumulator = FixedType(6, 4, True, ROUNDINGS[rng.integers(len(ROUNDINGS))], overflow)
    n_in, n_out = 9, 3
    return Graph(
        name=f"saturating_{seed}",
        nodes=(
            Input(name="x", label="x", inputs=(), shape=(n_in,), type=x),
            Dense(
                name="d",
                label="d",
                inputs=("x",),
                shape=(n_out,),
                type=FixedType(6, 4),
                weights=_codes(np.random.default_rng(seed + 1), w, (n_in, n_out)),
                bias=_codes(rng, w, (n_out,)),
                weight_type=w,
                bias_type=w,
                accumulator=accumulator,
            ),
        ),
        inputs=("x",),
        outputs=("d",),
    )


@dataclass(frozen=True, slots=True)
class Branches:
    """Describe several independent random networks as one hls4ml model: one conversion, one compilation."""

    layers: tuple[dict[str, Any], ...]
    config: dict[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def hls_type(kind: FixedType) -> str:
    """Write a type as hls4ml's configuration does."""
    sign = "" if kind.signed else "u"
    return f"ap_{sign}fixed<{kind.width},{kind.integer},AP_{kind.rounding},AP_{kind.overflow}>"


def random_branches(seed: int, count: int, *, wide: bool = False) -> Branches:
    """Draw `count` independent networks with random layers, weights, precisions and quantizers.

    Networks that the border refuses (a cast that the C++ types get wrong) are drawn again.
    """
    rng = np.random.default_rng(seed)
    layers: list[dict[str, Any]] = []
    named: dict[str, Any] = {}
    inputs, outputs = [], []
    while len(inputs) < count:
        chain, config = _random_chain(rng, f"b{len(inputs)}", wide=wide)
        one = Branches(tuple(chain), {"LayerName": config}, (chain[0]["name"],), (chain[-1]["name"],))
        try:
            to_graph(to_model(one, Path("unwritten")), name="one", label_of={})
        except UserError:
            continue
        layers += chain
        named |= config
        inputs.append(chain[0]["name"])
        outputs.append(chain[-1]["name"])
    return Branches(tuple(layers), {"LayerName": named}, tuple(inputs), tuple(outputs))


def _random_chain(rng: np.random.Generator, prefix: str, *, wide: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    width = (1, 40) if wide else (1, 10)
    n = int(rng.integers(1, 6))
    integer_like = 0.1

    def text() -> str:
        if wide and rng.random() < 0.2:
            return "ap_fixed<32,16>"
        if rng.random() < integer_like:
            return f"ap_{'' if rng.integers(2) else 'u'}int<{int(rng.integers(3, 9))}>"
        return hls_type(random_type(rng, width=width))

    name = f"{prefix}_in"
    start = hls_type(random_type(rng, width=(2, width[1]), odd=0.2))
    layers: list[dict[str, Any]] = [{"name": name, "class_name": "InputLayer", "input_shape": [n]}]
    config: dict[str, Any] = {name: {"Precision": {"result": start}}}
    for k in range(int(rng.integers(1, 4))):
        before, name = name, f"{prefix}_l{k}"
        which = "dense" if k == 0 else str(rng.choice(["dense", "linear", "relu", "leaky", "norm"]))
        layer: dict[str, Any] = {"name": name, "inputs": [before]}
        precision = {"result": text()}
        if which == "dense":
            m = int(rng.integers(1, 6))
            layer |= {"class_name": "Dense", "n_in": n, "n_out": m, "use_bias": True}
            layer["weight_data"] = rng.normal(size=(n, m)) * float(rng.choice([0.3, 1.0, 4.0]))
            layer["bias_data"] = rng.normal(size=m) * float(rng.choice([0.0, 1.0, 8.0]))
            if rng.random() < 0.1:
                layer["weight_data"] = np.zeros((n, m))
            layer["weight_quantizer"] = _random_quantizer(rng)
            layer["bias_quantizer"] = None
            precision |= {"weight": text(), "bias": text(), "accum": text()}
            if rng.random() < 0.4:
                precision["accum"] = "auto"
            if layer["weight_quantizer"] is not None:
                del precision["weight"]
            n = m
        elif which == "norm":
            layer |= {"class_name": "BatchNormalization", "n_in": n, "n_filt": -1, "use_gamma": True}
            layer |= {"use_beta": True, "epsilon": 1e-3}
            layer["gamma_data"] = rng.normal(size=n)
            layer["beta_data"] = rng.normal(size=n)
            layer["mean_data"] = rng.normal(size=n)
            layer["variance_data"] = rng.random(n) + 0.1
            precision |= {"scale": text(), "bias": text()}
        elif which == "leaky":
            slope = float(rng.choice([0.5, 0.25, 0.125, -0.5]))
            layer |= {"class_name": "LeakyReLU", "activation": "leaky_relu", "activ_param": slope, "n_in": n}
            precision["param"] = "ap_fixed<6,2>"
        else:
            layer |= {"class_name": "Activation", "activation": "relu" if which == "relu" else "linear", "n_in": n}
        layers.append(layer)
        config[name] = {"Precision": precision}
    return layers, config


def _random_quantizer(rng: np.random.Generator) -> Any:
    from hls4ml.model.quantizers import BinaryQuantizer, TernaryQuantizer

    draw = rng.random()
    if draw < 0.08:
        return BinaryQuantizer(bits=1)
    if draw < 0.16:
        return BinaryQuantizer(bits=2)
    if draw < 0.24:
        return TernaryQuantizer()
    if draw < 0.32:
        return power_of_two_quantizer()
    return None


def power_of_two_quantizer() -> Any:
    """Return a quantizer to signed powers of two from 2^-3 to 2^3, stored as 4-bit exponents."""
    from hls4ml.model.quantizers import Quantizer
    from hls4ml.model.types import ExponentPrecisionType

    class PowersOfTwo(Quantizer):
        def __init__(self) -> None:
            super().__init__(4, ExponentPrecisionType(4, signed=True))

        def __call__(self, data: Any) -> Any:
            exponent = np.clip(np.round(np.log2(np.abs(data) + 1e-9)), -3, 3)
            return np.where(data < 0, -1.0, 1.0) * 2.0**exponent

    return PowersOfTwo()


def to_model(branches: Branches, folder: Path, *, project: str = "net", io_type: str = "io_parallel") -> Any:
    """Build hls4ml's ModelGraph from the description and complete its `vitis:ip` flow."""
    from hls4ml.backends import get_backend
    from hls4ml.model.graph import ModelGraph

    hls = {"Model": {"Precision": "ap_fixed<16,6>", "ReuseFactor": 1, "Strategy": "Latency"}, **branches.config}
    with silence():
        config = get_backend("Vitis").create_initial_config()
        config |= {"OutputDir": str(folder), "ProjectName": project, "Backend": "Vitis", "HLSConfig": hls}
        config |= {"IOType": io_type}
        layers = [dict(layer) for layer in branches.layers]
        model = ModelGraph.from_layer_list(config, layers, list(branches.inputs), list(branches.outputs))
        model.apply_flow("vitis:ip")
    return model


def unrolled_top(graph: Graph, placement: Placement) -> tuple[tuple[Module, ...], Signature]:
    """Return the hardware of a network whose cones are those that `runs` makes of it."""
    groups = zip(runs(graph), placement.cones, strict=True)
    choices = tuple(Unrolled(run, cone.departure - cone.arrival) for run, cone in groups)
    return build_top(graph, dataflow(graph, choices), {cone.name: cone for cone in placement.cones})


def quantized(values: np.ndarray[Any, Any], kind: FixedType) -> IntArray:
    """Round floats to raw integers of a type, to nearest even."""
    scaled = np.asarray(np.round(values * 2.0**kind.fraction), dtype=np.int64)
    return cast(scaled, kind.fraction, kind, 62)


def chain_graph(sizes: tuple[int, ...], *, names: tuple[str, ...] = ()) -> Graph:
    """Return dense layers d0, d1 … with 4-bit weights behind x, one behind the other; their sums saturate at 6 bits."""
    rng = np.random.default_rng(sum(sizes))
    weight, kind = FixedType(4, 1), FixedType(6, 3, True, Rounding.RND, Overflow.SAT)
    nodes: list[AnyNode] = [Input(name="x", label="x", inputs=(), shape=sizes[:1], type=FixedType(5, 2))]
    for k, shape in enumerate(pairwise(sizes)):
        name = names[k] if names else f"d{k}"
        nodes.append(
            Dense(
                name=name,
                label=f"layer {name}",
                inputs=(nodes[-1].name,),
                shape=shape[1:],
                type=kind,
                weights=random_raw(rng, weight, shape),
                bias=random_raw(rng, weight, shape[1:]),
                weight_type=weight,
                bias_type=weight,
                accumulator=FixedType(20, 10),
            )
        )
    return Graph("chain", tuple(nodes), ("x",), (nodes[-1].name,))
