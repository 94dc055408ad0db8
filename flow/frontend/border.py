"""The border to hls4ml: the only file that knows the insides of its ModelGraph.

Everything is copied out, as integers, after hls4ml's own optimizers have run (`vitis:ip`), so that the graph
computes what hls4ml's C simulation computes. Semantics: hls4ml's nnet_utils headers and the open ap_types headers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType, IntArray, Overflow, Rounding, from_float
from flow.frontend.silence import silence
from flow.frontend.source import Knobs
from flow.graph.graph import Graph
from flow.graph.nodes import Affine, AnyNode, Dense, Input, Quantize, Relu, Reshape
from flow.graph.verify import verify

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SUPPORTED = (
    "Dense on a flat tensor, linear and quantizing activations, ReLU, LeakyReLU, BatchNormalization, Flatten, Reshape"
)


@dataclass(frozen=True, slots=True)
class Port:
    """Name one argument of the generated C++ top function: variable, C++ type, elements, and our type."""

    variable: str
    cpp_type: str
    size: int
    type: FixedType


@dataclass(frozen=True, slots=True)
class Ports:
    """Hold the top function's name and its arguments in order: inputs, then outputs."""

    project: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def ports(model: Any) -> Ports:
    """Return what a caller of the generated top function must know."""

    def port(variable: Any) -> Port:
        precision = _fixed(variable.type.precision, f"port '{variable.name}'")
        return Port(variable.name, variable.type.name, int(prod(variable.shape)), precision)

    return Ports(
        model.config.get_project_name(),
        tuple(port(v) for v in model.get_input_variables()),
        tuple(port(v) for v in model.get_output_variables()),
    )


def knobs_used(model: Any, label_of: Mapping[str, str]) -> dict[str, Knobs]:
    """Return the knobs that hls4ml took for each dense layer, by label; it rounds reuse factors by its own rule."""
    return {
        label_for(str(layer.name), label_of): Knobs(
            int(layer.get_attr("reuse_factor")), str(layer.get_attr("strategy"))
        )
        for layer in model.get_layers()
        if layer.class_name == "Dense"
    }


def write_files(model: Any, folder: Path) -> None:
    """Write the hls4ml project into `folder`, the same files for the same model.

    hls4ml stamps its projects at random, stores the folder's path and a copy of the Keras model with a date; these
    are replaced or removed.
    """
    config = model.config.config
    config["OutputDir"] = str(folder)
    keras_model = config.pop("KerasModel", None)
    try:
        with silence(), _numpy_product(), _without_keras():
            model.write()
    except Exception as error:
        raise UserError(f"hls4ml cannot write its project for '{model.config.get_project_name()}': {error}") from error
    finally:
        if keras_model is not None:
            config["KerasModel"] = keras_model
    for name in ("build_lib.sh", "hls4ml_config.yml"):
        text = (folder / name).read_text()
        # a stamp that reads as a number stands in quotes in YAML
        text = re.sub(r"^(LIB_STAMP=|Stamp: ).*$", r"\1flow", text, flags=re.MULTILINE)
        (folder / name).write_text(re.sub(r"^OutputDir:.*\n(?:[ \t].*\n)*", "OutputDir: .\n", text, flags=re.MULTILINE))


@contextmanager
def _numpy_product() -> Iterator[None]:
    """Offer `np.product`, which hls4ml 1.3.0 calls for power-of-two weights and numpy 2 no longer has."""
    if hasattr(np, "product"):
        yield
        return
    vars(np)["product"] = np.prod
    try:
        yield
    finally:
        del vars(np)["product"]


@contextmanager
def _without_keras() -> Iterator[None]:
    """Keep hls4ml's writer from importing Keras, seconds of work, for a model that it does not have to store."""
    if "keras" in sys.modules:
        yield
        return
    sys.modules["keras"] = None  # type: ignore[assignment] # Python's way to make an import fail
    try:
        yield
    finally:
        del sys.modules["keras"]


def to_graph(model: Any, *, name: str, label_of: Mapping[str, str], notes: tuple[str, ...] = ()) -> Graph:
    """Copy hls4ml's ModelGraph, its `vitis:ip` flow complete, into a graph of nodes.

    label_of: hls4ml layer name -> the user's layer name. Raises UserError, naming the layer, for what is not
    supported.
    """
    copy = _Copy(label_of)
    for layer in model.get_layers():
        copy.add(layer)
    graph = Graph(
        name=name,
        nodes=tuple(copy.nodes),
        inputs=tuple(copy.made_by[tensor] for tensor in model.inputs),
        outputs=tuple(copy.made_by[tensor] for tensor in model.outputs),
        notes=notes + tuple(copy.notes),
    )
    verify(graph)
    return graph


def label_for(name: str, label_of: Mapping[str, str]) -> str:
    """Return the user's label of an hls4ml layer; layers that hls4ml derives (`fc1_relu`) belong to their base."""
    stem = name
    while stem not in label_of:
        stem, separator, _ = stem.rpartition("_")
        if not separator:
            return name
    return label_of[stem]


def _fixed(precision: Any, where: str) -> FixedType:
    """Translate an hls4ml precision; raise UserError, naming `where`, when it has no fixed-point equivalent."""
    from hls4ml.model import types

    if isinstance(precision, types.FixedPrecisionType):
        if precision.saturation_bits:
            raise UserError(f"{where}: saturation bits ({precision}) are not supported; write 0 or leave them out")
        return FixedType(
            int(precision.width),
            int(precision.integer),
            bool(precision.signed),
            Rounding(str(precision.rounding_mode)),
            Overflow(str(precision.saturation_mode)),
        )
    if isinstance(precision, types.IntegerPrecisionType):
        # ap_int takes the integer part as C does, towards zero
        return FixedType(int(precision.width), int(precision.width), bool(precision.signed), Rounding.TRN_ZERO)
    if isinstance(precision, types.XnorPrecisionType):
        raise UserError(
            f"{where}: binary values coded 0/1 are not supported as activations yet; use a quantizer of 2 bits or more"
        )
    raise UserError(f"{where}: type {precision} is not supported; use fixed<W,I>, ufixed<W,I> or int<W>")


def _is_integer(precision: Any) -> bool:
    from hls4ml.model import types

    return isinstance(precision, types.IntegerPrecisionType)


def _is_one_bit(precision: Any) -> bool:
    """Tell whether the C++ type is ap_uint<1>, to which hls4ml's templates give a meaning of its own."""
    from hls4ml.model import types

    one = isinstance(precision, types.IntegerPrecisionType) and precision.width == 1 and not precision.signed
    return one or isinstance(precision, types.XnorPrecisionType)


class _Copy:
    """Gather nodes and notes while the layers are read in order."""

    def __init__(self, label_of: Mapping[str, str]) -> None:
        self.label_of = label_of
        self.nodes: list[AnyNode] = []
        self.notes: list[str] = []
        self.made_by: dict[str, str] = {}
        self.by_name: dict[str, AnyNode] = {}

    def add(self, layer: Any) -> None:
        """Append the node of one layer."""
        name, kind = str(layer.name), str(layer.class_name)
        label = label_for(name, self.label_of)
        where = f"layer '{label}' ({kind})"
        if not _IDENTIFIER.fullmatch(name):
            raise UserError(f"{where}: the name '{name}' is not legal in C++; letters, digits and _ are")
        feeding = tuple(self.made_by[tensor] for tensor in layer.inputs) if kind != "Input" else ()
        variable = layer.get_output_variable()
        common: dict[str, Any] = {
            "name": name,
            "label": label,
            "inputs": feeding,
            "shape": tuple(int(n) for n in variable.shape),
            "type": _fixed(variable.type.precision, f"{where}: output"),
        }
        node: AnyNode
        if kind == "Input":
            node = Input(**common)
        elif len(feeding) != 1:
            raise UserError(f"{where}: layers with {len(feeding)} inputs are not supported yet; {_SUPPORTED} are")
        elif kind == "Dense":
            node = self._dense(layer, where, common)
        elif kind in ("BatchNormalization", "ApplyAlpha"):
            node = self._affine(layer, where, common)
        elif kind in ("Activation", "ParametrizedActivation"):
            node = self._activation(layer, where, common)
        elif kind == "Reshape":
            node = Reshape(**{**common, "type": self.by_name[feeding[0]].type})
        elif kind == "PointwiseConv1D":
            raise UserError(f"{where}: a dense layer on a 2-D tensor is not supported yet; flatten the tensor first")
        elif kind == "Softmax":
            raise UserError(f"{where}: softmax is not supported yet except as the last layer, where it is left out")
        else:
            raise UserError(f"{where} is not supported yet; {_SUPPORTED} are")
        self.nodes.append(node)
        self.by_name[name] = node
        self.made_by.update(dict.fromkeys((str(tensor) for tensor in layer.outputs), name))

    def _activation(self, layer: Any, where: str, common: dict[str, Any]) -> AnyNode:
        """Translate linear (a change of type), relu and leaky_relu."""
        function = str(layer.get_attr("activation")).lower().replace("leakyrelu", "leaky_relu")
        self._no_small_to_integer(layer.get_input_variable().type.precision, layer, where)
        if function == "linear":
            return Quantize(**common)
        if function == "relu":
            return Relu(**common)
        if function != "leaky_relu":
            raise UserError(f"{where}: activation '{function}' is not supported yet; {_SUPPORTED} are")
        slope_type = _fixed(layer.get_attr("param_t").precision, f"{where}: slope")
        value = float(str(layer.get_attr("activ_param", 1.0)))  # hls4ml prints the number into the C++ call
        slope = int(from_float(np.array([value]), slope_type)[0])
        if slope and slope & (slope - 1) and -slope & (-slope - 1):
            raise UserError(
                f"{where}: slope {slope * slope_type.step:g} is not a power of two; use 0.5, 0.25, 0.125 …, "
                "with a 'param' precision that holds it"
            )
        stored = slope * slope_type.step
        if stored != value:
            self.notes.append(f"layer '{common['label']}': slope {value:g} is stored as {stored:g} ({slope_type})")
        return Relu(**common, slope=slope, slope_type=slope_type)

    def _dense(self, layer: Any, where: str, common: dict[str, Any]) -> Dense:
        """Translate a dense layer: codes from the stored arrays, turned back when hls4ml has transposed them."""
        source = layer.get_input_variable().type.precision
        weight_precision = layer.weights["weight"].type.precision
        if _is_one_bit(source) and _is_one_bit(weight_precision):
            raise UserError(f"{where}: one-bit inputs times one-bit weights are not supported yet; use 2 bits")
        x = self.by_name[common["inputs"][0]].type
        weights, weight_type = self._codes(layer, "weight", x, where)
        if layer.get_attr("_weights_transposed", False):
            weights = weights.T
        weights = weights.reshape(int(layer.get_attr("n_in")), int(layer.get_attr("n_out")))
        bias, bias_type = self._codes(layer, "bias", None, where)
        accumulator_precision = layer.get_attr("accum_t").precision
        accumulator = _fixed(accumulator_precision, f"{where}: accumulator")
        if _is_integer(accumulator_precision):
            if x.integer + weight_type.integer <= 0 and (x.signed or weight_type.signed):
                raise UserError(f"{where}: {_no_integer_bits('accumulator', accumulator)}")
            if bias_type.integer <= 0 and bias_type.signed:
                raise UserError(f"{where}: {_no_integer_bits('accumulator', accumulator)}")
        self._no_small_to_integer(accumulator_precision, layer, where)
        node = Dense(
            **common,
            weights=_frozen(weights),
            bias=_frozen(bias.reshape(-1)),
            weight_type=weight_type,
            bias_type=bias_type,
            accumulator=accumulator,
        )
        if str(layer.get_attr("strategy", "latency")).lower() != "latency" and not node.is_linear(x):
            raise UserError(
                f"{where}: strategy '{layer.get_attr('strategy')}' adds in another order than the reference, and the "
                f"accumulator {accumulator} can saturate; use the Latency strategy or a wider accumulator"
            )
        self._warn_of_wrapping(node, x)
        return node

    def _affine(self, layer: Any, where: str, common: dict[str, Any]) -> Affine:
        """Translate a constant scale and bias along the last axis."""
        x = self.by_name[common["inputs"][0]].type
        scale, scale_type = self._codes(layer, "scale", x, where)
        bias, bias_type = self._codes(layer, "bias", None, where)
        scale, bias = scale.reshape(-1), bias.reshape(-1)
        channels, filters = common["shape"][-1], int(layer.get_attr("n_filt", -1))
        expected = prod(common["shape"]) if filters == -1 else filters
        if not expected == channels == scale.size == bias.size:
            raise UserError(
                f"{where}: {scale.size} scales and {bias.size} biases for a tensor of shape {common['shape']}; "
                "only one of each per element of the last axis is supported"
            )
        integer_bits = max(x.integer + scale_type.integer, bias_type.integer)
        if _is_integer(layer.get_output_variable().type.precision) and integer_bits <= 0:
            raise UserError(f"{where}: {_no_integer_bits('output', common['type'])}")
        return Affine(**common, scale=_frozen(scale), bias=_frozen(bias), scale_type=scale_type, bias_type=bias_type)

    def _no_small_to_integer(self, source: Any, layer: Any, where: str) -> None:
        """Refuse a cast that the ap_types headers get wrong: signed, no integer bits, assigned to an ap_int."""
        target = layer.get_output_variable().type.precision
        if _is_integer(target) and source.signed and source.integer <= 0:
            raise UserError(f"{where}: {_no_integer_bits('output', _fixed(target, where))}")

    def _codes(self, layer: Any, which: str, x: FixedType | None, where: str) -> tuple[IntArray, FixedType]:
        """Return the integer codes and the type of a weight array as the C++ program uses them.

        x: the type of what the weights multiply; None for a bias, which is added. hls4ml hands numbers to the
        program as decimal text with as many digits as the type has fraction bits: exact for every value on the
        type's grid; others round to that many digits first, and so do they here.
        """
        from hls4ml.model import types

        variable = layer.weights[which]
        precision = variable.type.precision
        label = label_for(str(layer.name), self.label_of)
        if isinstance(variable, types.CompressedWeightVariable):
            raise UserError(f"{where}: compressed weights are not supported; leave Compression out")
        if isinstance(precision, types.ExponentPrecisionType):
            return self._powers_of_two(variable, x, where)
        with silence():
            texts = tuple(variable)
        values = np.array([float(text) for text in texts]).reshape(variable.data.shape)
        if isinstance(precision, types.XnorPrecisionType):
            bits = values.astype(np.int64) & 1
            if x is None:
                return bits, FixedType(1, 1, signed=False)
            return 2 * bits - 1, FixedType(2, 2)
        kind = _fixed(precision, f"{where}: {which}")
        codes = from_float(values, kind)
        self._note_misfits(label, which, np.asarray(variable.data, dtype=np.float64), codes, kind)
        if x is not None and isinstance(precision, types.IntegerPrecisionType) and precision.width == 2:
            lost = codes == -2 if kind.signed else np.zeros(codes.shape, dtype=bool)
            if lost.any():
                # nnet::product::weight_ternary knows 0 and -1; whatever else counts as 1
                self.notes.append(f"layer '{label}': hls4ml computes {int(lost.sum())} {which}s of -2 in int<2> as 1")
                codes = np.where(lost, 1, codes)
        return codes, kind

    def _powers_of_two(self, variable: Any, x: FixedType | None, where: str) -> tuple[IntArray, FixedType]:
        """Return signed powers of two as codes; nnet::product::weight_exponential shifts in a type of its own."""
        if x is None:
            raise UserError(f"{where}: power-of-two biases are not supported; use quantized_bits for the bias")
        precision = variable.type.precision
        pairs = np.asarray(variable._format())  # the public iterator gives text, and fails on numpy 2
        field = FixedType(int(precision.width), int(precision.width), bool(precision.signed))
        sign, exponent = pairs[..., 0], from_float(pairs[..., 1].astype(np.float64), field)
        low, high = int(exponent.min()), int(exponent.max())
        half = int(precision.width) + x.width  # r_T is ap_fixed<2 * half, half>
        if max(x.fraction, x.fraction - low) > half or max(x.integer, x.integer + high) >= half:
            raise UserError(
                f"{where}: weights from 2^{low} to 2^{high} times inputs of {x} lose bits in hls4ml's shifter; "
                "use a narrower input type or quantized_bits weights"
            )
        codes = np.where(sign == 1, 1, -1) * (1 << (exponent - low).astype(object))
        return codes, FixedType(high - low + 2, high + 2)

    def _note_misfits(self, label: str, which: str, given: Any, codes: IntArray, kind: FixedType) -> None:
        """Say so when stored values differ from the trained ones by more than rounding."""
        stored = np.asarray(codes, dtype=np.float64) * kind.step
        off = np.flatnonzero(np.abs(stored - given) > kind.step)
        if off.size:
            first = int(off[0])
            more = f" (and {off.size - 1} more)" if off.size > 1 else ""
            self.notes.append(
                f"layer '{label}': {which} {given.flat[first]:g} does not fit {kind}, "
                f"stored {stored.flat[first]:g}{more}"
            )

    def _warn_of_wrapping(self, node: Dense, x: FixedType) -> None:
        """Say so when the worst-case sum leaves a wrapping accumulator."""
        if node.accumulator.overflow is not Overflow.WRAP:
            return
        weights, bias = node.weights.astype(object), node.bias.astype(object)
        scale = Fraction(2) ** (-x.fraction - node.weight_type.fraction)
        offset = Fraction(2) ** -node.bias_type.fraction
        low = min(np.minimum(weights * x.lo, weights * x.hi).sum(axis=0) * scale + bias * offset)
        high = max(np.maximum(weights * x.lo, weights * x.hi).sum(axis=0) * scale + bias * offset)
        step = Fraction(2) ** -node.accumulator.fraction
        if low < node.accumulator.lo * step or high >= (node.accumulator.hi + 1) * step:
            self.notes.append(
                f"layer '{node.label}': sums can reach {float(low):g} … {float(high):g}, beyond the accumulator "
                f"{node.accumulator}, which wraps"
            )


def _no_integer_bits(what: str, target: FixedType) -> str:
    """Explain why a cast to ap_int is refused."""
    width, sign = target.width, "" if target.signed else "u"
    return (
        f"the {what} type {sign}int<{width}> reads values without integer bits, which hls4ml's C++ types turn from "
        f"small negative numbers into -1; write {sign}fixed<{width},{width},TRN_ZERO>"
    )


def _frozen(codes: IntArray) -> IntArray:
    """Return the codes as a read-only array, int64 where they fit."""
    big = codes.size and max(abs(int(codes.min())), abs(int(codes.max()))) >> 62
    array = np.array(codes, dtype=object if big else np.int64)
    array.setflags(write=False)
    return array
