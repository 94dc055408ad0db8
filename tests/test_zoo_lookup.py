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
