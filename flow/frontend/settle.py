"""Types that follow from a layer's input, where hls4ml 1.3.0 would take its default type.

hls4ml infers the accumulators of pooling, but not those of global pooling and of dot products, and gives cropped
tensors its default type: sums then wrap, and values lose bits. Their input's type is known only after a first build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil, log2, prod
from typing import Any

from flow.errors import UserError
from flow.fixed import FixedType, parse_type
from flow.frontend.records import Port, Record

Settled = dict[Port, dict[str, FixedType]]


def settled_types(
    graph: Any, records: Iterable[Record], names: Mapping[Port, str], is_asked: Callable[[Record, str], bool]
) -> Settled:
    """Return, by record, the types that suit its inputs in a built ModelGraph.

    is_asked: tells whether the user's configuration sets a variable of a record.
    """
    found: Settled = {}
    for record in records:
        node = graph.graph.get(names[record.port])
        if node is None or not record.inputs:
            continue
        inputs = [_type(node.get_input_variable(tensor).type.precision) for tensor in node.inputs]
        kinds = [kind for kind in inputs if kind is not None]
        if not kinds or len(kinds) != len(inputs):
            continue
        wanted = _wanted(record, node, kinds)
        wanted = {variable: kind for variable, kind in wanted.items() if not is_asked(record, variable)}
        if wanted:
            found[record.port] = wanted
    return found


def _wanted(record: Record, node: Any, kinds: list[FixedType]) -> dict[str, FixedType]:
    class_name = str(record.entry["class_name"])
    if class_name.startswith("Global"):
        accumulator = kinds[0].exact()
        if "Average" in class_name:
            extra = ceil(log2(prod(node.get_input_variable().shape[:-1])))
            # as hls4ml infers it for pooling with a window: the sum, and as many bits behind the point for the mean
            accumulator = FixedType(kinds[0].width + 2 * extra, kinds[0].integer + extra, kinds[0].signed)
        return {"accum": accumulator, "result": kinds[0]}
    if class_name == "Dot":
        a, b = kinds
        extra = ceil(log2(node.get_input_variable().shape[0]))
        return {"accum": FixedType(a.width + b.width + extra, a.integer + b.integer + extra, a.signed or b.signed)}
    return {"result": kinds[0]} if record.keeps_type else {}


def _type(precision: Any) -> FixedType | None:
    try:
        return parse_type(str(precision))
    except UserError:
        return None
