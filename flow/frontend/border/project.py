"""The hls4ml project as files, and the arguments of its compiled top function."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.fixed import FixedType
from flow.frontend.border.copy import label_for
from flow.frontend.border.types import is_xnor, tensor_type
from flow.frontend.silence import silence
from flow.frontend.source import Knobs

_WITH_KERNELS = frozenset(
    ["Dense", "Conv1D", "Conv2D", "PointwiseConv1D", "PointwiseConv2D", "DepthwiseConv1D", "DepthwiseConv2D"]
)


@dataclass(frozen=True, slots=True)
class Port:
    """Name one argument of the generated C++ top function: variable, C++ type, elements, and our type.

    is_coded: the C++ program has one bit for each element, 0 for -1 and 1 for +1.
    """

    variable: str
    cpp_type: str
    size: int
    type: FixedType
    is_coded: bool = False


@dataclass(frozen=True, slots=True)
class Ports:
    """Hold the top function's name and its arguments in order: inputs, then outputs.

    is_stream: the arguments are streams, one word for each pixel, and not arrays.
    """

    project: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    is_stream: bool = False


def ports(model: Any) -> Ports:
    """Return what a caller of the generated top function must know."""

    def port(variable: Any) -> Port:
        precision = variable.type.precision
        kind = tensor_type(precision, f"port '{variable.name}'")
        return Port(variable.name, variable.type.name, int(prod(variable.shape)), kind, is_xnor(precision))

    return Ports(
        model.config.get_project_name(),
        tuple(port(v) for v in model.get_input_variables()),
        tuple(port(v) for v in model.get_output_variables()),
        model.config.get_config_value("IOType") == "io_stream",
    )


def knobs_used(model: Any, label_of: Mapping[str, str]) -> dict[str, Knobs]:
    """Return the knobs that hls4ml took for each layer with a kernel, by label; it rounds reuse factors its own way.

    A layer of two kernels (a separable convolution) is named by the last of them.
    """
    return {
        label_for(str(layer.name), label_of): Knobs(
            int(layer.get_attr("reuse_factor")), str(layer.get_attr("strategy"))
        )
        for layer in model.get_layers()
        if layer.class_name in _WITH_KERNELS
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
