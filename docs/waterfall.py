"""Make docs/waterfall.svg from a run: `python docs/waterfall.py [hls_projects/digits_mlp]` (after `make demo`)."""

from __future__ import annotations

import sys
from pathlib import Path

from flow.report.report import load_report
from flow.report.waterfall import waterfall


def main() -> None:
    """Draw report.json as report.html shows it."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "hls_projects/digits_mlp")
    picture = waterfall(load_report(folder / "report.json"))
    Path(__file__).with_suffix(".svg").write_text(picture + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
