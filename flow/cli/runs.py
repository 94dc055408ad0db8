"""Commands that work on one model: from the budget to the report."""

from __future__ import annotations

import sys
from typing import Any

import click

from flow.cli.group import DONE, FAILED, MISSED, cli
from flow.cli.market import compare_parts, comparison, market_options
from flow.cli.options import sensitivity_option, shared
from flow.cli.pareto import asked_front, pareto_option, show_front


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
@shared
@market_options
@pareto_option
@sensitivity_option
def budget(**options: Any) -> None:
    """Predict latency, rate and resources, on one part or on many, or for all budgets; nothing is built."""
    front = asked_front(options)
    if front is not None:
        show_front(front, options)
    asked = comparison(options)
    if asked is not None:
        compare_parts(asked, options)
    _go("budget", options)


@cli.command()
@shared
def build(**options: Any) -> None:
    """Write the SystemVerilog and the hls4ml project."""
    _go("build", options)


@cli.command()
@shared
@click.option("--waves", is_flag=True, help="Write sim/waves.fst.")
def simulate(**options: Any) -> None:
    """Prove bits and cycles under cocotb and Verilator."""
    _go("simulate", options)


@cli.command()
@shared
@click.option("--netlist", is_flag=True, help="Run the synthesized netlist through the same bench.")
@click.option("--route", is_flag=True, help="Place and route too (ECP5, iCE40, Gowin).")
def synth(**options: Any) -> None:
    """Count cells with Yosys."""
    _go("synth", options)


@cli.command()
@shared
@sensitivity_option
def report(**options: Any) -> None:
    """Show what the run's folder holds, without running anything that is missing."""
    _go("report", options)


@cli.command()
@shared
@click.option("--waves", is_flag=True, help="Write sim/waves.fst.")
@click.option("--netlist", is_flag=True, help="Run the synthesized netlist through the same bench.")
@click.option("--route", is_flag=True, help="Place and route too (ECP5, iCE40, Gowin).")
@click.option("--no-synth", is_flag=True, help="Leave synthesis out.")
def run(**options: Any) -> None:
    """Do all of it: plan, build, simulate, synthesize, report."""
    _go("simulate" if options.pop("no_synth") else "run", options)
