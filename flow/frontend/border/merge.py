"""Merges of two tensors."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType
from flow.frontend.border.copy import Copy
from flow.frontend.border.types import fixed_type, frozen, is_integer, is_one_bit, no_integer_bits
from flow.graph.nodes import Dot, Merge, Rearrange
from flow.graph.nodes.merge import MergeOp


def merge(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Merge:
    """Translate add, subtract, multiply, average, maximum and minimum; a smaller input is repeated in front."""
    op: MergeOp | None = next((op for op in get_args(MergeOp) if op == str(layer.get_attr("op")).lower()), None)
    if op is None:
        raise UserError(f"{where}: '{layer.get_attr('op')}' is not supported; {', '.join(get_args(MergeOp))} are")
    a, b = (copy.by_name[name].type for name in common["inputs"])
    if is_integer(layer.get_output_variable().type.precision):
        for exact in (a, b) if op in ("maximum", "minimum") else (exact_type(op, a, b),):
            if exact.signed and exact.integer <= 0:
                raise UserError(f"{where}: {no_integer_bits('output', common['type'])}")
    names = tuple(_repeated(copy, layer, k, where, common) for k in range(2))
    return Merge(**{**common, "inputs": names}, op=op)


def exact_type(op: MergeOp, a: FixedType, b: FixedType) -> FixedType:
    """Return the type of a result before its assignment, as ap_fixed's operators give it."""
    if op == "multiply":
        return FixedType(a.width + b.width, a.integer + b.integer, a.signed or b.signed)
    signed = a.signed or b.signed or op == "subtract"
    integer = max(a.integer + (b.signed and not a.signed), b.integer + (a.signed and not b.signed)) + 1
    return FixedType(max(integer + max(a.fraction, b.fraction), 1), integer, signed)


def _repeated(copy: Copy, layer: Any, which: int, where: str, common: dict[str, Any]) -> str:
    """Return the name of an input in the output's shape, repeated by a node of its own where it is smaller.

    hls4ml reads element k % size of it (nnet_merge.h), which broadcasts along leading axes only, and as many elements
    as the size has that comes last as a text ('2*3' or '3', MergeConfigTemplate).
    """
    name, shape = common["inputs"][which], tuple(common["shape"])
    before = copy.by_name[name]
    if before.shape == shape:
        return str(name)
    shapes = " and ".join(str(copy.by_name[other].shape) for other in common["inputs"])
    refusal = UserError(f"{where}: hls4ml cannot broadcast {shapes}; bring both inputs to the shape {shape}")
    sizes = [str(layer.get_input_variable(tensor).size_cpp()) for tensor in layer.inputs]
    is_parallel = layer.model.config.get_config_value("IOType") == "io_parallel"
    if not is_parallel or max(sizes) != str(layer.get_output_variable().size_cpp()):
        raise refusal
    order = np.arange(before.size)
    try:
        indices = np.broadcast_to(order.reshape(before.shape), shape).reshape(-1)
    except ValueError:
        raise refusal from None
    if not np.array_equal(indices, np.arange(len(indices)) % before.size):
        raise refusal
    node = Rearrange(
        name=f"{common['name']}_repeat{which}",
        label=common["label"],
        inputs=(name,),
        shape=shape,
        type=before.type.exact(),
        indices=frozen(indices),
    )
    copy.append(node)
    return node.name


def dot(copy: Copy, layer: Any, where: str, common: dict[str, Any]) -> Dot:
    """Translate the inner product of two flat tensors."""
    if layer.model.config.get_config_value("IOType") != "io_parallel":
        raise UserError(f"{where}: hls4ml has no inner product for io_stream; use io_parallel")
    precisions = [layer.get_input_variable(name).type.precision for name in layer.inputs]
    if any(is_one_bit(precision) for precision in precisions):
        raise UserError(f"{where}: one-bit inputs are not supported; use a quantizer of 2 bits or more")
    a, b = (copy.by_name[name].type for name in common["inputs"])
    if is_integer(precisions[1]) and b.width == 2 and b.signed:
        raise UserError(f"{where}: hls4ml reads -2 as 1 in a second input of int<2>; write fixed<2,2>")
    accumulator_precision = layer.get_attr("accum_t").precision
    accumulator = fixed_type(accumulator_precision, f"{where}: accumulator")
    exact = exact_type("multiply", a, b)
    if is_integer(accumulator_precision) and exact.signed and exact.integer <= 0:
        raise UserError(f"{where}: {no_integer_bits('accumulator', accumulator)}")
    if is_integer(layer.get_output_variable().type.precision) and accumulator.signed and accumulator.integer <= 0:
        raise UserError(f"{where}: {no_integer_bits('output', common['type'])}")
    return Dot(**common, accumulator=accumulator, length=copy.by_name[common["inputs"][0]].size)
