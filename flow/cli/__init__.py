"""The command `fpgaflow`: a thin layer over `flow.steps`."""

from __future__ import annotations

import io
import sys
from typing import NoReturn

import click

from flow.cli import baseline, catalogue, diff, runs
from flow.cli.group import FAILED, INTERRUPTED, MISSED, USER_ERROR, cli
from flow.errors import Missed, UserError, VerificationError

__all__ = ["baseline", "catalogue", "cli", "diff", "main", "runs"]


def main() -> None:
    """Run the command; a user's mistake ends in one message and status 2, a failed verification in status 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # where µ or × cannot be written, a question mark is better than no report
            stream.reconfigure(errors="replace")
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(USER_ERROR)
    except click.Abort:
        _fail("interrupted", INTERRUPTED)
    except Missed as error:
        _fail(str(error), MISSED)
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
