"""A layer list becomes the graph that a qkeras network of the same shape becomes: nodes, shapes, every type."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from flow.frontend.border import to_graph
from flow.frontend.load import load
from flow.graph.graph import Graph
from flow.graph.passes import run_passes
from flow.sketch import assemble
from flow.sketch.chain import chain_sketch
from flow.sketch.document import read_sketch
from tests.sketch import qkeras_shapes

# what training makes, and what the tables' results are rounded to, which a layer list says otherwise
DRAWN = {"weights", "bias"}
TABLES = {"tanh1": "fixed<6,1,RND_CONV,SAT>", "sigmoid1": "ufixed<6,0,RND_CONV,SAT>"}
INNER = {"dense1_tanh": "fixed<5,1,RND_CONV,SAT>"}


def converted(model, tmp_path, *, stream: bool, types: dict[str, str]) -> Graph:
    config = {
        "IOType": "io_stream" if stream else "io_parallel",
        "HLSConfig": {"LayerName": {name: {"Precision": {"result": kind}} for name, kind in types.items()}},
    }
    source = load(model, config)
    graph = to_graph(source.convert(tmp_path / "hls"), name="net", label_of=source.label_of)
    return run_passes(replace(graph, io_type=source.io_type))


def described(graph: Graph) -> list[dict[str, object]]:
    """Return every node's fields; of drawn arrays, their shapes."""
    found = []
    for node in graph.nodes:
        values = {f.name: getattr(node, f.name) for f in fields(node)}
        values |= {name: values[name].shape for name in DRAWN & set(values)}
        if "values" in values:
            values["values"] = values["values"].tolist()
        found.append(values)
    return found


def same(ours: Graph, theirs: Graph) -> None:
    for mine, its in zip(described(ours), described(theirs), strict=True):
        assert mine == its
    assert (ours.inputs, ours.outputs, ours.io_type) == (theirs.inputs, theirs.outputs, theirs.io_type)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("network", "types"), [("images", TABLES), ("sequences", {}), ("largest", INNER)])
def test_a_list_becomes_what_the_same_qkeras_network_becomes(network, types, stream, tmp_path):
    model, listed = getattr(qkeras_shapes, network)(stream=stream)
    path = tmp_path / "net.yaml"
    path.write_text(listed)
    ours = run_passes(assemble.to_graph(read_sketch(path, "net")))
    same(ours, converted(model, tmp_path, stream=stream, types=types))


def test_a_chain_of_a_command_line_becomes_what_the_same_qkeras_network_becomes(tmp_path):
    ours = run_passes(assemble.to_graph(chain_sketch("16-8-8-5", "6,4,3")))
    same(ours, converted(qkeras_shapes.chain(), tmp_path, stream=False, types={}))


def test_overrides_do_to_a_list_what_they_do_to_a_network(tmp_path):
    precision = {
        "features": "fixed<9,4>",
        "dense1": {"weight": "fixed<8,2>", "accum": "fixed<14,6,TRN,SAT>"},
        "dense2": "fixed<10,3,RND,SAT>",
        "relu2": {"result": "ufixed<5,2>"},
    }
    ours = run_passes(assemble.to_graph(chain_sketch("16-8-8-5", "6,4,3"), precision))
    from flow.frontend.config import read_config

    source = load(qkeras_shapes.chain(), replace(read_config(None), precision=precision))
    theirs = run_passes(to_graph(source.convert(tmp_path / "hls"), name="net", label_of=source.label_of))
    same(ours, theirs)
