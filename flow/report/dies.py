"""What lies on each die, in the report: cells against what a plan may use there, and what is not known of the wires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from flow.device.parts import Part
from flow.engines.crossing import Crossing
from flow.engines.dataflow import dataflow
from flow.graph.graph import Graph
from flow.latency.budget import Origin
from flow.plan.dies import used_on_dies
from flow.plan.footprint import KINDS
from flow.plan.plan import Plan
from flow.report.tables import table


@dataclass(frozen=True, slots=True)
class DieReport:
    """Count what a plan takes of one die, the first is 0.

    of_usable: the share of what a plan may use there, by kind; null where that is none and some is taken. engines: by
    their outputs, those that lie there.
    """

    die: int
    lut: int
    ff: int
    dsp: int
    bram: int
    of_usable: dict[str, float | None]
    engines: tuple[str, ...]
    origin: Origin = Origin.PREDICTED


def die_reports(graph: Graph, plan: Plan, part: Part) -> tuple[DieReport, ...]:
    """Return what a plan takes of each die of its part; nothing where it lies on one."""
    traffic = plan.traffic
    if traffic.on_one_die:
        return ()
    used = used_on_dies(graph, plan.runs, dataflow(graph, plan.choices, traffic), traffic, part)
    found = []
    for die, taken in enumerate(used):
        shares = {str(kind): _of(getattr(taken, kind), part.on_dies(kind)[die]) for kind in KINDS}
        engines = tuple(choice.output for choice, on in zip(plan.choices, traffic.dies, strict=True) if on == die)
        found.append(DieReport(die, taken.lut, taken.ff, taken.dsp, taken.bram, shares, engines))
    return tuple(found)


def _of(used: int, usable: int) -> float | None:
    if not usable:
        return None if used else 0.0
    return used / usable


def die_table(dies: Sequence[DieReport]) -> Table:
    """Show what lies on each die."""
    title = "Dies: cells on each (predicted), and their share of what a plan may use there"
    kinds = [kind for kind in KINDS if kind in {"lut", "ff"} or any(getattr(die, kind) for die in dies)]
    columns = [name for kind in kinds for name in (kind.upper(), "of usable")]
    numbers = tuple(range(1, len(columns) + 1))
    rows = table("die", *columns, "engines", title=title, right=numbers, whole=(0,))
    for die in dies:
        cells = [text for kind in kinds for text in (f"{getattr(die, kind):,}", _share(die.of_usable[kind]))]
        rows.add_row(f"SLR{die.die}", *cells, ", ".join(die.engines))
    return rows


def _share(share: float | None) -> str:
    return "none there" if share is None else f"{share:.1%}".replace("%", " %")


def die_notes(plan: Plan) -> tuple[str, ...]:
    """Say what is not known of a plan on several dies."""
    count = sum(isinstance(between.converter, Crossing) for between in plan.converters)
    if not count:
        return ()
    wires = "the wires of its crossing lie" if count == 1 else f"the wires of its {count:,} crossings lie"
    said = (
        f"The plan lies on several dies: {wires} between two registers each, have a whole cycle, and are not timed here"
    )
    return (f"{said}; Vivado's placer takes rtl/dies.xdc as a wish.",)
