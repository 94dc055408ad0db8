"""Make docs/report.svg, the README's picture, from a run: `python docs/pictures.py [hls_projects/digits_mlp]`.

The run must have been made before (`make demo`).
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI

from flow.report.report import load_report
from flow.report.terminal import print_report

HERE = Path(__file__).parent
WIDTH = 104  # characters


def main() -> None:
    """Render report.json as a terminal shows it; the picture fetches no fonts."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "hls_projects/digits_mlp")
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    print_report(load_report(folder / "report.json"), console)
    shape = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    svg = console.export_svg(title="make demo", theme=MONOKAI, code_format=shape, unique_id="report")
    (HERE / "report.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
