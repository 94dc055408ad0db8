"""Convolutions of hls4ml, copied out: equal to the C simulation bit for bit, or refused with a reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.errors import UserError
from flow.frontend.border import to_graph
from flow.frontend.csim import compile_csim
from flow.graph.graph import Graph
from flow.graph.nodes import Conv, DepthwiseConv
from flow.graph.passes import run_passes
from flow.graph.window import Window
from tests.frontend.fake_source import dense_layer
from tests.frontend.test_border import EXACT, Compared, merged
from tests.networks import Branches, power_of_two_quantizer, to_model, vectors

SATURATING = EXACT | {"accum": "ap_fixed<8,4,AP_RND,AP_SAT>", "result": "ap_fixed<8,4,AP_RND_CONV,AP_SAT>"}
VALID = (0, 0, 0, 0)
KINDS = ("images", "sequences")


def conv_layer(window: Window, filters: int, *, depthwise: bool = False, seed: int = 0, **more: Any) -> dict[str, Any]:
    """Describe a convolution as hls4ml's converters do; one of a single row is a Conv1D unless `flat` is False."""
    rng = np.random.default_rng(seed)
    flat = more.pop("flat", window.rows == 1)
    (rows, columns), (top, bottom, left, right) = window.positions, window.pads
    layer: dict[str, Any] = {
        "name": "c",
        "class_name": f"{'Depthwise' if depthwise else ''}Conv{1 if flat else 2}D",
        "inputs": ["x"],
        "data_format": "channels_last",
        "in_width": window.columns,
        "out_width": columns,
        "n_chan": window.channels,
        "n_filt": filters,
        "filt_width": window.kernel[1],
        "stride_width": window.stride[1],
        "pad_left": left,
        "pad_right": right,
        "use_bias": True,
        "bias_data": rng.normal(size=filters),
        "bias_quantizer": None,
    }
    if not flat:
        layer |= {"in_height": window.rows, "out_height": rows, "filt_height": window.kernel[0]}
        layer |= {"stride_height": window.stride[0], "pad_top": top, "pad_bottom": bottom}
    kernel = window.kernel[1:] if flat else window.kernel
    if depthwise:
        layer["depth_multiplier"] = 1
        layer["depthwise_data"] = rng.normal(size=(*kernel, window.channels, 1)) * 2
        layer["depthwise_quantizer"] = None
    else:
        layer["weight_data"] = rng.normal(size=(*kernel, window.channels, filters)) * 2
        layer["weight_quantizer"] = None
    return layer | more


def network(layer: dict[str, Any], *, x: str = "ap_fixed<8,3>", precision: dict[str, str] = EXACT) -> Branches:
    """Describe one convolution behind an input."""
    image = [layer["in_height"]] if "in_height" in layer else []
    start = {"name": "x", "class_name": "InputLayer", "input_shape": [*image, layer["in_width"], layer["n_chan"]]}
    given = {k: v for k, v in precision.items() if k != "weight" or not quantizer_of(layer)}
    named = {"x": {"Precision": {"result": x}}, "c": {"Precision": given}}
    return Branches((start, layer), {"LayerName": named}, ("x",), ("c",))


def behind(shape: list[int], precisions: dict[str, dict[str, str]], *layers: dict[str, Any]) -> Branches:
    """Describe what hls4ml makes convolutions of, behind an input of that shape."""
    start = {"name": "x", "class_name": "InputLayer", "input_shape": shape}
    named = {name: {"Precision": given} for name, given in ({"x": {"result": "ap_fixed<8,3>"}} | precisions).items()}
    return Branches((start, *layers), {"LayerName": named}, ("x",), (layers[-1]["name"],))


def dense_on_pixels(shape: list[int]) -> Branches:
    """Describe a dense layer on the last axis of a tensor."""
    rng = np.random.default_rng(6)
    return behind(shape, {"c": EXACT}, dense_layer("c", "x", rng.normal(size=(shape[-1], 2)), rng.normal(size=2)))


def separable(window: Window, filters: int) -> Branches:
    """Describe a separable convolution whose two parts have types of their own."""
    layer = conv_layer(window, filters, depthwise=True)
    layer["class_name"] = layer["class_name"].replace("Depthwise", "Separable")
    layer["pointwise_data"] = np.random.default_rng(3).normal(size=(*(1,) * (2 - (window.rows == 1)), 3, filters))
    layer["pointwise_quantizer"] = None
    precision = {"depthwise": "ap_fixed<7,3>", "pointwise": "ap_fixed<6,2>", "bias": "ap_fixed<8,4>"}
    precision |= {"depthwise_accum": "ap_fixed<20,10>", "depthwise_result": "ap_fixed<9,5,AP_RND,AP_SAT>"}
    precision |= {"pointwise_accum": "ap_fixed<20,10>", "result": "ap_fixed<18,10>"}
    return behind([window.rows, window.columns, 3][window.rows == 1 :], {"c": precision}, layer)


def normalized(window: Window, filters: int, *, depthwise: bool = False) -> Branches:
    """Describe a convolution that hls4ml merges with the batch normalization behind it."""
    rng = np.random.default_rng(4)
    layer = conv_layer(window, filters, depthwise=depthwise)
    norm = {"name": "n", "class_name": "BatchNormalization", "inputs": ["c"], "n_in": filters * 20, "n_filt": filters}
    norm |= {"use_gamma": True, "use_beta": True, "epsilon": 1e-3, "gamma_data": rng.normal(size=filters)}
    norm |= {"beta_data": rng.normal(size=filters), "mean_data": rng.normal(size=filters)}
    norm |= {"variance_data": rng.random(filters) + 0.1}
    named = {"c": {**EXACT, "result": "auto", "accum": "auto"}, "n": {"result": "ap_fixed<16,8>"}}
    return behind([window.rows, window.columns, window.channels], named, layer, norm)


def folded_norm(window: Window, filters: int) -> Branches:
    """Describe QKeras' QConv2DBatchnorm: the quantizer is applied to the merged kernel."""
    from hls4ml.model.quantizers import QuantNodeQuantizer
    from hls4ml.model.types import FixedPrecisionType

    rng = np.random.default_rng(5)
    quantizer = QuantNodeQuantizer(FixedPrecisionType(6, 3, True, "RND_CONV", "SAT"))
    layer = conv_layer(window, filters, weight_quantizer=quantizer, class_name="QConv2DBatchnorm")
    layer |= {"gamma_data": rng.normal(size=filters), "beta_data": rng.normal(size=filters), "epsilon": 1e-3}
    layer |= {"mean_data": rng.normal(size=filters), "variance_data": rng.random(filters) + 0.1}
    return network(layer)


def quantizer_of(layer: dict[str, Any]) -> Any:
    return layer.get("weight_quantizer") or layer.get("depthwise_quantizer")


def networks(kind: str) -> dict[str, Branches]:
    """Return the convolutions over images or over sequences: hls4ml cannot compile both depthwise ones at once."""
    return sequences() if kind == "sequences" else images()


def images() -> dict[str, Branches]:
    """Return convolutions over images whose sizes all differ."""
    from hls4ml.model.quantizers import BinaryQuantizer, TernaryQuantizer

    plain = Window(5, 7, 3, (3, 2), (1, 1), VALID)
    same = Window(5, 7, 3, (2, 3), (1, 1), (0, 1, 1, 1))
    no_bias = {"use_bias": False, "bias_data": None}
    return {
        "plain": network(conv_layer(plain, 4)),
        "same": network(conv_layer(same, 4)),
        "strides": network(conv_layer(Window(6, 8, 2, (3, 2), (2, 3), (1, 0, 0, 1)), 3)),
        "skips": network(conv_layer(Window(7, 8, 2, (2, 2), (3, 4), VALID), 3)),
        "whole": network(conv_layer(Window(4, 3, 2, (4, 3), (1, 1), VALID), 5)),
        "pointwise": network(conv_layer(Window(3, 4, 5, (1, 1), (1, 1), VALID), 2)),
        "pointwise_strides": network(conv_layer(Window(5, 4, 3, (1, 1), (2, 3), VALID), 2)),
        "one_row": network(conv_layer(Window(3, 6, 2, (1, 3), (1, 2), VALID), 3)),
        "one_column": network(conv_layer(Window(6, 3, 2, (3, 1), (2, 1), VALID), 3)),
        "no_bias": network(conv_layer(plain, 2, **no_bias)),
        "saturating": network(conv_layer(same, 4), precision=SATURATING),
        "wrapping": network(conv_layer(plain, 4), precision=EXACT | {"accum": "ap_fixed<8,4>"}),
        "auto": network(conv_layer(plain, 2), precision={**EXACT, "accum": "auto", "result": "auto"}),
        "binary": network(conv_layer(plain, 3, weight_quantizer=BinaryQuantizer(bits=1))),
        "ternary": network(conv_layer(plain, 3, weight_quantizer=TernaryQuantizer())),
        "powers_of_two": network(conv_layer(plain, 3, weight_quantizer=power_of_two_quantizer())),
        "depthwise": network(conv_layer(Window(5, 7, 3, (3, 2), (2, 1), (1, 0, 0, 1)), 3, depthwise=True)),
        "depthwise_saturating": network(conv_layer(plain, 3, depthwise=True), precision=SATURATING),
        "depthwise_ternary": network(conv_layer(plain, 3, depthwise=True, depthwise_quantizer=TernaryQuantizer())),
        "separable": separable(Window(5, 6, 3, (2, 3), (1, 2), (0, 1, 1, 1)), 4),
        "normalized": normalized(Window(4, 5, 2, (3, 2), (1, 1), VALID), 3),
        "folded_norm": folded_norm(Window(4, 5, 2, (3, 2), (1, 1), VALID), 3),
        "dense": dense_on_pixels([3, 4, 5]),
        "depthwise_cell": network(conv_layer(Window(3, 4, 3, (1, 1), (1, 2), VALID), 3, depthwise=True)),
    }


def sequences() -> dict[str, Branches]:
    """Return convolutions over sequences."""
    row = Window(1, 9, 3, (1, 4), (1, 1), VALID)
    return {
        "row": network(conv_layer(row, 4)),
        "causal": network(conv_layer(Window(1, 9, 3, (1, 4), (1, 1), (0, 0, 3, 0)), 2)),
        "strides": network(conv_layer(Window(1, 9, 2, (1, 3), (1, 4), (0, 0, 1, 1)), 2)),
        "pointwise": network(conv_layer(Window(1, 6, 4, (1, 1), (1, 2), VALID), 3)),
        "one_place": network(conv_layer(Window(1, 3, 4, (1, 1), (1, 3), VALID), 3)),
        "saturating": network(conv_layer(row, 3), precision=SATURATING),
        "depthwise": network(conv_layer(Window(1, 9, 3, (1, 4), (1, 2), (0, 0, 1, 2)), 3, depthwise=True)),
        "separable": separable(Window(1, 9, 3, (1, 4), (1, 2), (0, 0, 1, 1)), 4),
        "dense": dense_on_pixels([4, 5]),
        "depthwise_saturating": network(conv_layer(row, 3, depthwise=True), precision=SATURATING),
    }


def simulate(model: Any, folder: Path, seed: int, count: int = 200) -> Compared:
    graph = to_graph(model, name="net", label_of={})
    csim = compile_csim(model, folder)
    raw = vectors(np.random.default_rng(seed), graph, count)
    return Compared(graph, raw, csim.run_raw(tuple(raw[name] for name in graph.inputs)))


@pytest.fixture(scope="module", params=[(io, kind) for io in ("io_parallel", "io_stream") for kind in KINDS])
def compared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Compared]:
    """Hold all networks of a kind in one project of hls4ml."""
    io_type, kind = request.param
    folder = tmp_path_factory.mktemp(io_type)
    return kind, simulate(to_model(merged(*networks(kind).values()), folder, io_type=io_type), folder, 1)


@pytest.mark.eda
def test_convolutions_equal_the_c_simulation(compared: tuple[str, Compared]) -> None:
    kind, found = compared
    wrong = dict(zip(networks(kind), found.mismatches().values(), strict=True))
    assert wrong == dict.fromkeys(networks(kind), 0)


def replaced(graph: Graph, node: Any) -> Graph:
    return replace(graph, nodes=tuple(node if old.name == node.name else old for old in graph.nodes))


def turned(window: Window) -> Window:
    top, bottom, left, right = window.pads
    return replace(window, pads=(bottom, top, right, left))


FAULTS = {
    "transposed kernel": lambda node: replace(node, weights=node.weights[::-1, ::-1]),
    "channels in another order": lambda node: replace(node, weights=node.weights[:, :, ::-1]),
    "padding on the other side": lambda node: replace(node, window=turned(node.window)),
    "another stride": lambda node: replace(node, window=replace(node.window, stride=(1, 1))),
    "no bias": lambda node: replace(node, bias=node.bias * 0),
}


@pytest.mark.eda
def test_faults_in_the_nodes_are_seen(compared: tuple[str, Compared]) -> None:
    """Each fault changes at least most of the convolutions whose output keeps its shape."""
    _, found = compared
    for name, fault in FAULTS.items():
        seen = tried = 0
        for node in found.graph.nodes:
            if not isinstance(node, Conv | DepthwiseConv) or node.name not in found.graph.outputs:
                continue
            wrong = fault(node)
            same = wrong.window == node.window and (wrong.weights == node.weights).all()
            if wrong.window.positions != node.window.positions or (same and (wrong.bias == node.bias).all()):
                continue
            tried += 1
            seen += found.mismatches(replaced(found.graph, wrong))[node.name] > 0
        assert seen == tried, name


@pytest.mark.eda
def test_special_convolutions_became_nodes(compared: tuple[str, Compared]) -> None:
    _, found = compared
    kinds = {node.kind for node in found.graph.nodes}
    assert kinds <= {"input", "conv", "depthwise", "rearrange"}  # merged batch normalizations leave nothing


@pytest.mark.eda
def test_the_padding_of_streams_joins_the_windows(compared: tuple[str, Compared]) -> None:
    _, found = compared
    after = run_passes(found.graph)
    assert {node.kind for node in after.nodes} == {"input", "conv", "depthwise"}
    assert not any(found.mismatches(after).values())


def copied(branches: Branches, io_type: str = "io_parallel") -> Graph:
    return to_graph(to_model(branches, Path("unwritten"), io_type=io_type), name="net", label_of={"c": "my c"})


def node_of(branches: Branches, io_type: str = "io_parallel") -> Conv | DepthwiseConv:
    node = copied(branches, io_type).nodes[-1]
    assert isinstance(node, Conv | DepthwiseConv)
    return node


def in_resource(branches: Branches, reuse: int) -> Branches:
    branches.config["LayerName"]["c"] |= {"Strategy": "Resource", "ReuseFactor": reuse}
    return branches


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("window", [Window(5, 7, 3, (3, 2), (1, 1), VALID), Window(1, 9, 3, (1, 4), (1, 1), VALID)])
def test_weights_that_hls4ml_transposed_are_turned_back(window: Window, depthwise: bool) -> None:
    layer = conv_layer(window, 3, depthwise=depthwise)
    model = to_model(in_resource(network(dict(layer)), 6), Path("unwritten"), io_type="io_stream")
    assert next(layer for layer in model.get_layers() if layer.name == "c").get_attr("_weights_transposed")
    ours = to_graph(model, name="net", label_of={}).nodes[-1]
    theirs = node_of(network(dict(layer)), "io_stream")
    assert isinstance(ours, Conv | DepthwiseConv)
    assert (ours.weights == theirs.weights).all()


def test_codes_are_exact_and_the_kernel_keeps_its_axes() -> None:
    window = Window(5, 7, 3, (3, 2), (1, 1), VALID)
    kernel = np.arange(-36, 36).reshape(3, 2, 3, 4) / 16
    node = node_of(network(conv_layer(window, 4, weight_data=kernel)))
    assert (node.weights == (kernel * 16).astype(int)).all()
    assert node.window == window
    assert node.label == "my c"
    assert not node.weights.flags.writeable


def test_another_order_of_sums_is_refused_where_it_matters() -> None:
    window = Window(5, 7, 3, (3, 2), (1, 1), VALID)
    with pytest.raises(UserError, match=r"layer 'my c'.*another order"):
        copied(in_resource(network(conv_layer(window, 4), precision=SATURATING), 6))
    assert node_of(in_resource(network(conv_layer(window, 4)), 6)).channels == 4


def test_sums_that_wrap_are_noted() -> None:
    window = Window(5, 7, 3, (3, 2), (1, 1), VALID)
    assert copied(network(conv_layer(window, 4))).notes == ()
    narrow = copied(network(conv_layer(window, 4), precision=EXACT | {"accum": "ap_fixed<8,3>"}))
    assert any("layer 'my c': sums can reach" in note and "wraps" in note for note in narrow.notes)


PLAIN = Window(5, 7, 3, (3, 2), (1, 1), VALID)


@pytest.mark.parametrize(
    ("layer", "x", "io_type", "part"),
    [
        (conv_layer(PLAIN, 4, dilation_rate=2), "", "io_parallel", "dilation_rate 2 is not supported"),
        (conv_layer(PLAIN, 4, out_width=5), "", "io_stream", "dilation is not supported"),
        (conv_layer(PLAIN, 4, group=2), "", "io_parallel", "group 2 is not supported"),
        (
            conv_layer(PLAIN, 4, weight_data=np.ones((3, 2, 1, 4))),
            "",
            "io_stream",
            r"kernel has shape \(3, 2, 1, 4\), expected \(3, 2, 3, 4\): grouped",
        ),
        (
            conv_layer(PLAIN, 6, depthwise=True, depth_multiplier=2, depthwise_data=np.ones((3, 2, 3, 2))),
            "",
            "io_parallel",
            "depth_multiplier 2 is not supported",
        ),
        (conv_layer(PLAIN, 4, data_format="channels_first"), "", "io_stream", "data_format 'channels_first'"),
        (conv_layer(Window(4, 6, 2, (1, 3), (2, 1), VALID), 3), "", "io_stream", "vertical stride of 2"),
    ],
)
def test_what_hls4ml_computes_differently_is_named(layer: dict[str, Any], x: str, io_type: str, part: str) -> None:
    with pytest.raises(UserError, match=rf"layer 'my c'.*{part}"):
        copied(network(layer, x=x or "ap_fixed<8,3>"), io_type)


def test_a_kernel_that_was_merged_wrongly_is_refused() -> None:
    branches = normalized(Window(4, 5, 3, (3, 2), (1, 1), VALID), 3, depthwise=True)
    with pytest.raises(UserError, match=r"layer 'my c'.*kernel has shape \(3, 2, 3, 3\).*wrongly"):
        copied(branches)


def test_two_kinds_of_depthwise_convolutions_are_refused() -> None:
    with pytest.raises(UserError, match=r"layer 'p\d_c'.*sequences and over images"):
        copied(merged(images()["depthwise"], sequences()["depthwise"]))
