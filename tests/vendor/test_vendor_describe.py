"""From a graph and its knobs to the network that the vendor's compiler gets."""

from __future__ import annotations

import numpy as np
import pytest

from flow.fixed import FixedType
from flow.graph.graph import Graph
from flow.graph.nodes import Affine, Conv, DepthwiseConv, Input, Pool, PRelu, Relu, Reshape
from flow.graph.window import Window
from flow.plan.knobs import Knob
from flow.plan.reuse import used_by_hls4ml
from flow.vendor.describe import describe
from flow.vendor.predict import predict
from tests.vendor.vendor_networks import branches, chain, dense


def test_reuse_factors_are_those_that_hls4ml_rounds_to() -> None:
    network = describe(chain(), {"first": Knob(7, "Resource"), "last": Knob(1, "Latency")})
    x, first, relu, last = network.layers
    assert (x.kind, relu.kind) == ("wire", "rectify")
    assert (first.kind, first.n_in, first.n_out, first.operand_bits) == ("dense", 8, 6, (16, 16))
    assert first.reuse_factor == used_by_hls4ml(8, 6, 7, "Resource") == 8
    assert (last.strategy, last.reuse_factor, last.products) == ("Latency", 1, 24)
    assert network.io_type == "io_parallel"


def test_layers_that_the_plan_does_not_name_are_as_the_reference() -> None:
    assert all((layer.strategy, layer.reuse_factor) == ("Latency", 1) for layer in describe(chain(), {}).layers)


def test_a_chain_adds_up() -> None:
    found = predict(describe(chain(), {"first": Knob(8, "Resource"), "last": Knob(6, "Resource")}))
    parts = [layer.cycles.value for layer in found.layers]
    assert None not in parts
    assert found.total.cycles.value == pytest.approx(sum(part or 0 for part in parts), abs=1)
    assert (found.total.interval.value, found.total.dsp.value) == (8, 48 // 8 + 24 // 6)


def test_narrow_operands_leave_dsps_unknown_with_a_bound() -> None:
    found = predict(describe(chain(FixedType(6, 1)), {}))
    assert found.total.dsp.value is None
    assert any("at most 48" in why for why in found.layers[1].reasons)


def test_an_unknown_layer_leaves_the_total_unknown_and_is_named() -> None:
    found = predict(describe(branches(), {}))
    by_name = {layer.name: layer for layer in found.layers}
    assert by_name["tanh"].cycles.value
    assert (by_name["tanh"].bram.value, by_name["relu"].bram.value) == (4, 0)
    assert by_name["sum"].cycles.value is None
    assert found.total.cycles.value is None
    assert found.total.bram.value is None
    assert "sum" in found.total.reasons[0]


def image(io_type: str, pads: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Graph:
    """Return a convolution, a depthwise one, a pool and a dense layer over 6 x 6 x 2."""
    kind = FixedType(16, 6)
    common = {"type": kind, "bias_type": kind, "weight_type": kind, "accumulator": FixedType(32, 12)}
    rows = 6 + pads[0] + pads[1] - 2
    x = Input(name="x", label="x", inputs=(), shape=(6, 6, 2), type=kind)
    conv = Conv(
        name="conv",
        label="conv",
        inputs=("x",),
        shape=(rows, rows, 3),
        window=Window(6, 6, 2, (3, 3), (1, 1), pads),
        weights=np.full((3, 3, 2, 3), 11),
        bias=np.zeros(3, dtype=np.int64),
        **common,
    )
    depthwise = DepthwiseConv(
        name="depth",
        label="depth",
        inputs=("conv",),
        shape=(rows, rows, 3),
        window=Window(rows, rows, 3, (1, 1), (1, 1), (0, 0, 0, 0)),
        weights=np.full((1, 1, 3), 11),
        bias=np.zeros(3, dtype=np.int64),
        **common,
    )
    pool = Pool(
        name="pool",
        label="pool",
        inputs=("depth",),
        shape=(rows // 2, rows // 2, 3),
        type=kind,
        window=Window(rows, rows, 3, (2, 2), (2, 2), (0, 0, 0, 0)),
        op="max",
        accumulator=kind,
    )
    size = (rows // 2) ** 2 * 3
    flat = Reshape(name="flat", label="flat", inputs=("pool",), shape=(size,), type=kind)
    last = dense("last", "flat", np.full((size, 2), 11))
    return Graph("image", (x, conv, depthwise, pool, flat, last), ("x",), ("last",), io_type=io_type)


def test_an_image_is_described_place_by_place() -> None:
    _, conv, depthwise, pool, flat, last = describe(image("io_stream"), {"conv": Knob(9, "Resource")}).layers
    assert (conv.kind, conv.n_in, conv.n_out, conv.pixels, conv.places, conv.columns) == ("conv", 18, 3, 36, 16, 6)
    assert (conv.reuse_factor, conv.products, conv.lanes) == (9, 54, 3)
    assert (depthwise.kind, depthwise.n_in, depthwise.n_out, depthwise.products) == ("depthwise", 1, 3, 3)
    assert (pool.kind, pool.cells, pool.pixels, pool.padded) == ("max", 4, 16, False)
    assert (flat.kind, last.pixels) == ("wire", 4)


def test_a_vector_that_comes_pixel_by_pixel_is_unknown() -> None:
    found = predict(describe(image("io_stream"), {}))
    assert found.layers[-1].cycles.value is None
    assert predict(describe(image("io_parallel"), {})).layers[-1].cycles.value is not None


def test_padding_is_a_layer_of_streams() -> None:
    padded = describe(image("io_stream", (1, 1, 1, 1)), {}).layers[1]
    assert (padded.kind, padded.what) == ("other", "zero padding on streams")
    assert describe(image("io_parallel", (1, 1, 1, 1)), {}).layers[1].kind == "conv"


def test_slopes_and_scales_are_products_with_constants() -> None:
    kind = FixedType(16, 6)
    x = Input(name="x", label="x", inputs=(), shape=(4,), type=kind)
    leaky = Relu(name="leaky", label="leaky", inputs=("x",), shape=(4,), type=kind, slope=11, slope_type=kind)
    slopes = np.array([11, 8, 11, 0])
    prelu = PRelu(name="p", label="p", inputs=("leaky",), shape=(4,), type=kind, slopes=slopes, slope_type=kind)
    scale = Affine(
        name="s",
        label="s",
        inputs=("p",),
        shape=(4,),
        type=kind,
        scale=np.array([1, 11, 13, 11]),
        bias=np.zeros(4, dtype=np.int64),
        scale_type=kind,
        bias_type=kind,
    )
    graph = Graph("scales", (x, leaky, prelu, scale), ("x",), ("s",))
    found = predict(describe(graph, {}))
    assert [layer.dsp.value for layer in found.layers] == [0, 4, 2, 3]
    assert found.total.cycles.value == 0
