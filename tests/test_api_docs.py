"""The example of docs/api.md runs as it stands there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.commands import save, tiny_graph

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.mark.eda
def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(tiny_graph(), tmp_path / "model.json")
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/api.md", "exec"), names)
    assert capsys.readouterr().out.count("met") == 2
    assert (tmp_path / "run" / "report.json").is_file()
    assert (tmp_path / "by_hand" / "signature.json").is_file()
    assert not (tmp_path / "hls_projects").exists()


def test_every_function_of_the_table_is_there():
    found = re.findall(r"`(flow(?:\.[a-z_]+)+)\.([a-z_]+)`", PAGE.split("| step |")[1])
    assert len(found) >= 10
    for module, name in found:
        assert callable(getattr(importlib.import_module(module), name)), f"{module}.{name}"
