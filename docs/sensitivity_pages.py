"""Renew what docs/sensitivity.md shows: `python docs/sensitivity_pages.py`, or with NAME=report.json for each model.

Without arguments the reports are made by `fpgaflow budget NAME --sensitivity`; that takes some minutes.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console

from flow.progress import Progress
from flow.report.report import Report, load_report
from flow.report.sensitivity import render_sensitivity
from flow.report.terminal import PLAIN_WIDTH, gpu_roofline, new_console
from flow.report.tornado import tornado
from flow.steps.context import Options
from flow.steps.run import run_to

HERE = Path(__file__).parent
NAMES = ("jet_tagger_folded", "digits_cnn")


def main() -> None:
    """Put each model's section between its marks, and the first one's picture beside the page."""
    given = dict(word.split("=", 1) for word in sys.argv[1:])
    page = HERE / "sensitivity.md"
    text = page.read_text(encoding="utf-8")
    for name in NAMES:
        report = load_report(Path(given[name])) if name in given else _made(name)
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda found, r=report: _section(found, r), text, flags=re.DOTALL
        )
        if name == NAMES[0]:
            (HERE / "sensitivity.svg").write_text(tornado(report.sensitivity), encoding="utf-8")
    page.write_text(text, encoding="utf-8")


def _made(name: str) -> Report:
    return run_to("budget", Options(model=name, sensitivity=True), Progress(new_console(stderr=True)))


def _section(found: re.Match[str], report: Report) -> str:
    assert report.sensitivity is not None
    console = Console(file=io.StringIO(), width=PLAIN_WIDTH, markup=False, emoji=False, highlight=False)
    console.print(render_sensitivity(report.sensitivity, gpu_roofline(report)))
    assert isinstance(console.file, io.StringIO)
    lines = "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())
    return f"{found[1]}```\n{lines.strip()}\n```\n{found[2]}"


if __name__ == "__main__":
    main()
