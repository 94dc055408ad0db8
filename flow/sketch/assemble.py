"""From a layer list to a graph."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from flow.errors import UserError, nearest
from flow.frontend.names import clean_all
from flow.graph.graph import Graph
from flow.graph.nodes import AnyNode, Input
from flow.graph.verify import MAX_ELEMENTS, verify
from flow.sketch import layers, others, products
from flow.sketch.place import Place
from flow.sketch.precision import Overrides, Precision

MOST_WEIGHTS = 1 << 22
"""Weights of all layers together: fourteen times those of the zoo's largest network."""


def to_graph(sketch: layers.Sketch, precision: Precision | None = None) -> Graph:
    """Return the graph that a trained network of this shape would become, with random weights.

    precision: overrides by layer. Raises UserError naming the layer.
    """
    return _Assembly(sketch, precision or {}).graph()


class _Assembly:
    """Append node after node."""

    def __init__(self, sketch: layers.Sketch, precision: Precision) -> None:
        self.sketch = sketch
        self.overrides = Overrides(precision)
        self.labels = _labels(sketch)
        parts = [name for label, layer in self.labels.items() for name in (label, *_part(label, layer))]
        self.names = clean_all([sketch.input_name, *parts])
        self.nodes: list[AnyNode] = []
        self.ends: dict[str, AnyNode] = {}  # layer -> what others read of it
        self.read: set[str] = set()
        self.weights = 0

    def graph(self) -> Graph:
        """Return the whole graph, checked."""
        self._input()
        before = self.sketch.input_name
        for index, (label, layer) in enumerate(self.labels.items()):
            self._append(index, label, layer, before)
            before = label
        self.overrides.check()
        unread = [label for label in self.labels if label not in self.read and label != before]
        if unread:
            raise UserError(f"{self.sketch.origin}: no layer reads '{unread[0]}'; only the last one is an output")
        graph = Graph(
            name=self.sketch.name,
            nodes=tuple(self.nodes),
            inputs=(self.nodes[0].name,),
            outputs=(self.nodes[-1].name,),
            notes=self._notes(),
            io_type=self.sketch.io_type,
        )
        try:
            verify(graph)
        except ValueError as error:
            raise UserError(f"{self.sketch.origin}: {error}") from None
        return graph

    def _input(self) -> None:
        name = self.sketch.input_name
        if prod(self.sketch.shape) > MAX_ELEMENTS:
            raise UserError(
                f"{self.sketch.origin}: input shape {self.sketch.shape} has more than {MAX_ELEMENTS} elements"
            )
        kind = self.overrides.of(name, others.MADE).of("result", self.sketch.type or layers.DEFAULT_INPUT)
        self.ends[name] = Input(name=self.names[name], label=name, inputs=(), shape=self.sketch.shape, type=kind)
        self.nodes.append(self.ends[name])

    def _append(self, index: int, label: str, layer: layers.Layer, before: str) -> None:
        """Append a layer's node, and that of its activation."""
        where = f"{self.sketch.origin}: layer '{label}' ({layers.kind_of(layer)})"
        x = self._find(layer.input or before, where)
        variables = _VARIABLES[type(layer)]
        place = Place(
            where,
            self.names[label],
            label,
            x,
            self.overrides.of(label, variables),
            self.sketch.io_type == "io_stream",
            # a stream of its own: what changes in one layer leaves the weights of the others alone
            np.random.default_rng([self.sketch.seed, index]),
        )
        self._count(place, layer)
        try:
            self._finish(label, self._node(place, layer), where)
            if isinstance(layer, layers.Weighted) and layer.activation is not None:
                self._activate(place, layer, layer.activation)
        except UserError as error:  # of a type, which does not know where it stands
            raise error if str(error).startswith((self.sketch.origin, "[precision]")) else _at(where, error) from None

    def _find(self, name: str, where: str) -> AnyNode:
        if name not in self.ends:
            raise UserError(f"{where}: there is no layer '{name}' before it; {nearest(name, self.ends)}")
        self.read.add(name)
        return self.ends[name]

    def _finish(self, label: str, node: AnyNode, where: str) -> None:
        if node.size > MAX_ELEMENTS:
            raise UserError(f"{where}: shape {node.shape} has more than {MAX_ELEMENTS} elements")
        self.nodes.append(node)
        self.ends[label] = node

    def _count(self, place: Place, layer: layers.Layer) -> None:
        """Refuse more weights than any chip could hold, before they are drawn."""
        if isinstance(layer, layers.Dense):
            self.weights += prod(place.x.shape) * layer.units
        elif isinstance(layer, layers.Conv1D | layers.Conv2D):
            under = products.window(place, layer)
            self.weights += under.cells * under.channels * layer.filters
        if self.weights > MOST_WEIGHTS:
            raise UserError(f"{place.where}: {self.weights:,} weights up to here; {MOST_WEIGHTS:,} are taken at most")

    def _node(self, place: Place, layer: layers.Layer) -> AnyNode:  # noqa: PLR0911 (one per kind of layer)
        match layer:
            case layers.Dense():
                return products.dense(place, layer, self._bits(layer), self._sparsity(layer))
            case layers.Conv1D() | layers.Conv2D():
                return products.conv(place, layer, self._bits(layer), self._sparsity(layer))
            case layers.MaxPool() | layers.AveragePool():
                return others.pool(place, layer)
            case layers.GlobalMaxPool() | layers.GlobalAveragePool():
                return others.global_pool(place, layer)
            case layers.Flatten():
                return others.flatten(place)
            case layers.Add():
                return others.add(place, self._find(layer.to, place.where))
            case layers.Relu():
                return self._activation(place, "relu", layer, self._bits(layer))
            case layers.Sigmoid():
                return self._activation(place, "sigmoid", layer, self._bits(layer))
            case layers.Tanh():
                return self._activation(place, "tanh", layer, self._bits(layer))
            case _:
                raise TypeError(type(layer).__name__)

    def _activate(self, place: Place, layer: layers.Weighted, function: layers.Activation) -> None:
        """Append the activation inside a layer; it is a part with a name of its own."""
        part = f"{place.label}_{function}"
        inner = Place(
            place.where,
            self.names[part],
            place.label,
            self.ends[place.label],
            self.overrides.of(part, _ACTIVATION_VARIABLES[function]),
            place.streamed,
            place.draw,
        )
        node = self._activation(inner, function, layer, layer.activation_bits or self._bits(layer))
        self._finish(place.label, node, place.where)

    def _activation(self, place: Place, function: layers.Activation, layer: layers.Activating, bits: int) -> AnyNode:
        if function == "relu":
            integer = self.sketch.integer if layer.integer is None else layer.integer
            return others.relu(place, bits, integer)
        return others.table(place, function, bits, layer.table_size)

    def _bits(self, layer: layers.Activating) -> int:
        return self.sketch.bits if layer.bits is None else layer.bits

    def _sparsity(self, layer: layers.Weighted) -> float:
        return self.sketch.sparsity if layer.sparsity is None else layer.sparsity

    def _notes(self) -> tuple[str, ...]:
        """Say that nothing was trained, and what was assumed."""
        stated = [self._sparsity(x) for x in self.sketch.layers if isinstance(x, layers.Weighted)]
        low, high = min(stated, default=0.0), max(stated, default=0.0)
        sparsity = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        untrained = (
            f"Not trained: random weights, sparsity {sparsity}, seed {self.sketch.seed}, stand in for trained ones; "
            "others give another area, and perhaps other cycles."
        )
        asked = self.overrides.of(self.sketch.input_name, others.MADE)
        if self.sketch.type is None and asked.of("result", layers.DEFAULT_INPUT) == layers.DEFAULT_INPUT:
            return untrained, f"Nobody stated the input's type: {layers.DEFAULT_INPUT}, hls4ml's default, is assumed."
        return (untrained,)


def _at(where: str, error: UserError) -> UserError:
    return UserError(f"{where}: {error}")


_ACTIVATION_VARIABLES = {"relu": others.MADE, "sigmoid": others.LOOKED_UP, "tanh": others.LOOKED_UP}
_VARIABLES: Mapping[type[layers.Layer], tuple[str, ...]] = {
    layers.Dense: products.VARIABLES,
    layers.Conv1D: products.VARIABLES,
    layers.Conv2D: products.VARIABLES,
    layers.MaxPool: others.POOLED,
    layers.AveragePool: others.POOLED,
    layers.GlobalMaxPool: others.POOLED,
    layers.GlobalAveragePool: others.POOLED,
    layers.Flatten: (),
    layers.Add: others.MADE,
    layers.Relu: others.MADE,
    layers.Sigmoid: others.LOOKED_UP,
    layers.Tanh: others.LOOKED_UP,
}


def _labels(sketch: layers.Sketch) -> dict[str, layers.Layer]:
    """Return every layer under its name: its own, or its stem and its number among those of the stem."""
    found: dict[str, layers.Layer] = {}
    given = {layer.name for layer in sketch.layers if layer.name} | {sketch.input_name}
    counts: dict[str, int] = {}
    for layer in sketch.layers:
        label = layer.name
        while label is None or (layer.name is None and label in given):
            counts[layer.stem] = counts.get(layer.stem, 0) + 1
            label = f"{layer.stem}{counts[layer.stem]}"
        if label in found or label == sketch.input_name:
            raise UserError(f"{sketch.origin}: two layers are called '{label}'")
        found[label] = layer
    parts = [part for label, layer in found.items() for part in _part(label, layer)]
    twice = next((part for part in parts if part in found or part == sketch.input_name), None)
    if twice is not None:
        raise UserError(f"{sketch.origin}: the layer '{twice}' is called as the activation of another")
    return found


def _part(label: str, layer: layers.Layer) -> tuple[str, ...]:
    """Return the name of a layer's activation."""
    if isinstance(layer, layers.Weighted) and layer.activation is not None:
        return (f"{label}_{layer.activation}",)
    return ()
