"""Where the instances of a design on several dies belong, as constraints for Vivado."""

from __future__ import annotations

from collections.abc import Iterator

from flow.engines.module import Instance, Module

HALVES = ("u_before", "u_behind")
"""The registers of a crossing, below its instance."""


def die_constraints(top: Module) -> str | None:
    """Return an XDC file that assigns every instance of the top module to its die; None where all lie on one.

    USER_SLR_ASSIGNMENT stands on cells of the hierarchy, never on single flip-flops, and the placer takes it as a
    wish (AMD UG912).
    """
    placed = [item for item in top.items if isinstance(item, Instance) and item.dies]
    if len({die for item in placed for die in item.dies}) <= 1:
        return None
    lines = [
        f"# Dies of the instances of {top.name}.",
        f"# Where that is not the top of the whole design: read_xdc -ref {top.name} dies.xdc",
    ]
    for item in placed:
        for path, die in _paths(item):
            lines.append(f"set_property USER_SLR_ASSIGNMENT SLR{die} [get_cells {path}]")
    return "\n".join(lines) + "\n"


def _paths(item: Instance) -> Iterator[tuple[str, int]]:
    if len(item.dies) == 1:
        yield item.name, item.dies[0]
    else:
        yield from zip((f"{item.name}/{half}" for half in HALVES), item.dies, strict=True)
