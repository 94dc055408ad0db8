"""One small model of the conformance suite: layers, what enters them, their configuration, and what must come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

IoType = Literal["io_parallel", "io_stream"]
Kind = Literal["exact", "refused", "not built"]
IO_TYPES: tuple[IoType, ...] = ("io_parallel", "io_stream")

Shape = tuple[int, ...]
Step = tuple[str, Mapping[str, Any]]
Build = Callable[..., Any]
Draw = Callable[[np.random.Generator, Shape], NDArray[np.float64]]

# height, width and channels differ everywhere
IMAGE: Shape = (4, 5, 2)
LINE: Shape = (7, 2)
VECTOR: Shape = (6,)


@dataclass(frozen=True, slots=True)
class Expected:
    """Say what becomes of a model.

    words: part of the message of a refusal; of an exact one, part of a note that the conversion must give, or "".
    """

    kind: Kind
    words: str = ""


EXACT = Expected("exact")


def refused(words: str) -> Expected:
    """Return the expectation of a refusal whose message holds these words."""
    return Expected("refused", words)


def noted(words: str) -> Expected:
    """Return the expectation of an exact result with a note that holds these words."""
    return Expected("exact", words)


def grid(rng: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    """Draw inputs in steps of 1/16, ties and both signs among them."""
    return np.rint(rng.normal(0, 20, shape)) / 16


def numbers(most: int) -> Draw:
    """Return a function that draws whole numbers from 0 to `most`."""
    return lambda rng, shape: rng.integers(0, most + 1, shape).astype(np.float64)


def spread(scale: float) -> Draw:
    """Return a function that draws inputs of a standard deviation."""
    return lambda rng, shape: np.rint(rng.normal(0, scale, shape) * 64) / 64


@dataclass(frozen=True, slots=True)
class Case:
    """Hold one model.

    layer, parameter: what the table calls it; together they name it. build: makes the layers: takes the name of the
    main layer and the input tensors, gives the output tensors. shapes: of the inputs. expected: by io type. settings:
    of hls4ml's LayerName, by what follows the main layer's name ("" itself, "_x0" the first input). section: of its
    Model, beside the precision. budget: for the plan, None for that of its io type. known: a public report of what
    goes wrong with it; a version where it was found by trying. core: whether the short suite has it.
    """

    layer: str
    parameter: str
    build: Build
    shapes: tuple[Shape, ...]
    expected: Mapping[IoType, Expected]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    section: Mapping[str, Any] = field(default_factory=dict)
    draw: Draw = grid
    budget: str | None = None
    known: str = ""
    core: bool = False

    @property
    def name(self) -> str:
        """Return what tells it from all others."""
        return f"{self.layer}: {self.parameter}"


def layer_of(kind: str, options: Mapping[str, Any]) -> Any:
    """Return a Keras or QKeras layer."""
    from flow.frontend.keras import import_keras

    keras, quantized = import_keras()
    make = quantized[kind] if kind.startswith("Q") else getattr(keras.layers, kind)
    return make(**options)


def chain(*steps: Step) -> Build:
    """Return a builder of layers one behind the other; the last has the main name, others `_1`, `_2` … behind it."""

    def build(name: str, *inputs: Any) -> Any:
        x: Any = list(inputs) if len(inputs) > 1 else inputs[0]
        for number, (kind, options) in enumerate(steps, 1):
            own = name if number == len(steps) else f"{name}_{number}"
            x = layer_of(kind, {"name": own} | dict(options))(x)
        return x

    return build


def case(
    layer: str,
    parameter: str,
    build: Build | Mapping[str, Any],
    *shapes: Shape,
    parallel: Expected = EXACT,
    stream: Expected | None = None,
    only: IoType | None = None,
    **rest: Any,
) -> Case:
    """Return a case; build: options of the one layer, or a builder. stream: what differs in io_stream."""
    made = build if callable(build) else chain((layer, build))
    expected = {"io_parallel": parallel, "io_stream": stream or parallel}
    kept = {io: expected[io] for io in IO_TYPES if only in (None, io)}
    return Case(layer, parameter, made, shapes, kept, **rest)
