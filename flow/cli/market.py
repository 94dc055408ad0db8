"""`fpgaflow budget --all-parts`: one network on many parts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from flow.cli.given import first_given
from flow.cli.group import DONE, MISSED
from flow.cli.outputs import checked_output, write_outputs
from flow.errors import UserError

if TYPE_CHECKING:
    from flow.report.market import Market, Sort

_NAMES = ("all_parts", "parts", "sort", "csv", "picture")
_OF_ONE = ("sensitivity", "arrivals", "buffer", "overrun", "output_buffer", "bunch_crossings", "measured")
"""What only the report of one part shows."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what is asked of a comparison; parts: names, none for the whole catalogue. csv: "-" is standard output."""

    parts: tuple[str, ...]
    sort: Sort
    csv: Path | Literal["-"] | None
    picture: Path | None


def market_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a comparison."""
    for option in (
        click.option(
            "--picture", metavar="FILE", help="Draw the comparison, or the front of --pareto: FILE.svg or .png."
        ),
        click.option(
            "--csv",
            metavar="FILE|-",
            help="Write the comparison, or the front of --pareto, as CSV; - is standard output.",
        ),
        click.option(
            "--sort",
            type=click.Choice(["latency", "price", "area"]),
            help="Order among rows of one verdict [latency].",
        ),
        click.option("--parts", metavar="A,B,…", help="Compare these parts and boards [the request's `parts`]."),
        click.option("--all-parts", is_flag=True, help="Compare all parts and boards of the catalogue."),
    ):
        command = option(command)
    return command


def comparison(options: dict[str, Any]) -> Asked | None:
    """Take what is asked of a comparison out of the options; None where one part is meant."""
    taken = {name: options.pop(name) for name in _NAMES}
    if taken["all_parts"] and taken["parts"] is not None:
        raise UserError("--all-parts and --parts ask for two comparisons; give one of them")
    asked = taken["parts"] is not None or taken["all_parts"]
    if asked and options["part"] is not None:
        raise UserError("--part means one part; leave it out, or leave --all-parts and --parts out")
    names = _listed(taken["parts"])
    if not asked and options["part"] is None:
        names = _requested(options)
    if not asked and not names:
        if taken["sort"] is not None:
            raise UserError("--sort belongs to a comparison: give --all-parts or --parts a,b with it")
        stray = next((name for name in ("csv", "picture") if taken[name] is not None), None)
        if stray is not None:
            raise UserError(
                f"--{stray} belongs to a comparison or a front: give --all-parts, --parts a,b or --pareto with it"
            )
        return None
    stray = first_given(options, _OF_ONE)
    if stray is not None:
        raise UserError(f"{stray} is told of one part only; leave it out, or compare no parts and give --part")
    if taken["csv"] == "-" and options["as_json"]:
        raise UserError("--csv - and --json both write to standard output; give --csv a file")
    csv = taken["csv"] if taken["csv"] in {None, "-"} else checked_output("--csv", taken["csv"])
    picture = None if taken["picture"] is None else checked_output("--picture", taken["picture"])
    if picture is not None and picture == csv:
        raise UserError(f"--csv and --picture both name {picture}; give two names")
    return Asked(names, cast("Sort", taken["sort"] or "latency"), csv, picture)


def _listed(text: str | None) -> tuple[str, ...]:
    names = () if text is None else tuple(name.strip() for name in text.split(",") if name.strip())
    if text is not None and not names:
        raise UserError("--parts names no part; write for example --parts u250,kv260")
    return names


def _requested(options: dict[str, Any]) -> tuple[str, ...]:
    from flow.steps.chosen import chosen
    from flow.steps.context import Options

    given = {name: value for name, value in options.items() if name != "as_json"}
    return chosen(Options(**given)).request.parts


def compare_parts(asked: Asked, options: dict[str, Any]) -> None:
    """Compare, show, write what was asked for, and end with status 0 where a part meets all of it, else 3."""
    from flow.progress import Progress
    from flow.report.market_picture import picture_format
    from flow.report.terminal import new_console
    from flow.steps.compare import compare_to
    from flow.steps.context import Options

    as_json = options.pop("as_json")
    kind = None if asked.picture is None else picture_format(asked.picture)
    progress = Progress(new_console(stderr=True))
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    market = compare_to(Options(**options), asked.parts, sort=asked.sort, progress=progress, jobs=jobs)
    _write(market, asked, kind)
    if as_json:
        from flow.report.market import market_to_json

        click.echo(market_to_json(market), nl=False)
    elif asked.csv != "-":
        from flow.report.market_table import print_market

        print_market(market, new_console())
    sys.exit(DONE if market.holds else MISSED)


def _write(market: Market, asked: Asked, kind: str | None) -> None:
    drawn = text = None
    if asked.picture is not None and kind is not None:
        from flow.report.market_picture import market_picture

        drawn = market_picture(market, kind)
    if asked.csv is not None:
        from flow.report.market import market_to_csv

        text = market_to_csv(market)
    write_outputs(asked.csv, text, asked.picture, drawn)
