"""What other machines need for the same inference: published figures, and measurements of the user's own machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from flow.cli.given import first_given
from flow.cli.group import cli
from flow.cli.options import shared
from flow.cli.outputs import checked_output
from flow.errors import UserError

if TYPE_CHECKING:
    from flow.steps.context import Options

_HOW = ("device", "count", "warmup", "output")


@cli.command()
@shared
@click.option("--measure", type=click.Choice(["gpu", "cpu"]), help="Time this machine and write a file for reports.")
@click.option("--device", type=click.Choice(["cuda", "cpu"]), help="For --measure gpu [cuda].")
@click.option("--count", type=int, help="Calls that are timed [10000].")
@click.option("--warmup", type=int, help="Calls before them that are not [1000].")
@click.option(
    "--output", metavar="FILE", help="Where measurements go [measured/gpu.json or cpu.json in the run's folder]."
)
def baseline(*, measure: str | None, as_json: bool, **options: Any) -> None:
    """Show all baselines beside a model's design; without MODEL, the published figures alone.

    With --measure, time this machine instead: a GPU's launches, copies and the network in PyTorch, or the network on
    this CPU in ONNX Runtime and in hls4ml's C++. Reports of the same model then show what was measured.
    """
    from flow.steps.context import Options

    _refuse_strays(measure, options)
    how = {name: options.pop(name) for name in _HOW}
    named = options["model"] is not None or options["layers"] is not None
    asked = Options(**options) if named else None
    if measure is not None:
        _measure(measure, asked, as_json=as_json, **how)
    elif asked is None:
        _published(as_json=as_json)
    else:
        _beside(asked, as_json=as_json)


def _refuse_strays(measure: str | None, options: dict[str, Any]) -> None:
    """Refuse options that would say nothing: how to measure without measuring, what to plan without a network."""
    stray = None if measure is not None else first_given(options, _HOW)
    if stray is not None:
        raise UserError(f"{stray} goes with --measure: say --measure gpu or --measure cpu, or leave it out")
    if options["device"] is not None and measure == "cpu":
        raise UserError("--device is of --measure gpu; leave it out")
    stray = first_given(options, (name for name in options if name not in _HOW))
    if stray is not None and options["model"] is None and options["layers"] is None:
        raise UserError(f"{stray} is of a network's design: name a MODEL, or leave it out")


def _measure(kind: Any, asked: Options | None, *, as_json: bool, output: str | None, **how: Any) -> None:
    from flow.progress import Progress
    from flow.report.measured import print_measurement
    from flow.report.terminal import new_console
    from flow.steps.measure.measure import measure

    found, path = measure(
        kind,
        asked,
        output=None if output is None else checked_output("--output", output),
        progress=Progress(new_console(stderr=True)),
        **{name: value for name, value in how.items() if value is not None},
    )
    if as_json:
        from flow.baseline.measured import measurement_to_json

        click.echo(measurement_to_json(found), nl=False)
    else:
        print_measurement(found, path, new_console())


def _published(*, as_json: bool) -> None:
    from flow.report.baselines import baselines_to_json, published
    from flow.report.beside import beside
    from flow.report.terminal import new_console

    found = published()
    if as_json:
        click.echo(baselines_to_json(found), nl=False)
    else:
        new_console().print(beside(found.baseline, None, None, full=True))


def _beside(asked: Options, *, as_json: bool) -> None:
    from flow.progress import Progress
    from flow.report.baselines import Baselines, baselines_to_json
    from flow.report.beside import beside
    from flow.report.terminal import new_console
    from flow.steps.run import run_to

    report = run_to("budget", asked, Progress(new_console(stderr=True)))
    if as_json:
        click.echo(baselines_to_json(Baselines(report.baseline, report.headline)), nl=False)
    else:
        new_console().print(beside(report.baseline, report.headline, report.boundary, full=True))
