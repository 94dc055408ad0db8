"""A graph as alkaid's program, by its own symbolic API, equal to our evaluator bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from flow.fixed import FixedType, Overflow, Rounding
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Dense, Relu
from flow.samples import random_inputs

VECTORS = 2_000
OWN, BITWISE = "its quantize", "bit operations"


def traced(graph: Graph, *, quantizer: str, solver: dict[str, Any]) -> Any:
    """Return alkaid's CombLogic of a chain of dense layers and ReLUs that saturate and round to even.

    quantizer: how such a ReLU is written: by alkaid's own `quantize(…, SAT, RND_CONV)`, or rounded first and then
    limited by a test of the bits above, which takes less. solver: options of alkaid's `cmvm_solve`.
    """
    from alkaid.trace import FVArray, trace

    (name,) = graph.inputs
    start = graph.node(name)
    kif = (np.full(start.size, part) for part in _kif(start.type))
    x = inputs = FVArray.from_kif(*kif, solver_options=solver)
    for node in graph.nodes[1:]:
        if isinstance(node, Dense) and node.is_linear(graph.node(node.inputs[0]).type):
            x = x @ (node.weights * node.weight_type.step) + node.bias * node.bias_type.step
        elif isinstance(node, Relu) and _is_rounded_even(node):
            x = x.quantize(*_kif(node.type), "SAT", "RND_CONV") if quantizer == OWN else _bitwise(x, node.type)
        else:
            raise SystemExit(f"{graph.name}: '{node.name}' has no translation to alkaid here")
    return trace(inputs, x)


def differences(graph: Graph, logic: Any) -> int:
    """Return how many outputs of alkaid's interpreter differ from our evaluator's, over random inputs and extremes."""
    raw = random_inputs(graph, VECTORS)
    (source,), (sink,) = graph.inputs, graph.outputs
    found = logic.predict(raw[source].reshape(VECTORS, -1) * graph.node(source).type.step)
    return int(np.sum(found != evaluate(graph, raw)[sink].to_float().reshape(VECTORS, -1)))


def _kif(kind: FixedType) -> tuple[int, int, int]:
    """Return alkaid's form of a type: sign bit, integer bits without it, fraction bits."""
    return int(kind.signed), kind.integer - int(kind.signed), kind.fraction


def _is_rounded_even(node: Relu) -> bool:
    modes = (node.type.rounding, node.type.overflow)
    return node.slope_type is None and not node.type.signed and modes == (Rounding.RND_CONV, Overflow.SAT)


def _bitwise(x: Any, kind: FixedType) -> Any:
    from alkaid.trace import FVArray

    _, integer, fraction = _kif(kind)
    highest = kind.hi * kind.step
    elements = []
    for element in np.asarray(x):
        rounded = element.quantize(1, max(int(element.kif[1]), 0) + 1, fraction, "WRAP", "RND_CONV").relu()
        above = int(rounded.kif[1]) - integer
        low = rounded.quantize(0, integer, fraction)
        if above > 0 and rounded.high > highest:
            bits = rounded.bits[:above]
            over = (bits * (1 / bits.step)).unary_bit_op("any")
            low = over.msb_mux(highest, low, qint=(0.0, highest, kind.step))
        elements.append(low)
    return FVArray(np.array(elements), x.solver_options)
