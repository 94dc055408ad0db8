"""Every layer of Keras 2 files through hls4ml's C simulation, several per model, in both io types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.frontend.convert import convert
from flow.frontend.keras import import_keras
from flow.frontend.load import load
from tests.frontend import test_legacy_layers as plain
from tests.frontend import test_qkeras_layers as quantized
from tests.frontend.legacy_files import write_functional

pytest.importorskip("qkeras")
pytestmark = [pytest.mark.eda, pytest.mark.campaign, pytest.mark.timeout(1800)]

Layer = tuple[str, dict, dict, list[str]]
_random = np.random.default_rng(8)
# an input in another shape is no output; a softmax of the raw input overflows its table in fixed<16,6>
_LEFT_OUT = ("Flatten", "Reshape", "Softmax")
# hls4ml has no version for streams, or aborts
_NOT_IN_STREAMS = ("LayerNormalization", "Dot")
_READERS = 7


def all_layers() -> list[Layer]:
    keras, names = import_keras()
    cases = [(kind, options, sources) for kind, options, sources in plain.CASES if kind not in _LEFT_OUT]
    cases += [(kind, options, [source]) for kind, options, source in quantized.CASES]
    layers = []
    for number, (kind, options, sources) in enumerate(cases):
        layer = names[kind](**options) if kind.startswith("Q") else getattr(keras.layers, kind)(**options)
        tensors = [keras.layers.Input(plain.INPUTS[source]) for source in sources]
        layer(tensors if len(tensors) > 1 else tensors[0])
        variables = {}
        for variable in layer.weights:
            if variable.name != "iteration":
                first = kind.startswith("Depthwise") and variable.name == "kernel"
                low = 0.3 if "variance" in variable.name else -1.0
                name = "depthwise_kernel" if first else variable.name
                variables[name] = _random.uniform(low, 1.2, variable.shape)
        layers.append((kind, {"name": f"{kind}_{number}".lower()} | options, variables, sources))
    return layers


def is_sequence(layer: Layer) -> bool:
    """Tell layers whose C++ headers exclude those of images."""
    return layer[0].endswith(("DepthwiseConv1D", "SeparableConv1D"))


def models(io_type: str) -> list[list[Layer]]:
    """Return the layers in models that hls4ml can build: in streams a tensor has few readers."""
    groups: list[list[Layer]] = []
    for layer in all_layers():
        kind, options, _, sources = layer
        pooled = "Pooling" in kind and not kind.startswith("Global")
        uneven = options.get("padding") == "same" or options.get("strides") not in (None, options.get("pool_size"))
        if io_type == "io_stream" and (kind in _NOT_IN_STREAMS or (pooled and uneven)):
            continue
        for group in groups:
            readers = max(sum(other[3].count(source) for other in group) for source in sources)
            fits = io_type == "io_parallel" or readers < _READERS
            if fits and is_sequence(group[0]) == is_sequence(layer):
                group.append(layer)
                break
        else:
            groups.append([layer])
    return groups


@pytest.mark.parametrize("io_type", ["io_parallel", "io_stream"])
def test_every_layer_is_exact_and_the_same_function(io_type: str, tmp_path: Path) -> None:
    for number, layers in enumerate(models(io_type)):
        used = [name for name in plain.INPUTS if any(name in sources for *_, sources in layers)]
        labels = [options["name"] for _, options, _, _ in layers]
        inputs = {name: plain.INPUTS[name] for name in used}
        path = write_functional(tmp_path, f"m{number}", inputs, layers, labels)
        x = tuple(np.rint(_random.normal(0, 24, (30, *plain.INPUTS[name]))) / 16 for name in used)
        done = convert(load(path, {"IOType": io_type}), x, tmp_path / f"work{number}")
        checked = {layer.label: layer for layer in done.fidelity.layers}
        assert set(checked) == set(labels)
        for layer in checked.values():
            assert layer.function_error < 1e-6
