"""Types of single layers in a request, for models of a framework: over the configuration, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flow.errors import UserError
from flow.frontend.config import read_config
from flow.frontend.load import load
from flow.plan.request import load_request
from flow.progress import Progress
from flow.steps.context import Options, open_context
from tests.frontend.legacy_files import DENSE_NET, write_legacy
from tests.frontend.test_config import types


@pytest.fixture(scope="module")
def net(tmp_path_factory) -> Path:
    return write_legacy(tmp_path_factory.mktemp("net"), "net", DENSE_NET)


def given(precision, config=None):
    return replace(read_config(config), precision=precision)


def test_the_request_outranks_the_configuration(net, tmp_path):
    config = {
        "LayerName": {
            "fc1": {"Precision": {"weight": "fixed<9,3>", "bias": "fixed<7,3>"}},
            "fc2": {"Precision": {"weight": "fixed<9,3>"}},
        }
    }
    asked = {"fc1": {"weight": "ap_fixed<8,2>"}, "fc2": "fixed<12,5>", "x": "fixed<10,4>"}
    got = types(load(net, given(asked, config)), tmp_path)
    assert (got["fc1"]["weight_t"], got["fc1"]["bias_t"]) == ("fixed<8,2>", "fixed<7,3>")
    assert set(got["fc2"].values()) == {"fixed<12,5>"}
    assert got["x"]["result_t"] == "fixed<10,4>"


def test_a_linear_activation_exists_where_the_request_names_it(net, tmp_path):
    asked = {"fc2": {"result": "fixed<20,8>"}, "fc2_linear": "fixed<7,3>"}
    got = types(load(net, given(asked)), tmp_path)
    assert got["fc2_linear"]["result_t"] == "fixed<7,3>"


@pytest.mark.parametrize(
    ("precision", "said"),
    [
        ({"fc11": "fixed<8,2>"}, r"\[precision\], fc11: the model has no such layer; did you mean fc1"),
        ({"fc1": {"weigth": "fixed<8,2>"}}, r"\[precision\], fc1.*'weigth'.*did you mean weight"),
        ({"fc1": "float"}, r"\[precision\], fc1.*'float'"),
    ],
)
def test_wrong_overrides_are_refused(net, precision, said):
    with pytest.raises(UserError, match=said):
        load(net, given(precision))


def test_a_request_checks_its_types(tmp_path):
    path = tmp_path / "request.toml"
    path.write_text('[precision.dense1]\nweight = "fixed<8>"\n')
    with pytest.raises(UserError, match=r"request\.toml: precision\.dense1\.weight: 'fixed<8>'"):
        load_request(path)
    path.write_text('[precision]\ndense1 = "auto"\nrelu = {result = "ap_ufixed<8,2,AP_RND,AP_SAT>"}\n')
    assert load_request(path).precision == {"dense1": "auto", "relu": {"result": "ap_ufixed<8,2,AP_RND,AP_SAT>"}}


def test_a_request_folder_hands_its_types_on_and_is_converted_again_when_they_change(net, tmp_path):
    digests = []
    for kind in ("fixed<8,3>", "fixed<7,3>"):
        (tmp_path / "request.toml").write_text(f'model = "{net}"\n[precision]\nx = "{kind}"\n')
        run = open_context(Options(model=str(tmp_path)), Progress.silent())
        assert types(load(run.subject.path, run.config), tmp_path)["x"]["result_t"] == kind
        digests.append(run.conversion_digest())
    assert digests[0] != digests[1]
