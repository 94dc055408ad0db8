"""Linear and piecewise linear activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import from_float
from flow.frontend.border.copy import Copy
from flow.frontend.border.types import fixed_type, no_small_to_integer
from flow.graph.nodes import AnyNode, Quantize, Relu


def activation(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> AnyNode:
    """Translate linear (a change of type), relu and leaky_relu."""
    function = str(layer.get_attr("activation")).lower().replace("leakyrelu", "leaky_relu")
    no_small_to_integer(layer.get_input_variable().type.precision, layer, where)
    if function == "linear":
        return Quantize(**common)
    if function == "relu":
        return Relu(**common)
    if function != "leaky_relu":
        raise UserError(f"{where}: activation '{function}' is not supported yet; linear, relu and leaky_relu are")
    slope_type = fixed_type(layer.get_attr("param_t").precision, f"{where}: slope")
    value = float(str(layer.get_attr("activ_param", 1.0)))  # hls4ml prints the number into the C++ call
    slope = int(from_float(np.array([value]), slope_type)[0])
    if slope and slope & (slope - 1) and -slope & (-slope - 1):
        raise UserError(
            f"{where}: slope {slope * slope_type.step:g} is not a power of two; use 0.5, 0.25, 0.125 …, "
            "with a 'param' precision that holds it"
        )
    stored = slope * slope_type.step
    if stored != value:
        copy.notes.append(f"layer '{common['label']}': slope {value:g} is stored as {stored:g} ({slope_type})")
    return Relu(**common, slope=slope, slope_type=slope_type)
