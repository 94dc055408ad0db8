"""What is gathered while a ModelGraph is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flow.fixed import FixedType
from flow.graph.nodes import AnyNode

_MERGED = "bnbt_"
"""What hls4ml puts before the name of a batch normalization that it merged with a sign."""


class Copy:
    """Gather nodes and notes while the layers are read in order."""

    def __init__(self, label_of: Mapping[str, str]) -> None:
        """label_of: hls4ml layer name -> the user's layer name."""
        self.label_of = label_of
        self.nodes: list[AnyNode] = []
        self.notes: list[str] = []
        self.made_by: dict[str, str] = {}
        self.by_name: dict[str, AnyNode] = {}

    def append(self, node: AnyNode) -> None:
        """Append a node; the layer that it is part of may have more."""
        self.nodes.append(node)
        self.by_name[node.name] = node

    def feeding(self, layer: Any) -> tuple[str, ...]:
        """Return the names of the nodes that feed a layer."""
        return tuple(self.made_by[tensor] for tensor in layer.inputs)

    def type_before(self, common: Mapping[str, Any]) -> FixedType:
        """Return the type of what feeds a node first; common: the node's fields so far."""
        return self.by_name[common["inputs"][0]].type


def label_for(name: str, label_of: Mapping[str, str]) -> str:
    """Return the user's label of an hls4ml layer; layers that hls4ml derives (`fc1_relu`) belong to their base."""
    for base in (name, name.removeprefix(_MERGED)):
        stem, separator = base, "_"
        while stem not in label_of and separator:
            stem, separator, _ = stem.rpartition("_")
        if stem in label_of:
            return label_of[stem]
    return name
