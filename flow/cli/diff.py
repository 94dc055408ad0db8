"""The command that compares two plans."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from flow.cli.group import DONE, cli

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

    from flow.plan.compare_plans import Comparison, compare_plans, load_side

    found = compare_plans(load_side(a), load_side(b))
    if as_json:
        click.echo(TypeAdapter(Comparison).dump_json(found, indent=1).decode())
    else:
        from flow.report.plan_differences import print_differences
        from flow.report.terminal import new_console

        print_differences(found, new_console())
    sys.exit(DONE if found.equal else DIFFERENT)
