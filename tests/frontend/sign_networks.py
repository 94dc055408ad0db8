"""Networks of binary and ternary values for hls4ml: dense layers, normalizations merged with signs, XNOR codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.graph.window import Window
from tests.frontend.fake_source import activation_layer, dense_layer
from tests.frontend.test_border_conv import conv_layer
from tests.networks import Branches


def norm_layer(name: str, before: str, n: int, rng: np.random.Generator) -> dict[str, Any]:
    layer = {"name": name, "class_name": "BatchNormalization", "inputs": [before], "n_in": n, "n_filt": -1}
    layer |= {"use_gamma": True, "use_beta": True, "epsilon": 1e-3}
    layer |= {"gamma_data": rng.normal(size=n), "beta_data": rng.normal(size=n)}
    return layer | {"mean_data": rng.normal(size=n), "variance_data": rng.random(n) + 0.1}


def sign_layer(name: str, before: str, n: int, function: str) -> dict[str, Any]:
    layer = activation_layer(name, before, n, function)
    return layer | ({"class_name": "TernaryTanh", "threshold": 0.4} if function == "ternary_tanh" else {})


def signs(first: str, second: str, seed: int, *, n: int = 7, bias: float = 0.0) -> Branches:
    """Return dense, normalization, sign, dense of binary or ternary weights, normalization, sign, dense, by the signs.

    first, second: binary_tanh or ternary_tanh. bias: of the dense layers behind a sign.
    """
    from hls4ml.model.quantizers import BinaryQuantizer, TernaryQuantizer

    rng = np.random.default_rng(seed)
    quantizer = {"binary_tanh": lambda: BinaryQuantizer(bits=1), "ternary_tanh": TernaryQuantizer}
    m, k = n - 2, 3

    def dense(name: str, before: str, n_in: int, n_out: int, of: str) -> dict[str, Any]:
        weights, offsets = rng.normal(size=(n_in, n_out)), np.full(n_out, bias)
        return dense_layer(name, before, weights, offsets, weight_quantizer=quantizer[of]())

    layers = (
        {"name": "x", "class_name": "InputLayer", "input_shape": [n]},
        norm_layer("n0", "x", n, rng),
        sign_layer("s0", "n0", n, first),
        dense("d1", "s0", n, m, second),
        norm_layer("n1", "d1", m, rng),
        sign_layer("s1", "n1", m, second),
        dense("d2", "s1", m, k, first),
    )
    return Branches(layers, {"LayerName": {"x": {"Precision": {"result": "ap_fixed<9,4>"}}}}, ("x",), ("d2",))


def coded(layers: tuple[dict[str, Any], ...], precisions: dict[str, dict[str, str]], shape: list[int]) -> Branches:
    """Return layers behind `s`, a sign function whose output hls4ml codes 0 and 1."""
    from hls4ml.model.types import XnorPrecisionType

    start = {"name": "x", "class_name": "InputLayer", "input_shape": shape}
    sign = activation_layer("s", "x", int(np.prod(shape)), "binary_tanh", quantizer_precision=XnorPrecisionType())
    named = {"x": {"Precision": {"result": "ap_fixed<9,4>"}}}
    named |= {name: {"Precision": given} for name, given in precisions.items()}
    last = layers[-1]["name"] if layers else "s"
    return Branches((start, sign, *layers), {"LayerName": named}, ("x",), (last,))


SUMS = {"result": "ap_fixed<10,6>", "bias": "ap_fixed<6,3>", "accum": "ap_fixed<12,7>"}


def binary_dense(**given: str) -> Branches:
    """Return a dense layer of binary weights on binary inputs, with a bias."""
    from hls4ml.model.quantizers import BinaryQuantizer

    rng = np.random.default_rng(3)
    weights, bias = rng.normal(size=(11, 4)), np.array([0.75, -1.125, 0.0, 2.5])
    layer = dense_layer("d", "s", weights, bias, weight_quantizer=BinaryQuantizer(bits=1))
    return coded((layer,), {"d": SUMS | given}, [11])


def coded_networks() -> tuple[Branches, ...]:
    """Return layers that read binary values coded 0 and 1, and those values themselves."""
    from hls4ml.model.quantizers import BinaryQuantizer

    rng = np.random.default_rng(4)
    plain = dense_layer("d", "s", rng.normal(size=(5, 3)), rng.normal(size=3))
    window = Window(4, 5, 2, (2, 3), (1, 1), (0, 0, 0, 0))
    conv = conv_layer(window, 3, weight_quantizer=BinaryQuantizer(bits=1)) | {"inputs": ["s"]}
    unbiased = conv | {"bias_data": np.zeros(3)}
    reshape = {"name": "r", "class_name": "Reshape", "inputs": ["s"], "target_shape": [6]}
    pool = {"name": "p", "class_name": "MaxPooling1D", "inputs": ["s"], "data_format": "channels_last", "n_in": 6}
    pool |= {"n_out": 3, "n_filt": 2, "pool_width": 2, "stride_width": 2, "pad_left": 0, "pad_right": 0}
    return (
        coded((), {}, [6]),
        binary_dense(),
        binary_dense(bias="ap_fixed<6,6>", result="ap_int<6>"),
        binary_dense(bias="ap_fixed<2,-3>", accum="ap_ufixed<9,6>", result="ap_fixed<6,3,AP_RND,AP_SAT>"),
        coded((plain,), {"d": SUMS | {"weight": "ap_fixed<7,3>"}}, [5]),
        coded((norm_layer("n", "s", 5, rng),), {"n": {"result": "ap_fixed<12,5>"}}, [5]),
        coded((conv,), {"c": SUMS}, [4, 5, 2]),
        coded((unbiased,), {"c": SUMS | {"accum": "ap_int<6>"}}, [4, 5, 2]),
        coded((pool,), {"p": {"result": "ap_fixed<4,2>"}}, [6, 2]),
        coded(
            (reshape, plain | {"inputs": ["r"], "n_in": 6, "weight_data": rng.normal(size=(6, 3))}), {"d": SUMS}, [2, 3]
        ),
    )
