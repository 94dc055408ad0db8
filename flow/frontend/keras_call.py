"""One use of a Keras 3 layer, as the functions that make its records see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flow.errors import UserError
from flow.frontend.qkeras import Floats
from flow.frontend.records import Port

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Hold a layer and the tensors around it.

    layer: the live Keras layer. inputs: the records that feed it, in order; shapes: theirs; shape: of its output, all
    without the batch axis. io_type: of the conversion.
    """

    layer: Any
    inputs: tuple[Port, ...]
    shapes: tuple[Shape, ...]
    shape: Shape
    io_type: str

    @property
    def label(self) -> str:
        """Return the user's name of the layer."""
        return str(self.layer.name)

    @property
    def kind(self) -> str:
        """Return the layer's class."""
        return type(self.layer).__name__

    @property
    def where(self) -> str:
        """Return how messages name the layer."""
        return f"layer '{self.label}' ({self.kind})"

    @property
    def is_stream(self) -> bool:
        """Tell whether tensors are streams of pixels."""
        return self.io_type == "io_stream"

    def refuse(self, what: str, instead: str) -> UserError:
        """Return the error for an option; what: the option and its value, instead: what would be accepted."""
        return UserError(f"{self.where}: {what} is not supported; {instead}")

    def check_channels_last(self) -> None:
        """Raise UserError for channels in front; hls4ml would have to turn every tensor."""
        if getattr(self.layer, "data_format", "channels_last") != "channels_last":
            raise self.refuse("data_format='channels_first'", "channels_last is")

    def weights(self, name: str) -> Floats:
        """Return a variable of the layer; raise UserError unless all values are finite."""
        import keras

        data = np.asarray(keras.ops.convert_to_numpy(getattr(self.layer, name)), dtype=np.float64)
        if not np.all(np.isfinite(data)):
            raise UserError(f"{self.where}: {name} holds NaN or infinite values")
        return data
