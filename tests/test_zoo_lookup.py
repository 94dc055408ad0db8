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
