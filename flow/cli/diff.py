"""The command that compares two plans."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flow.cli.group import DONE, cli
from flow.errors import UserError

if TYPE_CHECKING:
    from flow.plan.compare_plans import Side

DIFFERENT = 1


@cli.command()
@click.argument("a", type=click.Path(exists=True, path_type=Path))
@click.argument("b", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON, nothing else.")
def diff(a: Path, b: Path, *, as_json: bool) -> None:
    """Show what differs between two plans: each a plan.json or the folder of a run.

    Exit status as that of diff: 0 nothing differs, 1 something does, 2 trouble.
    """
    from pydantic import TypeAdapter

    from flow.plan.compare_plans import Comparison, compare_plans

    found = compare_plans(_side(a), _side(b))
    if as_json:
        click.echo(TypeAdapter(Comparison).dump_json(found, indent=1).decode())
    else:
        from flow.report.plan_differences import print_differences
        from flow.report.terminal import new_console

        print_differences(found, new_console())
    sys.exit(DONE if found.equal else DIFFERENT)


def _side(path: Path) -> Side:
    """Read a plan with the timeline beside it; raise UserError where that is of another plan."""
    from flow.plan.compare_plans import load_side

    if not path.is_dir() and not path.is_file():
        raise UserError(f"{path} is a device or a pipe; give a plan.json or the folder of a run")
    side = load_side(path)
    if side.timeline is not None:
        known = {edge.name for edge in side.timeline.edges}
        edges = (*(run.choice.output for run in side.plan.runs), *(c.edge for c in side.plan.converters))
        strange = next((edge for edge in edges if edge not in known), None)
        if strange is not None:
            raise UserError(
                f"{path}: the timeline.json beside the plan has no edge '{strange}' and is of another plan; "
                "renew both: fpgaflow build"
            )
    # a name that is no UTF-8 cannot stand in JSON
    return replace(side, path=Path(os.fsencode(path).decode(errors="replace")))
