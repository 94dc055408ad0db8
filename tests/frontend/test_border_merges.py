"""Merges, softmax and layer normalization from hls4ml: equal to the C simulation bit for bit, or refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flow.graph.nodes.softmax
from flow.errors import UserError
from flow.fixed import FixedArray, FixedType, IntArray, Rounding, from_float
from flow.frontend.border import to_graph
from flow.frontend.border.c_floats import exp_float32
from flow.frontend.csim import compile_csim
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Argmax, Dot, LayerNorm, LegacySoftmax, Merge, Softmax
from flow.graph.store import from_json, to_json
from tests.frontend.merging_networks import Network, everything
from tests.networks import to_model, vectors

pytestmark = pytest.mark.filterwarnings("ignore:Softmax layer")  # that hls4ml clips a table


@dataclass(frozen=True)
class Compared:
    graph: Graph
    raw: dict[str, IntArray]
    simulated: dict[str, IntArray]

    def wrong(self, values: dict[str, FixedArray] | None = None) -> dict[str, int]:
        """Return the number of wrong values of each output that has some."""
        values = values or evaluate(self.graph, self.raw)
        counts = {
            name: int((values[name].raw.reshape(len(theirs), -1).astype(object) != theirs.astype(object)).sum())
            for name, theirs in self.simulated.items()
        }
        return {name: count for name, count in counts.items() if count}

    def wrong_with(self, node: Merge | Dot | Softmax | LegacySoftmax | Argmax | LayerNorm) -> int:
        """Return the number of wrong values when `node` takes the place of the one of its name."""
        before = evaluate(self.graph, self.raw)
        value = node.evaluate(tuple(before[name] for name in node.inputs))
        return self.wrong({**before, node.name: value}).get(node.name, 0)


def compare(io_type: str, folder: Path) -> Compared:
    model = to_model(everything(parallel=io_type == "io_parallel"), folder, io_type=io_type)
    graph = to_graph(model, name="net", label_of={})
    raw = vectors(np.random.default_rng(1), graph, 300)
    outputs = compile_csim(model, folder).run_raw(tuple(raw[name] for name in graph.inputs))
    return Compared(graph, raw, dict(zip(graph.outputs, outputs, strict=True)))


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    return compare("io_parallel", tmp_path_factory.mktemp("parallel"))


@pytest.mark.eda
def test_all_equal_the_c_simulation_of_io_parallel(parallel: Compared) -> None:
    assert len(parallel.simulated) == 95
    assert parallel.wrong() == {}
    again = from_json(to_json(parallel.graph), "model.json")
    assert parallel.wrong(evaluate(again, parallel.raw)) == {}


@pytest.mark.eda
def test_all_equal_the_c_simulation_of_io_stream(tmp_path: Path) -> None:
    stream = compare("io_stream", tmp_path)
    assert len(stream.simulated) == 83
    assert stream.wrong() == {}


@pytest.mark.eda
def test_another_merge_is_seen(parallel: Compared) -> None:
    for node in parallel.graph.nodes:
        if isinstance(node, Merge) and node.name in parallel.graph.outputs:
            assert parallel.wrong_with(replace(node, op="subtract" if node.op == "add" else "add")), node.name


@pytest.mark.eda
def test_wrong_casts_of_an_inner_product_are_seen(parallel: Compared) -> None:
    for name in ("dot0", "dot2", "dot4"):
        node = parallel.graph.node(name)
        assert isinstance(node, Dot)
        exact = FixedType(60, 30)
        assert parallel.wrong_with(replace(node, accumulator=exact)), name


def rolled(table: IntArray) -> IntArray:
    return np.roll(table, 1)


@pytest.mark.eda
def test_wrong_tables_are_seen(parallel: Compared) -> None:
    for node in parallel.graph.nodes:
        if isinstance(node, Softmax | LegacySoftmax) and node.shape[-1] > 1 and len(node.exponentials) > 4:
            assert parallel.wrong_with(replace(node, exponentials=rolled(node.exponentials))), node.name
            assert parallel.wrong_with(replace(node, inverses=rolled(node.inverses))), node.name
        if isinstance(node, LayerNorm):
            assert parallel.wrong_with(replace(node, inverse_roots=rolled(node.inverse_roots))), node.name


@pytest.mark.eda
def test_a_largest_element_that_is_left_out_is_seen(parallel: Compared) -> None:
    node = parallel.graph.node("stable1")
    assert isinstance(node, Softmax)
    table = node.exponentials[::-1]
    assert parallel.wrong_with(replace(node, difference=None, exponentials=table))


@pytest.mark.eda
def test_wrong_types_within_a_softmax_are_seen(parallel: Compared) -> None:
    node = parallel.graph.node("own")
    assert isinstance(node, Softmax)
    for change in (
        {"difference": FixedType(16, 6, signed=False)},
        {"accumulator": FixedType(16, 4)},
        {"inverse_argument": FixedType(11, 4, signed=False)},
        {"inverse_type": FixedType(9, 3)},
    ):
        assert parallel.wrong_with(replace(node, **change)), change


@pytest.mark.eda
def test_another_order_of_sums_is_seen(parallel: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    """The accumulator of `saturating` saturates at positive and negative sums: the order tells."""
    monkeypatch.setattr(flow.graph.nodes.softmax, "balanced", lambda count: min(count, 1))
    assert "saturating" in parallel.wrong()


@pytest.mark.eda
def test_the_last_of_the_largest_elements_is_seen(parallel: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    real = np.argmax
    monkeypatch.setattr(np, "argmax", lambda x, axis: x.shape[axis] - 1 - real(np.flip(x, axis), axis=axis))
    assert "argmax0" in parallel.wrong()


@pytest.mark.eda
def test_wrong_casts_of_a_layer_normalization_are_seen(parallel: Compared) -> None:
    for name in ("default_norm_x", "short_norm_y", "short_norm_x"):
        node = parallel.graph.node(name)
        assert isinstance(node, LayerNorm)
        kind = node.accumulator
        rounding = Rounding.RND if kind.rounding is Rounding.TRN else Rounding.TRN
        for change in (
            {"accumulator": replace(kind, rounding=rounding)},
            {"inverse_count": node.inverse_count + 1},
            {"range_power": node.range_power + 1},
            {"scale": rolled(node.scale)},
            {"bias": rolled(node.bias)},
        ):
            assert parallel.wrong_with(replace(node, **change)), (name, change)


@pytest.mark.parametrize("kind", ["ap_fixed<8,3>", "ap_fixed<16,6>", "ap_fixed<24,8>", "ap_ufixed<9,3>"])
def test_default_tables_are_those_of_any_good_c_library(kind: str) -> None:
    """A result of expf that is off by one unit of its last place would give the same entries, but for a few."""
    network = Network()
    x = network.input("x", (3,), kind)
    network.softmax("s", x, "stable", out="ap_fixed<16,6>", shape=(3,))
    node = to_graph(to_model(network.branches(), Path("unwritten")), name="net", label_of={}).node("s")
    assert isinstance(node, Softmax)
    assert node.difference is not None
    size, kept = len(node.exponentials), len(node.exponentials).bit_length() - 1
    x_bar = np.arange(size) * np.float32(2.0 ** (node.difference.integer - kept))
    exact = exp_float32(-x_bar.astype(np.float32))
    assert np.allclose(exact, np.exp(-x_bar.astype(np.float64)), rtol=2.0**-23, atol=2.0**-149)
    for beside in (np.nextafter(exact, np.float32(0)), np.nextafter(exact, np.float32(2))):
        assert (from_float(beside, node.exponential_type) != node.exponentials).sum() <= 1


def build(add: Callable[[Network], Any], *, io_type: str = "io_parallel", **attributes: Any) -> Callable[[], Graph]:
    """Return a conversion of one layer; attributes: what hls4ml has been told of it besides."""
    network = Network()
    add(network)
    network.layers[-1] |= attributes
    model = to_model(network.branches(), Path("unwritten"), io_type=io_type)
    return lambda: to_graph(model, name="net", label_of={"m": "merged"})


def softmax(network: Network, shape: tuple[int, ...] = (4, 3), *, kind: str = "ap_fixed<8,3>", **given: Any) -> None:
    given = {"implementation": "stable", "out": "ap_fixed<16,6>"} | given
    network.softmax("m", network.input("x", shape, kind), shape=shape, **given)


@pytest.mark.parametrize(
    ("attributes", "given", "io_type", "said"),
    [
        ({"n_inner": 4, "n_outer": 1}, {}, "io_parallel", "only the last axis is supported; put a Permute in front"),
        ({"n_outer": 1}, {}, "io_parallel", r"computes it over 12 elements at once, the last axis of \(4, 3\) has 3"),
        ({"axis": 2}, {}, "io_stream", "axis 2 is not supported with io_stream; write axis -1"),
        (
            {},
            {"size": 100},
            "io_parallel",
            "a table of 100 exponentials cannot be read .* a power of two from 2 to 128",
        ),
        ({}, {"kind": "ap_fixed<1,1>"}, "io_parallel", "has no bits besides the sign; use 2 bits or more"),
        ({}, {"inv_inp_t": "ap_ufixed<6,3>"}, "io_parallel", "256 inverses cannot be read by .* of ufixed<6,3>"),
        ({}, {"inv_table_t": "ap_int<12>"}, "io_parallel", "inv_table_t int<12> is not supported"),
        (
            {},
            {"inv_table_t": "ap_fixed<12,0>", "accum": "ap_fixed<12,0>", "out": "ap_int<4>"},
            "io_parallel",
            "the output type int<4> reads values without integer bits",
        ),
    ],
)
def test_softmaxes_that_hls4ml_computes_otherwise_are_refused(
    attributes: dict[str, Any], given: dict[str, Any], io_type: str, said: str
) -> None:
    convert = build(lambda network: softmax(network, **given), io_type=io_type, **attributes)
    with pytest.raises(UserError, match=rf"layer 'merged' \(Softmax\): .*{said}"):
        convert()


def layer_norm(network: Network, shape: tuple[int, int] = (3, 4), **given: Any) -> None:
    network.layer_norm("m", network.input("x", shape, "ap_fixed<16,6>"), shape, out="ap_fixed<16,6>", **given)


@pytest.mark.parametrize(
    ("attributes", "given", "io_type", "said"),
    [
        ({}, {}, "io_stream", "hls4ml has no layer normalization for io_stream"),
        ({"axis": 1}, {}, "io_parallel", "only axis 2"),
        ({"epsilon_power_of_10": 0}, {}, "io_parallel", "epsilon 1e-0 is not supported"),
        ({"epsilon_power_of_10": 40}, {}, "io_parallel", "epsilon 1e-40 is not supported"),
        ({}, {"scale": "ap_int<2>"}, "io_parallel", "hls4ml computes another function for a scale of int<2>"),
        ({}, {"accum": "ap_int<9>"}, "io_parallel", "accum_t int<9> is not supported"),
    ],
)
def test_layer_normalizations_that_hls4ml_lacks_are_refused(
    attributes: dict[str, Any], given: dict[str, str], io_type: str, said: str
) -> None:
    convert = build(lambda network: layer_norm(network, **given), io_type=io_type, **attributes)
    with pytest.raises(UserError, match=rf"layer 'merged' \(LayerNormalization\): .*{said}"):
        convert()


@pytest.mark.parametrize(
    ("shapes", "io_type"),
    [
        (((2, 3), (3,)), "io_parallel"),  # hls4ml takes '3' for more than '2*3'
        (((2, 3), (2, 1)), "io_parallel"),  # along the last axis
        (((2, 1), (1, 3)), "io_parallel"),  # both grow
        (((1, 4), (2, 2)), "io_parallel"),  # as many elements
    ],
)
def test_broadcasts_that_hls4ml_computes_otherwise_are_refused(
    shapes: tuple[tuple[int, ...], ...], io_type: str
) -> None:
    def add(network: Network) -> None:
        a, b = (network.input(f"x{k}", shape, "ap_fixed<8,3>") for k, shape in enumerate(shapes))
        network.merge("m", "add", a, b, "ap_fixed<9,4>")

    convert = build(add, io_type=io_type)
    with pytest.raises(UserError, match=r"layer 'merged' \(Merge\): hls4ml cannot broadcast .*; bring both inputs"):
        convert()


def pair(network: Network, a: str, b: str, *, op: str, out: str, **given: str) -> None:
    left, right = network.input("x0", (4,), a), network.input("x1", (4,), b)
    if op == "dot":
        network.dot("m", left, right, out=out, **given)
    else:
        network.merge("m", op, left, right, out)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"op": "multiply", "a": "ap_fixed<8,0>", "b": "ap_fixed<8,-1>", "out": "ap_int<4>"}, "the output type int<4>"),
        ({"op": "maximum", "a": "ap_fixed<8,3>", "b": "ap_fixed<8,0>", "out": "ap_int<4>"}, "the output type int<4>"),
        ({"op": "power", "a": "ap_fixed<8,3>", "b": "ap_fixed<8,3>", "out": "ap_int<4>"}, "'power' is not supported"),
        ({"op": "dot", "a": "ap_fixed<8,3>", "b": "ap_int<2>", "accum": "ap_fixed<9,4>", "out": "ap_fixed<9,4>"}, "-2"),
        (
            {"op": "dot", "a": "ap_uint<1>", "b": "ap_fixed<8,3>", "accum": "ap_fixed<9,4>", "out": "ap_fixed<9,4>"},
            "one-bit inputs are not supported",
        ),
        (
            {"op": "dot", "a": "ap_fixed<8,0>", "b": "ap_fixed<8,0>", "accum": "ap_int<9>", "out": "ap_fixed<9,4>"},
            "the accumulator type int<9>",
        ),
    ],
)
def test_merges_that_hls4ml_computes_otherwise_are_refused(given: dict[str, str], said: str) -> None:
    convert = build(lambda network: pair(network, **given))
    with pytest.raises(UserError, match=rf"layer 'merged' \((Merge|Dot)\): .*{said}"):
        convert()
