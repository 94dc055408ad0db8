"""Make docs/pareto.svg: `python docs/pareto.py [pareto.json]` (of `fpgaflow budget digits_mlp --pareto --json`).

Without a file the front is found, which takes a while.
"""

from __future__ import annotations

import sys
from pathlib import Path

from flow.progress import Progress
from flow.report.pareto import pareto_from_json
from flow.report.pareto_picture import pareto_picture
from flow.report.terminal import new_console
from flow.steps.context import Options
from flow.steps.pareto import pareto_to


def main() -> None:
    """Draw the front as --picture does."""
    given = sys.argv[1:]
    if given:
        front = pareto_from_json(Path(given[0]).read_bytes())
    else:
        front = pareto_to(Options("digits_mlp"), Progress(new_console(stderr=True)))
    Path(__file__).with_suffix(".svg").write_bytes(pareto_picture(front, "svg"))


if __name__ == "__main__":
    main()
