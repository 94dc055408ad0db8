"""From hls4ml's layers to nodes: which file translates which class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flow.errors import UserError
from flow.frontend.border.activation import activation
from flow.frontend.border.affine import affine
from flow.frontend.border.convolution import CONVOLUTIONS, convolution
from flow.frontend.border.copy import Copy, label_for
from flow.frontend.border.dense import dense
from flow.frontend.border.layer_norm import layer_norm
from flow.frontend.border.merge import dot, merge
from flow.frontend.border.pooling import POOLINGS
from flow.frontend.border.shape import MOVES
from flow.frontend.border.signs import check_signs, count_signs, multiplies_signs, sign_of_normalized
from flow.frontend.border.softmax import softmax
from flow.frontend.border.types import tensor_type
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Conv, Dense, Input, Reshape
from flow.graph.verify import verify

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def to_graph(model: Any, *, name: str, label_of: Mapping[str, str], notes: tuple[str, ...] = ()) -> Graph:
    """Copy hls4ml's ModelGraph, its `vitis:ip` flow complete, into a graph of nodes.

    label_of: hls4ml layer name -> the user's layer name. Raises UserError, naming the layer, for what is not
    supported.
    """
    copy = Copy(label_of)
    for layer in model.get_layers():
        _add(copy, layer)
    graph = Graph(
        name=name,
        nodes=tuple(copy.nodes),
        inputs=tuple(copy.made_by[tensor] for tensor in model.inputs),
        outputs=tuple(copy.made_by[tensor] for tensor in model.outputs),
        notes=notes + tuple(copy.notes),
    )
    verify(graph)
    return graph


def _add(copy: Copy, layer: Any) -> None:
    """Append the node of one layer."""
    name, kind = str(layer.name), str(layer.class_name)
    label = label_for(name, copy.label_of)
    where = f"layer '{label}' ({kind})"
    check_signs(layer, where)
    if kind == "Clone":  # of a stream: the same tensor under other names
        copy.made_by.update(dict.fromkeys((str(tensor) for tensor in layer.outputs), copy.made_by[layer.inputs[0]]))
        return
    if not _IDENTIFIER.fullmatch(name):
        raise UserError(f"{where}: the name '{name}' is not legal in C++; letters, digits and _ are")
    variable = layer.get_output_variable()
    common: dict[str, Any] = {
        "name": name,
        "label": label,
        "inputs": copy.feeding(layer) if kind != "Input" else (),
        "shape": tuple(int(n) for n in variable.shape),
        "type": tensor_type(variable.type.precision, f"{where}: output"),
    }
    node = _node(copy, kind, layer, where, common)
    if isinstance(node, Dense | Conv) and multiplies_signs(layer):
        node = count_signs(copy, node, where)
    copy.append(node)
    copy.made_by.update(dict.fromkeys((str(tensor) for tensor in layer.outputs), name))


def _node(  # noqa: PLR0911, PLR0912 (one per kind of layer)
    copy: Copy, kind: str, layer: Any, where: str, common: dict[str, Any]
) -> AnyNode:
    match kind:
        case "Input":
            return Input(**common)
        case "Dense":
            return dense(copy, layer, where, common)
        case _ if kind in CONVOLUTIONS:
            return convolution(copy, layer, where, common)
        case "BatchNormalization" | "ApplyAlpha":
            return affine(copy, layer, where, common)
        case "Activation" | "ParametrizedActivation" | "HardActivation" | "PReLU" | "TernaryTanh":
            return activation(copy, layer, where, common)
        case "BatchNormalizationQuantizedTanh":
            return sign_of_normalized(copy, layer, where, common)
        case _ if kind in POOLINGS:
            return POOLINGS[kind](copy, layer, where, common)
        case _ if kind in MOVES:
            return MOVES[kind](copy, layer, where, common)
        case "Merge":
            return merge(copy, layer, where, common)
        case "Dot":
            return dot(copy, layer, where, common)
        case "Softmax":
            return softmax(copy, layer, where, common)
        case "LayerNormalization":
            return layer_norm(copy, layer, where, common)
        case "Reshape":
            return Reshape(**{**common, "type": copy.type_before(common)})
        case _:
            raise UserError(f"{where} is not supported; docs/conformance.md lists the layers that are")
