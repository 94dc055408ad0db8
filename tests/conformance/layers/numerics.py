"""Dense layers, quantizers and types: the fixed-point side of the field's known faults."""

from __future__ import annotations

from typing import Any

from tests.conformance.layers.case import IMAGE, LINE, VECTOR, Case, case, chain, noted, refused, spread

BITS = "quantized_bits(6,1,alpha=1)"
BOTH = {"kernel_quantizer": BITS, "bias_quantizer": BITS}
MODES = ("RND", "RND_CONV", "TRN_ZERO", "RND_INF", "RND_MIN_INF", "RND_ZERO", "TRN")
LIMITS = ("SAT", "SAT_SYM", "SAT_ZERO", "WRAP")


def dense() -> tuple[Case, ...]:
    """Return dense layers."""
    return (
        case("Dense", "a vector", {"units": 4}, VECTOR, core=True),
        case("Dense", "use_bias=False", {"units": 4, "use_bias": False}, VECTOR),
        case("Dense", "one unit", {"units": 1}, VECTOR),
        case("Dense", "of a sequence", {"units": 3}, LINE),
        case("Dense", "of an image", {"units": 3}, IMAGE),
        case(
            "Dense",
            "folded, budget 2us",
            chain(("Dense", {"units": 8}), ("Dense", {"units": 4})),
            VECTOR,
            budget="2us",
            only="io_parallel",
            core=True,
        ),
        case(
            "Dense",
            "two, relu between",
            chain(("Dense", {"units": 5, "activation": "relu"}), ("Dense", {"units": 3})),
            VECTOR,
        ),
        case("QDense", "quantized_bits(6,1)", {"units": 4} | BOTH, VECTOR, core=True),
        case(
            "QDense",
            "no alpha: auto_po2",
            {"units": 4, "kernel_quantizer": "quantized_bits(6,0)", "bias_quantizer": BITS},
            VECTOR,
            known="qkeras #129",
        ),
        case(
            "QDense",
            "alpha auto",
            {"units": 4, "kernel_quantizer": "quantized_bits(4,0,alpha='auto')", "bias_quantizer": BITS},
            VECTOR,
        ),
        case(
            "QDense",
            "ternary, alpha auto",
            {"units": 4, "kernel_quantizer": "ternary(alpha='auto')", "bias_quantizer": BITS},
            VECTOR,
            known="hls4ml #740",
        ),
        case(
            "QDense",
            "ternary, threshold 0.8",
            {"units": 4, "kernel_quantizer": "ternary(alpha=1,threshold=0.8)", "bias_quantizer": BITS},
            VECTOR,
            known="hls4ml #740",
        ),
        case(
            "QDense",
            "binary",
            {"units": 4, "kernel_quantizer": "binary(alpha=1)", "bias_quantizer": BITS},
            VECTOR,
            known="hls4ml #740",
        ),
        case(
            "QDense",
            "quantized_po2",
            {"units": 4, "kernel_quantizer": "quantized_po2(4,2)", "bias_quantizer": BITS},
            VECTOR,
        ),
        case(
            "QDense",
            "keep_negative=0",
            {"units": 4, "kernel_quantizer": "quantized_bits(6,0,keep_negative=0,alpha=1)", "bias_quantizer": BITS},
            VECTOR,
            known="hls4ml 1.3.0",
        ),
        case(
            "QDense",
            "quantized_linear",
            {"units": 4, "kernel_quantizer": "quantized_linear(5,1,alpha=1)", "bias_quantizer": BITS},
            VECTOR,
        ),
        case(
            "QDense",
            "quantized_relu_po2 on weights",
            {"units": 4, "kernel_quantizer": "quantized_relu_po2(4)"},
            VECTOR,
            parallel=refused("kernel_quantizer"),
            known="hls4ml #225",
        ),
        case(
            "QDense",
            "activation quantized_relu(8,2) inside",
            {"units": 4, "activation": "quantized_relu(8,2)"} | BOTH,
            VECTOR,
            known="hls4ml #563",
        ),
        case(
            "QDense",
            "activation quantized_relu with a slope inside",
            {"units": 4, "activation": "quantized_relu(8,2,negative_slope=0.25)"} | BOTH,
            VECTOR,
            known="hls4ml PR #961",
        ),
        case(
            "QDense",
            "codes, not text: 8 bits, then quantized_relu(10,2)",
            chain(
                ("QActivation", {"activation": "quantized_bits(8,0,alpha=1)"}),
                (
                    "QDense",
                    {
                        "units": 5,
                        "kernel_quantizer": "quantized_bits(8,0,alpha=1)",
                        "bias_quantizer": "quantized_bits(8,0,alpha=1)",
                    },
                ),
                ("QActivation", {"activation": "quantized_relu(10,2)"}),
            ),
            VECTOR,
            known="hls4ml #874",
        ),
        case(
            "QDense",
            "16 fraction bits",
            {"units": 4, "kernel_quantizer": "quantized_bits(17,0,alpha=1)", "bias_quantizer": BITS},
            VECTOR,
            known="hls4ml #874",
        ),
        case(
            "QBatchNormalization",
            "its default quantizers",
            {},
            VECTOR,
            parallel=refused("gamma_quantizer=quantized_relu_po2"),
            known="hls4ml #225",
        ),
        case(
            "QBatchNormalization",
            "no quantizers",
            dict.fromkeys(("beta_quantizer", "gamma_quantizer", "mean_quantizer", "variance_quantizer")),
            VECTOR,
        ),
    )


def quantizers() -> tuple[Case, ...]:
    """Return quantized activations."""
    texts = (
        "quantized_bits(6,2,alpha=1)",
        "quantized_bits(6,2,keep_negative=0,alpha=1)",
        "quantized_bits(4,0,symmetric=True,alpha=1)",
        "quantized_bits(4,4,alpha=1)",
        "quantized_bits(4,6,alpha=1)",
        "quantized_linear(6,2,alpha=1)",
        "quantized_relu(6,2)",
        "quantized_relu(8,2,negative_slope=0.125)",
        "quantized_tanh(5)",
        "quantized_tanh(5,use_real_tanh=1)",
        "quantized_sigmoid(5)",
        "quantized_sigmoid(5,use_real_sigmoid=1)",
        "binary(alpha=1)",
        "ternary(alpha=1,threshold=0.5)",
    )
    faults = {
        texts[1]: "hls4ml 1.3.0",
        texts[2]: "hls4ml 1.3.0",
        texts[3]: "hls4ml 1.3.0",
        texts[4]: "hls4ml 1.3.0",
        texts[0]: "qkeras #75",
        texts[6]: "qkeras #75",
        texts[7]: "hls4ml PR #961",
    }
    found = [
        case("QActivation", text, {"activation": text}, VECTOR, core=True, draw=spread(3.0), known=faults.get(text, ""))
        for text in texts
    ]
    found += [
        case("QActivation", f"{text} of an image", {"activation": text}, IMAGE, draw=spread(2.0))
        for text in ("quantized_relu(6,2)", "binary(alpha=1)", "ternary(alpha=1,threshold=0.5)")
    ]
    found += [
        case("QActivation", text, {"activation": text}, VECTOR, parallel=refused(words), known="hls4ml 1.3.0")
        for text, words in (
            ("quantized_relu(6,2,use_sigmoid=1)", "use_sigmoid=1"),
            ("quantized_po2(4)", "on activations is not supported"),
            ("quantized_bits(6,0,alpha='auto')", "alpha='auto'"),
            ("quantized_tanh(5,symmetric=1)", ""),
            ("stochastic_ternary()", "is not supported"),
        )
        if words
    ]
    return (*found, *binaries())


def binaries() -> tuple[Case, ...]:
    """Return networks of binary and ternary values."""
    signs = {"kernel_quantizer": "binary(alpha=1)", "bias_quantizer": "binary(alpha=1)"}
    sign = ("QActivation", {"activation": "binary(alpha=1)"})
    conv: tuple[str, dict[str, Any]] = ("QConv2D", {"filters": 3, "kernel_size": (3, 2)} | signs)
    return (
        case(
            "Binary network",
            "dense: sign, dense, normalization, sign, dense",
            chain(
                sign,
                ("QDense", {"units": 5} | signs),
                ("BatchNormalization", {}),
                sign,
                ("QDense", {"units": 3} | signs),
            ),
            VECTOR,
            known="hls4ml #740",
        ),
        case(
            "Binary network",
            "convolution, normalization, sign, max pool",
            chain(conv, ("BatchNormalization", {}), sign, ("MaxPooling2D", {"pool_size": 2})),
            IMAGE,
            known="hls4ml #740",
        ),
        case("Binary network", "sign, convolution", chain(sign, conv), IMAGE, known="hls4ml #740"),
        case(
            "Binary network",
            "signs as the output",
            chain(("QDense", {"units": 4} | signs), sign),
            VECTOR,
            known="hls4ml #740",
        ),
        case(
            "Binary network",
            "ternary weights and signs",
            chain(
                ("QActivation", {"activation": "ternary(alpha=1,threshold=0.2)"}),
                ("QDense", {"units": 4, "kernel_quantizer": "ternary(alpha='auto')", "bias_quantizer": BITS}),
            ),
            VECTOR,
            known="hls4ml #740",
        ),
    )


def types() -> tuple[Case, ...]:
    """Return dense layers whose types round, saturate and wrap in every way."""
    one = {"units": 4} | BOTH
    found = [
        case(
            "Dense types",
            f"result fixed<8,3,{mode},SAT>",
            chain(("QDense", one)),
            VECTOR,
            settings={"": {"Precision": {"result": f"fixed<8,3,{mode},SAT>"}}},
            known="hls4ml PR #68",
        )
        for mode in MODES
    ]
    found += [
        case(
            "Dense types",
            f"result fixed<7,2,RND_CONV,{limit}>",
            chain(("QDense", one)),
            VECTOR,
            settings={"": {"Precision": {"result": f"fixed<7,2,RND_CONV,{limit}>"}}},
            known="hls4ml PR #68",
        )
        for limit in LIMITS
    ]
    found += [
        case(
            "Dense types",
            "result fixed<7,2,TRN,WRAP_SM>",
            chain(("QDense", one)),
            VECTOR,
            parallel=refused("WRAP_SM"),
            settings={"": {"Precision": {"result": "fixed<7,2,TRN,WRAP_SM>"}}},
            known="hls4ml PR #68",
        ),
        case(
            "Dense types",
            "weight fixed<8,12>",
            chain(("Dense", {"units": 4})),
            VECTOR,
            settings={"": {"Precision": {"weight": "fixed<8,12>"}}},
            known="hls4ml 1.3.0",
        ),
        case(
            "Dense types",
            "result ufixed<8,-2,RND_CONV,SAT>",
            chain(("Dense", {"units": 4})),
            VECTOR,
            settings={"": {"Precision": {"result": "ufixed<8,-2,RND_CONV,SAT>"}}},
            known="hls4ml 1.3.0",
        ),
        case(
            "Dense types",
            "input fixed<8,12>",
            chain(("Dense", {"units": 4})),
            VECTOR,
            settings={"_x0": {"Precision": "fixed<8,12>"}},
            draw=spread(900),
            known="hls4ml 1.3.0",
        ),
        case(
            "Dense types",
            "accum fixed<7,1> wraps",
            chain(("QDense", {"units": 4} | BOTH)),
            VECTOR,
            settings={"": {"Precision": {"accum": "fixed<7,1>"}}},
            known="hls4ml #324",
        ),
        case(
            "Dense types",
            "result wraps: a note",
            chain(("Dense", {"units": 4})),
            VECTOR,
            parallel=noted("wrap"),
            settings={"": {"Precision": {"result": "fixed<6,1>"}}},
            known="hls4ml PR #68",
        ),
        case(
            "Dense types",
            "bias beyond its type: a note",
            chain(("Dense", {"units": 4})),
            VECTOR,
            parallel=noted("bias"),
            settings={"": {"Precision": {"bias": "fixed<6,0>"}}},
            known="hls4ml #1065",
        ),
        case(
            "Dense types",
            "wide: fixed<40,18> input",
            chain(("Dense", {"units": 2})),
            (3,),
            settings={"_x0": {"Precision": "fixed<40,18>"}},
            known="finn #1692",
        ),
        case(
            "Dense types",
            "result ap_fixd<8,2>",
            chain(("Dense", {"units": 4})),
            VECTOR,
            parallel=refused("ap_fixd"),
            settings={"": {"Precision": {"result": "ap_fixd<8,2>"}}},
            known="hls4ml 1.3.0",
        ),
    ]
    return tuple(found)
