"""A layer of a Keras 2 file as Keras 3 would have it, so that both get their records from the same functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from flow.frontend.keras_call import Call, Shape
from flow.frontend.legacy_file import Layer
from flow.frontend.qkeras import Floats
from flow.frontend.records import Port


@dataclass(frozen=True, slots=True, eq=False)
class StoredCall(Call):
    """Hold a layer whose options are attributes of `layer` and whose variables are at hand; file: for messages."""

    called: str
    file: Path
    variables: Mapping[str, Floats]

    @property
    def kind(self) -> str:
        """Return the layer's class."""
        return self.called

    @property
    def where(self) -> str:
        """Return how messages name the layer."""
        return f"{self.file}, layer '{self.label}' ({self.called})"

    def weights(self, name: str) -> Floats:
        """Return a variable of the layer."""
        return self.variables[name]


def stored_call(
    layer: Layer,
    sources: tuple[Port, ...],
    shape: Shape,
    options: Mapping[str, Any],
    variables: Mapping[str, Floats] | None = None,
) -> StoredCall:
    """Return a use of a layer; shape: of its output; options and variables: by the names that Keras 3 gives them."""
    attributes = SimpleNamespace(name=layer.label, **options)
    return StoredCall(attributes, sources, layer.shapes, shape, layer.io_type, layer.kind, layer.file, variables or {})
