"""`fpgaflow budget --pareto`: all plans that are best for some budget."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from flow.cli.given import first_given
from flow.cli.group import DONE, MISSED
from flow.cli.outputs import checked_output, write_outputs
from flow.errors import UserError

if TYPE_CHECKING:
    from flow.report.pareto import Pareto

_LOAD = "a front shows plans without a load; put one of its points under it, by the clock and budget that it gives"
_APART = {
    "all_parts": "it compares parts, and a front is one part's; give one of them",
    "parts": "it compares parts, and a front is one part's; give --part",
    "sort": "a front is sorted by latency",
    "sensitivity": "it is of one plan; ask for that of a point, by the clock and budget that the front gives",
    "latency_exact": "it asks for one latency, and a front has them all",
    "freeze": "it keeps one plan's timeline, and a front has many plans",
    "bunch_crossings": "a front is shown in ns and cycles",
    "measured": "a front shows no baselines",
    "arrivals": _LOAD,
    "buffer": _LOAD,
    "overrun": _LOAD,
    "output_buffer": _LOAD,
}
"""Options that do not go with a front, each with its reason."""

pareto_option = click.option(
    "--pareto", is_flag=True, help="Give all plans that no other beats in latency and area; takes a minute or two."
)


@dataclass(frozen=True, slots=True)
class AskedFront:
    """Hold where a front is to be written; csv: `-` is standard output."""

    csv: Path | Literal["-"] | None
    picture: Path | None


def asked_front(options: dict[str, Any]) -> AskedFront | None:
    """Take what is asked of a front out of the options; None where none is."""
    if not options.pop("pareto"):
        return None
    stray = first_given(options, _APART)
    if stray is not None:
        raise UserError(f"{stray} does not go with --pareto: {_APART[stray[2:].replace('-', '_')]}")
    for name in ("all_parts", "parts", "sort"):
        del options[name]
    csv, picture = options.pop("csv"), options.pop("picture")
    if csv == "-" and options["as_json"]:
        raise UserError("--csv - and --json both write to standard output; give --csv a file")
    asked = AskedFront(
        csv if csv in {None, "-"} else checked_output("--csv", csv),
        None if picture is None else checked_output("--picture", picture),
    )
    if asked.picture is not None and asked.picture == asked.csv:
        raise UserError(f"--csv and --picture both name {asked.picture}; give two names")
    return asked


def show_front(asked: AskedFront, options: dict[str, Any]) -> None:
    """Find the front, show it, write what was asked for; end with status 0 where a point meets the budget, else 3."""
    from flow.progress import Progress
    from flow.report.market_picture import picture_format
    from flow.report.terminal import new_console
    from flow.steps.context import Options
    from flow.steps.pareto import pareto_to

    as_json = options.pop("as_json")
    kind = None if asked.picture is None else picture_format(asked.picture)
    pareto = pareto_to(Options(**options), Progress(new_console(stderr=True)))
    _write(pareto, asked, kind)
    if as_json:
        from flow.report.pareto import pareto_to_json

        click.echo(pareto_to_json(pareto), nl=False)
    elif asked.csv != "-":
        from flow.report.pareto_table import print_pareto

        print_pareto(pareto, new_console())
    sys.exit(DONE if pareto.holds else MISSED)


def _write(pareto: Pareto, asked: AskedFront, kind: str | None) -> None:
    drawn = text = None
    if asked.picture is not None and kind is not None:
        from flow.report.pareto_picture import pareto_picture

        drawn = pareto_picture(pareto, kind)
    if asked.csv is not None:
        from flow.report.pareto import pareto_to_csv

        text = pareto_to_csv(pareto)
    write_outputs(asked.csv, text, asked.picture, drawn)
