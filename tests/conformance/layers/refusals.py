"""Models that nothing here carries, each refused in one line before a compiler runs."""

from __future__ import annotations

from typing import Any

from tests.conformance.layers.case import IMAGE, LINE, VECTOR, Case, Expected, case, chain, layer_of, refused

RECURRENT = refused("recurrent layers are not supported yet")


def _nested(name: str, x: Any) -> Any:
    import keras

    return keras.Sequential([keras.Input(x.shape[1:]), keras.layers.Dense(2)], name=name)(x)


def _distributed(name: str, x: Any) -> Any:
    import keras

    return keras.layers.TimeDistributed(keras.layers.Dense(2), name=name)(x)


def _function(name: str, x: Any) -> Any:
    import keras

    return keras.layers.Lambda(lambda v: v * 2, output_shape=x.shape[1:], name=name)(x)


def _sum(name: str, x: Any) -> Any:
    return layer_of("ReLU", {"name": f"{name}_1"})(x) + x


def _slice(name: str, x: Any) -> Any:
    return layer_of("ReLU", {"name": name})(x[:, :3])


def _shared(name: str, x: Any) -> Any:
    layer = layer_of("Dense", {"units": x.shape[-1], "name": name})
    return layer(layer(x))


def _both_ways(name: str, x: Any) -> Any:
    import keras

    return keras.layers.Bidirectional(keras.layers.GRU(2), name=name)(x)


def _normalized_twice(name: str, x: Any) -> Any:
    """Return a dense layer and its normalization, both outputs."""
    first = layer_of("Dense", {"units": 4, "name": f"{name}_1"})(x)
    return [first, layer_of("BatchNormalization", {"name": name})(first)]


def refusals() -> tuple[Case, ...]:
    """Return models with layers of other kinds, code of their own, or shapes that mean nothing here."""
    other: tuple[tuple[str, dict[str, Any], tuple[int, ...], Expected], ...] = (
        ("Conv2DTranspose", {"filters": 3, "kernel_size": 2}, IMAGE, refused("use UpSampling2D and Conv2D")),
        ("Conv1DTranspose", {"filters": 3, "kernel_size": 2}, LINE, refused("use UpSampling1D and Conv1D")),
        ("Rescaling", {"scale": 2.0}, VECTOR, refused("scale the input outside")),
        ("Conv3D", {"filters": 2, "kernel_size": 2}, (3, 4, 5, 2), refused("is not supported")),
        ("UnitNormalization", {}, VECTOR, refused("use BatchNormalization")),
        ("Masking", {}, LINE, refused("is not supported")),
    )
    found = [
        case(kind, "this kind", options, shape, parallel=words, known="hls4ml #841")
        for kind, options, shape, words in other
    ]
    recurrent: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("LSTM", "go_backwards", {"units": 3, "go_backwards": True}),
        ("LSTM", "plain", {"units": 3}),
        ("GRU", "reset_after=False", {"units": 3, "reset_after": False}),
        ("GRU", "plain", {"units": 3}),
        ("SimpleRNN", "plain", {"units": 3}),
        ("QLSTM", "a state quantizer", {"units": 3, "state_quantizer": "quantized_bits(8,0,alpha=1)"}),
    )
    faults = {
        "LSTM": "hls4ml PR #1534",
        "GRU": "hls4ml PR #1534",
        "SimpleRNN": "hls4ml PR #1535",
        "QLSTM": "hls4ml #1166",
    }
    found += [
        case(kind, text, options, (5, 3), parallel=RECURRENT, known=faults[kind]) for kind, text, options in recurrent
    ]
    found += [
        case("Bidirectional", "GRU", _both_ways, (5, 3), parallel=RECURRENT, known="hls4ml #841"),
        case(
            "Nested model",
            "a Sequential inside",
            _nested,
            VECTOR,
            parallel=refused("flatten the nested model"),
            known="hls4ml 1.3.0",
        ),
        case(
            "TimeDistributed",
            "Dense",
            _distributed,
            LINE,
            parallel=refused("flatten the nested model"),
            known="hls4ml 1.3.0",
        ),
        case(
            "Lambda", "x * 2", _function, VECTOR, parallel=refused("a Lambda holds arbitrary code"), known="hls4ml #841"
        ),
        case("Operation", "a + x", _sum, VECTOR, parallel=refused("write keras.layers.Add"), known="hls4ml 1.3.0"),
        case(
            "Operation",
            "x[:, :3]",
            _slice,
            VECTOR,
            parallel=refused("operations on tensors are not supported"),
            known="hls4ml #841",
        ),
        case("Dense", "one layer used twice", _shared, VECTOR, parallel=refused("is used more than once")),
        case(
            "Branch", "a dense layer and its normalization as outputs", _normalized_twice, VECTOR, known="hls4ml #841"
        ),
        case(
            "Activation",
            "hard_silu",
            chain(("Activation", {"activation": "hard_silu"})),
            VECTOR,
            parallel=refused("is not supported"),
            known="hls4ml #841",
        ),
    ]
    return tuple(found)
