"""The options that commands on a model share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def _folder(_context: click.Context, _option: click.Parameter, value: str | None) -> Path | None:
    if value == "":
        raise click.BadParameter("the name is empty")
    return None if value is None else Path(value)


def _timeline(_context: click.Context, _option: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and not value.is_dir() and not value.is_file():
        raise click.BadParameter(f"{value} is a device or a pipe; give a timeline.json or the folder of a run")
    return value


_OPTIONS = (
    click.option("--budget", help="Largest total latency, with a unit: 5us, 50ns."),
    click.option("--rate", help="Arrival rate that must be sustained: 40MHz."),
    click.option("--part", help="FPGA part or board (see: fpgaflow parts, fpgaflow boards)."),
    click.option("--clock", help="Clock: 200MHz, 5ns, 6xBC (of the LHC bunch clock), or auto for the lowest latency."),
    click.option("--link", help="How data reach the chip (see: fpgaflow links)."),
    click.option(
        "--spare",
        multiple=True,
        type=click.Choice(["lut", "ff", "dsp", "bram"]),
        help="A resource that the rest of the design needs; may be given more than once.",
    ),
    click.option(
        "--objective",
        type=click.Choice(["area", "latency"]),
        help="What is to be least among plans that keep budget and rate [area where one of them is asked].",
    ),
    click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="KIND=N|N%",
        help="The most of a resource that a plan may use: lut=30%, dsp=0; may be given more than once.",
    ),
    click.option("--payload-in", metavar="BYTES", help="The message that brings an input: 256B [the packed tensor]."),
    click.option("--payload-out", metavar="BYTES", help="The message that takes a result away [the packed tensor]."),
    click.option(
        "--arrivals", metavar="FILE|poisson:RATE|periodic:RATE|burst:N@GAP", help="Put the design under this load."
    ),
    click.option("--buffer", type=int, metavar="N", help="Inferences that can wait before the core [any number]."),
    click.option(
        "--overrun",
        type=click.Choice(["wait", "drop_new", "drop_old"]),
        help="What a full buffer does: keep the sender waiting, or lose the new or the old [wait].",
    ),
    click.option("--output-buffer", type=int, metavar="N", help="Places for results not yet sent [any number]."),
    click.option("--latency-exact", type=int, metavar="N", help="Cycles of the core, no more and no fewer."),
    click.option(
        "--freeze",
        type=click.Path(exists=True, path_type=Path),
        metavar="TIMELINE",
        callback=_timeline,
        help="Keep the timeline of a former run (its timeline.json or folder), or name the node that breaks it.",
    ),
    click.option("--bunch-crossings", is_flag=True, help="Show the latency in LHC bunch crossings too."),
    click.option("--boundary", type=click.Choice(["core", "pins", "wire_to_wire", "host_to_host"])),
    click.option(
        "--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="hls4ml configuration (YAML)."
    ),
    click.option("--vectors", metavar="FILE|N", help="Inputs: .npy or .npz with x and optional y; or a count."),
    click.option("--clip", is_flag=True, help="Clip vectors outside the input type instead of refusing them."),
    click.option(
        "--measured",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Measurements of your own machine (fpgaflow baseline --measure); may be given more than once.",
    ),
    click.option("--out", metavar="DIR", callback=_folder, help="Folder of the run [hls_projects/<model>]."),
    click.option("--layers", metavar="LIST", help="A network that is not trained, instead of MODEL: 16-64-32-32-5."),
    click.option("--bits", metavar="N[,N…]", help="Bits of its weights and activations: one number, or one a layer."),
    click.option("--sparsity", metavar="F[,F…]", help="Fraction of its random weights that is zero [0]."),
    click.option("--seed", type=int, help="Of its random weights [0]."),
    click.option("--input-type", metavar="TYPE", help="Type of its input [fixed<16,6>]."),
    click.option("--json", "as_json", is_flag=True, help="Print report.json on standard output, nothing else."),
)


def shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command its model and the options that all commands on a model have."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return click.argument("model", required=False)(command)


sensitivity_option = click.option(
    "--sensitivity", is_flag=True, help="Plan the neighbours too: bits, reuse, clock, stores, links; takes a minute."
)
