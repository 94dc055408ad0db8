"""What a layer list says: a network's input, its layers, and what stands for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from flow.fixed import FixedType

MOST_SIZE = 1 << 16
MOST_BITS = 24
MOST_LAYERS = 256
DEFAULT_INPUT = FixedType(16, 6)
"""hls4ml's type for inputs that nobody described."""


def _pair(value: Any) -> Any:
    """Return one number as two of it, a list as a tuple."""
    return tuple(value) if isinstance(value, list) else (value, value)


def _word(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Size = Annotated[int, Field(strict=True, ge=1, le=MOST_SIZE)]
Pair = Annotated[tuple[Size, Size], BeforeValidator(_pair)]
Bits = Annotated[int, Field(strict=True, ge=2, le=MOST_BITS)]
Integer = Annotated[int, Field(strict=True, ge=-MOST_BITS, le=MOST_BITS)]
Sparsity = Annotated[float, Field(strict=True, ge=0, lt=1)]
Seed = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]
TableSize = Annotated[int, Field(strict=True, ge=2, le=1 << 14)]
Truth = Annotated[bool, Field(strict=True)]
Name = Annotated[str, Field(strict=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
"""What a reader is shown: without control characters."""
Shape = Annotated[tuple[Size, ...], BeforeValidator(_word), Field(min_length=1, max_length=3)]
Activation = Literal["relu", "sigmoid", "tanh"]
Padding = Literal["valid", "same"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Describe one layer. name: unique; by default its stem and a number. input: the layer before by default."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    stem: ClassVar[str] = ""

    name: Name | None = None
    input: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Activating(Layer):
    """Describe what an activation needs; None takes the list's own.

    bits: of its output. integer: bits of a ReLU's output left of the point. table_size: entries of a sigmoid or tanh.
    """

    bits: Bits | None = None
    integer: Integer | None = None
    table_size: TableSize = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted(Activating):
    """Describe a layer with weights: fixed<bits,1>; its activation has as many bits, or `activation_bits`."""

    bias: Truth = True
    sparsity: Sparsity | None = None
    activation: Activation | None = None
    activation_bits: Bits | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense(Weighted):
    """Describe a fully connected layer."""

    stem: ClassVar[str] = "dense"
    units: Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv1D(Weighted):
    """Describe a convolution of a sequence."""

    stem: ClassVar[str] = "conv"
    filters: Size
    kernel: Size
    stride: Size = 1
    padding: Padding = "valid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv2D(Weighted):
    """Describe a convolution of an image; one number stands for rows and columns."""

    stem: ClassVar[str] = "conv"
    filters: Size
    kernel: Pair
    stride: Pair = (1, 1)
    padding: Padding = "valid"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pool(Layer):
    stem: ClassVar[str] = "pool"
    size: Pair
    stride: Pair | None = None
    padding: Padding = "valid"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxPool(_Pool):
    """Describe a pool that takes the largest; of a sequence, the second number of a pair counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePool(_Pool):
    """Describe a pool that takes the average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalMaxPool(Layer):
    """Describe the largest of all pixels."""

    stem: ClassVar[str] = "pool"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalAveragePool(Layer):
    """Describe the average of all pixels."""

    stem: ClassVar[str] = "pool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flatten(Layer):
    """Describe a tensor laid out as one row."""

    stem: ClassVar[str] = "flatten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Add(Layer):
    """Describe a sum of two tensors: the layer before, or `input`, and the one it is added `to`."""

    stem: ClassVar[str] = "add"
    to: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Relu(Activating):
    """Describe a ReLU whose output is ufixed<bits,integer>."""

    stem: ClassVar[str] = "relu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sigmoid(Activating):
    """Describe a sigmoid read from a table, rounded to ufixed<bits,0>."""

    stem: ClassVar[str] = "sigmoid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tanh(Activating):
    """Describe a tanh read from a table, rounded to fixed<bits,1>."""

    stem: ClassVar[str] = "tanh"


KINDS: Mapping[str, type[Layer]] = MappingProxyType(
    {
        "dense": Dense,
        "conv1d": Conv1D,
        "conv2d": Conv2D,
        "max_pool": MaxPool,
        "average_pool": AveragePool,
        "global_max_pool": GlobalMaxPool,
        "global_average_pool": GlobalAveragePool,
        "flatten": Flatten,
        "add": Add,
        "relu": Relu,
        "sigmoid": Sigmoid,
        "tanh": Tanh,
    }
)
"""Kinds of layers as a YAML file names them."""


def kind_of(layer: Layer) -> str:
    """Return what a YAML file calls a layer's kind."""
    return next(kind for kind, described in KINDS.items() if described is type(layer))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """Hold a network that is not trained.

    origin: what the list is called in messages. shape, type: of the input; `type` None is hls4ml's default. bits,
    sparsity, integer: for layers that do not say. seed: of the random weights.
    """

    origin: str
    name: str
    shape: tuple[int, ...]
    type: FixedType | None = None
    input_name: str = "features"
    io_type: str = "io_parallel"
    bits: int
    sparsity: float = 0.0
    integer: int = 0
    seed: int = 0
    layers: tuple[Layer, ...]
