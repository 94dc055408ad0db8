"""What a user can do wrong, said in one readable message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Report a mistake that the user can mend: what, where, and what would be accepted.

    The command line prints the message alone and exits with status 2.
    """


class MissingTool(UserError):  # noqa: N818 — what is wrong, as the user reads it
    """Report a program that has to be installed first."""


class Missed(UserError):  # noqa: N818 — what is wrong, as the user reads it
    """Report a contract that cannot be kept: a latency, a timeline (exit status 3, as for a budget that is missed)."""


class VerificationError(Exception):
    """Report hardware or a conversion that does not compute what it must (exit status 1)."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a clause that offers the names in `known` closest to `name`."""
    names = sorted(known)
    close = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=3, cutoff=0.4)
    offered = [n for n in names if n.lower() in close]
    if offered:
        return f"did you mean {' or '.join(offered)}?"
    return f"known: {', '.join(names)}"
