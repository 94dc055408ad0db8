"""Activations, softmax, normalizations and merges."""

from __future__ import annotations

from typing import Any

from tests.conformance.layers.case import (
    IMAGE,
    LINE,
    VECTOR,
    Build,
    Case,
    case,
    chain,
    layer_of,
    noted,
    refused,
    spread,
)

TABLED = ("sigmoid", "tanh", "softplus", "softsign", "selu", "elu")
PLAIN = ("relu", "relu6", "leaky_relu", "hard_sigmoid", "hard_tanh", "linear")
NARROW = {"_x0": {"Precision": "fixed<8,3>"}}


def activations() -> tuple[Case, ...]:
    """Return all activations by name, and the layers with parameters."""
    found = [case("Activation", name, {"activation": name}, VECTOR, core=True) for name in (*TABLED, *PLAIN)]
    found += [
        case("Activation", f"{name} of an image", {"activation": name}, IMAGE) for name in ("relu", "sigmoid", "elu")
    ]
    found += [
        case(
            "Activation",
            name,
            {"activation": name},
            VECTOR,
            parallel=refused(f"'{name}' is not supported"),
            known="hls4ml #841",
        )
        for name in ("gelu", "silu", "exponential")
    ]
    table = {"TableSize": 256, "TableT": "fixed<12,2>"}
    found += [
        case("Activation", "sigmoid, TableSize 256, TableT", {"activation": "sigmoid"}, VECTOR, settings={"": table}),
        case(
            "Activation",
            "tanh of an unsigned input",
            {"activation": "tanh"},
            VECTOR,
            settings={"_x0": {"Precision": "ufixed<9,3>"}},
        ),
        case("Dense", "activation tanh inside", {"units": 4, "activation": "tanh"}, VECTOR),
        case(
            "Dense",
            "activation leaky_relu inside",
            {"units": 4, "activation": "leaky_relu"},
            VECTOR,
            known="hls4ml #563",
        ),
        case("ReLU", "max_value 1.5", {"max_value": 1.5}, VECTOR),
        case("ReLU", "negative_slope 0.25", {"negative_slope": 0.25}, IMAGE),
        case("ReLU", "threshold 0.75", {"threshold": 0.75}, VECTOR, core=True),
        case("ReLU", "max_value 2, threshold 0.5", {"max_value": 2, "threshold": 0.5}, VECTOR),
        case(
            "ReLU",
            "negative_slope and threshold",
            {"negative_slope": 0.25, "threshold": 0.5},
            VECTOR,
            parallel=refused("together with threshold"),
        ),
        case("LeakyReLU", "0.3", {"negative_slope": 0.3}, VECTOR, core=True),
        case("LeakyReLU", "0.125, an image", {"negative_slope": 0.125}, IMAGE),
        case("PReLU", "a vector", {}, VECTOR, core=True),
        case("PReLU", "shared_axes [1] of a sequence", {"shared_axes": [1]}, LINE, known="hls4ml #1328"),
        case("PReLU", "shared_axes [1, 2] of an image", {"shared_axes": [1, 2]}, IMAGE, known="hls4ml #1328"),
        case("PReLU", "an image", {}, IMAGE),
        case("ELU", "alpha 0.5", {"alpha": 0.5}, VECTOR),
    ]
    return tuple(found)


def normalizations() -> tuple[Case, ...]:
    """Return normalizations."""
    return (
        case("BatchNormalization", "a vector", {}, VECTOR, core=True),
        case("BatchNormalization", "an image", {}, IMAGE, core=True),
        case("BatchNormalization", "scale=False, center=False", {"scale": False, "center": False}, LINE),
        case(
            "BatchNormalization",
            "axis 1 of an image",
            {"axis": 1},
            IMAGE,
            parallel=refused("axis=1"),
            known="hls4ml PR #1534",
        ),
        case(
            "BatchNormalization",
            "behind a dense layer",
            chain(("Dense", {"units": 4}), ("BatchNormalization", {})),
            VECTOR,
        ),
        case(
            "LayerNormalization",
            "the last axis",
            {"epsilon": 0.001},
            (3, 4),
            settings={"": {"TableSize": 256}},
            stream=refused("io_stream"),
            core=True,
        ),
        case(
            "LayerNormalization", "a vector", {}, VECTOR, parallel=refused("the last axis of a tensor of two axes is")
        ),
        case(
            "LayerNormalization",
            "epsilon 0.002",
            {"epsilon": 0.002},
            (3, 4),
            parallel=refused("a power of ten"),
            stream=refused("io_stream"),
        ),
        case("GroupNormalization", "groups 2", {"groups": 2}, IMAGE, parallel=refused("BatchNormalization")),
    )


def softmaxes() -> tuple[Case, ...]:
    """Return softmax in hls4ml's implementations and shapes."""
    found = [
        case(
            "Softmax",
            f"implementation {how}",
            {},
            (5,),
            settings=NARROW | {"": {"Implementation": how, "TableSize": 256}},
            draw=spread(1.0),
            core=True,
            known="hls4ml #885",
        )
        for how in ("stable", "latency", "legacy", "argmax")
    ]
    found += [
        case(
            "Softmax",
            "several positions",
            {},
            (3, 4),
            settings=NARROW | {"": {"TableSize": 256}},
            draw=spread(1.0),
        ),
        case(
            "Softmax",
            "an image",
            {},
            (2, 3, 4),
            settings=NARROW | {"": {"TableSize": 64}},
            draw=spread(1.0),
        ),
        case(
            "Softmax",
            "axis 1 of an image",
            {"axis": 1},
            IMAGE,
            parallel=refused("axis=1"),
            known="hls4ml PR #1534",
        ),
        case(
            "Softmax",
            "a table too coarse for its input",
            {},
            (5,),
            parallel=noted("the softmax reads its exponential in steps of"),
            settings={"_x0": {"Precision": "fixed<18,12>"}, "": {"TableSize": 256}},
            draw=spread(400),
            known="hls4ml #115",
        ),
        case(
            "Softmax",
            "a final one left out",
            chain(("Dense", {"units": 4, "activation": "softmax"})),
            VECTOR,
            parallel=noted("is left out"),
            section={"SkipSoftmax": True},
            known="hls4ml #115",
        ),
        case(
            "Softmax",
            "inside a dense layer",
            chain(("Dense", {"units": 4, "activation": "softmax"})),
            VECTOR,
            known="hls4ml #1431",
            settings={"_softmax": {"TableSize": 256}},
        ),
    ]
    return tuple(found)


def _self(kind: str) -> Build:
    """Return a merge of a tensor and what a dense layer makes of it."""

    def build(name: str, x: Any) -> Any:
        other = layer_of("Dense", {"units": x.shape[-1], "name": f"{name}_1"})(x)
        return layer_of(kind, {"name": name})([x, other])

    return build


def merges() -> tuple[Case, ...]:
    """Return merges of two and more tensors, of several precisions."""
    mixed = {"_x0": {"Precision": "fixed<8,3>"}, "_x1": {"Precision": "ufixed<9,2>"}}
    kinds = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")
    found = [case(kind, "two vectors of two types", {}, (5,), (5,), settings=mixed, core=True) for kind in kinds]
    found += [case(kind, "two images", {}, IMAGE, IMAGE) for kind in kinds]
    wide = "beside one of"
    found += [
        case("Add", "three tensors", {}, (5,), (5,), (5,), known="hls4ml 1.3.0"),
        case("Maximum", "four tensors", {}, (5,), (5,), (5,), (5,)),
        case("Average", "four tensors", {}, (5,), (5,), (5,), (5,)),
        case(
            "Average",
            "three tensors",
            {},
            (5,),
            (5,),
            (5,),
            parallel=refused("the average of 3 tensors"),
            known="hls4ml 1.3.0",
        ),
        case("Multiply", "a tensor with a layer of itself", _self("Multiply"), VECTOR),
        case("Add", "broadcasting (1, 1, 2)", {}, IMAGE, (1, 1, 2), stream=refused(wide)),
        case(
            "Multiply",
            "broadcasting (4, 5, 1)",
            {},
            IMAGE,
            (4, 5, 1),
            parallel=refused("broadcasting"),
            stream=refused(wide),
        ),
        case("Concatenate", "vectors", {}, (4,), (3,), core=True),
        case("Concatenate", "three vectors", {}, (4,), (3,), (2,), known="hls4ml 1.3.0"),
        case("Concatenate", "axis 1 of images", {"axis": 1}, IMAGE, (3, 5, 2), known="hls4ml #415"),
        case("Concatenate", "axis 2 of images", {"axis": 2}, IMAGE, (4, 3, 2), known="hls4ml #415"),
        case("Concatenate", "axis 3 of images", {"axis": 3}, IMAGE, (4, 5, 3), known="hls4ml #415"),
        case(
            "Concatenate",
            "axis -1 of images of two types",
            {"axis": -1},
            IMAGE,
            IMAGE,
            settings=mixed,
            known="hls4ml #415",
        ),
        case("Concatenate", "axis 1 of sequences", {"axis": 1}, LINE, (4, 2), known="hls4ml #415"),
        case("Concatenate", "axis 2 of sequences", {"axis": 2}, LINE, (7, 3), known="hls4ml #415"),
        case("Dot", "two vectors", {"axes": 1}, (5,), (5,), stream=refused("io_stream"), core=True),
        case("Dot", "normalize", {"axes": 1, "normalize": True}, (5,), (5,), parallel=refused("normalize=True")),
    ]
    return tuple(found)
