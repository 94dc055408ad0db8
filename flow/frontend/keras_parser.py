"""Walk a Keras 3 model's layers in topological order and make a record of each part that hls4ml shall see."""

from __future__ import annotations

from typing import Any

from flow.errors import UserError
from flow.frontend.ends import check_outputs, with_index_types
from flow.frontend.keras_call import Call
from flow.frontend.keras_layers import IDENTITY, layer_records, refuse_operations
from flow.frontend.keras_quantizers import inline_activation
from flow.frontend.records import ParsedModel, Port, Record


class Parser:
    """Turn a functional Keras model into records.

    softmax: after `parsed`, the layer whose final softmax is left out, or None.
    """

    def __init__(self, name: str, model: Any, io_type: str, *, skip_softmax: bool) -> None:
        """model: the functional model; skip_softmax: leave a final softmax out."""
        self.name = name
        self.model = model
        self.io_type = io_type
        self.skip_softmax = skip_softmax
        self.softmax: Any = None
        self._ports: dict[str, Port] = {}  # Keras tensor's name -> the record that makes it

    def parsed(self) -> ParsedModel:
        """Return the parsed model; raise UserError for layers that cannot be converted faithfully."""
        from hls4ml.converters.keras_v3_to_hls import resolve_dependency_relation

        refuse_operations(self.model)
        _, outputs, calls, tensors = resolve_dependency_relation(self.model)
        seen: set[str] = set()
        for label, _, _ in calls:
            if label in seen:
                raise UserError(f"layer '{label}' of {self.name} is used more than once; give each use its own layer")
            seen.add(label)
        self.softmax = self._final_softmax(outputs, calls) if self.skip_softmax else None
        records: list[Record] = []
        labels: list[str] = []
        waiting = list(calls)
        while waiting:
            call = next(c for c in waiting if all(tensor in self._ports for tensor in c[1]))
            waiting.remove(call)
            label, sources, targets = call
            labels.append(label)
            made = self._layer(self.model.get_layer(label), [tensors[t] for t in sources], tensors[targets[0]])
            records += made
            self._ports |= dict.fromkeys(targets, made[-1].port if made else self._ports[sources[0]] if sources else "")
        ends = tuple(self._ports[name] for name in outputs)
        check_outputs(self.name, ends, records)
        softmax = self.softmax.name if self.softmax is not None else None
        notes = (
            (f"the final softmax '{softmax}' is left out: outputs are its inputs, their order (argmax) is the same",)
            if softmax
            else ()
        )
        return ParsedModel(
            self.name, tuple(labels), with_index_types(records), ends, self._input_shapes(), softmax, notes
        )

    def _input_shapes(self) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {}
        for tensor in self.model.inputs:
            shape = tuple(tensor.shape[1:])
            label = self._ports[tensor.name][0]
            if not shape or any(size is None for size in shape):
                raise UserError(f"{self.name}: the input '{label}' has the open shape {shape}; sizes must be known")
            shapes[label] = shape
        return shapes

    def _final_softmax(self, outputs: tuple[str, ...], calls: list[Any]) -> Any:
        """Return the layer whose softmax makes the only output and feeds nothing, or None."""
        if len(outputs) != 1 or any(outputs[0] in sources for _, sources, _ in calls):
            return None
        import keras

        label = next(label for label, _, targets in calls if outputs[0] in targets)
        layer = self.model.get_layer(label)
        inline = getattr(layer, "activation", None) is keras.activations.softmax
        own = isinstance(layer, keras.layers.Softmax) and layer.axis in (-1, len(layer.output.shape) - 1)
        return layer if inline or own else None

    def _layer(self, layer: Any, sources: list[Any], target: Any) -> list[Record]:
        kind = type(layer).__name__
        if kind in IDENTITY or (self.softmax is layer and kind in ("Softmax", "Activation", "QActivation")):
            return []
        call = Call(
            layer,
            tuple(self._ports[tensor.name] for tensor in sources),
            tuple(tuple(tensor.shape[1:]) for tensor in sources),
            tuple(target.shape[1:]),
            self.io_type,
        )
        if kind == "InputLayer":
            entry = {"class_name": "InputLayer", "input_shape": list(call.shape)}
            return [Record(call.label, entry, kinds=("InputLayer", "Input"))]
        if any(size is None for shape in (*call.shapes, call.shape) for size in shape):
            raise call.refuse(f"a tensor of the open shape {call.shapes[0]}", "give the model's inputs all their sizes")
        records = layer_records(call)
        own = kind in ("Activation", "QActivation") or self.softmax is layer
        return records if own else records + inline_activation(call, records[-1].port)
