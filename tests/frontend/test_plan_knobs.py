"""Reuse factors from the request to the graph, and from the plan to hls4ml's project."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flow.engines.engine import Unrolled
from flow.engines.folded import Folded
from flow.engines.streamed import Streamed
from flow.frontend.border import to_graph
from flow.frontend.source import Knobs
from flow.graph.graph import Asked
from flow.graph.store import load_graph
from flow.progress import Progress
from flow.steps.build import planned_knobs
from flow.steps.context import Options, open_context
from flow.steps.convert import convert
from tests.frontend.fake_source import relu_net
from tests.frontend.legacy_files import DENSE_NET, write_legacy


def test_a_folded_matrix_is_resource_and_all_else_latency(tmp_path: Path) -> None:
    source = relu_net()
    graph = to_graph(source.convert(tmp_path), name="net", label_of=source.label_of)
    # what hls4ml makes of one layer in several parts bears one label
    graph = replace(graph, nodes=tuple(replace(n, label="first") if n.name == "relu" else n for n in graph.nodes))
    first = Folded(("first",), "output_serial", 6, 5, 6, 2, "bram", "dsp", read=1, multiply=1, add=1, finish=0)
    second = Folded(("second",), "input_serial", 5, 3, 2, 1, "lutrom", "lut", read=1, multiply=0, add=1, finish=1)
    assert planned_knobs(graph, (first, Unrolled(("relu",), 1), second)) == {
        "first": Knobs(3, "Resource"),
        "second": Knobs(9, "Resource"),
    }
    assert planned_knobs(graph, (Unrolled(("first", "relu"), 2), second)) == {
        "first": Knobs(1, "Latency"),
        "second": Knobs(9, "Resource"),
    }
    of_a_beat = Streamed(("first",), (3,), 6, None, first)
    assert planned_knobs(graph, (of_a_beat, Unrolled(("relu",), 1), second))["first"] == Knobs(3, "Resource")
    assert planned_knobs(graph, (Streamed(("first",), (3,), 5, None, Unrolled(("first",), 1)),)) == {
        "first": Knobs(1, "Latency")
    }


@pytest.mark.eda
def test_the_request_and_a_configuration_file_reach_the_graph(tmp_path: Path) -> None:
    model = write_legacy(tmp_path, "net", DENSE_NET)
    (tmp_path / "request.toml").write_text(
        f'model = "{model.name}"\n[hls.Model]\nReuseFactor = 2\n[hls.LayerName.fc1]\nStrategy = "Resource"\n'
    )
    config = tmp_path / "config.yml"
    config.write_text("HLSConfig: {LayerName: {fc2: {ReuseFactor: 8}}}")
    asked = Options(model=str(tmp_path), vectors="20", out=tmp_path / "run")
    both = (Asked("fc1", 2, "Resource"), Asked("fc2", 2, "Latency"))
    for options, wishes in ((asked, both), (replace(asked, config=config), (Asked("fc2", 8, "Latency"),))):
        run = open_context(options, Progress.silent())
        convert(run)
        assert load_graph(run.project.model).asked == wishes
