"""The zoo's files: accuracy in the framework, quantized weights, vectors on the input type's grid, legal requests."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from flow.baseline.gpu import check_must_beat
from flow.device.links import check_reach, find_link
from flow.device.parts import find_part
from flow.plan.request import load_request
from flow.zoo import find_subject, zoo_names

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
MODELS = ROOT / "models"
# kernels of each network, those of convolutions as (rows, columns, channels, filters)
KERNELS = {
    "digits_mlp": ((64, 32), (32, 32), (32, 10)),
    "jet_tagger": ((16, 64), (64, 32), (32, 32), (32, 5)),
    "wide_mlp": ((256, 384), (384, 384), (384, 128)),
    "digits_cnn": ((3, 3, 1, 6), (3, 3, 6, 16), (64, 10)),
    "residual_cnn": ((3, 3, 1, 4), (3, 3, 4, 4), (3, 3, 4, 4), (64, 10)),
    "anomaly_ae": ((64, 24), (24, 8), (8, 24), (24, 64)),
}
# other wishes for the same network
OF_NETWORK = {name: name for name in KERNELS} | {"digits_mlp_folded": "digits_mlp", "jet_tagger_folded": "jet_tagger"}
BITS = dict.fromkeys(KERNELS, 6) | {"wide_mlp": 8}
LEAST_ZEROS = dict.fromkeys(KERNELS, 0.45) | {"digits_mlp": 0.8, "wide_mlp": 0.0}
INPUT = dict.fromkeys(KERNELS, (1 / 16, 0, 15 / 16)) | {
    "jet_tagger": (1 / 64, -32, 32 - 1 / 64),
    "wide_mlp": (1 / 256, 0, 255 / 256),
}
SHAPES = dict.fromkeys(KERNELS, (64,)) | {
    "jet_tagger": (16,),
    "wide_mlp": (256,),
    "digits_cnn": (8, 8, 1),
    "residual_cnn": (8, 8, 1),
}
PAYLOAD = {  # bytes of one inference
    "digits_mlp": (32, 20),
    "jet_tagger": (24, 10),
    "wide_mlp": (256, 416),
    "digits_cnn": (32, 24),
    "residual_cnn": (32, 24),
    "anomaly_ae": (32, 3),
}
LEAST_ACCURACY = {"digits_mlp": 0.95, "jet_tagger": 0.85, "digits_cnn": 0.97, "residual_cnn": 0.97}
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared, with the public jets and models, is absent")


@pytest.fixture(scope="module")
def networks():
    keras = pytest.importorskip("keras")
    pytest.importorskip("qkeras")
    return {name: keras.models.load_model(MODELS / name / f"{name}.keras") for name in KERNELS}


def vectors(name):
    with np.load(MODELS / name / "test.npz") as file:
        return file["x"], file["y"]


def classes(network, x):
    return network.predict(x, batch_size=4096, verbose=0).argmax(axis=1)


def test_the_zoo_is_complete():
    assert zoo_names() == tuple(sorted(OF_NETWORK))
    for name, network in OF_NETWORK.items():
        assert (MODELS / name / "README.md").is_file()
        found = find_subject(name)
        assert found.name == name
        assert found.path.resolve() == MODELS / network / f"{network}.keras"
        assert found.vectors is not None
        assert found.vectors.resolve() == MODELS / network / "test.npz"


def test_nothing_is_stored_twice():
    for name, network in OF_NETWORK.items():
        if name != network:
            files = {path.name for path in (MODELS / name).iterdir() if path.name != "__pycache__"}
            assert files == {"README.md", "request.toml"}


@pytest.mark.parametrize("name", OF_NETWORK)
def test_requests_are_legal(name):
    request = load_request(MODELS / name / "request.toml")
    link, part = find_link(request.link), find_part(request.part)
    assert request.boundary in link.boundaries
    check_reach(link, part)
    check_must_beat(request.must_beat, request.boundary)
    assert link.fixed_ns(*PAYLOAD[OF_NETWORK[name]]).typical < request.budget_ns


@pytest.mark.parametrize("name", KERNELS)
def test_test_sets_lie_on_the_grid_of_the_input_type(name):
    x, y = vectors(name)
    step, low, high = INPUT[name]
    assert x.dtype == np.float32
    assert y.dtype == (np.int64 if name in LEAST_ACCURACY else np.float32)
    assert x.shape == (len(y), *SHAPES[name])
    assert np.array_equal(np.rint(x / step) * step, x)
    assert low <= x.min()
    assert x.max() <= high


@pytest.mark.parametrize("name", KERNELS)
def test_model_files_carry_no_dates_nor_addresses(name):
    with zipfile.ZipFile(MODELS / name / f"{name}.keras") as archive:
        assert "date_saved" not in json.loads(archive.read("metadata.json"))
        assert b"shared_object_id" not in archive.read("config.json")
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("name", KERNELS)
def test_weights_have_their_bits_and_zeros(name, networks):
    convert = pytest.importorskip("keras").ops.convert_to_numpy
    weighted = [layer for layer in networks[name].layers if hasattr(layer, "kernel")]
    assert tuple(tuple(layer.kernel.shape) for layer in weighted) == KERNELS[name]
    half = 2 ** (BITS[name] - 1)
    for layer in weighted:
        for tensor in (layer.kernel, layer.bias):
            raw = convert(tensor) * half
            assert np.array_equal(raw, np.rint(raw))
            assert raw.min() >= -half
            assert raw.max() < half
        assert (convert(layer.kernel) == 0).mean() > LEAST_ZEROS[name]
    assert not networks[name].compiled


@pytest.mark.parametrize("name", LEAST_ACCURACY)
def test_accuracy_on_the_committed_test_set(name, networks):
    x, y = vectors(name)
    assert (classes(networks[name], x) == y).mean() >= LEAST_ACCURACY[name]


def test_the_digits_were_held_out():
    pytest.importorskip("sklearn")
    pytest.importorskip("qkeras")
    from models.digits_mlp.train import digits

    x_train, x_test, _, y_test = digits()
    x, y = vectors("digits_mlp")
    assert np.array_equal(x, x_test)
    assert np.array_equal(y, y_test)
    assert len(x_train) + len(x_test) == 1797


@pytest.mark.parametrize("name", ["digits_cnn", "residual_cnn"])
def test_the_pictures_are_those_of_digits_mlp(name):
    x, y = vectors(name)
    rows, classes_of_rows = vectors("digits_mlp")
    assert np.array_equal(x.reshape(len(x), -1), rows)
    assert np.array_equal(y, classes_of_rows)


def test_the_score_of_anomaly_ae_tells_other_digits_from_ones(networks):
    metrics = pytest.importorskip("sklearn.metrics")
    x, y = vectors("anomaly_ae")
    scores = networks["anomaly_ae"].predict(x, verbose=0).ravel()
    assert set(y) == {0, 1}
    assert metrics.roc_auc_score(y, scores) > 0.99


def test_the_ones_of_anomaly_ae_were_held_out():
    metrics = pytest.importorskip("sklearn.metrics")
    pytest.importorskip("qkeras")
    from models.anomaly_ae.train import TRAIN, ones_and_others

    x_train, x_test, y_test = ones_and_others()
    x, y = vectors("anomaly_ae")
    assert np.array_equal(x, x_test)
    assert np.array_equal(y, y_test)
    assert (len(x_train), len(x_train) + len(x_test)) == (TRAIN, 1797)
    distance = ((x - x_train.mean(axis=0)) ** 2).sum(axis=1)  # without a network
    assert metrics.roc_auc_score(y, distance) < 0.91


def test_wide_mlp_cleans_better_than_averaging(networks):
    x, y = vectors("wide_mlp")
    average = x.reshape(-1, 2, 2, 64).mean(axis=2).reshape(-1, 128)
    answer = networks["wide_mlp"].predict(x, verbose=0)
    assert np.sqrt(((answer - y) ** 2).mean()) < 0.15
    assert np.sqrt(((average - y) ** 2).mean()) > 0.22


def test_the_pairs_of_wide_mlp_were_held_out():
    pytest.importorskip("sklearn")
    pytest.importorskip("qkeras")
    from models.wide_mlp import train

    rng = np.random.default_rng(train.SEED)
    seen, others = train.pictures()
    train.noisy_pairs(rng, seen, train.PAIRS)
    x, y = vectors("wide_mlp")
    x_test, y_test = train.noisy_pairs(rng, others, train.TEST)
    assert np.array_equal(x, x_test)
    assert np.array_equal(y, y_test)
    assert not {row.tobytes() for row in seen} & {row.tobytes() for row in others}


@needs_shared
def test_jet_tagger_on_real_jets(networks):
    with np.load(SHARED / "data" / "jets_500.npz") as file:
        x, y = file["x"], file["y"]
    step, low, high = INPUT["jet_tagger"]
    as_hardware_sees_them = (np.floor(x / step) * step).clip(low, high)
    assert (classes(networks["jet_tagger"], as_hardware_sees_them) == y).mean() >= 0.74


@needs_shared
def test_the_labels_of_jet_tagger_are_its_teachers():
    pytest.importorskip("qkeras")
    from models.jet_tagger.train import Teacher

    teacher = Teacher(SHARED / "models" / "qkeras_3layer.json")
    x, y = vectors("jet_tagger")
    assert np.array_equal(teacher.logits(x).argmax(axis=1), y)
    assert set(np.bincount(y)) == {400}
    with np.load(SHARED / "data" / "jets_500.npz") as file:
        assert 0.77 <= (teacher.logits(file["x"]).argmax(axis=1) == file["y"]).mean() <= 0.82
