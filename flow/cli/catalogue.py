"""Commands that list what there is."""

from __future__ import annotations

from flow.cli.group import cli


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
