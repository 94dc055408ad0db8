"""The house style of tables, and of the numbers in them."""

from __future__ import annotations

from rich import box
from rich.table import Table


def table(*columns: str, title: str, right: tuple[int, ...] = (), whole: tuple[int, ...] = ()) -> Table:
    """Return an empty table in the house style.

    right: columns aligned to the right. whole: columns that are not broken into lines.
    """
    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for k, column in enumerate(columns):
        made.add_column(
            column, justify="right" if k in right else "left", overflow="fold", no_wrap=k in {*right, *whole}
        )
    return made


def cycles_text(cycles: int) -> str:
    """Write a number of cycles."""
    return f"{cycles:,} cycle{'' if cycles == 1 else 's'}"
