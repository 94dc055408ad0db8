"""Layers that hls4ml's passes would drop: the graph still has them and computes what Keras does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.frontend.border import to_graph
from flow.frontend.fidelity import check_fidelity
from flow.frontend.load import load

pytest.importorskip("keras")


def models() -> dict[str, tuple[Any, tuple[int, ...]]]:
    import keras
    from keras import layers

    def net(shape: tuple[int, ...], *steps: Any) -> tuple[Any, tuple[int, ...]]:
        return keras.Sequential([keras.Input(shape), *steps]), shape

    return {
        "image": net((4, 5, 2), layers.Permute((2, 1, 3)), layers.Flatten(), layers.Dense(3)),
        "channels in front": net((4, 5, 2), layers.Permute((3, 1, 2)), layers.Flatten(), layers.Dense(3)),
        "sequence": net((7, 2), layers.Permute((2, 1)), layers.Flatten(), layers.Dense(3)),
        "one row": net((1, 5, 2), layers.Permute((1, 3, 2))),
        "linear": net((6,), layers.Activation("linear")),
    }


@pytest.mark.parametrize("io_type", ["io_parallel", "io_stream"])
def test_layers_are_kept(io_type: str, tmp_path: Path) -> None:
    for name, (model, shape) in models().items():
        source = load(model, {"IOType": io_type})
        graphs = [
            to_graph(source.convert(tmp_path, generous=wide), name="net", label_of=source.label_of)
            for wide in (False, True)
        ]
        x = np.rint(np.random.default_rng(1).normal(0, 20, (20, *shape))) / 16
        found = check_fidelity(source, inputs=(x,), reference=graphs[0], generous=graphs[1])
        assert graphs[0].outputs != graphs[0].inputs
        assert {layer.label for layer in found.layers} == {layer.name for layer in model.layers}, name
