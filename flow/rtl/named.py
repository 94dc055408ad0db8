"""A wrapper with one port for each tensor, for designs with several inputs or outputs."""

from __future__ import annotations

from flow.engines.module import Assign, Expr, Instance, Item, Join, Module, Port, Signal, Slice, Wire, whole
from flow.rtl.signature import Signature

CLOCK, RESET = Signal("clk_i", 1), Signal("rst_i", 1)
VALID_IN, VALID_OUT, OVERRUN = Signal("valid_i", 1), Signal("valid_o", 1), Signal("overrun_o", 1)


def named_top(signature: Signature) -> Module | None:
    """Return the module `<top>_named`, whose ports data_<tensor>_i and data_<tensor>_o stand for the packed ones.

    None for a design with one input and one output. Tensors come in the order that the model declares.
    """
    if len(signature.inputs) == len(signature.outputs) == 1:
        return None
    inputs = [(tensor, Signal(f"data_{tensor.name}_i", tensor.bits)) for tensor in signature.inputs]
    outputs = [(tensor, Signal(f"data_{k}_{tensor.name}_o", tensor.bits)) for k, tensor in enumerate(signature.outputs)]
    if len({tensor.name for tensor, _ in outputs}) == len(outputs):
        outputs = [(tensor, Signal(f"data_{tensor.name}_o", tensor.bits)) for tensor, _ in outputs]
    packed = Signal("data_o", sum(tensor.bits for tensor, _ in outputs))
    given: tuple[Expr, ...] = tuple(whole(signal) for _, signal in reversed(inputs))
    connections: tuple[tuple[str, Expr], ...] = (
        ("clk_i", whole(CLOCK)),
        ("rst_i", whole(RESET)),
        ("valid_i", whole(VALID_IN)),
        ("data_i", given[0] if len(given) == 1 else Join(given)),
        ("valid_o", whole(VALID_OUT)),
        ("data_o", whole(packed)),
        ("overrun_o", whole(OVERRUN)),
    )
    items: list[Item] = [Wire(packed, None), Instance(signature.top, "u_top", (), connections)]
    items += [Assign(signal, Slice(packed, tensor.offset, tensor.bits)) for tensor, signal in outputs]
    ports = [Port("input", signal) for signal in (CLOCK, RESET, VALID_IN, *(signal for _, signal in inputs))]
    ports += [Port("output", signal) for signal in (VALID_OUT, *(signal for _, signal in outputs), OVERRUN)]
    name = f"{signature.top}_named"
    header = (
        f"{name}: {signature.top} with a port for each tensor, in the order that the model declares.",
        *(f"{signal.name}: {tensor.label}, {_shape(tensor.shape)} of {tensor.type}." for tensor, signal in inputs),
        *(f"{signal.name}: {tensor.label}, {_shape(tensor.shape)} of {tensor.type}." for tensor, signal in outputs),
    )
    return Module(name, header, tuple(ports), tuple(items))


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
