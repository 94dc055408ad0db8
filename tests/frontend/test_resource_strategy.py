"""hls4ml's Resource strategy against the evaluator: every reuse factor that a plan may choose leaves all bits alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow.fixed import Overflow
from flow.frontend.border import knobs_used, to_graph
from flow.frontend.csim import compile_csim
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Dense
from tests.networks import Branches, random_branches, to_model, vectors


def allowed(graph: Graph, node: Dense) -> range:
    """Return the reuse factors of folded engines: sums that may saturate take one input after the other."""
    (x,) = graph.feeding(node)
    any_order = node.is_linear(x.type) or node.accumulator.overflow is Overflow.WRAP
    return range(1, node.n_in * node.n_out + 1) if any_order else range(node.n_in, node.n_in * node.n_out + 1)


def nearest(n_in: int, n_out: int, planned: int) -> int:
    """Return hls4ml's own factor: of the divisors of n_in and n_in times those of n_out, the nearest, then smaller."""
    own = [k for k in range(1, n_in + 1) if n_in % k == 0]
    own += [n_in * k for k in range(1, n_out + 1) if n_out % k == 0]
    return min(own, key=lambda k: (abs(k - planned), k))


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(3))
def test_random_networks_under_random_reuse_factors(seed: int, tmp_path: Path) -> None:
    branches = random_branches(7000 + seed, 40)
    graph = to_graph(to_model(branches, tmp_path / "reference"), name="random", label_of={})
    rng = np.random.default_rng(seed)
    planned = {n.name: int(rng.choice(allowed(graph, n))) for n in graph.nodes if isinstance(n, Dense)}
    named = {
        name: part | ({"Strategy": "Resource", "ReuseFactor": planned[name]} if name in planned else {})
        for name, part in branches.config["LayerName"].items()
    }
    model = to_model(Branches(branches.layers, {"LayerName": named}, branches.inputs, branches.outputs), tmp_path)
    used = knobs_used(model, {name: name for name in planned})
    for name, factor in planned.items():
        node = graph.node(name)
        assert isinstance(node, Dense)
        assert (used[name].strategy, used[name].reuse_factor) == ("resource", nearest(node.n_in, node.n_out, factor))
    assert len({knob.reuse_factor for knob in used.values()}) > 5
    drawn = vectors(rng, graph, 100)
    simulated = compile_csim(model, tmp_path).run_raw(tuple(drawn[name] for name in graph.inputs))
    values = evaluate(graph, drawn)
    for name, flat in zip(graph.outputs, simulated, strict=True):
        assert np.array_equal(values[name].raw.reshape(100, -1).astype(object), flat.astype(object)), name
