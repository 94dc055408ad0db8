"""hls4ml configurations: what is taken, what is refused, and how."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow.errors import UserError
from flow.frontend.load import load
from flow.frontend.source import Knobs
from tests.frontend.legacy_files import DENSE_NET, write_legacy

SHARED = Path(__file__).parents[2] / ".." / "shared" / "models"


@pytest.fixture(scope="module")
def net(tmp_path_factory) -> Path:
    return write_legacy(tmp_path_factory.mktemp("net"), "net", DENSE_NET)


def types(source, tmp_path) -> dict[str, dict[str, str]]:
    graph = source.convert(tmp_path / "hls")
    return {
        node.name: {
            name: str(kind.precision).replace(",TRN,WRAP,0", "")
            for name, kind in node.types.items()
            if name != "index_t"
        }
        for node in graph.get_layers()
    }


def test_inferred_types_without_a_configuration(net, tmp_path):
    got = types(load(net), tmp_path)
    assert got["fc1"] == {
        "result_t": "fixed<36,16>",
        "accum_t": "fixed<36,16>",
        "weight_t": "fixed<16,6>",
        "bias_t": "fixed<16,6>",
    }
    assert got["x"]["result_t"] == "fixed<16,6>"


def test_names_outrank_types_and_types_the_model(net, tmp_path):
    config = {
        "Model": {"Precision": {"default": "fixed<18,8>", "accum": "fixed<30,12>"}},
        "LayerType": {"Dense": {"Precision": {"weight": "ap_fixed<9,3>"}}},
        "LayerName": {"fc1": {"Precision": {"weight": "fixed<8,2>", "result": "ap_ufixed<8,-2,AP_RND_CONV,AP_SAT>"}}},
    }
    got = types(load(net, config), tmp_path)
    assert got["fc1"]["weight_t"] == "fixed<8,2>"
    assert got["fc1"]["bias_t"] == "fixed<18,8>"
    assert got["fc1"]["accum_t"] == "fixed<30,12>"
    assert got["fc1"]["result_t"] == "ufixed<8,-2,RND_CONV,SAT,0>"
    assert got["fc2"]["weight_t"] == "fixed<9,3>"
    assert got["x"]["result_t"] == "fixed<18,8>"


def test_one_type_for_a_whole_layer(net, tmp_path):
    got = types(load(net, {"LayerName": {"fc1": {"Precision": "ap_fixed<8,12>"}}}), tmp_path)
    assert set(got["fc1"].values()) == {"fixed<8,12>"}


def test_linear_activation_exists_where_the_configuration_names_it(net, tmp_path):
    config = {"LayerName": {"fc2": {"Precision": {"result": "fixed<20,8>"}}, "fc2_linear": {"Precision": "fixed<7,3>"}}}
    got = types(load(net, config), tmp_path)
    assert got["fc2_linear"]["result_t"] == "fixed<7,3>"
    assert "fc2_linear" not in types(load(net), tmp_path)


def test_build_knobs_are_kept_for_the_plan_and_leave_the_reference_alone(net, tmp_path):
    config = {"Model": {"Strategy": "Resource"}, "LayerName": {"fc1": {"ReuseFactor": 3}}}
    source = load(net, config)
    assert source.asked["fc1"] == Knobs(3, "Resource")
    assert source.asked["fc2"] == Knobs(1, "Resource")
    node = source.convert(tmp_path / "a").graph["fc1"]
    assert (node.get_attr("strategy"), node.get_attr("reuse_factor")) == ("latency", 1)
    node = source.convert(tmp_path / "b", knobs=source.asked).graph["fc1"]
    assert (node.get_attr("strategy"), node.get_attr("reuse_factor")) == ("resource", 3)


@pytest.mark.parametrize(
    ("config", "asked"),
    [
        ({}, {}),
        # as hls4ml generates it: a 1 everywhere says nothing
        ({"Model": {"ReuseFactor": 1, "Strategy": "Latency"}, "LayerName": {"fc1": {"ReuseFactor": 1}}}, {}),
        ({"LayerName": {"fc1": {"ReuseFactor": 4}}}, {"fc1": Knobs(4, "Latency")}),
        ({"LayerName": {"fc2": {"Strategy": "Resource"}}}, {"fc2": Knobs(1, "Resource")}),
        ({"LayerName": {"fc2": {"Strategy": "Distributed_Arithmetic"}}}, {}),
        ({"LayerType": {"Dense": {"ReuseFactor": 2}}}, {"fc1": Knobs(2, "Latency"), "fc2": Knobs(2, "Latency")}),
        (
            {"Model": {"ReuseFactor": 16, "Strategy": "Resource"}, "LayerName": {"fc1": {"ReuseFactor": 1}}},
            {"fc1": Knobs(1, "Resource"), "fc2": Knobs(16, "Resource")},
        ),
        (
            {"LayerType": {"Dense": {"Strategy": "Resource", "ReuseFactor": 3}}}
            | {"LayerName": {"fc2": {"ReuseFactor": 1, "Strategy": "Latency"}}},
            {"fc1": Knobs(3, "Resource"), "fc2": Knobs(1, "Latency")},
        ),
    ],
)
def test_only_what_stands_against_a_default_is_a_wish(net, config, asked):
    got = load(net, config).asked
    assert {label: got[label] for label in ("fc1", "fc2") if label in got} == asked


def test_a_changed_reuse_factor_is_noted(net, tmp_path):
    source = load(net)
    source.convert(tmp_path / "a", knobs={"fc1": Knobs(7, "Resource")})
    assert any("fc1" in note and "7" in note for note in source.notes)


def test_yaml_file_with_hls4mls_top_level_keys(net, tmp_path):
    path = tmp_path / "c.yml"
    path.write_text(
        "KerasJson: a.json\nBackend: Vivado\nOutputDir: x\nIOType: io_stream\nClockPeriod: 5\n"
        "HLSConfig:\n  Model:\n    Precision: ap_fixed<12,4>\n    ReuseFactor: 1\n  LayerName:\n    softmax:\n"
        "      Precision: ap_fixed<16,6>\n      exp_table_t: ap_fixed<18,8>\n      table_size: 1024\n      skip: true\n"
    )
    assert types(load(net, path), tmp_path)["x"]["result_t"] == "fixed<12,4>"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"LayerName": {"fc3": {}}}, "fc3: the model has no such layer; did you mean fc"),
        ({"LayerType": {"Dence": {}}}, "did you mean Dense"),
        ({"LayerName": {"fc1": {"Precison": "fixed<8,2>"}}}, "unknown key 'Precison'; did you mean"),
        ({"LayerName": {"fc1": {"Precision": {"wieght": "fixed<8,2>"}}}}, "did you mean weight"),
        ({"LayerName": {"fc1": {"Precision": "ap_fixd<8,2>"}}}, "LayerName, fc1, Precision: 'ap_fixd<8,2>' is not"),
        ({"LayerName": {"fc1": {"Precision": {"weight": 8}}}}, "8 is not a fixed-point type"),
        ({"Model": {"Precision": "auto"}}, "'auto' is not a fixed-point type"),
        ({"Model": {"Precision": "fixed<8,2,RND_UP>"}}, "unknown mode"),
        ({"Model": {"Strategy": "resorce"}}, "did you mean Resource"),
        ({"LayerName": {"fc1": {"Strategy": "latency"}}}, "Latency"),
        ({"LayerName": {"fc1": {"ReuseFactor": 0}}}, "ReuseFactor 0"),
        ({"Model": {"ReuseFactor": -1}}, "ReuseFactor -1"),
        ({"Model": {"ReuseFactor": 1.5}}, "ReuseFactor 1.5"),
        ({"Model": {"Presicion": "fixed<8,2>"}}, "or Precision or"),
        ({"LayerName": {"softmax": {"implementation": "fast"}}}, "'fast' is not one of"),
        ({"LayerName": {"softmax": {"table_size": 0}}}, "table_size: 0"),
        ({"Modle": {}}, "or Model or"),
        ({"HLSConfig": {"LayerNmae": {}}}, "did you mean LayerName"),
        ({"HLSConfig": {}, "Model": {}}, "Model belongs under HLSConfig"),
        ({"LayerName": ["fc1"]}, "expected keys with values"),
        ({"HLSConfig": {"Optimizers": ["x"]}}, "unknown section 'Optimizers'"),
    ],
)
def test_mistakes_are_named(net, config, said):
    with pytest.raises(UserError) as error:
        load(net, config)
    assert said in str(error.value)


def test_unreadable_configurations_are_named(net, tmp_path):
    with pytest.raises(UserError, match="cannot read the hls4ml configuration"):
        load(net, tmp_path / "none.yml")
    bad = tmp_path / "bad.yml"
    bad.write_text("a: [1,\nb: }")
    with pytest.raises(UserError, match="not a YAML file"):
        load(net, bad)
    code = tmp_path / "code.yml"
    code.write_text("HLSConfig: !!python/object/apply:os.system ['true']\n")
    with pytest.raises(UserError, match="not a YAML file"):
        load(net, code)


@pytest.mark.skipif(not SHARED.exists(), reason="the public models are not here")
def test_public_configuration_is_accepted(tmp_path):
    source = load(SHARED / "qkeras_3layer.json", SHARED / "qkeras_3layer_config.yml")
    got = types(source, tmp_path)
    assert got["relu1"]["result_t"] == "fixed<7,1,RND_CONV,SAT,0>"
