"""What other machines need for the same inference: published figures, and measurements of the user's own machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flow.cli.group import cli
from flow.cli.options import shared

if TYPE_CHECKING:
    from flow.steps.context import Options


@cli.command()
@shared
@click.option("--measure", type=click.Choice(["gpu", "cpu"]), help="Time this machine and write a file for reports.")
@click.option("--device", type=click.Choice(["cuda", "cpu"]), default="cuda", help="For --measure gpu [cuda].")
@click.option("--count", type=int, default=10_000, help="Calls that are timed [10000].")
@click.option("--warmup", type=int, default=1_000, help="Calls before them that are not [1000].")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where measurements go [measured/gpu.json or cpu.json in the run's folder].",
)
def baseline(
    *, measure: str | None, device: str, count: int, warmup: int, output: Path | None, as_json: bool, **options: Any
) -> None:
    """Show all baselines beside a model's design; without MODEL, the published figures alone.

    With --measure, time this machine instead: a GPU's launches, copies and the network in PyTorch, or the network on
    this CPU in ONNX Runtime and in hls4ml's C++. Reports of the same model then show what was measured.
    """
    from flow.steps.context import Options

    named = options["model"] is not None or options["layers"] is not None
    asked = Options(**options) if named else None
    if measure is not None:
        _measure(measure, asked, device=device, count=count, warmup=warmup, output=output, as_json=as_json)
    elif asked is None:
        _published(as_json=as_json)
    else:
        _beside(asked, as_json=as_json)


def _measure(kind: Any, asked: Options | None, *, as_json: bool, **how: Any) -> None:
    from flow.progress import Progress
    from flow.report.measured import print_measurement
    from flow.report.terminal import new_console
    from flow.steps.measure.measure import measure

    found, path = measure(kind, asked, progress=Progress(new_console(stderr=True)), **how)
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
