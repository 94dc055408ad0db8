"""The command `fpgaflow`: a thin layer over `flow.steps`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from flow.errors import UserError, VerificationError

DONE, FAILED, USER_ERROR, MISSED = 0, 1, 2, 3

_OPTIONS = (
    click.option("--budget", help="Largest total latency, with a unit: 5us, 50ns."),
    click.option("--rate", help="Arrival rate that must be sustained: 40MHz."),
    click.option("--part", help="FPGA part (see: fpgaflow parts)."),
    click.option("--clock", help="Clock: 200MHz, 5ns, or auto for the lowest latency."),
    click.option("--link", help="How data reach the chip (see: fpgaflow links)."),
    click.option("--boundary", type=click.Choice(["core", "pins", "wire_to_wire", "host_to_host"])),
    click.option("--config", type=click.Path(path_type=Path), help="hls4ml configuration (YAML)."),
    click.option("--vectors", metavar="FILE|N", help="Inputs: .npy or .npz with x and optional y; or a count."),
    click.option("--clip", is_flag=True, help="Clip vectors outside the input type instead of refusing them."),
    click.option("--out", type=click.Path(path_type=Path), help="Folder of the run [hls_projects/<model>]."),
    click.option("--json", "as_json", is_flag=True, help="Print report.json on standard output, nothing else."),
)


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return click.argument("model")(command)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="fpgaflow")
def cli() -> None:
    """From a quantized neural network and a latency budget to verified FPGA hardware.

    MODEL is a zoo name (fpgaflow models), a model file (.keras, .h5, Keras-2 .json), a saved model.json, or a
    folder with a request.toml. Exit status: 0 done and the budget holds; 1 verification failed; 2 user error;
    3 budget or rate missed.
    """


def _go(goal: str, options: dict[str, Any]) -> None:
    from rich.console import Console

    from flow.progress import Progress
    from flow.steps.context import Options
    from flow.steps.run import run_to

    as_json = options.pop("as_json")
    report = run_to(goal, Options(**options), Progress(Console(stderr=True)))
    if as_json:
        from flow.report.report import report_to_json

        click.echo(report_to_json(report), nl=False)
    else:
        from flow.report.terminal import print_report

        print_report(report, Console())
    sys.exit(FAILED if not report.verified else MISSED if report.verdict == "missed" else DONE)


@cli.command()
@_shared
def budget(**options: Any) -> None:
    """Predict latency, rate and resources; nothing is built."""
    _go("budget", options)


@cli.command()
@_shared
def build(**options: Any) -> None:
    """Write the SystemVerilog and the hls4ml project."""
    _go("build", options)


@cli.command()
@_shared
@click.option("--waves", is_flag=True, help="Write sim/waves.fst.")
def simulate(**options: Any) -> None:
    """Prove bits and cycles under cocotb and Verilator."""
    _go("simulate", options)


@cli.command()
@_shared
@click.option("--netlist", is_flag=True, help="Run the synthesized netlist through the same bench.")
@click.option("--route", is_flag=True, help="Place and route too (ECP5, iCE40, Gowin).")
def synth(**options: Any) -> None:
    """Count cells with Yosys."""
    _go("synth", options)


@cli.command()
@_shared
def report(**options: Any) -> None:
    """Show what the run's folder holds, without running anything that is missing."""
    _go("report", options)


@cli.command()
@_shared
@click.option("--waves", is_flag=True, help="Write sim/waves.fst.")
@click.option("--netlist", is_flag=True, help="Run the synthesized netlist through the same bench.")
@click.option("--route", is_flag=True, help="Place and route too (ECP5, iCE40, Gowin).")
@click.option("--no-synth", is_flag=True, help="Leave synthesis out.")
def run(**options: Any) -> None:
    """Do all of it: plan, build, simulate, synthesize, report."""
    _go("simulate" if options.pop("no_synth") else "run", options)


@cli.command()
def parts() -> None:
    """List the FPGA parts."""
    from rich.console import Console

    from flow.report.catalogue import print_parts

    print_parts(Console())


@cli.command()
def links() -> None:
    """List the links between the chip and the world."""
    from rich.console import Console

    from flow.report.catalogue import print_links

    print_links(Console())


@cli.command()
def models() -> None:
    """List the models that come with fpgaflow."""
    from rich.console import Console

    from flow.report.catalogue import print_models
    from flow.zoo import zoo_requests

    print_models(zoo_requests(), Console())


def main() -> None:
    """Run the command; a user's mistake ends in one message and status 2, a failed verification in status 1."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(USER_ERROR)
    except click.Abort:
        click.echo("fpgaflow: interrupted", err=True)
        sys.exit(130)
    except UserError as error:
        click.echo(f"fpgaflow: {error}", err=True)
        sys.exit(USER_ERROR)
    except VerificationError as error:
        click.echo(f"fpgaflow: verification failed: {error}", err=True)
        sys.exit(FAILED)
