"""Fixtures that the tests of the command share."""

import pytest

from tests.commands import Command


@pytest.fixture
def fpgaflow(monkeypatch, capsys, tmp_path):
    """Return the command, in an empty current folder."""
    monkeypatch.chdir(tmp_path)
    return Command(monkeypatch, capsys)
