"""Passes keep the function; verify runs after each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.fixed import FixedType, Overflow, Rounding
from flow.graph import passes
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Input, Quantize, Relu
from tests.networks import random_graph, vectors


@pytest.mark.parametrize("seed", range(40))
def test_passes_keep_every_output(seed: int) -> None:
    graph = random_graph(seed, layers=5, width=(1, 6))
    after = passes.run_passes(graph)
    raw = vectors(np.random.default_rng(seed), graph, 50)
    before, now = evaluate(graph, raw), evaluate(after, raw)
    for name in graph.outputs:
        assert (before[name].raw == now[name].raw).all()


def chain(*types: FixedType) -> Graph:
    nodes = [Input(name="x", label="x", inputs=(), shape=(3,), type=types[0])]
    for k, kind in enumerate(types[1:]):
        nodes.append(Quantize(name=f"q{k}", label=f"q{k}", inputs=(nodes[-1].name,), shape=(3,), type=kind))
    last = Relu(name="r", label="r", inputs=(nodes[-1].name,), shape=(3,), type=types[-1])
    return Graph(name="chain", nodes=(*nodes, last), inputs=("x",), outputs=("r",))


def test_identity_quantizers_go() -> None:
    kind = FixedType(8, 2)
    other = FixedType(8, 2, True, Rounding.RND_CONV, Overflow.SAT)
    assert [n.name for n in passes.run_passes(chain(kind, other, kind)).nodes] == ["x", "r"]


def test_symmetric_quantizer_stays_where_it_does_something() -> None:
    kind = FixedType(8, 2)
    symmetric = FixedType(8, 2, True, Rounding.TRN, Overflow.SAT_SYM)
    after = passes.run_passes(chain(kind, symmetric, symmetric))
    assert [n.name for n in after.nodes] == ["x", "q0", "r"]
    raw = {"x": np.full((1, 3), kind.lo)}
    assert evaluate(after, raw)["q0"].raw.tolist() == [[-127] * 3]


def test_unread_nodes_go_and_inputs_stay() -> None:
    graph = chain(FixedType(8, 2), FixedType(4, 2))
    spare = Input(name="y", label="y", inputs=(), shape=(2,), type=FixedType(4, 1))
    unread = Relu(name="u", label="u", inputs=("y",), shape=(2,), type=FixedType(4, 1))
    graph = replace(graph, nodes=(spare, unread, *graph.nodes), inputs=("x", "y"))
    assert [n.name for n in passes.run_passes(graph).nodes] == ["y", "x", "q0", "r"]


def test_a_pass_that_breaks_the_graph_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "PASSES", (lambda graph: replace(graph, nodes=graph.nodes[1:]),))
    with pytest.raises(ValueError, match="before it is computed"):
        passes.run_passes(chain(FixedType(8, 2), FixedType(4, 2)))
