"""Read Keras 2 and QKeras files (JSON or `model_config` with HDF5 weights) without Keras 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flow.errors import UserError
from flow.frontend import legacy_activations as activations
from flow.frontend import legacy_shapes as shapes
from flow.frontend import legacy_weights as weighted
from flow.frontend.config import Configuration, read_config
from flow.frontend.ends import check_outputs, with_index_types
from flow.frontend.legacy_file import (
    Entry,
    Layer,
    WeightStore,
    declared_inputs,
    declared_outputs,
    read_entries,
    read_weights,
)
from flow.frontend.part import Evaluate, Part
from flow.frontend.qkeras import Floats
from flow.frontend.records import ParsedModel, Port, Record
from flow.frontend.reference import Reference, ReferenceSource, prepare


@dataclass(frozen=True, slots=True)
class _Step:
    """Hold one layer's float function. sources: the labels that feed it; none for inputs."""

    label: str
    sources: tuple[str, ...]
    evaluate: Evaluate


class LegacySource(ReferenceSource):
    """Offer a Keras 2 or QKeras file: hls4ml's conversion, and this project's own float evaluation of the file."""

    def __init__(self, reference: Reference, steps: tuple[_Step, ...]) -> None:
        """Take the layers' float functions in topological order."""
        super().__init__(reference)
        self._steps = steps

    def predict(self, inputs: tuple[NDArray[np.float64], ...]) -> dict[str, NDArray[np.float64]]:
        """Return every layer's output in float64; see `Source.predict`."""
        fed = dict(zip(self.input_shapes, inputs, strict=True))
        values: dict[str, Floats] = {}
        for step in self._steps:
            given = [values[source] for source in step.sources] or [np.asarray(fed[step.label], dtype=np.float64)]
            values[step.label] = step.evaluate(*given)
        return values


def load_legacy(
    name: str,
    architecture: Mapping[str, Any],
    weights: Path,
    config: Configuration,
    *,
    file: Path,
) -> LegacySource:
    """Return the source of a Keras 2 architecture whose weights lie in an HDF5 file.

    file: named in messages. Raises UserError for layers, options, quantizers and weights that do not fit.
    """
    entries = read_entries(architecture, file)
    outputs = declared_outputs(architecture, entries, file)
    given = read_config(config)
    reader = _Reader(file, WeightStore(weights, read_weights(weights)), given.io_type, given.skip_softmax)
    return reader.build(name, entries, outputs, config, declared_inputs(architecture))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turn the layers of a file into records and float steps."""

    file: Path
    store: WeightStore
    io_type: str
    skip_softmax: bool

    def build(
        self,
        name: str,
        entries: tuple[Entry, ...],
        outputs: tuple[str, ...],
        config: Configuration,
        declared: tuple[str, ...],
    ) -> LegacySource:
        """Return the source of all layers."""
        softmax = _final_softmax(entries, outputs) if self.skip_softmax else None
        known: dict[str, tuple[int, ...]] = {}
        inputs: dict[str, tuple[int, ...]] = {}
        ports: dict[str, Port] = {}
        records: list[Record] = []
        steps: list[_Step] = []
        for entry in entries:
            if entry.kind == "InputLayer":
                shape = self._input_shape(entry)
                known[entry.label] = inputs[entry.label] = shape
                ports[entry.label] = (entry.label, "")
                given = {"class_name": "InputLayer", "input_shape": list(shape)}
                records.append(Record(entry.label, given, kinds=("InputLayer", "Input")))
                steps.append(_Step(entry.label, (), lambda x: x))
                continue
            fed = tuple(known[source] for source in entry.sources)
            layer = Layer(entry.label, entry.kind, entry.options, fed, self.io_type, self.file)
            sources = tuple(ports[source] for source in entry.sources)
            part = self._layer(layer, sources, drop_softmax=entry.label == softmax)
            records += part.records
            steps.append(_Step(entry.label, entry.sources, part.evaluate))
            known[entry.label] = part.shape
            ports[entry.label] = part.records[-1].port if part.records else sources[0]
        order = declared if set(declared) == set(inputs) else tuple(inputs)
        notes = (
            (f"the final softmax '{softmax}' is left out: outputs are its inputs, their order (argmax) is the same",)
            if softmax
            else ()
        )
        ends = tuple(ports[label] for label in outputs)
        check_outputs(name, ends, records)
        model = ParsedModel(
            name,
            tuple(entry.label for entry in entries),
            with_index_types(records),
            ends,
            {label: inputs[label] for label in order},
            softmax,
            notes,
        )
        return LegacySource(prepare(model, config), tuple(steps))

    def _input_shape(self, entry: Entry) -> tuple[int, ...]:
        shape = entry.options.get("batch_input_shape")
        if not isinstance(shape, list) or len(shape) < 2:
            raise UserError(f"{self.file}: the input '{entry.label}' has no shape; build the model with an Input layer")
        if not all(isinstance(size, int) and size > 0 for size in shape[1:]):
            raise UserError(
                f"{self.file}: the input '{entry.label}' has the open shape {shape[1:]}; sizes must be known"
            )
        return tuple(shape[1:])

    def _layer(self, layer: Layer, sources: tuple[Port, ...], *, drop_softmax: bool) -> Part:
        if layer.kind in _SHAPES:
            if layer.kind not in _SEVERAL and len(sources) != 1:
                raise UserError(f"{layer.where}: {len(sources)} inputs are not supported; 1 is")
            return _SHAPES[layer.kind](layer, sources)
        if layer.kind not in _KNOWN:
            reason = _REFUSED.get(layer.kind, "this kind of layer is not supported")
            raise UserError(f"{layer.where}: {reason}; {', '.join(sorted((*_KNOWN, *_SHAPES)))} are")
        if len(sources) != 1:
            raise UserError(f"{layer.where}: {len(sources)} inputs are not supported; 1 is")
        (source,) = sources
        if layer.kind in _IDENTITY:
            return Part((), layer.shape, lambda x: x)
        if layer.kind in _ACTIVATIONS:
            return activations.activation(layer, source, drop_softmax=drop_softmax)
        if layer.kind in _PLAIN:
            return _PLAIN[layer.kind](layer, source)
        if layer.kind in _WEIGHTED:
            return _WEIGHTED[layer.kind](layer, self.store, source)
        linear = (weighted.dense if layer.kind in _DENSE else weighted.conv)(layer, self.store, source)
        port = linear.records[-1].port
        return linear.then(activations.inline(layer, port, linear.shape, drop_softmax=drop_softmax))


def _final_softmax(entries: tuple[Entry, ...], outputs: tuple[str, ...]) -> str | None:
    """Return the layer whose softmax makes the only output and feeds nothing, or None."""
    fed = {source for entry in entries for source in entry.sources}
    ends = (entry for entry in entries if (entry.label,) == outputs and entry.label not in fed)
    return next((entry.label for entry in ends if activations.ends_in_softmax(entry.kind, entry.options)), None)


_IDENTITY = frozenset(
    (
        "Dropout",
        "SpatialDropout1D",
        "SpatialDropout2D",
        "AlphaDropout",
        "GaussianDropout",
        "GaussianNoise",
        "ActivityRegularization",
    )
)
_DENSE = frozenset(("Dense", "QDense"))
_ACTIVATIONS = frozenset(("Activation", "QActivation", "Softmax"))
_SEVERAL: dict[str, Callable[[Layer, shapes.Ports], Part]] = {
    **dict.fromkeys(("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"), shapes.merge),
    "Concatenate": shapes.concatenate,
    "Dot": shapes.dot,
}
_SHAPES = _SEVERAL | {
    "Flatten": shapes.flatten,
    "Reshape": shapes.reshape,
    "Permute": shapes.permute,
    "RepeatVector": shapes.repeat_vector,
    **dict.fromkeys(("ZeroPadding1D", "ZeroPadding2D"), shapes.zero_padding),
    **dict.fromkeys(("Cropping1D", "Cropping2D"), shapes.cropping),
    **dict.fromkeys(("UpSampling1D", "UpSampling2D"), shapes.up_sampling),
    **dict.fromkeys(("MaxPooling1D", "MaxPooling2D", "AveragePooling1D", "AveragePooling2D"), shapes.pooling),
    **dict.fromkeys(
        ("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalAveragePooling1D", "GlobalAveragePooling2D"),
        shapes.global_pooling,
    ),
}
_PLAIN: dict[str, Callable[[Layer, Port], Part]] = {
    **dict.fromkeys(("ReLU", "LeakyReLU", "ThresholdedReLU"), activations.relu),
    "ELU": activations.elu,
}
_WEIGHTED: dict[str, Callable[[Layer, WeightStore, Port], Part]] = {
    "BatchNormalization": weighted.batch_normalization,
    "QBatchNormalization": weighted.batch_normalization,
    "LayerNormalization": weighted.layer_normalization,
    "PReLU": weighted.prelu,
    "Embedding": weighted.embedding,
}
_KNOWN = _IDENTITY | _DENSE | _ACTIVATIONS | weighted.CONVOLUTIONS | frozenset((*_PLAIN, *_WEIGHTED))
_REFUSED = {
    "TimeDistributed": "flatten the nested model: TimeDistributed is not supported",
    "Lambda": "a Lambda holds arbitrary code and is never loaded",
    "PruneLowMagnitude": "take the pruning wrapper off first (strip_pruning)",
}
