"""The gate lets quantization pass and stops a model that hls4ml turns into another function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from flow.errors import UserError
from flow.frontend.border import to_graph
from flow.frontend.fidelity import Fidelity, check_fidelity, overflow_notes
from tests.frontend.fake_source import (
    DENSE,
    FakeSource,
    Floats,
    activation_layer,
    dense_layer,
    relu_net,
)


def gate(source: FakeSource, x: Floats) -> Fidelity:
    graphs = [
        to_graph(source.convert(Path("unwritten"), generous=wide), name="net", label_of=source.label_of)
        for wide in (False, True)
    ]
    return check_fidelity(source, inputs=(x,), reference=graphs[0], generous=graphs[1])


def draws(*shape: int, seed: int = 1, scale: float = 0.5) -> Floats:
    return np.random.default_rng(seed).normal(size=shape) * scale


def test_a_true_conversion_passes_and_its_error_is_quantization() -> None:
    fidelity = gate(relu_net(), draws(80, 6))
    assert [layer.label for layer in fidelity.layers] == ["first", "relu", "second"]
    for layer in fidelity.layers:
        assert 0 < layer.max_abs_error < 0.1
        assert layer.generous_error < 1e-9
        assert layer.quantization == pytest.approx(layer.max_abs_error, rel=1e-6)
    assert fidelity.vectors == 80
    again = TypeAdapter(Fidelity).validate_json(TypeAdapter(Fidelity).dump_json(fidelity))
    assert again == fidelity


def float32(x: Floats) -> Floats:
    return np.maximum(x, 0).astype(np.float32).astype(np.float64)


def test_float32_rounding_is_no_other_function() -> None:
    assert gate(relu_net(rectify=float32), draws(80, 6)).layers[2].function_error < 1e-6


@pytest.mark.parametrize(
    "rectify",
    [
        pytest.param(lambda x: np.clip(x, 0, 6.0), id="max_value"),
        pytest.param(lambda x: np.where(x > 0, x, 0.01 * x), id="negative_slope"),
        pytest.param(lambda x: np.where(x > 0.01, x, 0), id="threshold"),
        pytest.param(lambda x: np.maximum(x, 0)[:, ::-1], id="order"),
        pytest.param(lambda x: np.maximum(x, 0) * 1.001, id="scale"),
        pytest.param(lambda x: x, id="left out"),
    ],
)
def test_another_activation_is_refused_by_layer(rectify: Callable[[Floats], Floats]) -> None:
    with pytest.raises(UserError, match="layer 'relu': hls4ml converts it into a different function"):
        gate(relu_net(rectify=rectify), draws(80, 6))


def test_a_limit_beyond_the_vectors_is_reached_by_probes() -> None:
    x = draws(80, 6, scale=0.25)
    source = relu_net()
    limit = float(source.function(x)["first"].max()) + 1.0
    with pytest.raises(UserError, match="layer 'relu'"):
        gate(relu_net(rectify=lambda v: np.clip(v, 0, limit)), x)


def quantizer_net(quantize: Callable[[Floats], Floats], result: str) -> FakeSource:
    """Return dense -> quantizing activation -> dense."""
    rng = np.random.default_rng(3)
    w1, w2 = np.round(rng.normal(size=(6, 4)) * 16) / 16, np.round(rng.normal(size=(4, 2)) * 16) / 16

    def function(x: Floats) -> dict[str, Floats]:
        first = x @ w1
        inner = quantize(first)
        return {"x": x, "first": first, "q": inner, "last": inner @ w2}

    return FakeSource(
        layers=(
            {"name": "x", "class_name": "InputLayer", "input_shape": [6]},
            dense_layer("first", "x", w1, np.zeros(4)),
            activation_layer("q", "first", 4, "linear", quantizer=True),
            dense_layer("last", "q", w2, np.zeros(2)),
        ),
        precisions={"x": {"result": "ap_fixed<16,6>"}, "first": DENSE, "q": {"result": result}, "last": DENSE},
        function=function,
    )


def quantized(x: Floats, low: int, high: int) -> Floats:
    return np.clip(np.round(x * 8), low, high) / 8


def test_a_model_quantizer_passes() -> None:
    source = quantizer_net(lambda x: quantized(x, -8, 7), "ap_fixed<4,1,AP_RND_CONV,AP_SAT>")
    assert [layer.function_error for layer in gate(source, draws(200, 6)).layers] == pytest.approx([0, 0, 0], abs=1e-9)


def test_float_noise_at_a_rounding_boundary_passes() -> None:
    noisy = quantizer_net(lambda x: quantized(x + 1e-7, -8, 7), "ap_fixed<4,1,AP_RND_CONV,AP_SAT>")
    x = np.round(draws(200, 6) * 16) / 16  # many sums lie on ties
    fidelity = gate(noisy, x)
    assert fidelity.layers[1].generous_error == 0.125  # one step, seen and excused
    assert fidelity.layers[1].function_error == 0


@pytest.mark.parametrize(
    ("quantize", "result"),
    [
        pytest.param(lambda x: quantized(x, -7, 7), "ap_fixed<4,1,AP_RND_CONV,AP_SAT>", id="symmetric dropped"),
        pytest.param(lambda x: quantized(x, 0, 15), "ap_fixed<4,1,AP_RND_CONV,AP_SAT>", id="keep_negative dropped"),
        pytest.param(lambda x: quantized(x, -8, 7), "ap_fixed<4,1,AP_TRN,AP_SAT>", id="rounding dropped"),
        pytest.param(lambda x: quantized(x, -8, 7), "ap_fixed<4,1,AP_RND_CONV,AP_WRAP>", id="saturation dropped"),
        pytest.param(lambda x: quantized(x, -8, 7), "ap_fixed<16,6>", id="quantizer dropped"),
        pytest.param(lambda x: quantized(x, -8, 7), "ap_fixed<5,2,AP_RND_CONV,AP_SAT>", id="one bit too many"),
    ],
)
def test_a_dropped_quantizer_option_is_refused(quantize: Callable[[Floats], Floats], result: str) -> None:
    with pytest.raises(UserError, match="layer 'q'"):
        gate(quantizer_net(quantize, result), draws(200, 6))


FUSED = DENSE | {"result": "auto"}  # hls4ml fuses a normalization into a layer whose result type is open


def norm_net(*, axis: int) -> FakeSource:
    """Return dense -> batch normalization, which hls4ml fuses, normalized in the framework along `axis`."""
    rng = np.random.default_rng(5)
    w, scale, shift = rng.normal(size=(4, 4)), rng.random(4) + 0.5, rng.normal(size=4)
    along = (1, -1) if axis == -1 else (-1, 1)

    def function(x: Floats) -> dict[str, Floats]:
        first = x @ w
        square = first.reshape(-1, 2, 2) * scale[:2].reshape(along) + shift[:2].reshape(along)
        normed = first * scale + shift if axis == -1 else square.reshape(-1, 4)
        return {"x": x, "fc": first, "bn": normed}

    norm = {"name": "bn", "class_name": "BatchNormalization", "inputs": ["fc"], "n_in": 4, "n_filt": -1}
    norm |= {"use_gamma": True, "use_beta": True, "epsilon": 0.0, "gamma_data": scale, "beta_data": shift}
    norm |= {"mean_data": np.zeros(4), "variance_data": np.ones(4)}
    return FakeSource(
        layers=(
            {"name": "x", "class_name": "InputLayer", "input_shape": [4]},
            dense_layer("fc", "x", w, np.zeros(4)),
            norm,
        ),
        precisions={"x": {"result": "ap_fixed<16,6>"}, "fc": FUSED}
        | {"bn": {"result": "ap_fixed<16,6>", "scale": "ap_fixed<16,6>", "bias": "ap_fixed<16,6>"}},
        function=function,
    )


def test_a_fused_normalization_is_compared_with_the_last_fused_layer() -> None:
    fidelity = gate(norm_net(axis=-1), draws(50, 4))
    assert [layer.label for layer in fidelity.layers] == ["fc"]
    assert fidelity.layers[0].function_error < 1e-6


def test_normalization_along_another_axis_is_refused() -> None:
    with pytest.raises(UserError, match="different function"):
        gate(norm_net(axis=1), draws(50, 4))


def test_a_normalization_that_hls4ml_loses_is_refused() -> None:
    source = norm_net(axis=-1)
    with pytest.raises(UserError, match="layer 'bn': hls4ml has left it out"):
        gate(source.but(layers=source.layers[:2], lost=("bn",)), draws(50, 4))


def two_branches(*, swapped: bool) -> FakeSource:
    """Return two dense layers side by side, each with its normalization, in the order that frameworks list them."""
    rng = np.random.default_rng(6)
    one = norm_net(axis=-1)
    w = {k: rng.normal(size=(4, 4)) for k in "12"}
    scale = {k: rng.random(4) + 0.5 for k in "12"}

    def function(x: Floats) -> dict[str, Floats]:
        dense = {f"h{k}": x @ w[k] for k in "12"}
        scales = {"1": scale["2"], "2": scale["1"]} if swapped else scale
        return {"x": x} | dense | {f"b{k}": dense[f"h{k}"] * scales[k] + 1.0 for k in "12"}

    def norm(k: str) -> dict[str, object]:
        change = {"gamma_data": scale[k], "beta_data": np.ones(4)}
        return {**one.layers[2], "name": f"b{k}", "inputs": [f"h{k}"], **change}

    hidden = [dense_layer(f"h{k}", "x", w[k], np.zeros(4)) for k in "12"]
    return FakeSource(
        layers=({"name": "x", "class_name": "InputLayer", "input_shape": [4]}, *hidden, norm("1"), norm("2")),
        precisions={"x": {"result": "ap_fixed<16,6>"}}
        | {f"h{k}": FUSED for k in "12"}
        | {f"b{k}": one.precisions["bn"] for k in "12"},
        function=function,
        outputs=("b1", "b2"),
    )


def test_fused_layers_of_interleaved_branches_are_found() -> None:
    fidelity = gate(two_branches(swapped=False), draws(50, 4))
    assert [layer.label for layer in fidelity.layers] == ["h1", "h2"]
    with pytest.raises(UserError, match=r"layer 'h[12]'"):
        gate(two_branches(swapped=True), draws(50, 4))


def cut_net(function_after: Callable[[Floats], Floats], result: str) -> FakeSource:
    """Return dense -> activation, where hls4ml's dense saturates at 2 and the framework's does not."""
    source = quantizer_net(function_after, result)
    first = source.layers[1] | {"quantizer": True}
    cut = DENSE | {"result": "ap_fixed<32,2,AP_TRN,AP_SAT>", "weight": "ap_fixed<16,6>"}
    return source.but(
        layers=(source.layers[0], first, *source.layers[2:]), precisions={**source.precisions, "first": cut}
    )


def test_saturation_that_the_next_layer_repeats_passes_and_other_saturation_does_not() -> None:
    x = draws(100, 6)
    gate(cut_net(lambda v: quantized(v, -8, 7), "ap_fixed<4,1,AP_RND_CONV,AP_SAT>"), x)
    with pytest.raises(UserError, match="layer 'q'"):
        gate(cut_net(lambda v: quantized(v, -64, 63), "ap_fixed<7,4,AP_RND_CONV,AP_SAT>"), x)


def test_values_that_wrap_are_named() -> None:
    source = relu_net()
    graph = to_graph(source.convert(Path("unwritten")), name="net", label_of=source.label_of)
    notes = overflow_notes(source.labels, graph, source.predict((draws(40, 6, scale=20.0),)))
    assert any("layer 'first'" in note and "wrap" in note for note in notes)
    assert overflow_notes(source.labels, graph, source.predict((draws(40, 6, scale=0.1),))) == ()
