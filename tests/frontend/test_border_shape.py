"""Layers that move elements: equal to the C simulation bit for bit in both io types, or refused with a reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from flow.errors import UserError
from flow.fixed import IntArray
from flow.frontend.border import to_graph
from flow.frontend.csim import compile_csim
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import AnyNode, Embedding, Rearrange
from flow.graph.passes import run_passes
from flow.graph.store import from_json, to_json
from tests.frontend.moving_networks import LAST, Networks, moving_branches
from tests.networks import to_model, vectors

IO_TYPES = ("io_parallel", "io_stream")


@dataclass(frozen=True)
class Compared:
    graph: Graph
    raw: dict[str, IntArray]
    simulated: tuple[IntArray, ...]

    def wrong(self, graph: Graph | None = None) -> list[str]:
        """Return the outputs that differ anywhere."""
        used = graph or self.graph
        values = evaluate(used, self.raw)
        return [
            name
            for name, theirs in zip(used.outputs, self.simulated, strict=True)
            if (values[name].raw.reshape(len(theirs), -1).astype(object) != theirs.astype(object)).any()
        ]

    def changed(self, old: AnyNode, new: AnyNode) -> Graph:
        """Return the graph with another node in the place of one."""
        return replace(self.graph, nodes=tuple(new if node is old else node for node in self.graph.nodes))


@pytest.fixture(scope="module", params=IO_TYPES)
def compared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    folder = tmp_path_factory.mktemp("moves")
    model = to_model(moving_branches(1, request.param), folder, io_type=request.param)
    graph = to_graph(model, name="net", label_of={})
    raw = vectors(np.random.default_rng(2), graph, 100)
    simulated = compile_csim(model, folder).run_raw(tuple(raw[name] for name in graph.inputs))
    return Compared(graph, raw, simulated)


@pytest.mark.eda
def test_moved_elements_equal_the_c_simulation(compared: Compared) -> None:
    assert len(compared.graph.outputs) > 30
    assert compared.wrong() == []
    assert compared.wrong(from_json(to_json(compared.graph), "model.json")) == []
    assert compared.wrong(run_passes(compared.graph)) == []


@pytest.mark.eda
def test_streams_that_are_cloned_or_repacked_leave_no_nodes(compared: Compared) -> None:
    kinds = {node.kind for node in compared.graph.nodes}
    assert kinds <= {"input", "rearrange", "embedding", "reshape", "quantize"}
    assert not [node.name for node in compared.graph.nodes if "clone" in node.name]


@pytest.mark.eda
def test_elements_in_wrong_places_are_seen(compared: Compared) -> None:
    rearranged = [n for n in compared.graph.nodes if isinstance(n, Rearrange) and n.name in compared.graph.outputs]
    assert len(rearranged) > 25
    seen = tried = 0
    for node in rearranged:
        indices = node.indices.copy()
        indices[[0, -1]] = indices[[-1, 0]]  # both ends of the tensor
        if not np.array_equal(indices, node.indices):
            bad = compared.changed(node, replace(node, indices=indices))
            tried += 1
            seen += node.name in compared.wrong(bad)
    assert tried > 25
    assert seen > 0.9 * tried  # an output type without the bits that come in hides the fault


@pytest.mark.eda
def test_wrong_bits_of_a_table_are_seen(compared: Compared) -> None:
    tables = [n for n in compared.graph.nodes if isinstance(n, Embedding)]
    assert len(tables) == 3
    for node in tables:
        bad = compared.changed(node, replace(node, rows=node.rows[::-1].copy()))
        assert compared.wrong(bad) == [node.name]


def refused(net: Networks, io_type: str = "io_parallel") -> str:
    """Return what the border says of a model."""
    model = to_model(net.branches(), Path("none"), io_type=io_type)
    with pytest.raises(UserError) as error:
        to_graph(model, name="net", label_of={net.outputs[0]: "the layer"})
    assert str(error.value).startswith("layer 'the layer' (")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_orders_that_streams_turn_wrongly_are_refused() -> None:
    net = Networks(1)
    net.layer("Transpose", [net.input((3, 5))], perm=[0, 1])
    assert "io_stream" in refused(net, "io_stream")


def test_resizes_that_hls4ml_cannot_do_are_refused() -> None:
    size = {"in_height": 1, "out_height": 1, "in_width": 4, "n_chan": 3, **LAST}
    for changed, says in (
        ({"algorithm": "bilinear"}, "'nearest' is"),
        ({"out_width": 10}, "multiple"),
        ({"data_format": "channels_first"}, "channels_last"),
    ):
        net = Networks(1)
        fields = {"algorithm": "nearest", "out_width": 8, **size, **changed}
        net.layer("Resize", [net.input((4, 3))], **fields)
        assert says in refused(net)


def test_a_factor_that_the_ratio_of_16_bits_cannot_hold_is_refused() -> None:
    net = Networks(1)
    size = {"in_height": 1, "out_height": 1, "in_width": 300, "out_width": 300 * 300, "n_chan": 1, **LAST}
    net.layer("Resize", [net.input((300, 1))], algorithm="nearest", **size)
    assert "wrong pixels" in refused(net)


def test_casts_to_integers_without_integer_bits_are_refused() -> None:
    net = Networks(1)
    parts = [net.input((3,), "ap_fixed<6,2>"), net.input((5,), "ap_fixed<6,0>")]
    net.layer("Concatenate", parts, op="Concatenate1d", axis=1, result="ap_int<4>")
    assert "TRN_ZERO" in refused(net)


def test_tables_are_read_at_integers_only_and_say_where_they_end() -> None:
    size = {"n_in": 4, "vocab_size": 5, "n_out": 2, "embeddings_data": np.ones((5, 2))}
    net = Networks(1)
    net.layer("Embedding", [net.input((4,), "ap_ufixed<3,2>")], **size)
    assert "uint<8>" in refused(net)
    net = Networks(1)
    name = net.layer("Embedding", [net.input((4,), "ap_uint<3>")], result="ap_fixed<6,3>", **size)
    net.named[name]["Precision"]["embeddings"] = "ap_fixed<6,3>"
    graph = to_graph(to_model(net.branches(), Path("none")), name="net", label_of={})
    assert any("5 rows" in note for note in graph.notes)
    found = evaluate(graph, {"x0": np.array([[0, 4, 5, 7]])})[name]
    assert found.raw.tolist() == [[[8, 8], [8, 8], [0, 0], [0, 0]]]
