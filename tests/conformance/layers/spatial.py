"""Layers that pool, move, repeat or cut elements."""

from __future__ import annotations

from typing import Any

from tests.conformance.layers.case import IMAGE, LINE, VECTOR, Case, case, chain, layer_of, noted, numbers, refused

ABORTS = "padding='same' in io_stream"
OTHER = "in io_stream is not supported; strides equal to pool_size are"


def pools() -> tuple[Case, ...]:
    """Return pooling with windows, and over everything."""
    found: list[Case] = []
    for kind in ("Max", "Average"):
        two, one = f"{kind}Pooling2D", f"{kind}Pooling1D"
        found += [
            case(two, "pool (2, 2)", {"pool_size": 2}, IMAGE, core=True),
            case(two, "pool (2, 3), a rest on both axes", {"pool_size": (3, 2)}, IMAGE),
            case(
                two,
                "pool 3, strides 2",
                {"pool_size": 3, "strides": 2},
                (6, 7, 2),
                stream=refused(OTHER),
                known="hls4ml #995",
            ),
            case(
                two,
                "pool 1, strides 2",
                {"pool_size": 1, "strides": 2},
                IMAGE,
                stream=refused(OTHER),
                known="hls4ml #995",
            ),
            case(
                two,
                "same, pool 3, strides 2",
                {"pool_size": 3, "strides": 2, "padding": "same"},
                IMAGE,
                stream=refused(ABORTS),
                known="hls4ml #995",
            ),
            case(two, "same, pool (2, 2)", {"pool_size": 2, "padding": "same"}, IMAGE, stream=refused(ABORTS)),
            case(one, "pool 2", {"pool_size": 2}, LINE, core=kind == "Max"),
            case(one, "pool 3, strides 2", {"pool_size": 3, "strides": 2}, LINE, stream=refused(OTHER)),
            case(
                one,
                "same, pool 4, strides 3",
                {"pool_size": 4, "strides": 3, "padding": "same"},
                LINE,
                stream=refused(ABORTS),
            ),
            case(f"Global{two}", "all", {}, IMAGE, core=True),
            case(f"Global{two}", "keepdims", {"keepdims": True}, IMAGE),
            case(f"Global{one}", "all", {}, LINE),
            case(f"Global{one}", "keepdims", {"keepdims": True}, LINE),
        ]
    keeps = chain(("GlobalAveragePooling2D", {"keepdims": True}), ("Conv2D", {"filters": 3, "kernel_size": 1}))
    found += [
        case("GlobalAveragePooling2D", "keepdims, behind it a convolution", keeps, IMAGE, known="hls4ml PR #1534"),
        case(
            "AveragePooling2D",
            "a narrow input: no overflow of the sum",
            {"pool_size": (4, 5)},
            IMAGE,
            settings={"_x0": {"Precision": "fixed<7,4>"}},
            known="hls4ml #311",
        ),
        case(
            "AveragePooling2D",
            "a type for accum that wraps",
            {"pool_size": (4, 5)},
            IMAGE,
            parallel=noted("beyond the accumulator"),
            settings={"": {"Precision": {"accum": "fixed<8,4>"}}},
            known="hls4ml #311",
        ),
        case(
            "GlobalAveragePooling1D",
            "a type for accum that wraps",
            {},
            LINE,
            parallel=noted("beyond the accumulator"),
            settings={"": {"Precision": {"accum": "fixed<8,4>"}}},
            known="hls4ml #311",
        ),
    ]
    return tuple(found)


def _branch(name: str, x: Any) -> Any:
    """Return a tensor that is both an output and used further."""
    first = layer_of("Conv2D", {"filters": 3, "kernel_size": (3, 2), "name": f"{name}_1"})(x)
    return [first, layer_of("MaxPooling2D", {"pool_size": 2, "name": name})(first)]


def _skip(name: str, x: Any) -> Any:
    """Return a sum around two convolutions."""
    conv = {"filters": 2, "kernel_size": (3, 2), "padding": "same"}
    first = layer_of("Conv2D", conv | {"name": f"{name}_1", "activation": "relu"})(x)
    second = layer_of("Conv2D", conv | {"name": f"{name}_2"})(first)
    return layer_of("Add", {"name": name})([second, x])


def _two_outputs(name: str, x: Any, y: Any) -> Any:
    """Return two heads of two inputs, declared in the other order than they are made."""
    joined = layer_of("Concatenate", {"name": f"{name}_1"})([y, x])
    first = layer_of("Dense", {"units": 3, "name": f"{name}_zz"})(joined)
    return [layer_of("Dense", {"units": 2, "name": name})(joined), first]


def _unread(name: str, x: Any, _: Any) -> Any:
    """Return what one of two inputs makes; nothing reads the other."""
    return layer_of("Dense", {"units": 3, "name": name})(x)


def _block(name: str, x: Any) -> Any:
    """Return a quantized depthwise block with a skip connection, averaged over the image."""
    bits = "quantized_bits(6,2,alpha=1)"
    apart = {"kernel_size": (3, 2), "padding": "same", "depthwise_quantizer": bits, "bias_quantizer": bits}
    point = {"filters": 2, "kernel_size": 1, "kernel_quantizer": bits, "bias_quantizer": bits}
    folded = layer_of("QConv2DBatchnorm", point | {"name": f"{name}_2"})
    made = folded(layer_of("QDepthwiseConv2D", apart | {"name": f"{name}_1"})(x))
    added = layer_of("Add", {"name": f"{name}_3"})([made, x])
    return layer_of("GlobalAveragePooling2D", {"name": name})(added)


def moves() -> tuple[Case, ...]:
    """Return layers that only move elements, branches, and several inputs and outputs."""
    dense = ("Dense", {"units": 3})
    pad2, crop2 = {"padding": ((1, 2), (0, 3))}, {"cropping": ((1, 0), (2, 1))}
    return (
        case("Flatten", "an image, behind it a dense layer", chain(("Flatten", {}), dense), IMAGE, core=True),
        case("Flatten", "of an input, as an output", {}, IMAGE, parallel=refused("leave it out")),
        case("Flatten", "behind an activation, as an output", chain(("ReLU", {}), ("Flatten", {})), IMAGE),
        case("Flatten", "behind it an activation", chain(("Flatten", {}), ("ReLU", {})), IMAGE),
        case("Reshape", "(4, 5, 2) to (8, 5)", chain(("ReLU", {}), ("Reshape", {"target_shape": (8, 5)})), IMAGE),
        case("Reshape", "(4, 5, 2) to (10, 4)", chain(("ReLU", {}), ("Reshape", {"target_shape": (10, 4)})), IMAGE),
        case(
            "Reshape",
            "(6,) to (3, 2), behind it a convolution",
            chain(("Reshape", {"target_shape": (3, 2)}), ("Conv1D", {"filters": 3, "kernel_size": 2})),
            VECTOR,
        ),
        case("Permute", "(3, 1, 2)", {"dims": (3, 1, 2)}, IMAGE, core=True),
        case("Permute", "(2, 1)", {"dims": (2, 1)}, LINE),
        case("Permute", "(1, 3, 2) of an image of one row", {"dims": (1, 3, 2)}, (1, 5, 2)),
        case(
            "Permute",
            "(2, 1, 3), behind it a flatten",
            chain(("Permute", {"dims": (2, 1, 3)}), ("Flatten", {}), dense),
            IMAGE,
        ),
        case("ZeroPadding2D", "uneven", pad2, IMAGE, core=True),
        case("ZeroPadding1D", "(2, 1)", {"padding": (2, 1)}, LINE),
        case(
            "ZeroPadding2D",
            "in front of a convolution",
            chain(("ZeroPadding2D", pad2), ("Conv2D", {"filters": 3, "kernel_size": (3, 2)})),
            IMAGE,
        ),
        case("Cropping2D", "uneven", crop2, IMAGE),
        case("Cropping1D", "(2, 1)", {"cropping": (2, 1)}, LINE),
        case("UpSampling2D", "nearest (2, 3)", {"size": (2, 3)}, IMAGE, known="hls4ml #517", core=True),
        case(
            "UpSampling2D",
            "bilinear",
            {"size": 2, "interpolation": "bilinear"},
            IMAGE,
            parallel=refused("interpolation='bilinear'"),
            known="hls4ml PR #1534",
        ),
        case("UpSampling1D", "3", {"size": 3}, LINE),
        case("RepeatVector", "4", {"n": 4}, VECTOR),
        case(
            "Embedding",
            "9 rows",
            {"input_dim": 9, "output_dim": 3},
            (5,),
            settings={"_x0": {"Precision": "uint<4>"}},
            draw=numbers(8),
            core=True,
        ),
        case(
            "Embedding",
            "mask_zero",
            {"input_dim": 9, "output_dim": 3, "mask_zero": True},
            (5,),
            parallel=refused("mask_zero"),
            draw=numbers(8),
        ),
        case("Branch", "an output that is used further", _branch, IMAGE, core=True),
        case("Branch", "a skip connection around two convolutions", _skip, IMAGE, core=True),
        case("Branch", "a skip connection, budget 40ns", _skip, IMAGE, only="io_stream", budget="40ns", core=True),
        case("Branch", "a second input that nothing reads", _unread, (4,), (3,), known="hls4ml #244"),
        case("Branch", "depthwise, folded normalization, sum, average", _block, IMAGE, known="hls4ml #1472"),
        case(
            "Branch", "two inputs, two outputs in their declared order", _two_outputs, (4,), (3,), known="hls4ml #244"
        ),
        case(
            "Dropout", "nothing at inference", chain(("Dense", {"units": 4}), ("Dropout", {"rate": 0.5}), dense), VECTOR
        ),
    )
