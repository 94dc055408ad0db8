"""Activations of hls4ml, copied out: equal to the C simulation bit for bit, or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flow.graph.nodes.table as table_node
from flow.errors import UserError
from flow.fixed import FixedType, IntArray, Rounding, from_float, round_off
from flow.frontend.border import to_graph
from flow.frontend.border.functions import bin_values, table_function
from flow.frontend.csim import compile_csim
from flow.graph.graph import Graph
from flow.graph.node import Node
from flow.graph.nodes import AnyNode, BoundedRelu, HardSigmoid, PRelu, Relu, Sign, Table
from flow.graph.store import from_json, to_json
from tests.frontend.activation_networks import (
    NARROW,
    WIDE,
    Chains,
    corner_vectors,
    other_chains,
    parametrized,
    simple,
    table_chains,
)
from tests.frontend.fake_source import dense_layer
from tests.frontend.sign_networks import SUMS, binary_dense, coded, coded_networks, signs
from tests.frontend.test_border import Compared, merged
from tests.networks import Branches, to_model

IO_TYPES = ("io_parallel", "io_stream")
TWOS = dense_layer("d", "s", np.full((5, 2), -2.0), np.zeros(2))
B, T = "binary_tanh", "ternary_tanh"


def simulate(branches: Branches, folder: Path, io_type: str, count: int = 2500) -> Compared:
    model = to_model(branches, folder, io_type=io_type)
    graph = to_graph(model, name="net", label_of={})
    csim = compile_csim(model, folder)
    raw = corner_vectors(graph, count)
    return Compared(graph, raw, csim.run_raw(tuple(raw[name] for name in graph.inputs)))


def wrong(found: Compared, graph: Graph | None = None) -> set[str]:
    """Return the outputs that differ from the C simulation."""
    return {name for name, count in found.mismatches(graph).items() if count}


def changed(graph: Graph, kind: type[Node], change: Callable[[Any], AnyNode]) -> Graph:
    """Return the graph with each node of a kind changed."""
    return replace(graph, nodes=tuple(change(node) if isinstance(node, kind) else node for node in graph.nodes))


def nodes_of(graph: Graph, kind: type[Node]) -> set[str]:
    return {node.name for node in graph.nodes if isinstance(node, kind)}


@pytest.fixture(scope="module", params=IO_TYPES)
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    return simulate(table_chains(), tmp_path_factory.mktemp("tables"), request.param)


@pytest.fixture(scope="module", params=IO_TYPES)
def others(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    return simulate(other_chains(request.param), tmp_path_factory.mktemp("others"), request.param)


@pytest.fixture(scope="module", params=IO_TYPES)
def binaries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    parts = (*coded_networks(), signs(B, B, 1), signs(B, T, 2), signs(T, B, 3), signs(T, T, 4), signs(B, B, 6, n=9))
    return simulate(merged(*parts), tmp_path_factory.mktemp("signs"), request.param, 1000)


@pytest.mark.eda
def test_tables_equal_the_c_simulation(tables: Compared) -> None:
    assert wrong(tables) == set()
    stored = from_json(to_json(tables.graph), "model.json")
    assert wrong(tables, stored) == set()
    assert len(nodes_of(tables.graph, Table)) == len(tables.graph.outputs)


@pytest.mark.eda
def test_faults_in_tables_are_seen(tables: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    every = len(tables.graph.outputs)
    shifted = changed(tables.graph, Table, lambda node: replace(node, values=np.roll(node.values, 1)))
    assert len(wrong(tables, shifted)) > 0.8 * every
    wider = changed(tables.graph, Table, lambda node: replace(node, span=2 * node.span))
    assert len(wrong(tables, wider)) > 0.8 * every
    without = changed(tables.graph, Table, lambda node: replace(node, scale=0, scale_type=None))
    scaled = {node.name for node in tables.graph.nodes if isinstance(node, Table) and node.scale_type is not None}
    assert wrong(tables, without) == scaled
    real = round_off

    def down(raw: IntArray, shift: int, mode: Rounding) -> IntArray:
        assert mode is Rounding.TRN_ZERO
        return real(raw, shift, Rounding.TRN)

    monkeypatch.setattr(table_node, "round_off", down)
    assert len(wrong(tables)) > 0.2 * every  # inputs from 0 on round down anyway, and coarse ones never


@pytest.mark.eda
def test_other_activations_equal_the_c_simulation(others: Compared) -> None:
    assert wrong(others) == set()
    for kind in (HardSigmoid, Sign, PRelu, BoundedRelu, Relu):
        assert len(nodes_of(others.graph, kind)) >= 9


@pytest.mark.eda
def test_faults_in_other_activations_are_seen(others: Compared) -> None:
    def seen(kind: type[Node], change: Callable[[Any], Node]) -> float:
        found = wrong(others, changed(others.graph, kind, change))
        assert found <= nodes_of(others.graph, kind)
        return len(found) / len(nodes_of(others.graph, kind))

    assert seen(HardSigmoid, lambda node: replace(node, slope=node.slope - 1)) > 0.5
    assert seen(HardSigmoid, lambda node: replace(node, shift=node.shift - 1)) > 0.8
    assert seen(HardSigmoid, lambda node: replace(node, centred=not node.centred)) == 1.0
    assert seen(Sign, lambda node: replace(node, high=node.high + 1, low=node.low + 1)) > 0.4
    assert seen(Sign, lambda node: replace(node, high=node.low)) > 0.3  # those with a middle
    assert seen(PRelu, lambda node: replace(node, slopes=np.flip(node.slopes))) > 0.5
    assert seen(BoundedRelu, lambda node: replace(node, threshold=0)) > 0.4
    assert seen(Relu, lambda node: replace(node, slope=0)) > 0.5


@pytest.mark.eda
def test_binary_values_equal_the_c_simulation(binaries: Compared) -> None:
    assert wrong(binaries) == set()
    ends = [binaries.graph.node(name) for name in binaries.graph.outputs]
    codes = [node for node, found in zip(ends, binaries.simulated, strict=True) if set(np.unique(found)) == {-1, 1}]
    assert len(codes) == 2  # decoded at the port
    assert all(node.type == FixedType(2, 2) for node in codes)
    assert not any("wraps" in note for note in binaries.graph.notes)


@pytest.mark.eda
def test_faults_in_binary_values_are_seen(binaries: Compared) -> None:
    later = changed(binaries.graph, Sign, lambda node: replace(node, high=node.high + 40, low=node.low + 40))
    assert len(wrong(binaries, later)) > 0.9 * len(binaries.graph.outputs)
    for node in binaries.graph.nodes:
        if node.kind in ("dense", "conv") and node.name in binaries.graph.outputs:
            other = replace(node, bias=node.bias + (1 << node.bias_type.fraction))
            nodes = tuple(other if old is node else old for old in binaries.graph.nodes)
            assert wrong(binaries, replace(binaries.graph, nodes=nodes)) == {node.name}


def copied(branches: Branches, io_type: str = "io_parallel", **labels: str) -> Graph:
    return to_graph(to_model(branches, Path("unwritten"), io_type=io_type), name="net", label_of=labels)


def one(layer: dict[str, Any], x: str = WIDE, result: str = WIDE, io_type: str = "io_parallel", **config: Any) -> Graph:
    """Copy one activation; its label is `my a`."""
    chains = Chains()
    chains.add(layer, x, result, **config)
    return copied(chains.branches(), io_type, a0="my a")


def single(value: Decimal) -> float:
    """Round to single precision, to nearest even."""
    exact = Fraction(value)
    if not exact:
        return 0.0
    exponent = int(np.frexp(float(exact))[1]) - 24
    return float(round(exact / Fraction(2) ** exponent) * Fraction(2) ** exponent)


def true_values(function: str, x: float) -> Decimal:
    """Compute what a table holds with 40 digits, rounding to single precision only where the C++ program does first."""
    e = Decimal(x).exp()
    match function:
        case "sigmoid":
            return 1 / (1 + 1 / e)
        case "tanh":
            return (e * e - 1) / (e * e + 1)
        case "softplus":
            return (1 + e).ln()
        case "softsign":
            return Decimal(x) / (1 + abs(Decimal(x)))
        case "elu":
            return e - 1
        case _:
            return Decimal("1.0507009873554804934193349852946") * Decimal("1.6732632423543772848170429916717") * (e - 1)


@pytest.mark.parametrize("function", ["sigmoid", "tanh", "softplus", "softsign", "elu", "selu"])
def test_entries_are_those_of_exact_arithmetic(function: str) -> None:
    """Whatever C library computed them: they differ in single precision's last bits, but not in hls4ml's type."""
    node = one(simple(function)).node("a0")
    assert isinstance(node, Table)
    assert node.entries == 1024
    kind = FixedType(18, 8)
    compute = table_function(function)
    with localcontext() as context:
        context.prec = 40
        arguments = bin_values(node.span, 1024)
        exact = [true_values(function, x) for x in arguments]
    given = np.array([compute(x) for x in arguments])
    nearest = np.array([single(value) for value in exact])
    assert np.abs(given - nearest).max() <= 4 * np.abs(nearest).max() * 2.0**-24
    assert (from_float(given, kind) == node.values).all()
    assert (from_float(nearest, kind) == node.values).all()


def test_shared_slopes_are_kept_once() -> None:
    slopes = np.array([0.25, -0.5, 0.125])
    layer = {"class_name": "PReLU", "activation": "prelu", "param_data": np.tile(slopes, (2, 1))}
    node = one(layer, shape=(2, 3)).node("a0")
    assert isinstance(node, PRelu)
    assert node.slopes.shape == (3,)
    assert node.elementwise
    own = one(layer | {"param_data": np.arange(6.0).reshape(2, 3)}, shape=(2, 3)).node("a0")
    assert isinstance(own, PRelu)
    assert own.slopes.shape == (2, 3)
    assert not own.elementwise


def test_a_coarse_table_is_noted_where_it_matters() -> None:
    (note,) = one(simple("sigmoid")).notes
    assert note == (
        "layer 'my a': the table of 'sigmoid' has bins of 0.015625, its input comes in steps of 0.000976562; "
        "neighbouring entries differ by up to 4 steps of fixed<16,6>; a table_size of 16384 has a bin for every input"
    )
    assert one(simple("sigmoid"), TableSize=16384, x="ap_fixed<14,4>").notes == ()
    assert one(simple("sigmoid"), result="ap_fixed<8,2>").notes == ()  # a bin is less than a step of the output
    assert one(simple("sigmoid"), x=NARROW).notes == ()  # each bin holds one input
    assert one(simple("elu"), x="ap_ufixed<16,6>").notes == ()  # only inputs below 0 are looked up


def test_the_end_of_a_table_is_noted_where_it_matters() -> None:
    (note,) = one(simple("softplus"), x="ap_fixed<10,6>").notes
    assert note == (
        "layer 'my a': its table ends at 7.98438 with 7.98472, which is also the result up to 31.9375, the end of the "
        "input's type, where the function is 31.9375"
    )
    assert one(simple("softplus"), x="ap_fixed<9,4>").notes == ()
    assert one(simple("tanh"), x="ap_fixed<10,6>", result="ap_fixed<8,2>").notes == ()
    (huge,) = one(simple("softplus"), x="ap_fixed<14,10>").notes
    assert huge.endswith("where the function is 511.938")


def test_numbers_that_do_not_fit_their_types_are_noted() -> None:
    leaky = one(parametrized("LeakyReLU", "leakyrelu", 0.3), Precision={"param": "ap_fixed<8,1>"})
    assert leaky.notes == ("layer 'my a': slope 0.3 is stored as 0.296875 (fixed<8,1>)",)
    over = one(parametrized("ThresholdedReLU", "thresholdedrelu", 0.3), Precision={"param": "ap_fixed<8,1>"})
    assert over.notes == ("layer 'my a': threshold 0.3 is stored as 0.296875 (fixed<8,1>)",)
    elu = one(parametrized("ELU", "elu", 0.3), result="ap_fixed<6,4>", Precision={"param": "ap_fixed<8,1>"})
    assert elu.notes == ("layer 'my a': alpha 0.3 is stored as 0.296875 (fixed<8,1>)",)


def test_a_doubled_input_that_overflows_is_noted() -> None:
    (note,) = one(simple(T), x=NARROW).notes
    assert "doubles the input of ternary_tanh in its own type fixed<8,3>, which overflows from 2 on" in note
    assert one(simple(T), x="ap_fixed<8,3,AP_TRN,AP_SAT>").notes == ()
    assert one(simple(T), x=NARROW, io_type="io_stream").notes == ()


def test_a_merged_normalization_has_the_users_label() -> None:
    graph = copied(signs(B, B, 1), n0="norm one")
    assert graph.node("bnbt_n0").label == "norm one"


@pytest.mark.parametrize(
    ("layer", "given", "part"),
    [
        (simple("relu6"), {"io_type": "io_stream"}, "relu6 in io_stream"),
        (simple("sigmoid"), {"x": "ap_fixed<40,32>"}, r"entries overflow; use -32 to 25 integer bits"),
        (simple("sigmoid"), {"x": "ap_fixed<8,-40>"}, "entries overflow"),
        (simple(B), {"result": "ap_uint<1>"}, "holds no -1; use int<2>"),
        (simple("tanh"), {"result": "ap_int<4>", "TableT": "ap_fixed<8,0>"}, "without integer bits"),
        (
            {"class_name": "PReLU", "activation": "prelu", "param_data": np.ones((1, 3))},
            {"shape": (2, 3)},
            r"3 slopes for a tensor of shape \(2, 3\)",
        ),
    ],
)
def test_what_hls4ml_gets_wrong_is_refused(layer: dict[str, Any], given: dict[str, Any], part: str) -> None:
    with pytest.raises(UserError, match=f"layer 'my a'.*{part}"):
        one(layer, **given)


def test_largest_types_that_are_not_refused_have_the_stated_integer_bits() -> None:
    assert one(simple("sigmoid"), x="ap_fixed<40,25>").nodes
    with pytest.raises(UserError, match="overflow"):
        one(simple("sigmoid"), x="ap_fixed<40,26>")
    assert one(simple("sigmoid"), x="ap_ufixed<40,24>").nodes
    with pytest.raises(UserError, match="-32 to 24 integer bits"):
        one(simple("sigmoid"), x="ap_ufixed<40,25>")


@pytest.mark.parametrize(
    ("branches", "part"),
    [
        (binary_dense(accum="ap_fixed<12,4>"), "cannot count 11 equal pairs on top of the bias; use int<6>"),
        (binary_dense(accum="ap_fixed<4,6>"), "cannot count"),
        (coded(({**simple("relu"), "name": "r", "inputs": ["s"], "n_in": 5},), {}, [5]), "as its input"),
        (
            coded(
                (dense_layer("d", "s", np.full((5, 2), -2.0), np.zeros(2)),), {"d": SUMS | {"weight": "ap_int<2>"}}, [5]
            ),
            "weights of -2 in int<2>",
        ),
    ],
)
def test_binary_values_that_would_be_taken_for_others_are_refused(branches: Branches, part: str) -> None:
    with pytest.raises(UserError, match=part):
        copied(branches)
