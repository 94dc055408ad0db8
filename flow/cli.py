"""The command `fpgaflow`: a thin layer over `flow.steps`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from flow.errors import UserError, VerificationError

DONE, FAILED, USER_ERROR, MISSED, INTERRUPTED = 0, 1, 2, 3, 130


def _folder(_context: click.Context, _option: click.Parameter, value: str | None) -> Path | None:
    if value == "":
        raise click.BadParameter("the name is empty")
    return None if value is None else Path(value)


_OPTIONS = (
    click.option("--budget", help="Largest total latency, with a unit: 5us, 50ns."),
    click.option("--rate", help="Arrival rate that must be sustained: 40MHz."),
    click.option("--part", help="FPGA part or board (see: fpgaflow parts, fpgaflow boards)."),
    click.option("--clock", help="Clock: 200MHz, 5ns, or auto for the lowest latency."),
    click.option("--link", help="How data reach the chip (see: fpgaflow links)."),
    click.option(
        "--spare",
        multiple=True,
        type=click.Choice(["lut", "ff", "dsp", "bram"]),
        help="A resource that the rest of the design needs; may be given more than once.",
    ),
    click.option("--boundary", type=click.Choice(["core", "pins", "wire_to_wire", "host_to_host"])),
    click.option(
        "--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="hls4ml configuration (YAML)."
    ),
    click.option("--vectors", metavar="FILE|N", help="Inputs: .npy or .npz with x and optional y; or a count."),
    click.option("--clip", is_flag=True, help="Clip vectors outside the input type instead of refusing them."),
    click.option("--out", metavar="DIR", callback=_folder, help="Folder of the run [hls_projects/<model>]."),
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
    from flow.progress import Progress
    from flow.report.terminal import new_console
    from flow.steps.context import Options
    from flow.steps.run import run_to

    as_json = options.pop("as_json")
    report = run_to(goal, Options(**options), Progress(new_console(stderr=True)))
    if as_json:
        from flow.report.report import report_to_json

        click.echo(report_to_json(report), nl=False)
    else:
        from flow.report.terminal import print_report

        print_report(report, new_console())
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
    from flow.report.catalogue import print_parts
    from flow.report.terminal import new_console

    print_parts(new_console())


@cli.command()
def boards() -> None:
    """List the boards; a board's name stands wherever a part's may."""
    from flow.report.catalogue import print_boards
    from flow.report.terminal import new_console

    print_boards(new_console())


@cli.command()
def links() -> None:
    """List the links between the chip and the world."""
    from flow.report.catalogue import print_links
    from flow.report.terminal import new_console

    print_links(new_console())


@cli.command()
def models() -> None:
    """List the models that come with fpgaflow."""
    from flow.report.catalogue import print_models
    from flow.report.terminal import new_console
    from flow.zoo import zoo_requests

    print_models(zoo_requests(), new_console())


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
        _fail("interrupted", INTERRUPTED)
    except UserError as error:
        _fail(str(error), USER_ERROR)
    except VerificationError as error:
        _fail(f"verification failed: {error}", FAILED)
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        _fail(f"{where}{error.strerror or error}", USER_ERROR)
    except MemoryError:
        _fail("there is not enough memory for this network or this many vectors", USER_ERROR)


def _fail(message: str, status: int) -> NoReturn:
    # names in a foreign model file may hold anything, control sequences of the terminal too
    shown = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in message)
    click.echo(f"fpgaflow: {shown}", err=True)
    sys.exit(status)
