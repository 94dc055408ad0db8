from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from flow.device.delays import delays_of, has_delays
from flow.device.parts import find_part, parts
from flow.engines.area import area
from flow.engines.estimate import digits, estimate
from flow.engines.lower import lower_graph, runs
from flow.engines.network import connect
from flow.engines.pipeline import place
from flow.engines.sums import signed_digits
from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph
from flow.graph.nodes import Affine, Dense, Input, Quantize, Relu
from tests.cones import DELAYS


def layer(seed: int, n_in: int, n_out: int, *, bits: int, zeros: float, accumulator: FixedType | None = None) -> Graph:
    rng = np.random.default_rng(seed)
    weight, x = FixedType(bits, 1), FixedType(6, 2, False)
    weights = rng.integers(weight.lo, weight.hi + 1, (n_in, n_out))
    return Graph(
        "layer",
        (
            Input(name="x", label="x", inputs=(), shape=(n_in,), type=x),
            Dense(
                name="d",
                label="d",
                inputs=("x",),
                shape=(n_out,),
                type=FixedType(20, 10),
                weights=np.where(rng.random(weights.shape) < zeros, 0, weights),
                bias=rng.integers(weight.lo, weight.hi + 1, n_out),
                weight_type=weight,
                bias_type=weight,
                accumulator=accumulator or FixedType(30, 12),
            ),
            Relu(
                name="r",
                label="r",
                inputs=("d",),
                shape=(n_out,),
                type=FixedType(6, 2, False, Rounding.RND_CONV, Overflow.SAT),
            ),
        ),
        ("x",),
        ("r",),
    )


LAYERS = {
    "square": layer(256, 16, 16, bits=4, zeros=0.0),
    "sparse": layer(192, 24, 8, bits=6, zeros=0.5),
    "wide": layer(160, 8, 20, bits=5, zeros=0.2),
    "last": layer(161, 32, 5, bits=6, zeros=0.0),
    "in_order": layer(120, 12, 10, bits=5, zeros=0.0, accumulator=FixedType(12, 8, True, Rounding.TRN, Overflow.SAT)),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("family", ["xcup", "ecp5"])
def test_estimates_come_near_solved_cones(name: str, family: str) -> None:
    graph = LAYERS[name]
    guess = estimate(graph, runs(graph)[0], DELAYS, family)
    placement = place(connect(lower_graph(graph, runs(graph)), graph.outputs), (1,), DELAYS)
    solved = area(placement.cones[0], family)
    assert guess.lut == pytest.approx(solved.lut, rel=0.2)
    assert guess.delay_ns == pytest.approx(placement.worst_ns - DELAYS.register_ns, rel=0.15)
    assert 0 < guess.step_ns < guess.delay_ns
    assert guess.output_bits == 6 * graph.node("r").size


def test_elementwise_runs_are_exact() -> None:
    shape = (5,)
    graph = Graph(
        "steps",
        (
            Input(name="x", label="x", inputs=(), shape=shape, type=FixedType(8, 4)),
            Affine(
                name="s",
                label="s",
                inputs=("x",),
                shape=shape,
                type=FixedType(9, 5),
                scale=np.array([3, -5, 7, 0, 1]),
                bias=np.arange(5),
                scale_type=FixedType(4, 2),
                bias_type=FixedType(4, 2),
            ),
            Quantize(name="q", label="q", inputs=("s",), shape=shape, type=FixedType(4, 2, True, Rounding.RND)),
        ),
        ("x",),
        ("q",),
    )
    guess = estimate(graph, runs(graph)[0], DELAYS, "ecp5")
    placement = place(connect(lower_graph(graph, runs(graph)), graph.outputs), (1,), DELAYS)
    assert guess.lut == area(placement.cones[0], "ecp5").lut
    assert guess.delay_ns == pytest.approx(placement.worst_ns - DELAYS.register_ns)


def test_a_layer_of_zeros_costs_nothing() -> None:
    graph = layer(1, 4, 3, bits=4, zeros=1.1)
    assert estimate(graph, runs(graph)[0], DELAYS, "gowin").lut < 3 * 20


def test_a_large_layer_is_judged_at_once() -> None:
    graph = layer(2, 128, 128, bits=8, zeros=0.0)
    start = time.process_time()
    guess = estimate(graph, runs(graph)[0], DELAYS, "xcup")
    assert time.process_time() - start < 1.0
    assert guess.lut > 100_000


def test_digits_are_canonical() -> None:
    weights = np.arange(-70, 70).reshape(10, 14)
    expected = [[len(signed_digits(int(v))) for v in row] for row in weights]
    assert digits(weights).tolist() == expected
    assert digits(weights.astype(object)).tolist() == expected


@pytest.mark.parametrize("part", [part.name for part in parts() if has_delays(part)])
def test_no_delay_is_negative_where_no_logic_is_left(part: str) -> None:
    """A constant that is added behind a matrix of zeros is all that stands there, and is merged with it."""
    graph = layer(1, 7, 2, bits=4, zeros=1.0)
    source, dense = graph.nodes[:2]
    assert isinstance(dense, Dense)
    kind = FixedType(8, 4, True, Rounding.RND_INF)
    dense = replace(dense, bias=np.array([0, 5]), type=kind, accumulator=FixedType(18, 11))
    graph = replace(graph, nodes=(source, dense), outputs=("d",))
    found = find_part(part)
    assert estimate(graph, ("d",), delays_of(found), found.family).delay_ns >= 0.0
