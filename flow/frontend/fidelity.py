"""The fidelity gate tells whether hls4ml converted the model into the same function.

Bit-exactness with hls4ml's C simulation proves nothing where hls4ml itself computes something else. So every layer
of a second conversion with *generous* widths is fed with the framework's own values and compared with what the
framework makes of them. There, only float arithmetic may differ. The bound, per layer:

    |difference| <= 2**-16 × (1 + n_in / 256) × largest sum of magnitudes

(see `slack`). A layer that ends in a quantizer of the model may differ by the step that such an error causes at a
rounding boundary, one that hls4ml looks up in a table by a step of that table, and by nothing else. What is larger is a
different function, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError
from flow.fixed import FixedArray, FixedType, IntArray, Overflow, Rounding, cast, from_float
from flow.frontend.slack import slack, tolerance
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode

# exact integers take a microsecond per product
_GATE_PRODUCTS = 10_000_000
_GATE_VECTORS = 256
_HIDDEN_BITS = 48

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LayerError:
    """Hold the largest differences of one layer's output from the framework's.

    max_abs_error: of the converted model, quantization included. generous_error: of the conversion with generous
    widths. function_error: of the generous layer alone, fed with the framework's values, beyond what the bound allows
    at rounding boundaries; `bound` is what it may be.
    """

    label: str
    max_abs_error: float
    generous_error: float
    function_error: float
    bound: float

    @property
    def quantization(self) -> float:
        """Return how much of the error the chosen widths cause."""
        return max(0.0, self.max_abs_error - self.generous_error)


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Hold the errors of every layer that the framework knows, in order, and on how many vectors they were seen."""

    layers: tuple[LayerError, ...]
    vectors: int
    probes: int

    @property
    def worst(self) -> LayerError:
        """Return the layer with the largest error."""
        return max(self.layers, key=lambda layer: layer.max_abs_error)


def probe_inputs(inputs: tuple[Floats, ...], graph: Graph) -> tuple[Floats, ...]:
    """Return vectors for the gate: the first ones given, mirrored and enlarged so that limits are reached, and zero.

    Row numbers of an embedding stay as they are.
    """
    count = max(1, min(len(inputs[0]), _GATE_VECTORS, _GATE_PRODUCTS // (3 * max(1, graph.multiplications))))
    probes = []
    for name, x in zip(graph.inputs, inputs, strict=True):
        numbers = any(node.kind == "embedding" for node in graph.consumers(name))
        factors = (1, 1, 1) if numbers else (1, -1, 8)
        probes.append(np.concatenate([*(factor * x[:count] for factor in factors), np.zeros((1, *x.shape[1:]))]))
    return tuple(probes)


def measure(
    *,
    labels: tuple[str, ...],
    reference: Graph,
    reference_values: Mapping[str, FixedArray],
    framework: Mapping[str, Floats],
    generous: Graph,
    generous_values: Mapping[str, FixedArray],
    probed: Mapping[str, Floats],
) -> Fidelity:
    """Compare both conversions with the framework, layer by layer.

    labels: the model's layers in order. framework: its outputs by label on the user's vectors, on which
    `reference_values` were computed; probed: its outputs on the probe vectors, on which `generous_values` were.
    Raises UserError, naming the first layer, when what remains of a layer's error is beyond the bound.
    """
    alone = _check_alone(labels, generous, probed, generous_values)
    for layer in alone:
        if not layer.error <= layer.bound:
            raise UserError(
                f"layer '{layer.node.label}': hls4ml converts it into a different function: with generous widths and "
                f"the framework's own inputs it is off by {layer.error:.6g}, where float arithmetic explains "
                f"{layer.bound:.2g}. Replace the layer, or the option of it that hls4ml ignores"
            )
    _check_coverage(labels, generous, alone, probed)
    built = {node.label for node in reference.nodes}
    layers = []
    for layer in alone:
        name, label = _kept(layer.node, generous, reference_values), layer.node.label
        if name not in reference_values:
            raise UserError(
                f"layer '{label}': hls4ml has it with generous widths only; its precision changes what hls4ml builds: "
                "set the precision of this layer explicitly"
            )
        # what is fused with generous widths only is a layer of its own here
        target = label if layer.target in built else layer.target
        first = _difference(reference_values[name], layer.limited(framework[target]))
        remaining = _difference(generous_values[layer.node.name], layer.limited(probed[layer.target]))
        layers.append(LayerError(label, first, remaining, layer.error, layer.bound))
    count = len(next(iter(framework.values())))
    return Fidelity(tuple(layers), count, len(next(iter(probed.values()))))


def _kept(node: AnyNode, generous: Graph, reference_values: Mapping[str, FixedArray]) -> str:
    """Return the node of the reference that computes what `node` does: a cast may be needed with wide types only."""
    while node.name not in reference_values and node.kind == "quantize":
        (node,) = generous.feeding(node)
    return node.name


def overflow_notes(labels: tuple[str, ...], graph: Graph, framework: Mapping[str, Floats]) -> tuple[str, ...]:
    """Name the layers whose values, in the framework, leave the converted type and wrap there."""
    notes = []
    for name, label in _targets(labels, graph, framework).items():
        kind, values = graph.node(name).type, framework[label]
        outside = int(np.sum((values < kind.lo * kind.step) | (values >= (kind.hi + 1) * kind.step)))
        if outside and kind.overflow is Overflow.WRAP:
            notes.append(
                f"layer '{graph.node(name).label}': {outside} of {values.size} values on these vectors lie outside "
                f"{kind} and wrap; give it more integer bits or saturation"
            )
    return tuple(notes)


@dataclass(frozen=True, slots=True, eq=False)
class _Alone:
    """Hold one layer's comparison: the node that ends it, the framework's layer whose output it computes."""

    node: AnyNode
    target: str
    error: float
    bound: float
    is_output: bool

    def limited(self, values: Floats) -> Floats:
        """Return the framework's values as far as the node's type reaches."""
        return _limited(values, self.node.type, is_output=self.is_output)


def _limited(values: Floats, kind: FixedType, *, is_output: bool) -> Floats:
    """Cut values where a type inside the network saturates on purpose; the layer that reads them is checked with it."""
    if is_output or kind.overflow in (Overflow.WRAP, Overflow.SAT_ZERO):
        return values
    return np.clip(values, kind.lo * kind.step, kind.hi * kind.step)


def _targets(labels: tuple[str, ...], graph: Graph, known: Mapping[str, Floats]) -> dict[str, str]:
    """Return node name -> the layer whose output the node computes, for the last node of each layer of a chain.

    A layer without a node was fused into the one before it (batch normalization), or does nothing at inference
    (dropout): the node before it computes its output.
    """
    last = {node.label: node for node in graph.nodes}
    found: dict[str, str] = {}
    current: AnyNode | None = None
    for label in labels:
        if label in last:
            current = last[label]
        if current is None or label not in known:
            continue
        if known[label][0].size == current.size:
            found[current.name] = label
    return found


def _check_alone(
    labels: tuple[str, ...], graph: Graph, probed: Mapping[str, Floats], inputs: Mapping[str, FixedArray]
) -> tuple[_Alone, ...]:
    """Feed every layer with the framework's values and compare its output with theirs."""
    chain = _targets(labels, graph, probed)
    built = {node.label for node in graph.nodes}
    free = [label for label in labels if label in probed and label not in built]
    values: dict[str, FixedArray] = {}
    off: dict[str, float] = {}
    found: list[_Alone] = []
    for node in graph.nodes:
        if node.kind == "input":
            # the framework reads them as float32
            values[node.name] = inputs[node.name]
            largest = float(np.abs(values[node.name].to_float()).max(initial=0.0))
            off[node.name] = max(node.type.step, 2.0**-24 * largest)
            continue
        args = tuple(values[name] for name in node.inputs)
        before = tuple(off[name] for name in node.inputs)
        values[node.name] = node.evaluate(args)
        off[node.name], allowed = slack(node, args, before), tolerance(node, args, before)
        if node.name not in chain:
            off[node.name] += node.type.step + _finite(allowed)  # it may have rounded either way
            continue
        is_output = node.name in graph.outputs
        # where branches interleave, the layer that was fused into this one may stand further on
        claimed = {layer.target for layer in found}
        candidates = [chain[node.name], *(label for label in (node.label, *free) if label not in claimed)]
        tried = []
        for label in dict.fromkeys(candidates):
            if label not in probed or probed[label][0].size != node.size:
                continue
            wanted = _limited(probed[label].reshape(-1, *node.shape), node.type, is_output=is_output)
            error = _beyond_boundaries(node, args, values[node.name], wanted, off=off[node.name], allowed=allowed)
            tried.append(_Alone(node, label, error, off[node.name], is_output))
            if error <= off[node.name]:
                break
        layer = tried[-1] if tried[-1].error <= tried[-1].bound else tried[0]
        found.append(layer)
        wanted = probed[layer.target].reshape(-1, *node.shape)
        # a float32 on the grid of the type is kept exactly; others by half a step
        values[node.name] = FixedArray(from_float(wanted, _nearest(node.type)), node.type)
        on_grid = _on_grid(layer.limited(wanted), node.type)
        off[node.name] = 0.0 if on_grid else node.type.step
    return tuple(found)


def _check_coverage(
    labels: tuple[str, ...], graph: Graph, alone: tuple[_Alone, ...], probed: Mapping[str, Floats]
) -> None:
    """Raise UserError when a layer of the model is nowhere in the graph.

    A layer without a node must be fused (a node computes its output, or that of a layer fused after it), or do
    nothing (its output is that of another layer).
    """
    chain = _targets(labels, graph, probed)
    if all(chain[layer.node.name] == layer.target for layer in alone):
        return  # every layer up to each target is part of what that node computes
    named = {node.label for node in graph.nodes} | {layer.target for layer in alone}
    for label in labels:
        if label in named or label not in probed:
            continue
        flat = probed[label].reshape(len(probed[label]), -1)
        others = (probed[other].reshape(len(flat), -1) for other in named if other in probed)
        if not any(other.shape == flat.shape and np.array_equal(other, flat) for other in others):
            raise UserError(
                f"layer '{label}': hls4ml has left it out, or joined it with others so that it cannot be checked; "
                "put its outputs on a branch of their own"
            )


def _finite(allowed: Floats | None) -> float:
    return 0.0 if allowed is None else float(allowed[np.isfinite(allowed)].max(initial=0.0))


def _beyond_boundaries(
    node: AnyNode, args: tuple[FixedArray, ...], got: FixedArray, wanted: Floats, *, off: float, allowed: Floats | None
) -> float:
    """Return the largest difference, without what a table allows and elements that `off` moves over a boundary."""
    difference = np.abs(got.to_float() - wanted)
    if allowed is not None:
        difference = np.where(np.isfinite(allowed), np.maximum(difference - allowed, 0.0), 0.0)
    moves = node.kind in ("reshape", "rearrange")
    if moves or node.type.step <= off or not np.any(difference > off):
        return float(difference.max(initial=0.0))
    fine = FixedType(
        node.type.width + _HIDDEN_BITS + 64, node.type.integer + 64, signed=True, rounding=Rounding.TRN,
        overflow=Overflow.SAT,
    )  # fmt: skip
    unrounded = replace(node, type=fine).evaluate(args).raw.astype(object)
    shift = int(np.ceil((off + _finite(allowed)) / fine.step)) + 1
    for moved in (unrounded - shift, unrounded + shift):
        raw = cast(moved, fine.fraction, node.type, fine.width + 1)
        difference = np.minimum(difference, np.abs(FixedArray(raw, node.type).to_float() - wanted))
    return float(difference.max(initial=0.0))


def _difference(got: FixedArray, wanted: Floats) -> float:
    return float(np.abs(got.to_float().reshape(len(wanted), -1) - wanted.reshape(len(wanted), -1)).max(initial=0.0))


def _nearest(kind: FixedType) -> FixedType:
    """Return the type with the modes that keep a value best."""
    return replace(kind, rounding=Rounding.RND_CONV, overflow=Overflow.SAT)


def _on_grid(values: Floats, kind: FixedType) -> bool:
    kept = FixedArray(from_float(values, _nearest(kind)), kind).to_float()
    return bool(np.array_equal(kept, values))


def quantize_inputs(inputs: tuple[Floats, ...], graph: Graph) -> dict[str, IntArray]:
    """Return the user's floats as raw integers of the graph's input types, by input node."""
    return {
        name: from_float(x.reshape(-1, *graph.node(name).shape), graph.node(name).type)
        for name, x in zip(graph.inputs, inputs, strict=True)
    }


def check_fidelity(source: Any, *, inputs: tuple[Floats, ...], reference: Graph, generous: Graph) -> Fidelity:
    """Measure both conversions of a `Source` against its `predict`, and refuse a different function.

    inputs: floats in declared order, shape (batch, *input shape).
    """
    probes = probe_inputs(inputs, generous)
    return measure(
        labels=source.labels,
        reference=reference,
        reference_values=evaluate(reference, quantize_inputs(inputs, reference)),
        framework=source.predict(inputs),
        generous=generous,
        generous_values=evaluate(generous, quantize_inputs(probes, generous)),
        probed=source.predict(probes),
    )
