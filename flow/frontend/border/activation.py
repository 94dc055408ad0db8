"""Activations: which file translates which, and those that are linear, whole or in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, from_float
from flow.frontend.border.copy import Copy
from flow.frontend.border.signs import binary_tanh, ternary_tanh
from flow.frontend.border.tables import SPANS, table
from flow.frontend.border.types import fixed_type, frozen, no_small_to_integer
from flow.frontend.border.weights import codes_of
from flow.graph.nodes import AnyNode, BoundedRelu, HardSigmoid, PRelu, Quantize, Relu

_NAMES = {"leakyrelu": "leaky_relu", "thresholdedrelu": "thresholded_relu"}
_BOUNDS = {"relu1": 1, "relu6": 6}
_SUPPORTED = (
    "linear, relu, relu1, relu6, leaky_relu, thresholded_relu, prelu, elu, selu, sigmoid, tanh, softplus, softsign, "
    "hard_sigmoid, hard_tanh, binary_tanh and ternary_tanh"
)
_NOTHING = FixedType(1, 1, signed=False)


def activation(  # noqa: PLR0911 (one per kind of function)
    copy: Copy, layer: Any, where: str, common: dict[str, Any]
) -> AnyNode:
    """Translate an activation by the name of the C++ function that computes it."""
    named = str(layer.get_attr("activation")).lower()
    function = _NAMES.get(named, named)
    if function in SPANS:
        return table(copy, layer, function, where, common)
    match function:
        case "hard_sigmoid" | "hard_tanh":
            return _hard(layer, where, common, centred=function == "hard_tanh")
        case "binary_tanh":
            return binary_tanh(layer, where, common)
        case "ternary_tanh":
            return ternary_tanh(copy, layer, where, common)
    no_small_to_integer(layer.get_input_variable().type.precision, layer, where)
    match function:
        case "linear":
            return Quantize(**common)
        case "relu":
            return Relu(**common)
        case "relu1" | "relu6":
            if layer.model.config.get_config_value("IOType") == "io_stream":
                raise UserError(f"{where}: hls4ml has no {function} in io_stream; use io_parallel, or relu")
            return BoundedRelu(**common, threshold=0, threshold_type=_NOTHING, bound=_BOUNDS[function])
        case "thresholded_relu":
            threshold, kind = _parameter(copy, layer, "threshold", where, common)
            return BoundedRelu(**common, threshold=threshold, threshold_type=kind)
        case "leaky_relu":
            slope, kind = _parameter(copy, layer, "slope", where, common)
            _check_product(common, copy, kind, layer, where)
            return Relu(**common, slope=slope, slope_type=kind)
        case "prelu":
            return _prelu(copy, layer, where, common)
        case _:
            raise UserError(f"{where}: activation '{function}' is not supported; {_SUPPORTED} are")


def _parameter(copy: Copy, layer: Any, what: str, where: str, common: dict[str, Any]) -> tuple[int, FixedType]:
    """Return an activation's number as its C++ type holds it, and that type."""
    kind = fixed_type(layer.get_attr("param_t").precision, f"{where}: {what}")
    value = float(str(layer.get_attr("activ_param", 1.0)))  # hls4ml prints the number into the C++ call
    code = int(from_float(np.array([value]), kind)[0])
    stored = code * kind.step
    if stored != value:
        copy.notes.append(f"layer '{common['label']}': {what} {value:g} is stored as {stored:g} ({kind})")
    return code, kind


def _check_product(common: dict[str, Any], copy: Copy, slope: FixedType, layer: Any, where: str) -> None:
    """Refuse products with a slope that the C++ types get wrong when they become an ap_int."""
    x = copy.type_before(common)
    signed = x.signed or slope.signed
    no_small_to_integer(FixedType(x.width + slope.width, x.integer + slope.integer, signed), layer, where)


def _prelu(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> PRelu:
    """Translate PReLU; slopes that repeat along the last axis are kept once."""
    slopes, kind = codes_of(copy, layer, "param", None, where)
    shape = tuple(common["shape"])
    if slopes.size != np.prod(shape):
        raise UserError(
            f"{where}: {slopes.size} slopes for a tensor of shape {shape}: hls4ml needs one for each element; write "
            "those that several share out for each"
        )
    _check_product(common, copy, kind, layer, where)
    slopes = slopes.reshape(-1, shape[-1])
    shared = bool((slopes == slopes[:1]).all())
    return PRelu(**common, slopes=frozen(slopes[0] if shared else slopes.reshape(shape)), slope_type=kind)


def _hard(layer: Any, where: str, common: dict[str, Any], *, centred: bool) -> HardSigmoid:
    """Translate the piecewise linear sigmoid, or tanh where `centred`."""
    codes = {}
    kinds = {}
    for name in ("slope", "shift"):
        kinds[name] = fixed_type(layer.get_attr(f"{name}_t").precision, f"{where}: {name}")
        # hls4ml prints the number into the C++ program
        codes[name] = int(from_float(np.array([float(str(layer.get_attr(name)))]), kinds[name])[0])
    return HardSigmoid(
        **common,
        slope=codes["slope"],
        slope_type=kinds["slope"],
        shift=codes["shift"],
        shift_type=kinds["shift"],
        centred=centred,
    )
