"""The report as one HTML file without anything to fetch."""

from __future__ import annotations

import io

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

from flow.report.load_picture import load_picture
from flow.report.report import Report
from flow.report.terminal import render
from flow.report.tornado import tornado
from flow.report.waterfall import waterfall

WIDTH = 120  # characters


def to_html(report: Report) -> bytes:
    """Return the terminal report as a page: same report, same bytes."""
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    console.print(render(report, full=True))
    page = console.export_html(theme=DEFAULT_TERMINAL_THEME)
    pictures = f"{waterfall(report)}\n{load_picture(report.load)}{tornado(report.sensitivity)}"
    return page.replace("</body>", f"{pictures}</body>", 1).encode()
