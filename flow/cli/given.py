"""Which options a command line gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def first_given(options: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first of some options that is given, as it is written (`--payload-in`); None where none is."""
    for name in names:
        value = options[name]
        if value is not None and value is not False and value != ():
            return f"--{name.replace('_', '-')}"
    return None
