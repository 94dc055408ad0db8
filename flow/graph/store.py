"""`model.json`: the graph as a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from flow.errors import UserError
from flow.graph.graph import Graph
from flow.graph.verify import verify
from flow.stored import parse_stored

FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    format: int
    graph: Graph


_ADAPTER = TypeAdapter(_Stored)


def to_json(graph: Graph) -> bytes:
    """Return the graph's file contents: the same graph, the same bytes."""
    return _ADAPTER.dump_json(_Stored(FORMAT, graph)) + b"\n"


def from_json(data: bytes, origin: str) -> Graph:
    """Read a graph; raise UserError, naming `origin`, when it is not one."""
    stored = parse_stored(_ADAPTER, data, origin, "a model.json")
    try:
        if stored.format != FORMAT:
            raise ValueError(f"format {stored.format} is not {FORMAT}; convert the model again")
        verify(stored.graph)
    except (ValueError, UserError) as error:
        raise UserError(f"{origin}: {error}") from None
    return stored.graph


def load_graph(path: Path) -> Graph:
    """Read a saved `model.json`; raise UserError when there is none or it is not one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    return from_json(data, str(path))
