"""Every layer of a Keras 2 file computes what Keras computes; its conversion keeps the shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.errors import UserError
from flow.frontend.keras import import_keras
from flow.frontend.legacy_file import read_weights
from flow.frontend.load import load
from tests.frontend.legacy_files import write_functional

SHARED = Path(__file__).parents[3] / "shared"
INPUTS = {"image": [6, 5, 4], "line": [9, 3], "vector": [7], "image2": [6, 5, 4], "image3": [6, 5, 4], "vector2": [7]}
# class, options, inputs; names of options are those of Keras 2 and 3
CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("Conv2D", {"filters": 3, "kernel_size": [3, 2], "strides": [2, 1], "padding": "same"}, ["image"]),
    ("Conv2D", {"filters": 5, "kernel_size": [2, 3], "padding": "valid", "activation": "relu"}, ["image"]),
    ("Conv2D", {"filters": 3, "kernel_size": [2, 2], "strides": [3, 4], "use_bias": False}, ["image"]),
    ("Conv2D", {"filters": 3, "kernel_size": [6, 5]}, ["image"]),
    ("Conv2D", {"filters": 3, "kernel_size": [2, 2], "dilation_rate": [2, 1], "padding": "same"}, ["image"]),
    ("Conv2D", {"filters": 6, "kernel_size": [2, 3], "groups": 2}, ["image"]),
    ("Conv2D", {"filters": 4, "kernel_size": [2, 3], "groups": 4, "padding": "same"}, ["image"]),
    ("Conv2D", {"filters": 3, "kernel_size": [1, 1]}, ["image"]),
    ("Conv1D", {"filters": 4, "kernel_size": [4], "strides": [2], "padding": "same"}, ["line"]),
    ("Conv1D", {"filters": 4, "kernel_size": [4], "strides": [2], "padding": "causal"}, ["line"]),
    ("Conv1D", {"filters": 2, "kernel_size": [3], "dilation_rate": [2], "padding": "causal"}, ["line"]),
    ("DepthwiseConv2D", {"kernel_size": [3, 2], "strides": [2, 2], "padding": "same"}, ["image"]),
    ("DepthwiseConv2D", {"kernel_size": [2, 2], "depth_multiplier": 3}, ["image"]),
    ("DepthwiseConv1D", {"kernel_size": [3], "padding": "same"}, ["line"]),
    ("SeparableConv2D", {"filters": 5, "kernel_size": [3, 2], "padding": "same", "activation": "relu"}, ["image"]),
    ("SeparableConv2D", {"filters": 2, "kernel_size": [2, 2], "depth_multiplier": 2}, ["image"]),
    ("SeparableConv1D", {"filters": 5, "kernel_size": [3], "strides": [2]}, ["line"]),
    ("Dense", {"units": 4}, ["line"]),
    ("Dense", {"units": 3, "activation": "relu"}, ["image"]),
    ("MaxPooling2D", {"pool_size": [3, 2], "strides": [2, 1], "padding": "same"}, ["image"]),
    ("MaxPooling2D", {"pool_size": [2, 2]}, ["image"]),
    ("AveragePooling2D", {"pool_size": [3, 3], "strides": [2, 2], "padding": "same"}, ["image"]),
    ("AveragePooling1D", {"pool_size": [3], "strides": [2], "padding": "valid"}, ["line"]),
    ("MaxPooling1D", {"pool_size": 2, "padding": "same"}, ["line"]),
    ("GlobalMaxPooling2D", {}, ["image"]),
    ("GlobalAveragePooling2D", {"keepdims": True}, ["image"]),
    ("GlobalAveragePooling1D", {}, ["line"]),
    ("GlobalMaxPooling1D", {"keepdims": True}, ["line"]),
    ("BatchNormalization", {"epsilon": 1e-2}, ["image"]),
    ("BatchNormalization", {"scale": False, "axis": 2}, ["line"]),
    ("LayerNormalization", {"epsilon": 1e-3}, ["line"]),
    ("PReLU", {"shared_axes": [1, 2]}, ["image"]),
    ("PReLU", {}, ["line"]),
    ("ReLU", {"max_value": 0.75}, ["image"]),
    ("ReLU", {"threshold": 0.25}, ["image"]),
    ("LeakyReLU", {"negative_slope": 0.25}, ["line"]),
    ("ELU", {"alpha": 0.5}, ["line"]),
    ("Softmax", {}, ["line"]),
    ("Activation", {"activation": "tanh"}, ["line"]),
    ("Activation", {"activation": "softplus"}, ["line"]),
    ("Activation", {"activation": "selu"}, ["line"]),
    ("Add", {}, ["image", "image2"]),
    ("Add", {}, ["image", "image2", "image3"]),
    ("Subtract", {}, ["image", "image2"]),
    ("Multiply", {}, ["image", "image2", "image3"]),
    ("Average", {}, ["image", "image2"]),
    ("Maximum", {}, ["image", "image2", "image3"]),
    ("Minimum", {}, ["image", "image2"]),
    ("Concatenate", {"axis": 1}, ["image", "image2"]),
    ("Concatenate", {"axis": 2}, ["image", "image2", "image3"]),
    ("Concatenate", {"axis": -1}, ["image", "image2"]),
    ("Concatenate", {"axis": 1}, ["vector", "vector2"]),
    ("Dot", {"axes": 1}, ["vector", "vector2"]),
    ("Flatten", {}, ["image"]),
    ("Reshape", {"target_shape": [5, -1]}, ["image"]),
    ("Permute", {"dims": [3, 1, 2]}, ["image"]),
    ("Permute", {"dims": [2, 1]}, ["line"]),
    ("RepeatVector", {"n": 3}, ["vector"]),
    ("ZeroPadding2D", {"padding": [[1, 2], [0, 3]]}, ["image"]),
    ("ZeroPadding2D", {"padding": [1, 2]}, ["image"]),
    ("ZeroPadding1D", {"padding": [2, 1]}, ["line"]),
    ("Cropping2D", {"cropping": [[1, 2], [0, 3]]}, ["image"]),
    ("Cropping1D", {"cropping": 2}, ["line"]),
    ("UpSampling2D", {"size": [2, 3]}, ["image"]),
    ("UpSampling1D", {"size": 2}, ["line"]),
]
_random = np.random.default_rng(4)


def names() -> Iterator[str]:
    for number, (kind, _, _) in enumerate(CASES):
        yield f"{kind}_{number}".lower()


# an input in another shape is no output
OUTPUTS = [name for name in names() if not name.startswith(("flatten", "reshape"))]


@pytest.fixture(scope="module")
def built() -> dict[str, tuple[Any, dict[str, np.ndarray]]]:
    """Return, by label, Keras's own layer with random variables, and these by the names of Keras 2."""
    keras, _ = import_keras()
    result = {}
    for label, (kind, options, sources) in zip(names(), CASES, strict=True):
        layer = getattr(keras.layers, kind)(name=label, **options)
        shapes = [(None, *INPUTS[source]) for source in sources]
        layer.build(shapes if len(shapes) > 1 else shapes[0])
        variables: dict[str, np.ndarray] = {}
        for variable in layer.weights:
            low = 0.3 if "variance" in variable.name else -1.0
            value = np.float32(_random.uniform(low, 1.5, variable.shape))
            variable.assign(value)
            first = kind.startswith("Depthwise") and variable.name == "kernel"
            variables["depthwise_kernel" if first else variable.name] = value
        result[label] = layer, variables
    return result


@pytest.fixture(scope="module")
def path(built, tmp_path_factory) -> Path:
    layers = [
        (kind, {"name": label} | options, built[label][1], sources)
        for label, (kind, options, sources) in zip(names(), CASES, strict=True)
    ]
    return write_functional(tmp_path_factory.mktemp("layers"), "layers", INPUTS, layers, OUTPUTS)


def test_every_layer_computes_what_keras_computes(built, path):
    arrays = {name: np.float32(_random.normal(0, 1, (3, *shape))) for name, shape in INPUTS.items()}
    got = load(path).predict(tuple(arrays.values()))
    wrong = []
    for label, (kind, _, sources) in zip(names(), CASES, strict=True):
        fed = [arrays[source] for source in sources]
        wanted = np.asarray(built[label][0](fed if len(fed) > 1 else fed[0]))
        close = got[label].shape == wanted.shape and np.allclose(got[label], wanted, rtol=1e-5, atol=1e-5)
        if not close:
            wrong.append((label, kind, got[label].shape, wanted.shape))
    assert not wrong


def test_the_conversion_has_the_shapes_of_the_model(path, tmp_path):
    source = load(path)
    arrays = tuple(np.zeros((1, *shape)) for shape in source.input_shapes.values())
    wanted = source.predict(arrays)
    for generous in (False, True):
        graph = source.convert(tmp_path / "hls", generous=generous)
        made = [tuple(int(n) for n in variable.shape) for variable in graph.get_output_variables()]
        assert [int(np.prod(shape)) for shape in made] == [wanted[label][0].size for label in OUTPUTS]


def test_outputs_that_cannot_be_kept_apart_are_refused(tmp_path):
    layers = [("Flatten", {"name": "flat"}, {}, ["image"])]
    with pytest.raises(UserError, match="'flat' is the input 'image' in another shape"):
        load(write_functional(tmp_path, "bad", {"image": [6, 5, 4]}, layers, ["flat"]))


def test_an_embedding_names_rows(tmp_path):
    table = np.arange(15.0).reshape(5, 3)
    layers = [("Embedding", {"name": "rows", "input_dim": 5, "output_dim": 3}, {"embeddings": table}, ["numbers"])]
    source = load(write_functional(tmp_path, "rows", {"numbers": [4]}, layers, ["rows"]))
    assert np.array_equal(source.predict((np.array([[4, 0, 2, 1]]),))["rows"], table[[[4, 0, 2, 1]]])
    graph = source.convert(tmp_path / "hls")
    assert str(graph.graph["numbers"].get_output_variable().type.precision) == "uint<3>"


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (("Conv2D", {"filters": 3, "kernel_size": [2, 2], "data_format": "channels_first"}, ["image"]), "data_format"),
        (("Conv2D", {"filters": 3, "kernel_size": [9, 2]}, ["image"]), "does not fit into (6, 5)"),
        (("Conv2D", {"filters": 3, "kernel_size": [2, 2], "padding": "causal"}, ["image"]), "padding='causal'"),
        (("Conv2D", {"filters": 3, "kernel_size": [2, 2], "groups": 3}, ["image"]), "groups=3"),
        (("Conv2D", {"filters": 3, "kernel_size": [2, 2]}, ["line"]), "it needs 3 axes"),
        (("Conv2D", {"filters": 3, "kernel_size": "2"}, ["image"]), "kernel_size='2'"),
        (("UpSampling2D", {"interpolation": "bilinear"}, ["image"]), "interpolation='bilinear'"),
        (("MaxPooling2D", {"data_format": "channels_first"}, ["image"]), "channels_first"),
        (("Permute", {"dims": [1, 1, 2]}, ["image"]), "dims=[1, 1, 2]"),
        (("Add", {}, ["image", "line"]), "(6, 5, 4), (9, 3) do not fit together"),
        (("Subtract", {}, ["image", "image2", "image3"]), "3 inputs"),
        (("Concatenate", {"axis": 3}, ["line", "line"]), "axis=3"),
        (("Concatenate", {"axis": 1}, ["image", "line"]), "do not fit together"),
        (("Dot", {"axes": 1, "normalize": True}, ["vector", "vector2"]), "normalize=True"),
        (("Cropping1D", {"cropping": [5, 4]}, ["line"]), "leaves nothing"),
        (("LayerNormalization", {"epsilon": 0.02}, ["line"]), "epsilon=0.02"),
        (("BatchNormalization", {"axis": 1}, ["image"]), "axis=1"),
        (("ReLU", {"negative_slope": 0.5, "threshold": 0.5}, ["line"]), "together"),
        (("Flatten", {}, ["image", "line"]), "2 inputs"),
        (("Dense", {"units": 2}, ["vector", "vector2"]), "2 inputs"),
        (
            ("QConv2D", {"filters": 3, "kernel_size": [2, 2], "kernel_quantizer": "quantized_ulaw(4)"}, ["image"]),
            "ulaw",
        ),
        (("QBatchNormalization", {"gamma_quantizer": {"class_name": "quantized_po2"}}, ["line"]), "gamma_quantizer"),
    ],
)
def test_what_cannot_be_carried_is_refused(tmp_path, case, said):
    kind, options, sources = case
    window = options.get("kernel_size", [2, 2])
    variables = {"kernel": np.zeros((*map(int, window), 4, 3)), "bias": np.zeros(3), "gamma": np.ones(3)}
    variables["beta"] = np.ones(3)
    layers = [(kind, {"name": "l"} | options, variables, sources)]
    with pytest.raises(UserError) as error:
        load(write_functional(tmp_path, "bad", INPUTS, layers, ["l"]))
    assert said in str(error.value)
    assert f"bad.json, layer 'l' ({kind})" in str(error.value)


def test_padding_in_a_stream_that_several_layers_read_stays_with_its_layer(tmp_path):
    """hls4ml alone puts both frames in front of `a` and none in front of `b`."""
    variables = {"kernel": np.ones((4, 3, 2)), "bias": np.zeros(2)}
    layers = [
        ("Conv1D", {"name": name, "filters": 2, "kernel_size": [4], "padding": padding}, variables, ["line"])
        for name, padding in (("a", "same"), ("b", "causal"))
    ]
    path = write_functional(tmp_path, "frames", {"line": [9, 3]}, layers, ["a", "b"])
    graph = load(path, {"IOType": "io_stream"}).convert(tmp_path / "hls").graph
    padded = {name: node.inputs[0] for name, node in graph.items() if node.class_name == "Conv1D"}
    assert {name: graph[frame].class_name for name, frame in padded.items()} == {
        "a": "ZeroPadding1D",
        "b": "ZeroPadding1D",
    }
    assert [graph[padded[name]].get_attr("pad_left") for name in ("a", "b")] == [1, 3]
    assert [graph[name].get_attr("pad_left") for name in ("a", "b")] == [0, 0]


OPTIONS = {
    "BatchNormalization": ("epsilon",),
    "Conv1D": ("filters", "kernel_size", "strides", "padding", "activation"),
    "Conv2D": ("filters", "kernel_size", "strides", "padding", "activation"),
    "Dense": ("units", "activation"),
    "Flatten": (),
    "Activation": ("activation",),
    "MaxPooling2D": ("pool_size", "strides", "padding"),
    "QConv2D": ("filters", "kernel_size", "strides", "padding", "activation"),
    "QDense": ("units",),
    "QActivation": (),
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the public models are not here")
@pytest.mark.parametrize("file", ["jetTagger_Conv2D_Small", "KERAS_conv1d_small", "qkeras_mnist_cnn"])
def test_a_public_file_computes_what_keras_computes(file):
    """Rebuild the chain with Keras 3 and qkeras-v3, layer by layer, with the file's options and weights."""
    keras, names = import_keras()
    path = SHARED / "models" / f"{file}.json"
    source = load(path, {"Model": {"SkipSoftmax": False}})
    (shape,) = source.input_shapes.values()
    x = np.float32(_random.uniform(0, 1, (20, *shape)))
    got = source.predict((x.astype(float),))
    description = json.loads(path.read_text())["config"]
    stored = read_weights(path.with_name(f"{file}_weights.h5"))
    value = x
    for entry in description if isinstance(description, list) else description["layers"]:
        kind, options = entry["class_name"], entry["config"]
        if kind in ("InputLayer", "Dropout"):
            continue
        chosen = {name: options[name] for name in OPTIONS[kind]}
        bits = "quantized_bits(6,0,alpha=1)"
        if kind in ("QConv2D", "QDense"):
            chosen |= {"kernel_quantizer": bits, "bias_quantizer": bits}
        if kind == "QActivation":
            chosen = {"activation": "quantized_relu(6,0)"}
        layer = (names[kind] if kind.startswith("Q") else getattr(keras.layers, kind))(**chosen)
        layer(value)
        for variable in layer.weights:
            variable.assign(stored[options["name"]][variable.name])
        value = np.asarray(layer(value))
        assert np.allclose(got[options["name"]], value, rtol=1e-5, atol=1e-5), options["name"]
