"""QKeras quantizers: what each option means, and the fixed-point type that carries it exactly.

hls4ml 1.3.0 drops several options without a word (keep_negative=0, symmetric, use_sigmoid, integer >= bits) and
takes quantizers that it does not know for fixed<16,6>. Here every quantizer is read into a typed description;
what a type can carry is carried, all else is refused by name. Meanings follow QKeras 0.9 and qkeras-v3 1.2.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from flow.errors import UserError, nearest
from flow.fixed import FixedType, Overflow, Rounding

Floats = NDArray[np.float64]
Alpha = float | Literal["auto", "auto_po2"] | None

_STRICT = ConfigDict(extra="forbid")


@checked(frozen=True, slots=True, config=_STRICT)
class QuantizedBits:
    """Describe `quantized_bits`; `integer` leaves the sign bit out."""

    bits: int = 8
    integer: int = 0
    symmetric: bool = False
    keep_negative: bool = True
    alpha: Alpha = None


@checked(frozen=True, slots=True, config=_STRICT)
class QuantizedLinear:
    """Describe `quantized_linear`; as quantized_bits, but symmetric unless told otherwise."""

    bits: int = 8
    integer: int = 0
    symmetric: bool = True
    keep_negative: bool = True
    alpha: Alpha = None


@checked(frozen=True, slots=True, config=_STRICT)
class QuantizedRelu:
    """Describe `quantized_relu`; a slope makes it signed and costs one bit."""

    bits: int = 8
    integer: int = 0
    use_sigmoid: bool = False
    negative_slope: float = 0.0
    use_stochastic_rounding: bool = False
    relu_upper_bound: float | None = None
    is_quantized_clip: bool = True


@checked(frozen=True, slots=True, config=_STRICT)
class Binary:
    """Describe `binary`: -1 or +1 (0 or 1 with use_01), times alpha."""

    use_01: bool = False
    alpha: Alpha = None


@checked(frozen=True, slots=True, config=_STRICT)
class Ternary:
    """Describe `ternary`: -1, 0 or +1, times alpha; a threshold of None means 0.33."""

    alpha: Alpha = None
    threshold: float | None = None
    use_stochastic_rounding: bool = False
    number_of_unrolls: int = 5


@checked(frozen=True, slots=True, config=_STRICT)
class QuantizedPo2:
    """Describe `quantized_po2`: a sign times a power of two; the exponent and the sign take `bits`."""

    bits: int = 8
    max_value: float | None = None
    use_stochastic_rounding: bool = False
    quadratic_approximation: bool = False
    log2_rounding: Literal["rnd", "floor"] = "rnd"


@checked(frozen=True, slots=True, config=_STRICT)
class QuantizedTanh:
    """Describe `quantized_tanh`: the limit of x to ±1, or tanh with use_real_tanh, in steps of 2**(1 - bits)."""

    bits: int = 8
    use_stochastic_rounding: bool = False
    symmetric: bool = False
    use_real_tanh: bool = False


@checked(frozen=True, slots=True, config=_STRICT)
class QuantizedSigmoid:
    """Describe `quantized_sigmoid`: the limit of (x + 1) / 2 to 0 and 1, or the sigmoid, in steps of 2**-bits."""

    bits: int = 8
    symmetric: bool = False
    use_real_sigmoid: bool = False
    use_stochastic_rounding: bool = False


Quantizer = (
    QuantizedBits | QuantizedLinear | QuantizedRelu | QuantizedTanh | QuantizedSigmoid | Binary | Ternary | QuantizedPo2
)

_CLASSES: dict[str, type[Quantizer]] = {
    "quantized_bits": QuantizedBits,
    "quantized_linear": QuantizedLinear,
    "quantized_relu": QuantizedRelu,
    "quantized_tanh": QuantizedTanh,
    "quantized_sigmoid": QuantizedSigmoid,
    "binary": Binary,
    "ternary": Ternary,
    "quantized_po2": QuantizedPo2,
}
NAMES: dict[type[Quantizer], str] = {kind: name for name, kind in _CLASSES.items()}

WEIGHT_KINDS = (QuantizedBits, QuantizedLinear, Binary, Ternary, QuantizedPo2)
ACTIVATION_KINDS = (QuantizedBits, QuantizedLinear, QuantizedRelu, QuantizedTanh, QuantizedSigmoid, Binary, Ternary)

# options that do not touch inference, whatever their value (stochastic rounding acts in training only)
_TRAINING_ONLY = frozenset(
    {"use_stochastic_rounding", "var_name", "use_ste", "use_variables", "training", "name", "dtype", "trainable"}
)
# options that must have this value, because nothing here carries another one
_FIXED_VALUES: dict[str, Any] = {
    "qnoise_factor": 1.0,
    "scale_axis": None,
    "elements_per_scale": None,
    "min_po2_exponent": None,
    "max_po2_exponent": None,
    "post_training_scale": None,
}


_CALL = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<arguments>\([^()]*\))?")


def read(identifier: object, *, where: str) -> Quantizer:
    """Return the description of a serialized quantizer (`{class_name, config}` or text such as `ternary(alpha=1)`).

    where: the layer and the option, for messages. Raises UserError for unknown quantizers and options.
    """
    if isinstance(identifier, str):
        name, options = _parse_call(identifier, where)
    elif isinstance(identifier, Mapping) and isinstance(identifier.get("class_name"), str):
        name, options = str(identifier["class_name"]).split(">")[-1], dict(identifier.get("config") or {})
    else:
        raise UserError(f"{where}: {identifier!r} is not a quantizer")
    kind = _CLASSES.get(name)
    if kind is None:
        raise UserError(f"{where}: the quantizer '{name}' is not supported; {nearest(name, _CLASSES)}")
    known = {field.name for field in fields(kind)}
    kept: dict[str, Any] = {}
    for option, value in options.items():
        if option in known:
            kept[option] = _plain(value)
        elif option in _FIXED_VALUES:
            if value is not None and value != _FIXED_VALUES[option]:
                raise UserError(
                    f"{where}: {name} with {option}={value!r} is not supported; "
                    f"only {option}={_FIXED_VALUES[option]!r} is"
                )
        elif option not in _TRAINING_ONLY:
            raise UserError(f"{where}: {name} has an option '{option}' that is not known here")
    try:
        quantizer: Quantizer = TypeAdapter(kind).validate_python(kept)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{where}: {name}: {first['loc'][0]}={first['input']!r}: {first['msg']}") from None
    if not isinstance(quantizer, (Binary, Ternary)) and not 1 <= quantizer.bits <= 64:
        raise UserError(f"{where}: {name} with bits={quantizer.bits} is not supported; 1 to 64 bits are")
    return quantizer


def _plain(value: Any) -> Any:
    """Return a Python scalar for 0-dimensional arrays and numpy scalars."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return value


def _parse_call(text: str, where: str) -> tuple[str, dict[str, Any]]:
    """Split `quantized_bits(6,0,alpha=1)` into name and options without evaluating anything but literals."""
    match = _CALL.fullmatch(text.strip())
    try:
        if match is None:
            raise SyntaxError
        tree = ast.parse(f"f{match['arguments'] or '()'}", mode="eval").body
        assert isinstance(tree, ast.Call)
        values = [ast.literal_eval(argument) for argument in tree.args]
        options = {str(word.arg): ast.literal_eval(word.value) for word in tree.keywords}
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise UserError(
            f"{where}: '{text[:60]}' is not a quantizer; write for example quantized_bits(6,0,alpha=1)"
        ) from None
    kind = _CLASSES.get(match["name"])
    if kind is not None:
        order = [field.name for field in fields(kind)]
        if len(values) > len(order):
            raise UserError(f"{where}: '{text[:60]}' has too many arguments")
        options |= dict(zip(order, values, strict=False))
    return match["name"], options


def nominal(quantizer: QuantizedBits | QuantizedLinear, overflow: Overflow) -> FixedType:
    """Return the type of a quantizer's values, rounding as it does."""
    sign = int(quantizer.keep_negative)
    return FixedType(quantizer.bits, quantizer.integer + sign, bool(sign), Rounding.RND_CONV, overflow)


def check_weights(quantizer: Quantizer, *, where: str) -> Quantizer:
    """Return a quantizer that is fit for weights; raise UserError naming it otherwise."""
    name = NAMES[type(quantizer)]
    if not isinstance(quantizer, WEIGHT_KINDS):
        raise UserError(
            f"{where}: {name} on weights is not supported; {', '.join(NAMES[kind] for kind in WEIGHT_KINDS)} are"
        )
    if isinstance(quantizer, QuantizedLinear) and quantizer.bits == 1 and quantizer.keep_negative:
        raise UserError(f"{where}: quantized_linear with 1 bit is not supported; use binary")
    automatic = not isinstance(quantizer, QuantizedPo2) and isinstance(quantizer.alpha, str)
    if automatic and isinstance(quantizer, (QuantizedBits, QuantizedLinear)) and not quantizer.keep_negative:
        raise UserError(f"{where}: {name} with keep_negative=0 and an automatic alpha is not supported")
    if automatic and isinstance(quantizer, Binary) and quantizer.use_01:
        raise UserError(f"{where}: binary with use_01 and an automatic alpha is not supported; alpha=1 is")
    return quantizer


def trainable(quantizer: Quantizer) -> Quantizer:
    """Return a kernel's quantizer as QDense uses it: an alpha of None becomes auto_po2, and symmetric, there."""
    if isinstance(quantizer, (QuantizedBits, QuantizedLinear)) and quantizer.alpha is None:
        return replace(quantizer, alpha="auto_po2", symmetric=True)
    if isinstance(quantizer, (Binary, Ternary)) and quantizer.alpha is None:
        return replace(quantizer, alpha="auto_po2")
    return quantizer


@dataclass(frozen=True, slots=True)
class Weights:
    """Hold a quantized array: values = codes × scale.

    codes: float64, exact in `type`. scale: one factor per output channel, or None when it is inside the codes
    (as it is whenever it is a power of two).
    """

    codes: Floats
    type: FixedType
    scale: Floats | None


def settle(quantizer: Quantizer, values: Floats, scale: Floats, *, where: str, outputs: int = 1) -> Weights:
    """Put quantized values (with float32 noise) exactly on the quantizer's grid.

    scale: the quantizer's factor, broadcastable over `values`. outputs: how many of the last axes number the layer's
    outputs (2 for a depthwise kernel). Raises UserError when values lie off the grid.
    """
    factor = np.broadcast_to(np.where(scale == 0, 1.0, scale), values.shape)
    ratio = values / factor
    if isinstance(quantizer, QuantizedPo2):
        step = np.exp2(np.rint(np.log2(np.abs(np.where(ratio == 0, 1.0, ratio)))))
    else:
        step = np.full(values.shape, _step(quantizer))
    codes = np.rint(ratio / step) * step
    if not np.all(np.abs(codes - ratio) <= 1e-3 * step):
        raise UserError(f"{where}: the weights are not on the grid of {NAMES[type(quantizer)]}")
    if np.all(np.frexp(factor)[0] == 0.5):
        plain = bool(np.all(factor == 1.0))
        folded = codes * factor
        return Weights(folded, _weight_type(quantizer, folded, plain=plain), None)
    channels = factor.reshape(-1, int(np.prod(values.shape[-outputs:])))
    if not np.all(channels == channels[0]):
        raise UserError(f"{where}: only one scale per output channel is supported")
    return Weights(codes, _weight_type(quantizer, codes, plain=True), channels[0].copy())


def _step(quantizer: Quantizer) -> float:
    if isinstance(quantizer, (QuantizedBits, QuantizedLinear)):
        magnitude = quantizer.bits - int(quantizer.keep_negative)
        return float(2.0 ** (quantizer.integer - magnitude)) if magnitude else 1.0
    return 1.0


def _weight_type(quantizer: Quantizer, values: Floats, *, plain: bool) -> FixedType:
    if (
        plain
        and isinstance(quantizer, (QuantizedBits, QuantizedLinear))
        and quantizer.bits > int(quantizer.keep_negative)
    ):
        return nominal(quantizer, Overflow.WRAP).exact()
    if plain and isinstance(quantizer, (Binary, Ternary, QuantizedBits)):
        return FixedType(2, 2)
    return covering_type(values)


def covering_type(values: Floats) -> FixedType:
    """Return the narrowest signed type that holds every value exactly."""
    nonzero = values[values != 0]
    if nonzero.size == 0:
        return FixedType(1, 1)
    mantissa, exponent = np.frexp(nonzero)
    scaled = np.abs(mantissa * 2.0**53).astype(np.int64)
    zeros = np.log2((scaled & -scaled).astype(np.float64)).astype(int)
    fraction = int(np.max(53 - exponent - zeros))
    top, bottom = float(np.max(nonzero)), float(np.min(nonzero))
    integer = 1 - fraction
    while not (-(2.0 ** (integer - 1)) <= bottom and top < 2.0 ** (integer - 1)):
        integer += 1
    return FixedType(fraction + integer, integer)
