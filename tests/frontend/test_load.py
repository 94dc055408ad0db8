"""Files of every kind: found, recognized, or refused with one message."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from flow.errors import UserError
from flow.frontend.load import load
from flow.frontend.names import clean, clean_all
from tests.frontend.legacy_files import DENSE_NET, architecture, dense, inlet, write_legacy, write_weights


def refuse(path: Path, said: str) -> None:
    with pytest.raises(UserError) as error:
        load(path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_and_unknown_files(tmp_path):
    refuse(tmp_path / "none.keras", "there is no such file; accepted are .keras files")
    refuse(tmp_path, "this is a folder")
    (tmp_path / "x.pkl").write_bytes(b"\x80\x04.")
    refuse(tmp_path / "x.pkl", "this kind of file is not known")


def test_damaged_files(tmp_path):
    (tmp_path / "a.keras").write_bytes(b"PK\x03\x04 not a zip")
    refuse(tmp_path / "a.keras", "damaged")
    (tmp_path / "b.keras").write_bytes(b"")
    refuse(tmp_path / "b.keras", "not a .keras file")
    (tmp_path / "c.h5").write_bytes(b"\x89HDF\r\n\x1a\n truncated")
    refuse(tmp_path / "c.h5", "damaged")
    (tmp_path / "d.json").write_bytes(b"\xff{")
    refuse(tmp_path / "d.json", "not a JSON file")
    path = write_legacy(tmp_path, "e", DENSE_NET)
    (tmp_path / "e_weights.h5").write_bytes(b"none")
    refuse(path, "not an HDF5 file")


def test_json_that_is_no_model(tmp_path):
    for text, said in [
        ("[1, 2]", "describes no Keras model"),
        ('{"class_name": "Dense", "config": {}}', "a Dense is not supported"),
        ('{"class_name": "Sequential", "config": {"layers": []}}', "has no layers"),
        ('{"class_name": "Sequential", "config": {"layers": [{"class_name": "Dense"}]}}', "lacks its class_name"),
        ('{"class_name": "Sequential", "config": {}, "module": "keras"}', "Keras 3 wrote this JSON"),
    ]:
        path = tmp_path / "m.json"
        path.write_text(text)
        write_weights(tmp_path / "m_weights.h5", [])
        refuse(path, said)


def test_a_loop_is_refused(tmp_path):
    layers = [inlet(3), dense("a", 3, 3), dense("b", 3, 3)]
    model = architecture(layers)
    model["class_name"] = "Functional"
    listed = model["config"]["layers"]
    for layer, source in zip(listed, [None, "b", "a"], strict=True):
        layer["inbound_nodes"] = [[[source, 0, 0, {}]]] if source else []
    write_weights(tmp_path / "m_weights.h5", layers)
    (tmp_path / "m.json").write_text(json.dumps(model))
    refuse(tmp_path / "m.json", "layer 'a' is fed by a layer that does not exist or by itself")


def test_functional_files_follow_their_nodes_not_their_order(tmp_path):
    layers = [dense("b", 4, 2), dense("a", 3, 4), inlet(3)]
    model = architecture(layers)
    model["class_name"] = "Model"
    model["config"] |= {"input_layers": [["x", 0, 0]], "output_layers": [["b", 0, 0]]}
    for layer, source in zip(model["config"]["layers"], ["a", "x", None], strict=True):
        layer["inbound_nodes"] = [[[source, 0, 0, {}]]] if source else []
    write_weights(tmp_path / "m_weights.h5", layers)
    (tmp_path / "m.json").write_text(json.dumps(model))
    source = load(tmp_path / "m.json")
    assert source.labels == ("x", "a", "b")
    assert source.predict((np.ones((2, 3)),))["b"].shape == (2, 2)
    assert list(source.convert(tmp_path / "hls").graph) == ["x", "a", "b"]


def test_weights_are_found_beside_the_json_and_the_other_way_round(tmp_path):
    path = write_legacy(tmp_path, "net", DENSE_NET)
    weights = (tmp_path / "net_weights.h5").rename(tmp_path / "net_better_weights.h5")
    refuse(path, "the weights are not beside it; expected net_weights.h5")
    assert load(weights).name == "net_better"
    alone = weights.rename(tmp_path / "other_weights.h5")
    refuse(alone, "such as other.json")


def test_odd_paths(tmp_path):
    folder = tmp_path / "a b; $(x)'\""
    folder.mkdir()
    assert load(str(write_legacy(folder, "my net", DENSE_NET))).name == "my net"


def keras_zip(path: Path, description: object) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(description))
        archive.writestr("metadata.json", "{}")
        archive.writestr("model.weights.h5", b"")
    return path


def sequential(*layers: dict) -> dict:
    return {"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": list(layers)}}


def layer(kind: str, *, module: str = "keras.layers", registered: str | None = None, **config: object) -> dict:
    return {"module": module, "class_name": kind, "config": {"name": "l1"} | config, "registered_name": registered}


@pytest.mark.parametrize(
    ("description", "said"),
    [
        (sequential(layer("Lambda", function={"class_name": "__lambda__"})), "layer 'l1' (Lambda): a Lambda holds"),
        (sequential(layer("Dense", activation={"class_name": "__lambda__", "config": {}})), "a lambda holds"),
        (
            sequential(layer("Mine", module="mymodule", registered="pkg>Mine")),
            "layer 'l1' (Mine): 'Mine' is custom code",
        ),
        (sequential(layer("Mine", module=None, registered="pkg>Mine")), "'Mine' is custom code (pkg)"),
        (sequential(layer("system", module="os")), "'system' is custom code (os)"),
        (sequential(layer("get_file", module="keras.utils")), "'keras.utils.get_file' has no place"),
        (sequential(layer("Functional", module="keras.models")), "flatten the nested model"),
        (sequential(layer("TimeDistributed")), "flatten the nested model"),
        (sequential(layer("QDense", module="qkeras.qlayers", kernel_quantizer="os(1)")), "'os' is not supported"),
        (sequential(), "has no layers"),
        ({"class_name": "Ensemble", "config": {}}, "a Ensemble is not supported"),
        ([1], "is no Keras model"),
    ],
)
def test_keras_files_run_no_code_and_name_the_layer(tmp_path, description, said):
    refuse(keras_zip(tmp_path / "x.keras", description), said)


def test_other_zip_files(tmp_path):
    path = tmp_path / "x.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    refuse(path, "no Keras model (it has no config.json)")


def test_clean_names():
    assert clean("fc1") == "fc1"
    assert clean("always_ff") == "n_always_ff"
    assert clean("Int") == "n_Int"
    assert clean("") == "layer"
    assert clean("__x__y") == "x_y"
    assert clean("layer2_t") == "n_layer2_t"
    assert clean_all(["a-b", "a_b", "A.B"]) == {"a_b": "a_b", "a-b": "a_b_n2", "A.B": "A_B_n3"}
