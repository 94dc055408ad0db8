"""Pooling, copied out of hls4ml's graph: equal to the C simulation bit for bit, or refused with a reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.errors import UserError
from flow.fixed import FixedType, IntArray
from flow.frontend.border import to_graph
from flow.frontend.csim import compile_csim
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Pool
from flow.graph.store import from_json, to_json
from tests.frontend.pooling_networks import BOTH, PARALLEL_ONLY, PoolCase, pool_branches, pool_layer
from tests.frontend.sign_networks import coded
from tests.networks import Branches, to_model, vectors

IO_TYPES = ("io_parallel", "io_stream")


@dataclass(frozen=True)
class Compared:
    graph: Graph
    raw: dict[str, IntArray]
    simulated: tuple[IntArray, ...]

    def wrong(self, graph: Graph | None = None) -> list[str]:
        """Return the outputs that differ anywhere."""
        values = evaluate(graph or self.graph, self.raw)
        return [
            name
            for name, theirs in zip(self.graph.outputs, self.simulated, strict=True)
            if (values[name].raw.reshape(len(theirs), -1).astype(object) != theirs.astype(object)).any()
        ]

    def changed(self, **fields: Any) -> Graph:
        """Return the graph with every pool changed so."""
        nodes = tuple(replace(n, **fields) if isinstance(n, Pool) else n for n in self.graph.nodes)
        return replace(self.graph, nodes=nodes)


@pytest.fixture(scope="module", params=IO_TYPES)
def compared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    folder = tmp_path_factory.mktemp("pools")
    cases = BOTH * 2 + PARALLEL_ONLY * 2 if request.param == "io_parallel" else BOTH * 3
    model = to_model(pool_branches(cases, 1), folder, io_type=request.param)
    graph = to_graph(model, name="net", label_of={})
    raw = vectors(np.random.default_rng(2), graph, 200)
    simulated = compile_csim(model, folder).run_raw(tuple(raw[name] for name in graph.inputs))
    return Compared(graph, raw, simulated)


@pytest.mark.eda
def test_pools_equal_the_c_simulation(compared: Compared) -> None:
    assert compared.wrong() == []
    assert compared.wrong(from_json(to_json(compared.graph), "model.json")) == []


@pytest.mark.eda
def test_other_arithmetic_is_seen(compared: Compared) -> None:
    arithmetics = {n.arithmetic for n in compared.graph.nodes if isinstance(n, Pool)}
    assert arithmetics in ({"parallel"}, {"streamed", "running"})
    for other in ("parallel", "streamed", "running"):
        differs = {n.name for n in compared.graph.nodes if isinstance(n, Pool) and n.arithmetic != other}
        found = set(compared.wrong(compared.changed(arithmetic=other)))
        assert found <= differs
        assert bool(found) == bool(differs)


@pytest.mark.eda
def test_a_wrong_count_of_cells_is_seen(compared: Compared) -> None:
    padded = {n.name for n in compared.graph.nodes if isinstance(n, Pool) and n.op == "average" and any(n.window.pads)}
    counted = {n.name for n in compared.graph.nodes if isinstance(n, Pool) and n.count_padding}
    others = padded - counted
    assert set(compared.wrong(compared.changed(count_padding=False))) <= counted
    found = set(compared.wrong(compared.changed(count_padding=True)))
    assert found <= others
    assert len(found) >= len(others) / 2


@pytest.mark.eda
def test_divisions_that_round_down_are_seen(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    averages = [n for n in compared.graph.nodes if isinstance(n, Pool) and n.op == "average"]
    monkeypatch.setattr("flow.graph.nodes.pool.np.where", _floors(np.where))
    assert len(compared.wrong()) > len(averages) / 4


def _floors(where: Any) -> Any:
    """Return a `where` that divides negative totals as positive ones."""

    def wrong(condition: Any, first: Any, second: Any) -> Any:
        is_division = condition.ndim == 3 and condition.shape == np.shape(first) == np.shape(second)
        return second if is_division else where(condition, first, second)

    return wrong


def refused(
    layer: dict[str, Any],
    io_type: str,
    *,
    x: str = "ap_fixed<8,3>",
    accum: str = "auto",
    implementation: str = "LineBuffer",
) -> str:
    """Return what the border says of one layer."""
    shape = [layer.get("in_height", 0), layer.get("in_width", 0)] if "in_height" in layer else [layer["n_in"]]
    start = {"name": "x", "class_name": "InputLayer", "input_shape": [*shape, layer["n_filt"]]}
    config = {"x": {"Precision": {"result": x}}, "p": {"Precision": {"accum": accum, "result": x}}}
    general = {"Precision": "ap_fixed<16,6>", "ReuseFactor": 1, "ConvImplementation": implementation}
    branches = Branches((start, layer), {"Model": general, "LayerName": config}, ("x",), ("p",))
    model = to_model(branches, Path("none"), io_type=io_type)
    with pytest.raises(UserError) as error:
        to_graph(model, name="net", label_of={"p": "the pool"})
    assert str(error.value).startswith("layer 'the pool' (")
    assert "\n" not in str(error.value)
    return str(error.value)


SLIDING = PoolCase("Max", (6, 5), 2, (2, 2), (1, 2))


@pytest.mark.parametrize(
    ("case", "io_type", "says"),
    [
        (replace(SLIDING, padding="same"), "io_stream", "padding"),
        (replace(SLIDING, padding="same", op="Average"), "io_stream", "padding"),
        (SLIDING, "io_stream", "strides (1, 2) equal to the pool_size (2, 2)"),
        (PoolCase("Average", (5,), 2, (3,), (1,), "same"), "io_stream", "padding"),
    ],
)
def test_what_the_c_program_stops_at_is_refused(case: PoolCase, io_type: str, says: str) -> None:
    assert says in refused(pool_layer(case, "p", "x"), io_type)


def test_padded_maxima_of_unsigned_values_are_refused() -> None:
    case = PoolCase("Max", (6, 5), 2, (3, 2), (2, 1), "same")
    assert "ufixed<8,3>" in refused(pool_layer(case, "p", "x"), "io_parallel", x="ap_ufixed<8,3>")
    averaged = pool_layer(replace(case, op="Average"), "p", "x")
    assert "int<8>" in refused(averaged, "io_parallel", accum="ap_int<8>")


def test_windows_that_hls4ml_lays_elsewhere_are_refused() -> None:
    layer = pool_layer(replace(SLIDING, stride=(2, 2)), "p", "x")
    assert "places" in refused(layer | {"out_width": 3}, "io_parallel")
    assert "channels_first" in refused(layer | {"data_format": "channels_first"}, "io_parallel")
    assert "outside" in refused(layer | {"pad_left": 2, "out_width": 3}, "io_parallel")
    assert "larger than" in refused(layer | {"pool_height": 9}, "io_parallel")
    assert "LineBuffer" in refused(layer, "io_stream", implementation="Encoded")


def test_a_sum_is_exact_where_no_step_loses_anything() -> None:
    node = pool_node(FixedType(8, 4))
    assert node.is_exact(FixedType(6, 2))
    assert not node.is_exact(FixedType(9, 2))
    saturating = FixedType(8, 4, overflow=FixedType(8, 4).overflow.SAT)
    assert not replace(node, accumulator=saturating).is_exact(FixedType(7, 3))
    assert replace(node, accumulator=saturating).is_exact(FixedType(6, 2))


def pool_node(accumulator: FixedType) -> Pool:
    model = to_model(pool_branches((replace(SLIDING, op="Average"),), 3), Path("none"))
    (node,) = (n for n in to_graph(model, name="net", label_of={}).nodes if isinstance(n, Pool))
    return replace(node, accumulator=accumulator)


def test_sums_that_may_leave_the_accumulator_are_said() -> None:
    case = PoolCase("Average", (6, 6), 1)
    notes = []
    for accum in ("ap_fixed<13,8>", "ap_fixed<14,9>"):
        named = {"x": {"Precision": {"result": "ap_fixed<8,3>"}}, "p": {"Precision": {"accum": accum}}}
        start = {"name": "x", "class_name": "InputLayer", "input_shape": [6, 6, 1]}
        branches = Branches((start, pool_layer(case, "p", "x")), {"LayerName": named}, ("x",), ("p",))
        notes.append(to_graph(to_model(branches, Path("none")), name="net", label_of={}).notes)
    assert "36 cells can reach -144 … 142.875, beyond the accumulator fixed<13,8>" in notes[0][0]
    assert notes[1] == ()


@pytest.mark.parametrize(
    ("case", "accum", "says"),
    [
        (PoolCase("Max", (6,), 2, (3,), (2,), "same"), "auto", "padding 'valid'"),
        (PoolCase("Max", (6,), 2, (2,), (2,)), "ap_fixed<4,1>", "the code 1"),
        (PoolCase("Max", (6,), 2, (2,), (2,)), "ap_fixed<2,2>", ""),
        (PoolCase("Max", (6,), 2, (2,), (2,)), "auto", ""),
    ],
)
def test_binary_values_are_pooled_as_their_codes_can_be(case: PoolCase, accum: str, says: str) -> None:
    layer = pool_layer(case, "p", "s")
    model = to_model(coded((layer,), {"p": {"accum": accum}}, [6, 2]), Path("none"))
    if says:
        with pytest.raises(UserError, match=says):
            to_graph(model, name="net", label_of={})
        return
    (pool,) = (n for n in to_graph(model, name="net", label_of={}).nodes if isinstance(n, Pool))
    assert pool.accumulator == pool.type == FixedType(2, 2)
