"""Files that a command is told to write: looked at before hours of work are lost at their end."""

from __future__ import annotations

import os
from pathlib import Path

import click

from flow.errors import UserError


def checked_output(option: str, name: str) -> Path:
    """Return the file that `name` means, links followed; raise UserError where none can be written there.

    A device or pipe would be replaced by a file, since files are put in place whole.
    """
    if not name.strip():
        raise UserError(f"{option} '{name}': the name is empty; write a file's name")
    path = Path(os.path.realpath(name))
    try:
        there, plain = path.exists(), path.is_file()
    except OSError as error:
        raise UserError(f"{option} {name[:200]}: {error.strerror}; write another file's name") from None
    if there and not plain:
        what = "a folder" if path.is_dir() else "a device or a pipe"
        raise UserError(f"{option} {name}: it is {what}; write a file's name")
    above = next(folder for folder in path.parents if folder.exists())
    if not above.is_dir():
        raise UserError(f"{option} {name}: {above} is no folder; write another file's name")
    if not os.access(above, os.W_OK):
        raise UserError(f"{option} {name}: cannot write into {above}; write another file's name")
    return path


def write_outputs(csv: Path | str | None, text: str | None, picture: Path | None, drawn: bytes | None) -> None:
    """Write a table and a picture, each None where it is not asked for; csv: `-` is standard output.

    Both are made before: where there is nothing to draw, nothing is written at all.
    """
    from flow.files import write_whole

    if picture is not None and drawn is not None:
        write_whole(picture, drawn)
    if csv == "-":
        click.echo(text, nl=False)
    elif csv is not None and text is not None:
        write_whole(Path(csv), text.encode())
