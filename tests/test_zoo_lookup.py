"""What MODEL may mean."""

from __future__ import annotations

import pytest

from flow import zoo
from flow.errors import UserError
from tests.commands import save, tiny_graph


def test_a_zoo_name_wins_over_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jet_tagger").mkdir()
    found = zoo.find_subject("jet_tagger")
    assert (found.name, found.path.name) == ("jet_tagger", "jet_tagger.keras")
    assert found.vectors is not None
    assert found.request.budget == "50ns"


def test_a_path_to_a_folder_of_that_name_is_that_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(tiny_graph(), tmp_path / "jet_tagger" / "tiny.json")
    (tmp_path / "jet_tagger" / "request.toml").write_text("model = 'tiny.json'\n")
    assert zoo.find_subject("./jet_tagger").path.name == "tiny.json"


def test_a_file_is_named_by_its_stem_and_a_saved_graph_by_its_folder(tmp_path):
    assert zoo.find_subject(str(save(tiny_graph(), tmp_path / "a b" / "x.y.json"))).name == "x.y"
    assert zoo.find_subject(str(save(tiny_graph(), tmp_path / "a b" / "model.json"))).name == "a b"


def test_names_that_are_no_text_are_made_text(tmp_path):
    found = zoo.find_subject(str(save(tiny_graph(), tmp_path / "\udcffx.json")))
    assert found.name == "?x"
    assert found.path.is_file()


def test_an_installed_zoo_is_preferred(tmp_path, monkeypatch):
    package = tmp_path / "flow"
    monkeypatch.setattr(zoo, "__file__", str(package / "zoo.py"))
    (tmp_path / "models").mkdir()
    assert zoo.zoo_folder() == tmp_path / "models"
    (package / "zoo_models" / "mine").mkdir(parents=True)
    (package / "zoo_models" / "mine" / "request.toml").write_text("model = 'gone.keras'\n")
    assert zoo.zoo_names() == ("mine",)
    with pytest.raises(UserError, match=r"gone\.keras does not exist"):
        zoo.find_subject("mine")


@pytest.mark.parametrize("place", ["models", "flow/zoo_models"])
def test_a_request_may_name_the_files_of_another_folder(place, tmp_path, monkeypatch):
    monkeypatch.setattr(zoo, "__file__", str(tmp_path / "flow" / "zoo.py"))
    folder = tmp_path / place
    save(tiny_graph(), folder / "net" / "net.json")
    (folder / "net" / "x.npz").touch()
    (folder / "net_folded").mkdir()
    request = folder / "net_folded" / "request.toml"
    request.write_text('model = "../net/net.json"\nvectors = "../net/x.npz"\nbudget = "5us"\n')
    assert zoo.zoo_names() == ("net_folded",)
    monkeypatch.chdir(tmp_path)
    for name in ("net_folded", f"{place}/net_folded"):
        found = zoo.find_subject(name)
        assert (found.name, found.request.budget_ns) == ("net_folded", 5000)
        assert found.path.samefile(folder / "net" / "net.json")
        assert found.vectors is not None
        assert found.vectors.samefile(folder / "net" / "x.npz")
    (folder / "net" / "net.json").unlink()
    with pytest.raises(UserError, match=r"net\.json, but .* does not exist"):
        zoo.find_subject("net_folded")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "model = '.'",
            r"model is '\.', which is a folder; write the name of a file, for example model = \"jets\.keras\"",
        ),
        ("model = ''", "model is empty; write the name of a file"),
        ("model = '../ok'", r"model is '\.\./ok', which is a folder"),
        ("model = 'gone.json'", r"names gone\.json, but .*gone\.json does not exist"),
        ("model = '" + "x" * 5_000 + "'", "model is 'x{60}…', which is no path"),
        ("model = '/dev/null'", "model is '/dev/null', which is a device or a pipe"),
        (
            "model = 'net.json'\nvectors = '../ok'",
            r"vectors is '\.\./ok', which is a folder; .* vectors = \"test\.npz\"",
        ),
        ("model = 'net.json'\nvectors = ''", "vectors is empty"),
        ("model = 'net.json'\nfreeze = ''", "freeze is empty"),
        ("model = 'net.json'\nfreeze = '/dev/null'", "freeze is '/dev/null', which is a device or a pipe"),
    ],
)
def test_a_request_names_files_that_are_there(tmp_path, text, said):
    folder = tmp_path / "ok"
    save(tiny_graph(), folder / "net.json")
    (folder / "request.toml").write_text(text)
    with pytest.raises(UserError, match=said) as error:
        zoo.find_subject(str(folder))
    assert str(folder / "request.toml") in str(error.value)
