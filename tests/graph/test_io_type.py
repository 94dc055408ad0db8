"""A graph says how hls4ml's project hands tensors on, and keeps it when it is stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flow.graph.store import load_graph, to_json
from flow.graph.verify import verify
from tests.networks import chain_graph


def test_the_io_type_is_checked_and_kept(tmp_path) -> None:
    graph = replace(chain_graph((3, 2)), io_type="io_stream")
    verify(graph)
    (tmp_path / "model.json").write_bytes(to_json(graph))
    assert load_graph(tmp_path / "model.json").io_type == "io_stream"
    with pytest.raises(ValueError, match="'io_serial' is no io_type"):
        verify(replace(graph, io_type="io_serial"))
