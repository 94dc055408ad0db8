"""The network in floats: what each framework runs is what our graph computes, but for the rounding."""

from importlib.util import find_spec

import numpy as np
import pytest

from flow.baseline.float_network import float_network
from flow.baseline.float_numpy import run_numpy
from flow.errors import UserError
from flow.fixed import FixedType, from_float
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import (
    Affine,
    BoundedRelu,
    Conv,
    Dense,
    DepthwiseConv,
    Embedding,
    Input,
    Merge,
    Pool,
    PRelu,
    Rearrange,
    Relu,
    Reshape,
    Table,
)
from flow.graph.window import Window

WIDE = FixedType(40, 16)  # 24 fraction bits: floats cannot tell
IMAGE = (5, 7, 3)
WINDOW = Window(5, 7, 3, (3, 2), (2, 1), (2, 1, 0, 1))


def codes(shape, seed=0):
    return np.random.default_rng(seed).integers(-100, 100, shape)


def weighted(kind, name, source, shape, kernel, **more):
    small = FixedType(8, 2)
    return kind(
        name=name,
        label=name,
        inputs=(source,),
        shape=shape,
        type=WIDE,
        weights=codes(kernel),
        bias=codes(kernel[-1], 1),
        weight_type=small,
        bias_type=small,
        accumulator=WIDE,
        **more,
    )


def named(kind, name, *inputs, shape, **more):
    return kind(name=name, label=name, inputs=inputs, shape=shape, type=WIDE, **more)


def image():
    return named(Input, "x", shape=IMAGE)


def network(*nodes, inputs=("x",)):
    return Graph("net", nodes, inputs, (nodes[-1].name,))


PLACES = WINDOW.positions
NETWORKS = {
    "dense": lambda: network(
        named(Input, "x", shape=(6,)), weighted(Dense, "d", "x", (4,), (6, 4)), named(Relu, "r", "d", shape=(4,))
    ),
    "conv": lambda: network(image(), weighted(Conv, "c", "x", (*PLACES, 4), (3, 2, 3, 4), window=WINDOW)),
    "depthwise": lambda: network(
        image(), weighted(DepthwiseConv, "c", "x", (*PLACES, 3), (3, 2, 3), window=WINDOW)
    ),
    "max pool": lambda: network(
        image(), named(Pool, "p", "x", shape=(*PLACES, 3), window=WINDOW, op="max", accumulator=WIDE)
    ),
    "average pool": lambda: network(
        image(), named(Pool, "p", "x", shape=(*PLACES, 3), window=WINDOW, op="average", accumulator=WIDE)
    ),
    "average pool with padding": lambda: network(
        image(),
        named(
            Pool, "p", "x", shape=(*PLACES, 3), window=WINDOW, op="average", accumulator=WIDE, count_padding=True
        ),
    ),
    "relus": lambda: network(
        image(),
        named(BoundedRelu, "b", "x", shape=IMAGE, threshold=0, threshold_type=WIDE, bound=1),
        named(PRelu, "p", "x", shape=IMAGE, slopes=codes(3), slope_type=FixedType(8, 2)),
        named(Merge, "m", "b", "p", shape=IMAGE, op="average"),
    ),
    "scale and gather": lambda: network(
        image(),
        named(
            Affine, "a", "x", shape=IMAGE, scale=codes(3), bias=codes(3, 1), scale_type=FixedType(8, 2),
            bias_type=FixedType(8, 2),
        ),
        named(Rearrange, "g", "a", "x", shape=(4,), indices=np.array([3, -1, 104, 209])),
        named(Reshape, "s", "g", shape=(2, 2)),
    ),
    "table": lambda: network(
        image(),
        named(Table, "t", "x", shape=IMAGE, values=codes(32), table_type=FixedType(8, 2), span=4),
    ),
}  # fmt: skip


def case(name):
    graph = NETWORKS[name]()
    shape = graph.node("x").shape
    raw = from_float(np.random.default_rng(5).uniform(-2, 2, (3, *shape)), FixedType(12, 3))
    return graph, raw * 2.0 ** -FixedType(12, 3).fraction


@pytest.mark.parametrize("name", NETWORKS)
def test_numpy_computes_what_the_graph_does(name):
    graph, x = case(name)
    exact = evaluate(graph, {"x": from_float(x, WIDE)})
    found = run_numpy(float_network(graph), {"x": x})
    for node in graph.nodes:
        assert np.abs(found[node.name] - exact[node.name].to_float()).max() < 1e-4, node.name


@pytest.mark.parametrize("name", NETWORKS)
def test_onnxruntime_computes_what_numpy_does(name):
    if find_spec("onnxruntime") is None or find_spec("onnx") is None:
        pytest.skip("ONNX Runtime is not installed (the extra 'baseline')")
    from flow.steps.measure.cpu import session_of

    graph, x = case(name)
    floats = float_network(graph)
    expected = run_numpy(floats, {"x": x})
    session = session_of(floats)
    for k in range(len(x)):
        (found,) = session.run(None, {"x": x[k : k + 1].astype(np.float32)})
        assert np.abs(found - expected[graph.outputs[0]][k]).max() < 1e-4


@pytest.mark.parametrize("name", NETWORKS)
def test_pytorch_computes_what_numpy_does(name):
    if find_spec("torch") is None:
        pytest.skip("PyTorch is not installed: it is no part of fpgaflow")
    import torch

    from flow.steps.measure.torch_network import TorchNetwork

    graph, x = case(name)
    floats = float_network(graph)
    expected = run_numpy(floats, {"x": x})
    model = TorchNetwork(floats, "cpu")
    for k in range(len(x)):
        (found,) = model({"x": torch.from_numpy(x[k : k + 1].astype(np.float32))})
        assert np.abs(found.numpy() - expected[graph.outputs[0]][k]).max() < 1e-4


def test_a_layer_without_a_float_form_is_named():
    graph = network(
        named(Input, "x", shape=(2,)),
        Embedding(
            name="e",
            label="words",
            inputs=("x",),
            shape=(2, 3),
            type=WIDE,
            rows=codes((4, 3)),
            row_type=FixedType(8, 2),
        ),
    )
    with pytest.raises(UserError, match=r"layer 'words' .embedding. cannot be timed here"):
        float_network(graph)
