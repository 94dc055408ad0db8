"""What the console makes of text that would steer a terminal, and of a reader that has gone."""

import io
import os
import subprocess
import sys

import pytest

from flow.report.console import visible
from flow.report.terminal import new_console


def test_control_sequences_in_a_name_reach_no_terminal(monkeypatch):
    console = new_console()
    shown = io.StringIO()
    monkeypatch.setattr(console, "file", shown)
    console.print("a layer \x1b[2J\x1b[31m called \u202eevil\x07")
    said = shown.getvalue()
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "called" in said


@pytest.mark.parametrize("text", ["plain", "two\nlines", "µs × – ≤ ░█", "日本語", "no\u00a0break"])
def test_other_text_stays_as_it_is(text):
    assert visible(text) == text


@pytest.mark.parametrize("words", [("parts",), ("baseline", "--json"), ("links",)])
def test_a_reader_that_leaves_is_no_failed_verification(words):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-c", "from flow.cli import main; main()", *words]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60)
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""


def test_a_terminal_without_the_signs_still_gets_its_report():
    command = [sys.executable, "-c", "from flow.cli import main; main()", "parts"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=False, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"xcvu13p" in done.stdout
    assert b"?" in done.stdout
