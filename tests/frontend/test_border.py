"""hls4ml's graph, copied out: equal to the C simulation bit for bit, or refused with a reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flow.fixed
from flow.errors import UserError
from flow.fixed import FixedType, IntArray, Overflow, Rounding
from flow.frontend.border import label_for, to_graph
from flow.frontend.csim import CompiledCsim, compile_csim
from flow.graph.graph import Graph, evaluate
from flow.graph.nodes import Dense, Relu, Reshape
from flow.graph.store import from_json, to_json
from tests.frontend.fake_source import activation_layer, dense_layer
from tests.networks import Branches, power_of_two_quantizer, random_branches, to_model, vectors


@dataclass(frozen=True)
class Compared:
    graph: Graph
    raw: dict[str, IntArray]
    simulated: tuple[IntArray, ...]

    def mismatches(self, graph: Graph | None = None) -> dict[str, int]:
        """Return the number of wrong values by output."""
        values = evaluate(graph or self.graph, self.raw)
        wrong = {}
        for name, theirs in zip(self.graph.outputs, self.simulated, strict=True):
            ours = values[name].raw.reshape(len(theirs), -1)
            wrong[name] = int((ours.astype(object) != theirs.astype(object)).sum())
        return wrong


def simulate(model: Any, folder: Path, seed: int, count: int = 300) -> Compared:
    graph = to_graph(model, name="net", label_of={})
    csim: CompiledCsim = compile_csim(model, folder)
    raw = vectors(np.random.default_rng(seed), graph, count)
    return Compared(graph, raw, csim.run_raw(tuple(raw[name] for name in graph.inputs)))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """Fifteen random networks in one hls4ml project."""
    folder = tmp_path_factory.mktemp("random")
    return simulate(to_model(random_branches(1, 15), folder), folder, 1)


@pytest.mark.eda
def test_random_networks_equal_the_c_simulation(compared: Compared) -> None:
    assert len(compared.graph.outputs) == 15
    assert compared.mismatches() == dict.fromkeys(compared.graph.outputs, 0)


@pytest.mark.eda
def test_a_stored_graph_equals_the_c_simulation_too(compared: Compared) -> None:
    again = from_json(to_json(compared.graph), "model.json")
    assert compared.mismatches(again) == dict.fromkeys(compared.graph.outputs, 0)


@pytest.mark.eda
def test_wrong_roundings_in_the_evaluator_are_seen(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    real = flow.fixed.round_off
    seen = set()
    for rounding in Rounding:
        wrong = Rounding.RND_CONV if rounding in (Rounding.TRN, Rounding.TRN_ZERO) else Rounding.TRN

        def shifted(raw: IntArray, k: int, mode: Rounding, bad: Rounding = rounding, use: Rounding = wrong) -> IntArray:
            return real(raw, k, use if mode is bad else mode)

        monkeypatch.setattr(flow.fixed, "round_off", shifted)
        if any(compared.mismatches().values()):
            seen.add(rounding)
    assert len(seen) >= 5  # the fifteen networks do not use every mode where it matters


@pytest.mark.eda
def test_flipped_weight_bits_are_seen(compared: Compared) -> None:
    seen = tried = 0
    for at, node in enumerate(compared.graph.nodes):
        if isinstance(node, Dense) and node.name in compared.graph.outputs:
            weights = node.weights.copy()
            weights[0, 0] ^= 1
            nodes = (*compared.graph.nodes[:at], replace(node, weights=weights), *compared.graph.nodes[at + 1 :])
            tried += 1
            seen += any(compared.mismatches(replace(compared.graph, nodes=nodes)).values())
    assert tried >= 3
    assert seen > tried / 2  # a result type of few bits hides some


@pytest.mark.eda
@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(200, 215))
def test_many_random_networks_equal_the_c_simulation(seed: int, tmp_path: Path) -> None:
    found = simulate(to_model(random_branches(seed, 10, wide=seed % 3 == 0), tmp_path), tmp_path, seed, 500)
    assert found.mismatches() == dict.fromkeys(found.graph.outputs, 0)


def chain(
    layers: list[dict[str, Any]], precisions: dict[str, dict[str, str]], *, n_in: int = 4, x: str = "ap_fixed<8,3>"
) -> Branches:
    """Describe one network: an input named x and the layers after it."""
    start = {"name": "x", "class_name": "InputLayer", "input_shape": [n_in]}
    named = {name: {"Precision": given} for name, given in ({"x": {"result": x}} | precisions).items()}
    return Branches((start, *layers), {"LayerName": named}, ("x",), (layers[-1]["name"],))


def copied(branches: Branches, **labels: str) -> Graph:
    return to_graph(to_model(branches, Path("unwritten")), name="net", label_of=labels)


def merged(*parts: Branches) -> Branches:
    """Put several networks side by side in one model; their names get a prefix."""
    layers, named, ins, outs = [], {}, [], []
    for k, part in enumerate(parts):
        for layer in part.layers:
            inputs = {"inputs": [f"p{k}_{name}" for name in layer["inputs"]]} if "inputs" in layer else {}
            layers.append({**layer, "name": f"p{k}_{layer['name']}", **inputs})
        named |= {f"p{k}_{name}": value for name, value in part.config["LayerName"].items()}
        ins += [f"p{k}_{name}" for name in part.inputs]
        outs += [f"p{k}_{name}" for name in part.outputs]
    return Branches(tuple(layers), {"LayerName": named}, tuple(ins), tuple(outs))


W = np.array([[0.5, -1.25], [0.75, 1.0], [-2.0, 0.25], [1.5, -0.5]])
B = np.array([0.5, -0.25])
EXACT = {"result": "ap_fixed<20,10>", "weight": "ap_fixed<8,4>", "bias": "ap_fixed<8,4>", "accum": "ap_fixed<20,10>"}


def special_networks() -> tuple[Branches, ...]:
    """Return what random draws may miss: each layer kind at its edges."""
    from hls4ml.model.quantizers import BinaryQuantizer, TernaryQuantizer

    def one(matrix: np.ndarray = W, offsets: np.ndarray = B, x: str = "ap_fixed<8,3>", **given: str) -> Branches:
        return chain([dense_layer("d", "x", matrix, offsets)], {"d": EXACT | given}, n_in=len(matrix), x=x)

    def quantized(quantizer: Any, weights: np.ndarray = W) -> Branches:
        precision = {k: v for k, v in EXACT.items() if k != "weight"}
        return chain([dense_layer("d", "x", weights, B, weight_quantizer=quantizer)], {"d": precision})

    rng = np.random.default_rng(9)
    saturating = rng.normal(size=(12, 3)) * 3
    leaky = {"name": "l", "class_name": "LeakyReLU", "inputs": ["x"], "activation": "leaky_relu", "n_in": 4}
    return (
        one(accum="ap_fixed<7,3>"),  # per-product cast, wraps
        one(accum="ap_fixed<6,4,AP_RND_CONV,AP_SAT>"),
        *(
            one(saturating, np.ones(3), accum=f"ap_fixed<7,4,AP_RND,AP_{overflow}>")
            for overflow in ("SAT", "SAT_SYM", "SAT_ZERO", "WRAP")
        ),
        one(np.zeros((4, 2)), np.zeros(2)),
        one(W[:, :1], B[:1]),
        one(weight="ap_fixed<8,12>", result="ap_ufixed<8,-2,AP_RND_CONV,AP_SAT>"),
        one(weight="ap_int<2>"),  # -2 counts as 1 there
        one(x="ap_ufixed<8,-2>"),
        one(x="ap_fixed<32,16>", weight="ap_fixed<32,16>", bias="ap_fixed<32,16>", accum="auto", result="auto"),
        one(x="ap_int<5>", weight="ap_int<3>", accum="ap_int<7>", result="ap_int<4>"),
        one(accum="ap_int<7>", result="ap_uint<4>"),
        quantized(BinaryQuantizer(bits=1)),
        quantized(BinaryQuantizer(bits=2)),
        quantized(TernaryQuantizer()),
        quantized(power_of_two_quantizer()),
        chain([leaky | {"activ_param": 0.25}], {"l": {"result": "ap_fixed<7,3,AP_RND>", "param": "auto"}}),
        chain([leaky | {"activ_param": -0.5}], {"l": {"result": "ap_fixed<6,3>", "param": "ap_fixed<4,1>"}}),
    )


@pytest.mark.eda
def test_special_networks_equal_the_c_simulation(tmp_path: Path) -> None:
    parts = special_networks()
    found = simulate(to_model(merged(*parts), tmp_path), tmp_path, 3)
    assert found.mismatches() == dict.fromkeys(found.graph.outputs, 0)
    saturating = [n for n in found.graph.nodes if isinstance(n, Dense) and n.accumulator.overflow is not Overflow.WRAP]
    assert len(saturating) == 4
    assert any("-2 in int<2>" in note for note in found.graph.notes)


@pytest.mark.eda
def test_weights_that_hls4ml_transposed_are_turned_back(tmp_path: Path) -> None:
    branches = chain([dense_layer("d", "x", W, B)], {"d": EXACT})
    branches.config["LayerName"]["d"] |= {"Strategy": "Resource", "ReuseFactor": 4}
    model = to_model(branches, tmp_path)
    assert next(layer for layer in model.get_layers() if layer.name == "d").get_attr("_weights_transposed")
    found = simulate(model, tmp_path, 4)
    plain = copied(chain([dense_layer("d", "x", W, B)], {"d": EXACT}))
    ours, theirs = found.graph.node("d"), plain.node("d")
    assert isinstance(ours, Dense)
    assert isinstance(theirs, Dense)
    assert (ours.weights == theirs.weights).all()
    assert found.mismatches() == {"d": 0}


def test_another_order_of_sums_is_refused_where_it_matters() -> None:
    given = EXACT | {"accum": "ap_fixed<7,4,AP_TRN,AP_SAT>"}
    branches = chain([dense_layer("d", "x", W, B)], {"d": given})
    branches.config["LayerName"]["d"] |= {"Strategy": "Resource", "ReuseFactor": 4}
    with pytest.raises(UserError, match=r"layer 'd'.*another order"):
        copied(branches)


def test_codes_are_exact_and_labels_are_the_users() -> None:
    layers = [dense_layer("fc_1", "x", W, B), activation_layer("fc_1_relu", "fc_1", 2)]
    graph = copied(chain(layers, {"fc_1": EXACT, "fc_1_relu": {"result": "ap_ufixed<6,2>"}}), fc_1="fc-1", x="x")
    dense, relu = graph.nodes[1:]
    assert isinstance(dense, Dense)
    assert dense.weights.tolist() == (W * 16).astype(int).tolist()
    assert dense.weight_type == FixedType(8, 4)
    assert [node.label for node in graph.nodes] == ["x", "fc-1", "fc-1"]
    assert isinstance(relu, Relu)
    assert relu.slope_type is None
    assert not dense.weights.flags.writeable
    assert label_for("other", {"fc_1": "fc-1"}) == "other"


def test_reshape_keeps_the_type() -> None:
    reshape = {"name": "r", "class_name": "Reshape", "inputs": ["x"], "target_shape": [2, 2]}
    layers = [reshape, activation_layer("a", "r", 4)]
    graph = copied(chain(layers, {"r": {"result": "ap_fixed<8,3>"}, "a": {"result": "ap_fixed<8,3>"}}))
    assert isinstance(graph.nodes[1], Reshape)
    assert graph.nodes[1].shape == (2, 2)
    assert graph.nodes[1].type == graph.nodes[0].type


def test_notes_name_what_does_not_fit() -> None:
    bias = np.array([275.149, 0.0])
    graph = copied(chain([dense_layer("d", "x", W, bias)], {"d": EXACT | {"bias": "ap_fixed<16,6>"}}))
    assert "layer 'd': bias 275.149 does not fit fixed<16,6>, stored 19.1484" in graph.notes
    narrow = copied(chain([dense_layer("d", "x", W, B)], {"d": EXACT | {"accum": "ap_fixed<7,1>"}}))
    assert any("layer 'd': sums can reach" in note and "wraps" in note for note in narrow.notes)
    assert copied(chain([dense_layer("d", "x", W, B)], {"d": EXACT})).notes == ()


@pytest.mark.parametrize(
    ("layer", "precision", "part"),
    [
        (activation_layer("a", "x", 4, "gelu"), {}, "layer 'my a'.*'gelu' is not supported; linear, relu"),
        (
            {"name": "a", "class_name": "UnaryLUT", "table_data": np.zeros(256), "activation": "unary_lut"},
            {},
            r"layer 'my a' \(UnaryLUT\)",
        ),
        (activation_layer("a", "x", 4), {"result": "ap_fixed<8,3,AP_RND,AP_SAT,2>"}, "saturation bits"),
        (activation_layer("a", "x", 4), {"result": "ap_fixed<2000,3>"}, "1 to 1024 bits"),
    ],
)
def test_unsupported_layers_are_named(layer: dict[str, Any], precision: dict[str, str], part: str) -> None:
    with pytest.raises(UserError, match=part):
        copied(chain([layer | {"inputs": ["x"]}], {"a": {"result": "ap_fixed<8,3>"} | precision}), a="my a")


def test_a_cast_that_the_headers_get_wrong_is_refused() -> None:
    with pytest.raises(UserError, match=r"layer 'a'.*write fixed<8,8,TRN_ZERO>"):
        copied(chain([activation_layer("a", "x", 4)], {"a": {"result": "ap_int<8>"}}, x="ap_fixed<8,0>"))
    given = EXACT | {"accum": "ap_int<8>", "weight": "ap_fixed<8,-1>"}
    with pytest.raises(UserError, match="accumulator type"):
        copied(chain([dense_layer("d", "x", W, B)], {"d": given}, x="ap_fixed<8,0>"))


def test_powers_of_two_that_the_shifter_loses_are_refused() -> None:
    layer = dense_layer("d", "x", W, B, weight_quantizer=power_of_two_quantizer())
    precision = {k: v for k, v in EXACT.items() if k != "weight"}
    with pytest.raises(UserError, match="lose bits"):
        copied(chain([layer], {"d": precision}, x="ap_fixed<4,-6>"))
