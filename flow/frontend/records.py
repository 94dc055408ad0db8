"""A parsed model, ready for hls4ml: one record per layer that hls4ml will see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flow.fixed import FixedType

Port = tuple[str, str]  # (label, suffix): names one record


@dataclass(frozen=True, slots=True)
class Record:
    """Hold one layer as hls4ml's parser would describe it.

    label: the user's layer; suffix: what hls4ml appends for parts of a layer ("_relu"). entry: hls4ml's layer
    dictionary without name and inputs. inputs: the records that feed it. kinds: the names by which a
    configuration's LayerType may address it. owned: types set by the model's own quantizers. advised: types that
    suit the data better than hls4ml's default. limit: for the cut of a leaky ReLU's range, ±2**limit. keeps_type: the
    result has its input's type unless the user asks for another (hls4ml would take its default).
    """

    label: str
    entry: Mapping[str, Any]
    inputs: tuple[Port, ...] = ()
    suffix: str = ""
    kinds: tuple[str, ...] = ()
    owned: Mapping[str, FixedType] = field(default_factory=dict)
    advised: Mapping[str, FixedType] = field(default_factory=dict)
    limit: int | None = None
    keeps_type: bool = False

    @property
    def port(self) -> Port:
        """Return the record's name as other records refer to it."""
        return (self.label, self.suffix)

    @property
    def spelled(self) -> str:
        """Return the name by which the user's configuration addresses it."""
        return self.label + self.suffix


@dataclass(frozen=True, slots=True)
class ParsedModel:
    """Hold a whole model: records in topological order, its outputs and what was left out.

    labels: every layer of the user's, also those without a record (dropout, a final softmax).
    """

    name: str
    labels: tuple[str, ...]
    records: tuple[Record, ...]
    outputs: tuple[Port, ...]
    input_shapes: dict[str, tuple[int, ...]]
    softmax: str | None = None
    notes: tuple[str, ...] = ()
