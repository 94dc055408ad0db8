"""Quantizers: descriptions, exact types, float evaluation; checked against qkeras-v3 itself."""

from __future__ import annotations

import numpy as np
import pytest

from flow.errors import UserError
from flow.fixed import FixedType, Overflow, Rounding, cast, from_float
from flow.frontend import floats, qkeras
from flow.frontend.keras import import_keras

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
    form = qkeras.activation_form(quantizer, where=WHERE)
    assert str(form.type) == ACTIVATIONS[text]
    x = samples(form.type.step)
    wanted = floats.quantize(quantizer, x)
    assert np.array_equal(through(form, x), wanted)
    theirs = np.asarray(library.get_quantizer(text)(np.float32(x)), dtype=np.float64)
    assert np.allclose(theirs, wanted, rtol=0, atol=1e-3 * form.type.step)


def through(form: qkeras.ActivationForm, x: np.ndarray) -> np.ndarray:
    """Compute an activation as hardware would: cut, slope, one cast."""
    if form.activation == "relu":
        x = np.maximum(x, 0)
    if form.activation == "leaky_relu":
        cut = FixedType(60, form.limit + 1, overflow=Overflow.SAT)
        x = from_float(x, cut) * cut.step
        x = np.where(x > 0, x, x * form.slope)
    return np.asarray(from_float(x, form.type), dtype=np.float64) * form.type.step


def test_a_leaky_range_is_wrong_without_the_cut():
    quantizer = qkeras.read("quantized_relu(8,2,negative_slope=0.25)", where=WHERE)
    form = qkeras.activation_form(quantizer, where=WHERE)
    x = np.array([-10.0])
    uncut = np.asarray(from_float(x * form.slope, form.type), dtype=float) * form.type.step
    assert through(form, x) == floats.quantize(quantizer, x) == -1.0 != uncut


@pytest.mark.parametrize("text", WEIGHTS)
@pytest.mark.parametrize("shape", [(9, 5), (7,)])
def test_weights_are_qkeras_weights_and_fit_their_type(text, shape, library):
    if len(shape) == 1 and "linear" in text and "auto" in text:
        pytest.skip("quantized_linear has no automatic scale along one axis")
    data = np.random.default_rng(3).normal(0, 0.7, shape)
    data.flat[:3] = 0.0, 0.5, -0.25
    quantizer = qkeras.check_weights(qkeras.read(text, where=WHERE), where=WHERE)
    theirs = library.get_quantizer(text)
    if len(shape) == 2:  # a kernel: QDense sets alpha=None to auto_po2
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
        ("binary(alpha=1)", "binary on activations"),
        ("ternary()", "ternary on activations"),
        ("quantized_po2(4)", "quantized_po2 on activations"),
        ("quantized_tanh(6)", "'quantized_tanh' is not supported"),
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
        qkeras.activation_form(qkeras.read(text, where=WHERE), where=WHERE)
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
    form = qkeras.activation_form(qkeras.read("quantized_bits(6,0,alpha=1)", where=WHERE), where=WHERE)
    ties = from_float(np.arange(-40, 40) * form.type.step / 2, FixedType(40, 10))
    half_up = FixedType(form.type.width, form.type.integer, True, Rounding.RND, form.type.overflow)
    assert not np.array_equal(cast(ties, 30, form.type, 40), cast(ties, 30, half_up, 40))
