"""Quantizers: descriptions, exact types, float evaluation; checked against qkeras-v3 itself."""

from __future__ import annotations

import numpy as np
import pytest

from flow.errors import UserError
from flow.fixed import FixedType, Overflow, Rounding, cast, from_float
from flow.frontend import floats, qkeras
from flow.frontend.keras import import_keras
from flow.frontend.qactivation import ActivationForm, activation_form, activation_records

WHERE = "layer 'x' (QDense)"

ACTIVATIONS = {
    "quantized_relu(6,0)": "ufixed<6,0,RND_CONV,SAT>",
    "quantized_relu(8,3)": "ufixed<8,3,RND_CONV,SAT>",
    "quantized_relu(4,6)": "ufixed<4,6,RND_CONV,SAT>",
    "quantized_relu(4,2,relu_upper_bound=1.5)": "ufixed<4,2,RND_CONV,SAT>",  # QKeras clips by bits first
    "quantized_relu(8,2,negative_slope=0.25)": "fixed<8,3,RND_CONV,SAT>",
    "quantized_bits(6,0,alpha=1)": "fixed<6,1,RND_CONV,SAT>",
    "quantized_bits(6,2)": "fixed<6,3,RND_CONV,SAT>",
    "quantized_bits(6,2,keep_negative=0,alpha=1)": "ufixed<6,2,RND_CONV,SAT>",
    "quantized_bits(4,0,symmetric=True,alpha=1)": "fixed<4,1,RND_CONV,SAT_SYM>",
    "quantized_bits(4,0,1,alpha=1.0)": "fixed<4,1,RND_CONV,SAT_SYM>",
    "quantized_bits(4,4,alpha=1)": "fixed<4,5,RND_CONV,SAT>",
    "quantized_bits(4,6,alpha=1)": "fixed<4,7,RND_CONV,SAT>",
    "quantized_bits(4,3,alpha=1)": "fixed<4,4,RND_CONV,SAT>",
    "quantized_linear(5,1,alpha=1)": "fixed<5,2,RND_CONV,SAT_SYM>",
    "quantized_linear(5,1,symmetric=0,alpha=1)": "fixed<5,2,RND_CONV,SAT>",
    "quantized_tanh(4)": "fixed<4,1,RND_CONV,SAT>",
    "quantized_tanh(5,symmetric=1)": "fixed<5,1,RND_CONV,SAT_SYM>",
    "quantized_tanh(6,use_real_tanh=1)": "fixed<6,1,RND_CONV,SAT>",
    "quantized_sigmoid(4)": "ufixed<4,0,RND_CONV,SAT>",
    "quantized_sigmoid(6,use_real_sigmoid=1)": "ufixed<6,0,RND_CONV,SAT>",
    "binary(alpha=1)": "fixed<2,2>",
    "binary()": "fixed<2,2>",
    "ternary(alpha=1)": "fixed<2,2>",
    "ternary(alpha=1,threshold=0.5)": "fixed<2,2>",
    "ternary(threshold=0.2)": "fixed<2,2>",
}

WEIGHTS = (
    "quantized_bits(6,0,alpha=1)",
    "quantized_bits(8,2,alpha=1)",
    "quantized_bits(6,0,keep_negative=0,alpha=1)",
    "quantized_bits(4,0,symmetric=True,alpha=1)",
    "quantized_bits(4,4,alpha=1)",
    "quantized_bits(1,0,alpha=1)",
    "quantized_bits(4,0,alpha=0.5)",
    "quantized_bits(4,0,alpha=1.5)",
    "quantized_bits(6,0)",
    "quantized_bits(4,1,alpha='auto_po2')",
    "quantized_bits(4,1,alpha='auto')",
    "quantized_linear(4,0,alpha=1)",
    "quantized_linear(4,1,alpha='auto')",
    "quantized_linear(4,1,alpha='auto_po2')",
    "quantized_linear(4,0)",
    "binary(alpha=1)",
    "binary()",
    "binary(alpha='auto')",
    "binary(use_01=True,alpha=1)",
    "ternary(alpha=1)",
    "ternary(alpha=1,threshold=0.7)",
    "ternary()",
    "ternary(alpha='auto')",
    "ternary(alpha=2.0)",
    "quantized_po2(4)",
    "quantized_po2(4,max_value=1)",
)


@pytest.fixture(scope="module")
def library():
    pytest.importorskip("qkeras")
    import_keras()
    import qkeras.quantizers

    return qkeras.quantizers


def samples(step: float) -> np.ndarray:
    """Return values far and near, on and beside every tie."""
    grid = np.arange(-80, 80) * step / 2
    near = np.concatenate([grid, grid + step * 2**-8, grid - step * 2**-8])
    wide = np.random.default_rng(1).normal(0, 40 * step, 400)
    return np.concatenate([near, np.float32(wide), [-1e4, 1e4, 0.0]])


@pytest.mark.parametrize("text", ACTIVATIONS)
def test_activation_type_computes_the_quantizer(text, library):
    quantizer = qkeras.read(text, where=WHERE)
    form = activation_form(quantizer, where=WHERE)
    assert str(form.type) == ACTIVATIONS[text]
    x = samples(min(form.type.step, 0.25))
    wanted = floats.quantize(quantizer, x)
    assert np.array_equal(through(form, x), wanted)
    theirs = np.asarray(library.get_quantizer(text)(np.float32(x)), dtype=np.float64)
    assert np.allclose(theirs, wanted, rtol=0, atol=1e-3 * form.type.step)


def through(form: ActivationForm, x: np.ndarray) -> np.ndarray:
    """Compute an activation as hardware would: cut, slope, one cast."""
    if form.activation == "relu":
        x = np.maximum(x, 0)
    if form.activation == "leaky_relu":
        cut = FixedType(60, form.limit + 1, overflow=Overflow.SAT)
        x = from_float(x, cut) * cut.step
        x = np.where(x > 0, x, x * form.slope)
    if form.activation in ("tanh", "sigmoid", "hard_tanh", "hard_sigmoid"):
        x = floats.ACTIVATIONS[form.activation](x) if "hard" not in form.activation else np.clip((x + 1) / 2, 0, 1)
        x = 2 * x - 1 if form.activation == "hard_tanh" else x
    if form.activation == "binary_tanh":
        x = np.where(x >= 0, 1, -1)
    if form.activation == "ternary_tanh":
        x = hls4ml_ternary(x * ternary_scale(form, "io_parallel"), 0.5)
    return np.asarray(from_float(x, form.type), dtype=np.float64) * form.type.step


def hls4ml_ternary(x: np.ndarray, limit: float) -> np.ndarray:
    """Compute nnet::ternary_tanh, whose two sides differ at the limit."""
    return np.where(x > limit, 1, np.where(x > -limit, 0, -1))


def ternary_scale(form: ActivationForm, io_type: str) -> float:
    """Return the factor in front of a ternary activation, as hls4ml stores it."""
    quantizer = qkeras.Ternary(alpha=1, threshold=form.threshold)
    scale, _ = activation_records("t", ("x", ""), quantizer, (3, 2), io_type=io_type, where=WHERE)
    stored = from_float(scale.entry["scale_data"], scale.owned["scale"]) * scale.owned["scale"].step
    assert np.array_equal(stored, scale.entry["scale_data"])
    return float(stored[0])


@pytest.mark.parametrize("threshold", [2.0**-9, 0.2, 0.25, 0.33, 0.5, 0.8, 1.0, 3.0, 77.0])
@pytest.mark.parametrize(("io_type", "limit"), [("io_parallel", 0.5), ("io_stream", 1.0)])
def test_a_ternary_threshold_is_exact_on_both_sides(threshold, io_type, limit):
    form = activation_form(qkeras.Ternary(alpha=1, threshold=threshold), where=WHERE)
    single = float(np.float32(threshold))
    grid = np.arange(-300, 300) * 2.0**-13 * max(1, single * single)
    x = np.concatenate([grid, np.round(single * 2**10) * 2.0**-10 + grid, [single, -single]])
    wanted = floats.quantize(qkeras.Ternary(1, threshold), x)
    assert np.array_equal(hls4ml_ternary(x * ternary_scale(form, io_type), limit), wanted)


def test_a_leaky_range_is_wrong_without_the_cut():
    quantizer = qkeras.read("quantized_relu(8,2,negative_slope=0.25)", where=WHERE)
    form = activation_form(quantizer, where=WHERE)
    x = np.array([-10.0])
    uncut = np.asarray(from_float(x * form.slope, form.type), dtype=float) * form.type.step
    assert through(form, x) == floats.quantize(quantizer, x) == -1.0 != uncut


@pytest.mark.parametrize("text", WEIGHTS)
@pytest.mark.parametrize("shape", [(9, 5), (7,), (3, 2, 4, 5)])
def test_weights_are_qkeras_weights_and_fit_their_type(text, shape, library):
    if len(shape) == 1 and "linear" in text and "auto" in text:
        pytest.skip("quantized_linear has no automatic scale along one axis")
    data = np.random.default_rng(3).normal(0, 0.7, shape)
    data.flat[:3] = 0.0, 0.5, -0.25
    quantizer = qkeras.check_weights(qkeras.read(text, where=WHERE), where=WHERE)
    theirs = library.get_quantizer(text)
    if len(shape) > 1:  # a kernel: QDense sets alpha=None to auto_po2
        quantizer = qkeras.trainable(quantizer)
        if hasattr(theirs, "_set_trainable_parameter"):
            theirs._set_trainable_parameter()
    wanted = np.asarray(theirs(np.float32(data)), dtype=np.float64)
    values, scale = floats.quantize_weights(quantizer, data)
    assert np.allclose(values, wanted, rtol=1e-6, atol=1e-6)
    settled = qkeras.settle(quantizer, wanted, np.asarray(scale), where=WHERE)
    assert np.array_equal(np.asarray(from_float(settled.codes, settled.type), float) * settled.type.step, settled.codes)
    back = settled.codes if settled.scale is None else settled.codes * settled.scale
    assert np.allclose(back, wanted, rtol=1e-5, atol=1e-6)
    automatic = "'auto'" in text or "1.5" in text
    assert (settled.scale is not None) == automatic


@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("text", ["quantized_bits(4,1,alpha='auto')", "binary(alpha='auto')", "ternary(alpha='auto')"])
def test_a_depthwise_kernel_has_a_scale_for_each_output(text, multiplier, library):
    """QKeras scales along the last axis, the multipliers; outputs are channels times multipliers."""
    data = np.random.default_rng(3).normal(0, 0.7, (3, 2, 4, multiplier))
    theirs = library.get_quantizer(text)
    wanted = np.asarray(theirs(np.float32(data)), dtype=np.float64)
    quantizer = qkeras.read(text, where=WHERE)
    settled = qkeras.settle(quantizer, wanted, np.asarray(theirs.scale), where=WHERE, outputs=2)
    assert settled.scale.shape == (4 * multiplier,)
    back = settled.codes.reshape(3, 2, -1) * settled.scale
    assert np.allclose(back.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-6)


def test_weight_types_are_the_quantizers_own():
    def kind(text: str) -> str:
        quantizer = qkeras.read(text, where=WHERE)
        values, scale = floats.quantize_weights(quantizer, np.linspace(-1.3, 1.3, 20).reshape(5, 4))
        return str(qkeras.settle(quantizer, values, scale, where=WHERE).type)

    assert kind("quantized_bits(6,0,alpha=1)") == "fixed<6,1>"
    assert kind("quantized_bits(6,0,keep_negative=0,alpha=1)") == "ufixed<6,0>"
    assert kind("quantized_bits(4,4,alpha=1)") == "fixed<4,5>"
    assert kind("ternary(alpha=1)") == "fixed<2,2>"
    assert kind("binary(alpha=1)") == "fixed<2,2>"


def test_covering_type_is_exact_and_no_wider():
    assert qkeras.covering_type(np.array([0.5, -2.0])) == FixedType(3, 2)
    assert qkeras.covering_type(np.array([4.0, 8.0])) == FixedType(3, 5)
    assert qkeras.covering_type(np.array([-1.0, 0.0])) == FixedType(1, 1)
    assert qkeras.covering_type(np.zeros(3)) == FixedType(1, 1)
    assert qkeras.covering_type(np.array([2.0**-20, 1.0])) == FixedType(22, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quantized_relu(6,0,use_sigmoid=1)", "use_sigmoid=1"),
        ("quantized_relu(6,0,is_quantized_clip=False,relu_upper_bound=0.7)", "relu_upper_bound"),
        ("quantized_relu(6,0,negative_slope=0.3)", "negative_slope=0.3"),
        ("quantized_bits(6,0,alpha=2.0)", "alpha=2.0"),
        ("quantized_bits(6,0,alpha='auto')", "alpha='auto'"),
        ("quantized_bits(1,0,alpha=1)", "1 bit"),
        ("binary(alpha=2.0)", "alpha=2.0"),
        ("binary(use_01=True,alpha=1)", "use_01=1"),
        ("ternary(alpha='auto')", "alpha='auto'"),
        ("ternary(threshold=0)", "threshold=0"),
        ("quantized_sigmoid(4,symmetric=1)", "symmetric=1"),
        ("quantized_tanh(1)", "bits=1"),
        ("quantized_po2(4)", "quantized_po2 on activations"),
        ("quantized_hswish(6)", "'quantized_hswish' is not supported"),
        ("quantized_ulaw(6)", "'quantized_ulaw' is not supported"),
        ("bernoulli()", "'bernoulli' is not supported"),
        ("stochastic_binary()", "'stochastic_binary' is not supported"),
        ("quantized_relu_po2(4)", "'quantized_relu_po2' is not supported"),
        ("stochastic_ternary()", "'stochastic_ternary' is not supported"),
        ("quantized_bits(6,0,qnoise_factor=0.5)", "qnoise_factor=0.5"),
        ("quantized_bits(6,0,scale_axis=0)", "scale_axis=0"),
        ("quantized_bits(6,0,fancy=1)", "'fancy'"),
        ("quantized_bits('six')", "bits='six'"),
        ("quantized_bits(0)", "bits=0"),
        ("quantized_bits(1,2,3,4,5,6,7)", "too many arguments"),
        ("__import__('os').system('true')", "is not a quantizer"),
        ("quantized_bits(open('x'))", "is not a quantizer"),
        ("6", "is not a quantizer"),
    ],
)
def test_what_no_type_carries_is_refused_by_name(text, said):
    with pytest.raises(UserError) as error:
        activation_form(qkeras.read(text, where=WHERE), where=WHERE)
    assert said in str(error.value)
    assert "layer 'x'" in str(error.value)


@pytest.mark.parametrize(
    "text", ["quantized_relu(6)", "quantized_linear(1)", "quantized_bits(4,0,keep_negative=0,alpha='auto')"]
)
def test_what_is_unfit_for_weights_is_refused(text):
    with pytest.raises(UserError, match="not supported"):
        qkeras.check_weights(qkeras.read(text, where=WHERE), where=WHERE)


def test_weights_off_the_grid_are_refused():
    quantizer = qkeras.read("quantized_bits(4,0,alpha=1)", where=WHERE)
    with pytest.raises(UserError, match="grid"):
        qkeras.settle(quantizer, np.array([[0.1]]), np.ones(()), where=WHERE)


def test_rounding_mode_matters_at_ties():
    """Guard the tests above: another rounding of the same type would be noticed."""
    form = activation_form(qkeras.read("quantized_bits(6,0,alpha=1)", where=WHERE), where=WHERE)
    ties = from_float(np.arange(-40, 40) * form.type.step / 2, FixedType(40, 10))
    half_up = FixedType(form.type.width, form.type.integer, True, Rounding.RND, form.type.overflow)
    assert not np.array_equal(cast(ties, 30, form.type, 40), cast(ties, 30, half_up, 40))
