"""Convolutions: windows, strides, paddings, biases, channels that stay apart."""

from __future__ import annotations

from tests.conformance.layers.case import IMAGE, LINE, Case, case, chain, refused

BITS = "quantized_bits(5,1,alpha=1)"
BOTH = {"kernel_quantizer": BITS, "bias_quantizer": BITS}
APART = {"depthwise_quantizer": BITS, "bias_quantizer": BITS}
ONE_ROW = refused("a kernel of one row with a vertical stride of 2")
NORM = ("BatchNormalization", {})


def convolutions() -> tuple[Case, ...]:
    """Return convolutions of images and sequences."""
    conv2, conv1 = {"filters": 3, "kernel_size": (3, 2)}, {"filters": 3, "kernel_size": 3}
    return (
        case("Conv2D", "valid", conv2, IMAGE, core=True),
        case("Conv2D", "same", conv2 | {"padding": "same"}, IMAGE, core=True),
        case("Conv2D", "same, strides (2, 2)", conv2 | {"padding": "same", "strides": (2, 2)}, IMAGE),
        case("Conv2D", "strides (1, 2)", conv2 | {"strides": (1, 2)}, IMAGE),
        case("Conv2D", "kernel (2, 2), strides (3, 3)", {"filters": 3, "kernel_size": 2, "strides": 3}, (5, 8, 2)),
        case(
            "Conv2D",
            "kernel (1, 2), strides (2, 3)",
            {"filters": 3, "kernel_size": (1, 2), "strides": (2, 3)},
            IMAGE,
            stream=ONE_ROW,
        ),
        case("Conv2D", "kernel as large as the input", {"filters": 3, "kernel_size": (4, 5)}, IMAGE),
        case("Conv2D", "kernel (1, 1)", {"filters": 3, "kernel_size": 1}, IMAGE),
        case(
            "Conv2D",
            "kernel (1, 1), strides (2, 2)",
            {"filters": 3, "kernel_size": 1, "strides": 2},
            IMAGE,
        ),
        case("Conv2D", "same, even kernel (2, 4)", {"filters": 3, "kernel_size": (2, 4), "padding": "same"}, IMAGE),
        case("Conv2D", "use_bias=False", conv2 | {"use_bias": False}, IMAGE),
        case("Conv2D", "activation relu", conv2 | {"activation": "relu"}, IMAGE),
        case("Conv2D", "one filter", {"filters": 1, "kernel_size": 2}, IMAGE),
        case("Conv2D", "folded, budget 2us", conv2, IMAGE, budget="2us", only="io_parallel", core=True),
        case(
            "Conv2D",
            "dilation_rate (2, 1)",
            {"filters": 3, "kernel_size": 2, "dilation_rate": (2, 1)},
            IMAGE,
            known="hls4ml #1508",
        ),
        case(
            "Conv2D",
            "groups 2 of 4 channels",
            conv2 | {"filters": 4, "groups": 2},
            (4, 5, 4),
            known="hls4ml PR #1486",
        ),
        case(
            "Conv2D",
            "groups as many as channels",
            {"filters": 2, "kernel_size": (3, 2), "groups": 2},
            IMAGE,
            known="hls4ml PR #1486",
        ),
        case(
            "Conv2D",
            "data_format channels_first",
            {"filters": 3, "kernel_size": 2, "data_format": "channels_first"},
            (2, 4, 5),
            parallel=refused("data_format='channels_first'"),
        ),
        case("Conv1D", "valid", conv1, LINE, core=True),
        case("Conv1D", "same", conv1 | {"padding": "same"}, LINE),
        case("Conv1D", "same, strides 2", conv1 | {"padding": "same", "strides": 2}, LINE),
        case("Conv1D", "same, even kernel 4", {"filters": 3, "kernel_size": 4, "padding": "same"}, LINE),
        case("Conv1D", "causal", conv1 | {"padding": "causal"}, LINE, core=True),
        case("Conv1D", "causal, strides 2", conv1 | {"padding": "causal", "strides": 2}, LINE),
        case("Conv1D", "strides 2", conv1 | {"strides": 2}, LINE),
        case("Conv1D", "strides beyond the kernel", {"filters": 3, "kernel_size": 2, "strides": 3}, LINE),
        case("Conv1D", "kernel as large as the input", {"filters": 3, "kernel_size": 7}, LINE),
        case("Conv1D", "kernel 1", {"filters": 3, "kernel_size": 1}, LINE),
        case("Conv1D", "use_bias=False", conv1 | {"use_bias": False}, LINE),
        case("Conv1D", "folded, budget 2us", conv1, LINE, budget="2us", only="io_parallel"),
        case(
            "Conv1D",
            "dilation_rate 2",
            conv1 | {"dilation_rate": 2},
            LINE,
            known="hls4ml #1508",
        ),
        case(
            "Conv1D",
            "groups as many as channels",
            {"filters": 2, "kernel_size": 3, "groups": 2},
            LINE,
            known="hls4ml PR #1486",
        ),
        case(
            "Conv1D",
            "groups 2 of 4 channels",
            conv1 | {"filters": 4, "groups": 2},
            (7, 4),
            known="hls4ml PR #1486",
        ),
        case("QConv2D", "quantized_bits(5,1)", conv2 | BOTH, IMAGE, core=True),
        case("QConv2D", "same, strides (2, 1)", conv2 | BOTH | {"padding": "same", "strides": (2, 1)}, IMAGE),
        case("QConv1D", "quantized_bits(5,1), same", conv1 | BOTH | {"padding": "same"}, LINE),
        case(
            "QConv2D",
            "alpha auto_po2",
            conv2 | BOTH | {"kernel_quantizer": "quantized_bits(4,0,alpha='auto_po2')"},
            IMAGE,
        ),
        case("QConv2D", "alpha auto", conv2 | BOTH | {"kernel_quantizer": "quantized_bits(4,0,alpha='auto')"}, IMAGE),
        case("QConv2D", "ternary", conv2 | BOTH | {"kernel_quantizer": "ternary(alpha=1)"}, IMAGE),
        case("QConv2D", "quantized_po2", conv2 | BOTH | {"kernel_quantizer": "quantized_po2(4,2)"}, IMAGE),
        case("QConv2DBatchnorm", "ema_stats_folding", conv2 | BOTH | {"folding_mode": "ema_stats_folding"}, IMAGE),
        case("QConv2DBatchnorm", "same, no bias", conv2 | BOTH | {"padding": "same", "use_bias": False}, IMAGE),
    )


def apart() -> tuple[Case, ...]:
    """Return depthwise and separable convolutions, and convolutions in front of a batch normalization."""
    deep2, deep1 = {"kernel_size": (3, 2)}, {"kernel_size": 3}
    pair2, pair1 = deep2 | {"filters": 3}, deep1 | {"filters": 3}
    twice = {"depth_multiplier": 2}
    plain = ("Conv2D", {"filters": 3, "kernel_size": (3, 2)})
    return (
        case("DepthwiseConv2D", "valid", deep2, IMAGE, core=True),
        case("DepthwiseConv2D", "same", deep2 | {"padding": "same"}, IMAGE),
        case("DepthwiseConv2D", "same, strides (2, 2)", deep2 | {"padding": "same", "strides": (2, 2)}, IMAGE),
        case("DepthwiseConv2D", "use_bias=False", deep2 | {"use_bias": False}, IMAGE),
        case("DepthwiseConv2D", "folded, budget 2us", deep2, IMAGE, budget="2us", only="io_parallel"),
        case(
            "DepthwiseConv2D",
            "depth_multiplier 2",
            deep2 | twice,
            IMAGE,
            known="hls4ml #1008",
        ),
        case(
            "DepthwiseConv2D",
            "behind it a normalization",
            chain(("DepthwiseConv2D", deep2), NORM),
            IMAGE,
            known="hls4ml #1471",
        ),
        case(
            "DepthwiseConv2D",
            "dilation_rate 2",
            {"kernel_size": 2, "dilation_rate": 2},
            IMAGE,
        ),
        case("DepthwiseConv1D", "valid", deep1, LINE),
        case("DepthwiseConv1D", "same", deep1 | {"padding": "same"}, LINE),
        case("DepthwiseConv1D", "strides 2", deep1 | {"strides": 2}, LINE),
        case(
            "DepthwiseConv1D",
            "behind it a normalization",
            chain(("DepthwiseConv1D", deep1), NORM),
            LINE,
            known="hls4ml #1471",
        ),
        case("QDepthwiseConv2D", "quantized_bits(5,1)", deep2 | APART, IMAGE),
        case(
            "QDepthwiseConv2D",
            "alpha auto_po2",
            deep2 | APART | {"depthwise_quantizer": "quantized_bits(4,0,alpha='auto_po2')"},
            IMAGE,
        ),
        case("SeparableConv2D", "valid", pair2, IMAGE, core=True),
        case("SeparableConv2D", "same", pair2 | {"padding": "same"}, IMAGE),
        case(
            "SeparableConv2D",
            "depth_multiplier 2",
            pair2 | twice,
            IMAGE,
            known="hls4ml #1008",
        ),
        case("SeparableConv2D", "behind it a normalization", chain(("SeparableConv2D", pair2), NORM), IMAGE),
        case("SeparableConv1D", "valid", pair1, LINE),
        case("SeparableConv1D", "same, strides 2", pair1 | {"padding": "same", "strides": 2}, LINE),
        case(
            "QSeparableConv1D",
            "quantized_bits(5,1)",
            pair1 | {"depthwise_quantizer": BITS, "pointwise_quantizer": BITS, "bias_quantizer": BITS},
            LINE,
            known="hls4ml #861",
        ),
        case(
            "QSeparableConv1D",
            "a type for depthwise_result (dw_output)",
            pair1 | {"depthwise_quantizer": BITS, "pointwise_quantizer": BITS, "bias_quantizer": BITS},
            LINE,
            settings={"": {"Precision": {"depthwise_result": "fixed<9,4>"}}},
            known="hls4ml #861",
        ),
        case("Conv2D", "behind it a normalization", chain(plain, NORM), IMAGE),
        case("Conv1D", "behind it a normalization", chain(("Conv1D", pair1), NORM), LINE),
        case(
            "Conv2D",
            "block: convolution, normalization, relu, pool",
            chain(plain, NORM, ("ReLU", {}), ("MaxPooling2D", {"pool_size": 2})),
            IMAGE,
        ),
    )
